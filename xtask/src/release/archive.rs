//! The program as people download it: one archive with a sum beside it.
//!
//! Made twice from the same program it is the same, byte by byte: names are sorted, times and owners are
//! left out.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{Outcome, Step};
use crate::metadata::cargo;

/// What goes along with the program.
const PAGES: [&str; 5] = ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "CHANGELOG.md", "SECURITY.md"];

/// Builds the program for release and packs it.
pub(super) fn make(root: &Path, version: &str) -> Outcome {
    let mut command = Command::new(cargo());
    command.current_dir(root).args(["build", "--release", "--locked", "--quiet", "-p", "bowline-cli"]);
    let status = command.status().context("cannot start cargo")?;
    if !status.success() {
        bail!("the release build ended with {status}; mend what it says");
    }
    let us = std::env::current_exe().context("xtask cannot find itself")?;
    let target = us.parent().and_then(Path::parent).context("xtask lies in no target folder")?;
    let program = target.join("release/bowline");
    says(&program, version)?;
    let name = format!("bowline-{version}-{}", machine()?);
    let archive = pack(root, &program, &target.join("dist"), &name)?;
    let bytes = fs::metadata(&archive).context("the archive is gone")?.len();
    Ok(Step::Done(format!("{} ({bytes} bytes), sum beside it", archive.display())))
}

/// The program is the one that is released.
pub(super) fn says(program: &Path, version: &str) -> Result<()> {
    let output = Command::new(program).arg("--version").output().context("the program does not start")?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if said != format!("bowline {version}") {
        bail!("the program says it is {said:?}; build it from a tree of version {version}");
    }
    Ok(())
}

/// What the compiler calls this kind of machine.
fn machine() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("cannot start rustc")?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc does not say what machine this is")
}

/// Packs the program with the pages, and writes the sum beside it.
pub(super) fn pack(root: &Path, program: &Path, folder: &Path, name: &str) -> Result<PathBuf> {
    let inside = folder.join(name);
    if inside.exists() {
        fs::remove_dir_all(&inside).context("cannot clear what was packed before")?;
    }
    fs::create_dir_all(&inside).with_context(|| format!("cannot make {}", inside.display()))?;
    fs::copy(program, inside.join("bowline")).context("cannot copy the program")?;
    for page in PAGES {
        fs::copy(root.join(page), inside.join(page)).with_context(|| format!("{page} is missing"))?;
    }
    let archive = format!("{name}.tar.gz");
    let mut tar = Command::new("tar");
    tar.current_dir(folder).args(["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.args(["--mode=u+rw,go=rX", "--use-compress-program=gzip -n", "-cf", &archive, name]);
    done(tar, "tar")?;
    let mut sum = Command::new("sha256sum");
    sum.current_dir(folder).arg(&archive);
    let sums = done(sum, "sha256sum")?;
    fs::write(folder.join("SHA256SUMS"), sums).context("cannot write the sums")?;
    Ok(folder.join(archive))
}

fn done(mut command: Command, what: &str) -> Result<Vec<u8>> {
    let output = command.output().with_context(|| format!("cannot start {what}; install it"))?;
    if !output.status.success() {
        bail!("{what}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output.stdout)
}
