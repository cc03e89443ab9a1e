//! `cargo xtask kill`: builds the real program and the harness, shows that the
//! harness bites, and lets it kill the program.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::metadata::cargo;

/// Promises the harness breaks on purpose, each to be caught, before it counts.
const SABOTAGES: [&str; 5] = ["pay-again", "lose-writes", "touch-file", "show-too-soon", "forge-checkpoint"];

/// Kills in CI. The long gate asks for more: `cargo xtask kill --count 10000`.
const CI_WORDS: [&str; 4] = ["--count", "500", "--seed", "1"];

/// As CI does it.
pub fn ci(root: &Path) -> Result<()> {
    run(root, &CI_WORDS.map(String::from))
}

/// With the words of the command line, which are the harness's own.
pub fn run(root: &Path, words: &[String]) -> Result<()> {
    build(root)?;
    let built = built()?;
    if !words.iter().any(|word| word == "--sabotage") {
        for name in SABOTAGES {
            harness(root, &built, &["--sabotage".into(), name.into()])?;
        }
    }
    harness(root, &built, words)
}

fn build(root: &Path) -> Result<()> {
    let mut command = Command::new(cargo());
    command.current_dir(root).args([
        "build",
        "--release",
        "--locked",
        "-p",
        "bowline-cli",
        "-p",
        "bowline-sim",
    ]);
    let status = command.status().context("cannot start cargo")?;
    if !status.success() {
        bail!("the release build ended with {status}");
    }
    Ok(())
}

/// Where cargo puts release programs: beside the profile we were built in.
fn built() -> Result<PathBuf> {
    let us = std::env::current_exe().context("xtask cannot find itself")?;
    let target = us.parent().and_then(Path::parent).context("xtask lies in no target folder")?;
    Ok(target.join("release"))
}

fn harness(root: &Path, built: &Path, words: &[String]) -> Result<()> {
    let mut command = Command::new(built.join("bowline-sim"));
    command.arg("kill").arg("--bowline").arg(built.join("bowline"));
    command.arg("--checker").arg(root.join("sim/checker/check.py")).args(words);
    let status = command.status().context("cannot start the kill harness")?;
    if !status.success() {
        bail!("the kill harness ended with {status}");
    }
    Ok(())
}
