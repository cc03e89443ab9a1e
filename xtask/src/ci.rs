//! The gate: a table of stages, run in order, stopped by the first that fails.
//!
//! Cheap stages come first. A new stage is a line in [`STAGES`].

#![expect(clippy::print_stdout, reason = "this is what the person at the terminal reads")]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::metadata::cargo;
use crate::offence::Offence;
use crate::{kill, layers, licences, prove, redteam, sim, tidy};

/// One stage of the gate.
pub struct Stage {
    /// What people call it, and how it is named on the command line.
    pub name: &'static str,
    /// What it does.
    pub how: How,
    /// What to do when it fails.
    pub remedy: &'static str,
}

/// How a stage is run.
pub enum How {
    /// Cargo, with these arguments.
    Cargo(&'static [&'static str]),
    /// Cargo, several times.
    Cargos(&'static [&'static [&'static str]]),
    /// The tests, by the best runner there is.
    Tests,
    /// One of our own rules.
    Rule(fn(&Path) -> Result<Vec<Offence>>),
    /// A harness of our own, which prints what it finds.
    Harness(fn(&Path) -> Result<()>),
}

/// The gate, in order.
pub const STAGES: &[Stage] = &[
    Stage { name: "fmt", how: How::Cargo(&["fmt", "--all", "--check"]), remedy: "run `cargo fmt --all`" },
    Stage { name: "tidy", how: How::Rule(tidy::run), remedy: "each line above says what to do" },
    Stage {
        name: "layers",
        how: How::Rule(layers::run),
        remedy: "drop the edge, or change the table together with an ADR",
    },
    Stage {
        name: "licences",
        how: How::Rule(licences::run),
        remedy: "use another crate; if Cargo.lock is stale, run `cargo check`",
    },
    Stage {
        name: "clippy",
        how: How::Cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]),
        remedy: "mend the code; an `#[expect]` needs a reason that holds",
    },
    // Programs first: one shares its name with a library, whose page should stay.
    // Cargo documents the program and the library of xtask, of the simulator and of the
    // model checker to one place, so only the latter.
    Stage {
        name: "doc",
        how: How::Cargos(&[
            &[
                "doc",
                "--workspace",
                "--no-deps",
                "--locked",
                "--bins",
                "--exclude",
                "xtask",
                "--exclude",
                "bowline-sim",
                "--exclude",
                "bowline-proof",
            ],
            &["doc", "--workspace", "--no-deps", "--locked", "--lib"],
        ]),
        remedy: "mend the link or the markup rustdoc names",
    },
    Stage {
        name: "tests",
        how: How::Tests,
        remedy: "run the failing test alone: `cargo test -p CRATE NAME`",
    },
    Stage {
        name: "sim",
        how: How::Harness(sim::ci),
        remedy: "run the seed it names: `cargo xtask sim --seed SEED`",
    },
    Stage {
        name: "prove",
        how: How::Harness(prove::ci),
        remedy: "play the moves it prints, in a test of the run machine",
    },
    Stage {
        name: "kill",
        how: How::Harness(kill::ci),
        remedy: "read the violation; the folder it names holds all evidence",
    },
    Stage {
        name: "redteam",
        how: How::Harness(redteam::ci),
        remedy: "read what the scenario printed; its file says what the attack is",
    },
    Stage {
        name: "doctests",
        how: How::Cargo(&["test", "--workspace", "--doc", "--locked"]),
        remedy: "mend the example or the code it shows",
    },
];

/// Runs the named stages, or all when none is named.
pub fn run(root: &Path, wanted: &[String]) -> Result<()> {
    let unknown = wanted.iter().find(|name| STAGES.iter().all(|stage| stage.name != name.as_str()));
    if let Some(name) = unknown {
        let known: Vec<&str> = STAGES.iter().map(|stage| stage.name).collect();
        bail!("there is no stage {name:?}; there are {}", known.join(", "));
    }
    let mut times = Vec::new();
    for stage in
        STAGES.iter().filter(|stage| wanted.is_empty() || wanted.iter().any(|name| name == stage.name))
    {
        println!("── {}", stage.name);
        let (outcome, time) = timed(|| stage.how.run(root));
        outcome
            .with_context(|| format!("{} failed after {}; {}", stage.name, seconds(time), stage.remedy))?;
        println!("── {} passed in {}", stage.name, seconds(time));
        times.push((stage.name, time));
    }
    println!("\nall passed");
    for (name, time) in &times {
        println!("{name:>10} {:>8}", seconds(*time));
    }
    println!("{:>10} {:>8}", "together", seconds(times.iter().map(|(_, time)| *time).sum()));
    Ok(())
}

/// Runs one rule and prints what it found.
pub fn rule(root: &Path, rule: fn(&Path) -> Result<Vec<Offence>>) -> Result<()> {
    report(&rule(root)?)
}

/// Prints offences and fails if there are any.
pub fn report(offences: &[Offence]) -> Result<()> {
    for offence in offences {
        println!("{offence}");
    }
    match offences.len() {
        0 => Ok(()),
        1 => bail!("1 offence"),
        count => bail!("{count} offences"),
    }
}

impl How {
    fn run(&self, root: &Path) -> Result<()> {
        match self {
            Self::Cargo(args) => run_cargo(root, args),
            Self::Cargos(runs) => runs.iter().try_for_each(|args| run_cargo(root, args)),
            Self::Tests => run_cargo(root, test_command(root)),
            Self::Rule(found) => rule(root, *found),
            Self::Harness(run) => run(root),
        }
    }
}

/// `nextest` where it is installed; it is never installed for this.
fn test_command(root: &Path) -> &'static [&'static str] {
    let asked = Command::new(cargo()).current_dir(root).args(["nextest", "--version"]).output();
    if asked.is_ok_and(|output| output.status.success()) {
        &["nextest", "run", "--workspace", "--locked", "--no-fail-fast"]
    } else {
        &["test", "--workspace", "--locked", "--no-fail-fast", "--lib", "--bins", "--tests", "--examples"]
    }
}

fn run_cargo(root: &Path, args: &[&str]) -> Result<()> {
    let mut command = Command::new(cargo());
    // Only rustdoc reads these, so they cost the other stages no rebuild.
    command.current_dir(root).args(args).env("RUSTDOCFLAGS", "-D warnings");
    let status = command.status().context("cannot start cargo")?;
    if !status.success() {
        bail!("`cargo {}` ended with {status}", args.join(" "));
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "how long a stage took is no decision of a run")]
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_has_a_name_of_its_own_and_a_remedy() {
        let names: std::collections::BTreeSet<_> = STAGES.iter().map(|stage| stage.name).collect();
        assert_eq!(names.len(), STAGES.len());
        assert!(STAGES.iter().all(|stage| !stage.remedy.is_empty()));
    }

    #[test]
    fn a_stage_nobody_knows_is_refused_with_those_there_are() {
        let error = run(Path::new("."), &["lint".into()]).unwrap_err().to_string();
        assert!(error.starts_with("there is no stage \"lint\"; there are fmt, tidy"), "{error}");
    }

    #[test]
    fn a_rule_with_offences_fails() {
        assert!(rule(Path::new("."), |_| Ok(Vec::new())).is_ok());
        let error = rule(Path::new("."), |_| Ok(vec![Offence::new("r", "p", "m")])).unwrap_err();
        assert_eq!(error.to_string(), "1 offence");
    }
}
