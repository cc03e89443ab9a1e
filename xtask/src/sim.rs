//! `cargo xtask sim`: builds the simulator and lets it run seeds, or shows that
//! its checks notice every seeded bug.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::harness;

/// Seeds in CI. The long gate asks for more: `cargo xtask sim --seeds 100000`.
const CI_SEEDS: &str = "2000";

/// As CI does it: first that the checks bite, then the seeds.
pub fn ci(root: &Path) -> Result<()> {
    run(root, &["--bugs".into()])?;
    run(root, &["--seeds".into(), CI_SEEDS.into()])
}

/// With the words of the command line, which are the simulator's own.
pub fn run(root: &Path, words: &[String]) -> Result<()> {
    let mut command = Command::new(harness::build(root)?.join("bowline-sim"));
    command.current_dir(root).arg("sim").args(words);
    harness::run(command, "the simulator")
}
