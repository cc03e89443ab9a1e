//! `cargo xtask mutants`: breaks `core::guard` in small ways, one at a time, and
//! asks whether a test of it notices.
//!
//! What no test notices must stand on the list (`LIST`) with the reason why
//! nobody could; an entry that is noticed after all must go. Mutants are named
//! without their line, so that moving code changes nothing.

#![expect(clippy::print_stdout, reason = "this is what the person at the terminal reads")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::metadata::cargo;
use crate::offence::Offence;

/// Where what is mutated lies.
const GUARD: &str = "crates/core/src/guard";
/// Mutants that change no behaviour.
const LIST: &str = "crates/core/mutants.toml";
/// Tests that may notice a mutant.
const TESTS: &str = "guard";
/// A mutant that takes longer, in seconds, hangs: it was noticed.
const TIMEOUT: &str = "60";

/// How `cargo mutants` ends when it ran: all noticed, some not, some hung.
const RAN: [i32; 3] = [0, 2, 3];

/// With the words of the command line: `[--shard K/N] [--tests NAME] [FILE…]`, files
/// as they lie in the guard's folder. Fewer tests are faster and stricter.
pub fn run(root: &Path, words: &[String]) -> Result<()> {
    let asked = Asked::parse(words)?;
    let listed: List = {
        let text = std::fs::read_to_string(root.join(LIST)).with_context(|| format!("cannot read {LIST}"))?;
        toml::from_str(&text).with_context(|| format!("cannot read {LIST}"))?
    };
    let out = out()?;
    let all = counted(&said(mutants(root, &asked.files).arg("--list"))?);
    let mut command = mutants(root, &asked.files);
    command.args(["--jobs", "1", "--timeout", TIMEOUT, "--output"]).arg(&out);
    // Nobody looks at a mutant in a debugger, and without that each is built faster.
    command.env("CARGO_PROFILE_DEV_DEBUG", "0");
    if let Some(shard) = &asked.shard {
        // In turns, so that each shard is a sample of all files.
        command.args(["--sharding", "round-robin", "--shard", shard]);
    }
    let status = command.args(["--", "--lib", &asked.tests]).status().context("cannot start cargo")?;
    if !status.code().is_some_and(|code| RAN.contains(&code)) {
        bail!(
            "cargo mutants ended with {status}; if it is missing, run `cargo install cargo-mutants --locked`"
        );
    }
    let read = |name: &str| {
        let path = out.join("mutants.out").join(name);
        std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    let tested = Tested {
        killed: counted(&(read("caught.txt")? + &read("timeout.txt")?)),
        survived: counted(&read("missed.txt")?),
    };
    let scope = if asked.files.is_empty() { Scope::Everything } else { Scope::SomeFiles };
    let offences = judge(&listed.equivalent, &all, &tested, scope);
    println!("{}", tested.told(&all));
    crate::ci::report(&offences)
}

/// `cargo mutants` on these files of the guard, or on all of it.
fn mutants(root: &Path, files: &[String]) -> Command {
    let mut command = Command::new(cargo());
    command.current_dir(root).args(["mutants", "--package", "bowline-core"]);
    if files.is_empty() {
        command.arg("--file").arg(format!("{GUARD}/**"));
    }
    for file in files {
        command.arg("--file").arg(format!("{GUARD}/{file}"));
    }
    command
}

fn said(command: &mut Command) -> Result<String> {
    let done = command.output().context("cannot start cargo")?;
    if !done.status.success() {
        bail!("cargo mutants: {}", String::from_utf8_lossy(&done.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// A folder beside the build, so that the clone stays clean.
fn out() -> Result<PathBuf> {
    let us = std::env::current_exe().context("xtask cannot find itself")?;
    let target = us.parent().and_then(Path::parent).context("xtask lies in no target folder")?;
    let out = target.join("mutants");
    std::fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    Ok(out)
}

/// What to run.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    shard: Option<String>,
    /// What the names of tests that may notice have in them.
    tests: String,
    files: Vec<String>,
}

impl Asked {
    fn parse(words: &[String]) -> Result<Self> {
        let mut asked = Self { shard: None, tests: TESTS.into(), files: Vec::new() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--shard" => asked.shard = Some(words.next().context("--shard needs K/N")?.clone()),
                "--tests" => asked.tests.clone_from(words.next().context("--tests needs a name")?),
                option if option.starts_with('-') => {
                    bail!(
                        "{option:?} is not understood; there are --shard K/N, --tests NAME and files of {GUARD}"
                    )
                }
                file => asked.files.push(file.to_owned()),
            }
        }
        Ok(asked)
    }
}

/// The list, as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(default)]
    equivalent: Vec<Equivalent>,
}

/// A mutant that behaves like the original.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Equivalent {
    /// The file it is in.
    file: String,
    /// What it changes, as `cargo mutants` says it.
    mutant: String,
    /// How many changes of that name in that file; 1 if left out.
    #[serde(default = "once")]
    times: usize,
    /// Why no test could notice.
    reason: String,
}

fn once() -> usize {
    1
}

/// A mutant without its line, and how many are called so.
type Counts = BTreeMap<(String, String), usize>;

/// `file:line:column: what` in each line.
fn counted(lines: &str) -> Counts {
    let mut counts = Counts::new();
    for line in lines.lines() {
        let Some((place, what)) = line.split_once(": ") else { continue };
        let file = place.split(':').next().unwrap_or_default();
        *counts.entry((file.to_owned(), what.to_owned())).or_default() += 1;
    }
    counts
}

/// What came of those that were built.
#[derive(Debug, Default)]
struct Tested {
    killed: Counts,
    survived: Counts,
}

impl Tested {
    fn told(&self, all: &Counts) -> String {
        let sum = |counts: &Counts| counts.values().sum::<usize>();
        let (killed, total) = (sum(&self.killed), sum(&self.killed) + sum(&self.survived));
        let tenths = (killed * 1000).checked_div(total).unwrap_or_default();
        format!(
            "{killed} of {total} mutants killed ({}.{} %); {} there are in these files",
            tenths / 10,
            tenths % 10,
            sum(all)
        )
    }
}

/// Which entries of the list are asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Everything,
    /// Only entries of files that were looked at.
    SomeFiles,
}

