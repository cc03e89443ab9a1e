//! Runs hostile cases against the guards: every `NAME.jsonl` of a folder, by the
//! runner of that name.
//!
//! Prints `NAME passed/total` for each set and below it the cases that failed,
//! and ends with 0 only if none did. A new set is a module and a line in
//! [`SETS`]. A set without a runner fails: unattacked is not safe.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is what the person at the terminal reads"
)]

mod injection;
mod llm;
mod paths;
mod shell;
mod ssrf;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};

/// What came of a set.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Score {
    /// Cases that went as they should.
    pub(crate) passed: usize,
    /// Those that did not: the id, and what happened instead.
    pub(crate) failed: Vec<(String, String)>,
    /// What is worth a line whatever the outcome: the id, and the figures.
    pub(crate) figures: Vec<(String, String)>,
}

/// What a run is told besides the folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// Rounds of every race, whatever its case says.
    pub(crate) rounds: Option<u32>,
}

impl Score {
    /// Counts one case in.
    pub(crate) fn add(&mut self, id: &str, outcome: Result<()>) {
        match outcome {
            Ok(()) => self.passed += 1,
            Err(error) => self.failed.push((id.to_owned(), format!("{error:#}"))),
        }
    }
}

/// Reads a file of cases and runs them all.
type Runner = fn(&Path, Options) -> Result<Score>;

/// The sets there are, by the stem of their file.
const SETS: &[(&str, Runner)] = &[
    ("injection", injection::run),
    ("llm_replies", llm::run),
    ("llm_replies_data", llm::run_data),
    ("paths", paths::run),
    ("shell", shell::run),
    ("ssrf", ssrf::run),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (folder, rounds) = match words[..] {
        [folder] => (folder, Some(None)),
        [folder, "--rounds", rounds] => (folder, rounds.parse().ok().map(Some)),
        _ => ("", None),
    };
    let Some(rounds) = rounds else {
        eprintln!("usage: hostile DIR [--rounds N]");
        return ExitCode::from(2);
    };
    match run(Path::new(folder), Options { rounds }) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("hostile: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs every set in the folder; true when all cases passed.
fn run(folder: &Path, options: Options) -> Result<bool> {
    let files = sets(folder)?;
    anyhow::ensure!(!files.is_empty(), "{} holds no set of cases (NAME.jsonl)", folder.display());
    let mut clean = true;
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let Some((_, runner)) = SETS.iter().find(|(known, _)| *known == name) else {
            println!("{name} 0/{}\n  no runner for this set", cases(&file)?.len());
            clean = false;
            continue;
        };
        let score = runner(&file, options).with_context(|| format!("cannot run {}", file.display()))?;
        println!("{name} {}/{}", score.passed, score.passed + score.failed.len());
        for (id, figures) in &score.figures {
            println!("  {id}  {figures}");
        }
        for (id, why) in &score.failed {
            println!("  {id}  {why}");
        }
        clean &= score.failed.is_empty();
    }
    Ok(clean)
}

fn sets(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(path);
        }
    }
    // The data of a set are played with its words, not once more.
    let words: Vec<PathBuf> = files.clone();
    files.retain(|path| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        stem.strip_suffix("_data")
            .is_none_or(|set| !words.contains(&path.with_file_name(format!("{set}.jsonl"))))
    });
    files.sort();
    Ok(files)
}

/// The cases of a file, each with its id.
pub(crate) fn cases(file: &Path) -> Result<Vec<(String, serde_json::Value)>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| {
            let case: serde_json::Value =
                serde_json::from_str(line).with_context(|| format!("line {} is no case", number + 1))?;
            let id = case.get("id").and_then(serde_json::Value::as_str);
            let id = id.map_or_else(|| format!("line {}", number + 1), str::to_owned);
            Ok((id, case))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_without_a_runner_fails() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("unheard-of.jsonl");
        std::fs::write(&file, "{\"id\": \"u-1\"}\n\n{\"id\": \"u-2\"}\n").unwrap();
        assert!(!run(folder.path(), Options::default()).unwrap());
    }

    #[test]
    fn a_folder_without_cases_is_an_error() {
        assert!(run(tempfile::tempdir().unwrap().path(), Options::default()).is_err());
    }

    #[test]
    fn a_damaged_line_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.jsonl");
        std::fs::write(&file, "{\"id\": \"x-1\"}\n{").unwrap();
        assert_eq!(cases(&file).unwrap_err().to_string(), "line 2 is no case");
    }
}
