//! `cargo xtask fuzz`: inputs nobody thought of, for the guards and the readers.
//!
//! The targets and their promises are a program of their own (`fuzz/`), linked with
//! libFuzzer and built with the coverage it follows; the flags for that are stable,
//! so it takes the toolchain everything is built with and a C++ compiler. Inputs that
//! reach something new are kept beside the build and used again; those under
//! `fuzz/regressions` once broke a promise and go first.

#![expect(clippy::print_stdout, reason = "this is what the person at the terminal reads")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::metadata::cargo;

/// The targets, as `fuzz/src/main.rs` calls them.
const TARGETS: [&str; 9] =
    ["session", "regulator", "shell", "normaliser", "untrusted", "description", "json", "task", "network"];

/// What makes a program count which of its branches an input takes.
const COVERAGE: [&str; 6] = [
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// What stands between two seeds of one file.
const BETWEEN: &str = "\n----\n";
/// Longest input, in bytes.
const LENGTH_MAX: &str = "-max_len=4096";
/// An input that takes longer, in seconds, fails.
const INPUT_SECONDS_MAX: &str = "-timeout=10";
/// A target that takes more memory, in MiB, fails.
const MEMORY_MIB_MAX: &str = "-rss_limit_mb=2048";

/// With the words of the command line: `[--seconds N] [--seed S] [--input FILE] [TARGET…]`.
pub fn run(root: &Path, words: &[String]) -> Result<()> {
    let asked = Asked::parse(words)?;
    let folder = folder()?;
    let program = build(root, &folder)?;
    if let Some(input) = &asked.input {
        let [target] = asked.targets.as_slice() else { bail!("--input needs the one target it is for") };
        let status = start(&program, target).arg(input).status().context("cannot start the fuzzer")?;
        return if status.success() { Ok(()) } else { bail!("{target} ended with {status}") };
    }
    let mut failed = Vec::new();
    for target in &asked.targets {
        let done = fuzz(root, &folder, &program, target, &asked)?;
        println!("{}", done.line(target));
        if let Some(artifact) = done.broke {
            println!("  run it alone: cargo xtask fuzz --input {artifact} {target}");
            failed.push(target.as_str());
        }
    }
    if failed.is_empty() { Ok(()) } else { bail!("a promise broke: {}", failed.join(", ")) }
}

/// What to run.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    seconds: u32,
    seed: u32,
    input: Option<String>,
    targets: Vec<String>,
}

impl Asked {
    fn parse(words: &[String]) -> Result<Self> {
        let mut asked = Self { seconds: 30, seed: 1, input: None, targets: Vec::new() };
        let number = |word: Option<&String>, of: &str| {
            let number = word.and_then(|word| word.parse().ok()).filter(|number| *number > 0);
            number.with_context(|| format!("{of} needs a number above zero"))
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--seconds" => asked.seconds = number(words.next(), word)?,
                "--seed" => asked.seed = number(words.next(), word)?,
                "--input" => asked.input = Some(words.next().context("--input needs a file")?.clone()),
                target if TARGETS.contains(&target) => asked.targets.push(target.to_owned()),
                other => bail!(
                    "{other:?} is not understood; there are --seconds N, --seed S, --input FILE and {}",
                    TARGETS.join(", ")
                ),
            }
        }
        if asked.targets.is_empty() {
            asked.targets = TARGETS.map(str::to_owned).to_vec();
        }
        Ok(asked)
    }
}

/// A folder beside the build we were built in.
fn folder() -> Result<PathBuf> {
    let us = std::env::current_exe().context("xtask cannot find itself")?;
    let target = us.parent().and_then(Path::parent).context("xtask lies in no target folder")?;
    Ok(target.join("fuzz"))
}

/// Builds the targets. Only what runs is built to count: `--target` leaves out macros and build scripts.
fn build(root: &Path, folder: &Path) -> Result<PathBuf> {
    let host = host()?;
    let target = folder.join("build");
    let mut command = Command::new(cargo());
    command.current_dir(root.join("fuzz")).args(["build", "--release", "--locked", "--quiet"]);
    command.args(["--target", &host]).env("CARGO_TARGET_DIR", &target);
    command.env("RUSTFLAGS", COVERAGE.join(" "));
    let status = command.status().context("cannot start cargo")?;
    if !status.success() {
        bail!("the fuzz targets do not build ({status}); libFuzzer needs a C++ compiler");
    }
    Ok(target.join(host).join("release/bowline-fuzz"))
}

fn host() -> Result<String> {
    let done = Command::new("rustc").arg("-vV").output().context("cannot start rustc")?;
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc does not say what it runs on")
}

fn start(program: &Path, target: &str) -> Command {
    let mut command = Command::new(program);
    command.env("BOWLINE_FUZZ_TARGET", target).args([LENGTH_MAX, INPUT_SECONDS_MAX, MEMORY_MIB_MAX]);
    command
}

/// What came of one target.
#[derive(Debug, Default, PartialEq, Eq)]
struct Done {
    executions: u64,
    seconds: u64,
    /// Branches of the program that were taken.
    branches: u64,
    /// The input that broke a promise.
    broke: Option<String>,
}

