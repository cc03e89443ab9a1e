//! `cargo xtask hostile DIR [--rounds N]`: builds the runners of the hostile sets and lets
//! them at the cases in a folder.
//!
//! The runners (`hostile/main.rs`) need the crates they attack, which xtask does
//! not, so they are a program of their own.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::metadata::cargo;

/// Runs every set found in the folder, with options that are the runners' to read;
/// fails when a case does.
pub fn run(root: &Path, folder: &str, options: &[String]) -> Result<()> {
    let folder =
        Path::new(folder).canonicalize().with_context(|| format!("there is no folder {folder:?}"))?;
    let mut command = Command::new(cargo());
    command.current_dir(root);
    command
        .args(["run", "--quiet", "--locked", "-p", "xtask", "--example", "hostile", "--"])
        .arg(folder)
        .args(options);
    let status = command.status().context("cannot start cargo")?;
    if !status.success() {
        bail!("the hostile sets ended with {status}");
    }
    Ok(())
}

/// Counts false alarms among the texts below these paths; fails above one in 10,000.
pub fn benign(root: &Path, paths: &[String]) -> Result<()> {
    if paths.is_empty() {
        bail!("usage: cargo xtask benign PATH…");
    }
    let mut command = Command::new(cargo());
    command.current_dir(root);
    command.args(["run", "--quiet", "--release", "--locked", "-p", "bowline-core", "--example", "injection"]);
    command.args(["--", "benign"]).args(paths);
    let status = command.status().context("cannot start cargo")?;
    if !status.success() {
        bail!("more than one text in 10,000 was flagged");
    }
    Ok(())
}
