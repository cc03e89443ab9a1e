//! `cargo xtask schemas`: builds the program that knows the types, and lets it write, check or record the
//! files of `schemas/`. A test of that program checks them in the gate.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::metadata::cargo;

/// With nothing, `--check` or `--record RELEASE`.
pub fn run(root: &Path, words: &[String]) -> Result<()> {
    let mut command = Command::new(cargo());
    command.current_dir(root).args(["run", "--quiet", "--locked", "-p", "bowline-schemas", "--", "schemas"]);
    let status = command.args(words).status().context("cannot start cargo")?;
    if !status.success() {
        bail!("the schemas are not as they should be; each line above says what to do");
    }
    Ok(())
}