impl Done {
    fn line(&self, target: &str) -> String {
        let verdict = if self.broke.is_some() { "BROKE" } else { "held" };
        let Self { executions, seconds, branches, .. } = self;
        format!("{target:>12} {verdict}: {executions} inputs in {seconds} s, {branches} branches reached")
    }

    /// Reads what libFuzzer prints.
    fn read(said: &str) -> Self {
        let number = |line: &str, before: &str| {
            line.split_once(before)?.1.split_whitespace().next()?.parse::<u64>().ok()
        };
        let mut done = Self::default();
        for line in said.lines() {
            if line.starts_with('#') {
                done.branches = number(line, " cov: ").unwrap_or_default().max(done.branches);
                let count = line.trim_start_matches('#').split_whitespace().next();
                done.executions = count.and_then(|count| count.parse().ok()).unwrap_or(done.executions);
            }
            if let Some(seconds) = number(line, " runs in ") {
                done.seconds = seconds;
            }
            if let Some((_, artifact)) = line.split_once("Test unit written to ") {
                done.broke = Some(artifact.trim().to_owned());
            }
        }
        done
    }
}

fn fuzz(root: &Path, folder: &Path, program: &Path, target: &str, asked: &Asked) -> Result<Done> {
    let corpus = folder.join("corpus").join(target);
    let broken = folder.join("broken").join(target);
    for place in [&corpus, &broken] {
        std::fs::create_dir_all(place).with_context(|| format!("cannot make {}", place.display()))?;
    }
    let words = sow(root, &corpus, target)?;
    let dictionary = folder.join(format!("{target}.dict"));
    std::fs::write(&dictionary, words).with_context(|| format!("cannot write {}", dictionary.display()))?;
    let mut command = start(program, target);
    command.arg(format!("-max_total_time={}", asked.seconds)).arg(format!("-seed={}", asked.seed));
    command
        .arg(format!("-artifact_prefix={}/", broken.display()))
        .arg(format!("-dict={}", dictionary.display()));
    command.arg(&corpus);
    let regressions = root.join("fuzz/regressions").join(target);
    if regressions.is_dir() {
        command.arg(regressions);
    }
    let done = command.output().context("cannot start the fuzzer")?;
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    let read = Done::read(&said);
    if !done.status.success() && read.broke.is_none() {
        bail!("{target} ended with {}:\n{said}", done.status);
    }
    if read.broke.is_some() {
        let told: Vec<&str> = said.lines().filter(|line| !line.starts_with('#')).take(40).collect();
        println!("{}", told.join("\n"));
    }
    Ok(read)
}

/// Writes the seeds of a target into its corpus; their words are its dictionary.
fn sow(root: &Path, corpus: &Path, target: &str) -> Result<String> {
    let path = root.join(format!("fuzz/seeds/{target}.txt"));
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    for (index, seed) in text.trim_end().split(BETWEEN).enumerate() {
        let to = corpus.join(format!("seed-{index}"));
        std::fs::write(&to, seed).with_context(|| format!("cannot write {}", to.display()))?;
    }
    Ok(dictionary(&text))
}

/// Words worth trying anywhere, in libFuzzer's notation.
fn dictionary(text: &str) -> String {
    let words: BTreeSet<&str> = text
        .split(|c: char| c.is_whitespace() || ",{}[]()".contains(c))
        .filter(|word| (2..=64).contains(&word.len()))
        .collect();
    words
        .iter()
        .map(|word| {
            format!("\"{}\"\n", word.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<String>())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_seconds_a_seed_an_input_and_targets() {
        let words = ["--seconds", "5", "--seed", "7", "json"].map(String::from);
        let asked = Asked { seconds: 5, seed: 7, input: None, targets: vec!["json".into()] };
        assert_eq!(Asked::parse(&words).unwrap(), asked);
        assert_eq!(Asked::parse(&[]).unwrap().targets.len(), TARGETS.len());
        for bad in ["--fast", "jsn", "--seconds", "--input"] {
            assert!(Asked::parse(&[bad.into()]).is_err(), "{bad}");
        }
        assert!(Asked::parse(&["--seconds".into(), "0".into()]).is_err(), "no time is no fuzzing");
    }

    #[test]
    fn what_libfuzzer_prints_is_counted_and_a_broken_promise_is_seen() {
        let said = "#2\tINITED cov: 10 ft: 11\n#500\tNEW    cov: 25 ft: 30\n#900\tDONE   cov: 25 ft: 30\nDone 900 runs in 11 second(s)\n";
        let done = Done { executions: 900, seconds: 11, branches: 25, broke: None };
        assert_eq!(Done::read(said), done);
        let broke = Done::read("#3\tNEW cov: 4\nartifact_prefix='b/'; Test unit written to b/crash-1\n");
        assert_eq!(broke.broke.as_deref(), Some("b/crash-1"));
        assert!(broke.line("json").contains("BROKE"));
    }

    #[test]
    fn a_dictionary_holds_each_word_once_in_hexadecimal() {
        assert_eq!(dictionary("ab {\"k\":1} ab x"), "\"\\x22\\x6b\\x22\\x3a\\x31\"\n\"\\x61\\x62\"\n");
    }
}
