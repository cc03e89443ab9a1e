//! `cargo xtask prove`: builds the model checker and lets it explore the run
//! machine, or shows that it notices every planted bug.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::harness;

/// As CI does it: first that the promises bite, then the small bounds. The long gate
/// asks for more: `cargo xtask prove --bounds full`.
pub fn ci(root: &Path) -> Result<()> {
    run(root, &["--bugs".into()])?;
    run(root, &["--bounds".into(), "small".into()])
}

/// With the words of the command line, which are the checker's own.
pub fn run(root: &Path, words: &[String]) -> Result<()> {
    let mut command = Command::new(harness::build(root)?.join("bowline-proof"));
    command.current_dir(root).args(words);
    harness::run(command, "the model checker")
}
