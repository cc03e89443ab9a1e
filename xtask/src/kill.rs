//! `cargo xtask kill`: builds the real program and the harness, shows that the
//! harness bites, and lets it kill the program.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::harness;

/// Promises the harness breaks on purpose, each to be caught, before it counts.
const SABOTAGES: [&str; 12] = [
    "pay-again",
    "lose-writes",
    "touch-file",
    "show-too-soon",
    "forge-checkpoint",
    "release-again",
    "release-unasked",
    "release-out-of-order",
    "forget-release",
    "false-alarm",
    "swallow-alert",
    "overwrite-changed",
];

/// Kills in CI. The long gate asks for more:
/// `cargo xtask kill --count 10000 --doubles 5000 --triples 1000`.
const CI_WORDS: [&str; 4] = ["--count", "500", "--seed", "1"];
/// Migrations of an old store that are killed in CI, besides.
const CI_MIGRATIONS: [&str; 2] = ["--migrations", "40"];

/// As CI does it.
pub fn ci(root: &Path) -> Result<()> {
    run(root, &CI_WORDS.map(String::from))?;
    run(root, &CI_MIGRATIONS.map(String::from))
}

/// With the words of the command line, which are the harness's own.
pub fn run(root: &Path, words: &[String]) -> Result<()> {
    let built = harness::build(root)?;
    if !words.iter().any(|word| matches!(word.as_str(), "--sabotage" | "--every" | "--migrations")) {
        for name in SABOTAGES {
            attack(root, &built, &["--sabotage".into(), name.into()])?;
        }
    }
    attack(root, &built, words)
}

fn attack(root: &Path, built: &Path, words: &[String]) -> Result<()> {
    let mut command = Command::new(built.join("bowline-sim"));
    command.arg("kill").arg("--bowline").arg(built.join("bowline"));
    command.arg("--checker").arg(root.join("sim/checker/check.py"));
    command.arg("--old-store").arg(root.join("fixtures/stores/v1.sql")).args(words);
    harness::run(command, "the kill harness")
}
