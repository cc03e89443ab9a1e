//! The injection set: judged by `bowline-core` itself, in a program of its own,
//! because nothing here depends on the crates it judges.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::metadata::cargo;

/// What the program reported: how many cases held, and what it said about the
/// others, line by line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Score {
    /// Cases that held.
    pub passed: usize,
    /// Cases there are.
    pub total: usize,
    /// Cases that failed, each with its reason.
    pub failed: Vec<String>,
    /// Cases that another crate has to hold, each with which.
    pub elsewhere: Vec<String>,
}

/// Judges a file of cases.
pub fn run(root: &Path, cases: &Path) -> Result<Score> {
    let mut command = Command::new(cargo());
    command.current_dir(root);
    command.args(["run", "--quiet", "--release", "--locked", "-p", "bowline-core", "--example", "injection"]);
    command.args(["--", "hostile"]);
    let cases = cases.canonicalize().with_context(|| format!("{} is not there", cases.display()))?;
    let output = command.arg(cases).output().context("cannot start cargo")?;
    let told = String::from_utf8_lossy(&output.stdout);
    match score(&told) {
        Some(score) => Ok(score),
        None => bail!("the judge ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr)),
    }
}

/// Reads `injection 90/94` and the indented lines below it.
fn score(told: &str) -> Option<Score> {
    let mut lines = told.lines();
    let (passed, total) = lines.next()?.strip_prefix("injection ")?.split_once('/')?;
    let told = lines.map(|line| line.trim().to_owned());
    let (elsewhere, failed) = told.partition(|line: &String| line.contains(" is for "));
    Some(Score { passed: passed.parse().ok()?, total: total.parse().ok()?, failed, elsewhere })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_is_read_back() {
        let told = "injection 1/3\n  a-1: left \"x\"\n  a-2 is for the path guard\n";
        let score = score(told).expect("a report");
        assert_eq!((score.passed, score.total), (1, 3));
        assert_eq!(score.failed, ["a-1: left \"x\""]);
        assert_eq!(score.elsewhere, ["a-2 is for the path guard"]);
        assert_eq!(super::score("error: no such file"), None);
    }
}
