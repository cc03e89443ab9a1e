//! `cargo xtask control`: builds the study of the controller of repair and lets it
//! write its page.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::metadata::cargo;

/// With the words of the command line, which are the study's own.
pub fn run(root: &Path, words: &[String]) -> Result<()> {
    let mut command = Command::new(cargo());
    command.current_dir(root);
    command.args(["run", "--quiet", "--release", "--locked", "-p", "bowline-core", "--example", "control"]);
    let status = command.arg("--").args(words).status().context("cannot start cargo")?;
    if !status.success() {
        bail!("the study of the controller ended with {status}");
    }
    Ok(())
}
