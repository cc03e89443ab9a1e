//! The programs that start proofs, built once: the simulator, the model checker and the
//! program they are about. Built together they share one build of everything below
//! them; one at a time each would want other features of the same crates.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::metadata::cargo;

const PACKAGES: [&str; 3] = ["bowline-cli", "bowline-sim", "bowline-proof"];

/// Builds them for release, and says where they are.
pub fn build(root: &Path) -> Result<PathBuf> {
    let mut command = Command::new(cargo());
    command.current_dir(root).args(["build", "--quiet", "--release", "--locked"]);
    command.args(PACKAGES.iter().flat_map(|package| ["-p", package]));
    let status = command.status().context("cannot start cargo")?;
    if !status.success() {
        bail!("the release build ended with {status}");
    }
    // Where cargo puts release programs: beside the profile we were built in.
    let us = std::env::current_exe().context("xtask cannot find itself")?;
    let target = us.parent().and_then(Path::parent).context("xtask lies in no target folder")?;
    Ok(target.join("release"))
}

/// Runs one of them to its end.
pub fn run(mut program: Command, what: &str) -> Result<()> {
    let status = program.status().with_context(|| format!("cannot start {what}"))?;
    if !status.success() {
        bail!("{what} ended with {status}");
    }
    Ok(())
}
