//! `cargo xtask sim`: builds the simulator and lets it run seeds, or shows that
//! its checks notice every seeded bug.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::metadata::cargo;

/// Seeds in CI. The long gate asks for more: `cargo xtask sim --seeds 100000`.
const CI_SEEDS: &str = "2000";

/// As CI does it: first that the checks bite, then the seeds.
pub fn ci(root: &Path) -> Result<()> {
    run(root, &["--bugs".into()])?;
    run(root, &["--seeds".into(), CI_SEEDS.into()])
}

/// With the words of the command line, which are the simulator's own.
pub fn run(root: &Path, words: &[String]) -> Result<()> {
    let mut command = Command::new(cargo());
    command.current_dir(root);
    command.args(["run", "--quiet", "--release", "--locked", "-p", "bowline-sim", "--", "sim"]).args(words);
    let status = command.status().context("cannot start cargo")?;
    if !status.success() {
        bail!("the simulator ended with {status}");
    }
    Ok(())
}
