//! `cargo xtask prove`: builds the model checker and lets it explore the run
//! machine, or shows that it notices every planted bug.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::metadata::cargo;

/// As CI does it: first that the promises bite, then the small bounds. The long gate
/// asks for more: `cargo xtask prove --bounds full`.
pub fn ci(root: &Path) -> Result<()> {
    run(root, &["--bugs".into()])?;
    run(root, &["--bounds".into(), "small".into()])
}

/// With the words of the command line, which are the checker's own.
pub fn run(root: &Path, words: &[String]) -> Result<()> {
    let mut command = Command::new(cargo());
    command.current_dir(root);
    command.args(["run", "--quiet", "--release", "--locked", "-p", "bowline-proof", "--"]).args(words);
    let status = command.status().context("cannot start cargo")?;
    if !status.success() {
        bail!("the model checker ended with {status}");
    }
    Ok(())
}
