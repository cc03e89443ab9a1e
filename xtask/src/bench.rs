//! `cargo xtask bench`: builds the benchmark as it is shipped, and runs it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::metadata::cargo;

/// Runs the benchmark with these arguments, in the folder of the caller.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    let mut command = Command::new(cargo());
    command.args(["run", "--release", "--locked", "--package", "bowline-bench"]);
    command.arg("--manifest-path").arg(root.join("Cargo.toml")).arg("--").args(args);
    let status = command.status().context("cannot start cargo")?;
    if !status.success() {
        bail!("the benchmark ended with {status}");
    }
    Ok(())
}