/// Survivors nobody explains, and entries that are no survivors.
fn judge(list: &[Equivalent], all: &Counts, tested: &Tested, scope: Scope) -> Vec<Offence> {
    let mut explained = Counts::new();
    let mut offences = Vec::new();
    for entry in list {
        *explained.entry((entry.file.clone(), entry.mutant.clone())).or_default() += entry.times;
        if entry.reason.trim().is_empty() {
            offences.push(Offence::new("mutants", LIST, format!("{:?} has no reason", entry.mutant)));
        }
    }
    let count = |counts: &Counts, name| counts.get(name).copied().unwrap_or_default();
    for (name, survived) in &tested.survived {
        if *survived > count(&explained, name) {
            let message = format!("no test notices: {} ({survived} ×); write one, or list it", name.1);
            offences.push(Offence::new("mutants", &name.0, message));
        }
    }
    for (name, times) in &explained {
        let is_asked = scope == Scope::Everything || all.keys().any(|(file, _)| *file == name.0);
        let (survived, killed) = (count(&tested.survived, name), count(&tested.killed, name));
        // Those of this name that were not run, or could not be built, may be the ones that are meant.
        let unknown = count(all, name).saturating_sub(survived + killed);
        if is_asked && survived + unknown < *times {
            let message = format!("{}: {:?} is noticed or gone; remove it from the list", name.0, name.1);
            offences.push(Offence::new("mutants", LIST, message));
        }
    }
    offences
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "crates/core/src/guard/quality.rs";

    fn name(line: u32, what: &str) -> String {
        format!("{FILE}:{line}:5: {what}\n")
    }

    fn entry(mutant: &str, times: usize) -> Equivalent {
        Equivalent { file: FILE.into(), mutant: mutant.into(), times, reason: "it is the same".into() }
    }

    fn said(list: &[Equivalent], all: &str, killed: &str, survived: &str) -> Vec<String> {
        let tested = Tested { killed: counted(killed), survived: counted(survived) };
        judge(list, &counted(all), &tested, Scope::Everything).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_survivor_nobody_explains_fails_wherever_it_stands() {
        let (one, other) = (name(1, "replace < with <= in f"), name(9, "replace < with <= in f"));
        let all = one.clone() + &other;
        assert_eq!(said(&[], &all, &one, &other).len(), 1);
        assert!(said(&[entry("replace < with <= in f", 1)], &all, &one, &other).is_empty());
        assert_eq!(
            said(&[entry("replace < with <= in f", 1)], &all, "", &all).len(),
            1,
            "two, one explained"
        );
        assert!(said(&[entry("replace < with <= in f", 2)], &all, "", &all).is_empty());
    }

    #[test]
    fn an_entry_that_is_noticed_must_go_but_one_that_was_not_run_may_stay() {
        let one = name(1, "replace < with <= in f");
        let list = [entry("replace < with <= in f", 1)];
        assert_eq!(said(&list, &one, &one, "").len(), 1);
        assert!(said(&list, &one, "", "").is_empty(), "in another shard");
        assert_eq!(said(&list, "", "", "").len(), 1, "there is no such mutant any more");
    }

    #[test]
    fn an_entry_of_a_file_that_was_not_looked_at_is_left_alone() {
        let list = [entry("replace < with <= in f", 1)];
        let nothing = Tested::default();
        assert!(judge(&list, &Counts::new(), &nothing, Scope::SomeFiles).is_empty());
        assert_eq!(judge(&list, &Counts::new(), &nothing, Scope::Everything).len(), 1);
    }

    #[test]
    fn an_entry_without_a_reason_fails() {
        let one = name(1, "replace < with <= in f");
        let list = [Equivalent { reason: " ".into(), ..entry("replace < with <= in f", 1) }];
        assert_eq!(said(&list, &one, "", &one).len(), 1);
    }

    #[test]
    fn the_share_that_is_told_leaves_out_what_was_not_run() {
        let (one, two, three) = (name(1, "a"), name(2, "b"), name(3, "c"));
        let all = counted(&(one.clone() + &two + &three));
        let tested = Tested { killed: counted(&one), survived: counted(&two) };
        assert_eq!(tested.told(&all), "1 of 2 mutants killed (50.0 %); 3 there are in these files");
    }

    #[test]
    fn words_are_a_shard_tests_and_files() {
        let words = ["--shard", "0/4", "quality.rs"].map(String::from);
        let files = vec!["quality.rs".to_owned()];
        let asked = Asked { shard: Some("0/4".into()), tests: TESTS.into(), files };
        assert_eq!(Asked::parse(&words).unwrap(), asked);
        let words = ["--tests", "guard::quality"].map(String::from);
        assert_eq!(Asked::parse(&words).unwrap().tests, "guard::quality");
        assert!(Asked::parse(&["--fast".into()]).is_err());
        assert!(Asked::parse(&["--shard".into()]).is_err());
    }
}
