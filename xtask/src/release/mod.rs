//! `cargo xtask release`: every step of a release that can be done on a developer's machine.
//!
//! With `--dry-run` it runs all steps, changes no file of the tree and tells what each did. Without, it
//! does the same and, only if every step passed, folds `changes/` into `CHANGELOG.md`. What never happens
//! here: a commit, a tag, a push or a publication; the page `docs/release.md` says who does those.

#![expect(clippy::print_stdout, reason = "this is what the person at the terminal reads")]

mod archive;
pub mod notes;
mod packages;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::metadata::{self, Metadata, Reach};
use notes::{Note, fold};

/// Shown on a wrong word.
const USAGE: &str = "usage: cargo xtask release [--dry-run]";

/// How a step went.
enum Step {
    /// It holds; what was done.
    Done(String),
    /// It holds as far as it can be tried here; what was found.
    Noted(String),
}

type Outcome = Result<Step>;

/// Runs the steps.
pub fn run(root: &Path, words: &[String]) -> Result<()> {
    let is_dry = match words {
        [] => false,
        [word] if word == "--dry-run" => true,
        _ => bail!("{USAGE}"),
    };
    let known = metadata::ask(root, Reach::Members)?;
    let version = version(&known)?;
    println!("release of Bowline {version}{}", if is_dry { ", tried" } else { "" });
    let mut failed = Vec::new();
    let mut folded = None;
    let mut step = |name: &'static str, outcome: Outcome| match outcome {
        Ok(Step::Done(what)) => println!("  ok    {name:<10} {what}"),
        Ok(Step::Noted(what)) => println!("  note  {name:<10} {what}"),
        Err(error) => {
            println!("  FAIL  {name:<10} {error:#}");
            failed.push(name);
        }
    };
    step("tree", tree(root));
    step("version", versions(root, &known, &version));
    step("schemas", schemas(root, &version));
    step("fixtures", fixtures(root, &version));
    step(
        "notes",
        changelog(root, &version).map(|(text, count)| {
            folded = Some(text);
            Step::Done(format!("{count} notes of changes/ are read and folded"))
        }),
    );
    step("packages", packages::list(root, &known));
    step("archive", archive::make(root, &version));
    if let (Some(text), true) = (&folded, is_dry) {
        println!("\nCHANGELOG.md would begin:\n");
        notes::section(text, &version).lines().for_each(|line| println!("  {line}"));
    }
    if !failed.is_empty() {
        bail!("not ready: {}; each line above says what to do. Nothing was written", failed.join(", "));
    }
    if is_dry {
        println!("\nready; `cargo xtask release` writes CHANGELOG.md and removes the notes");
        return Ok(());
    }
    write(root, folded.context("there is no text to write")?)?;
    println!("\nwrote CHANGELOG.md and removed the notes. What is left is yours, in this order:");
    println!("  read `git diff`, then: git commit -am 'release: {version}'");
    println!("  git tag -s v{version} && git push --follow-tags");
    println!("  attach the archive and its SHA256SUMS from target/ to the release");
    Ok(())
}

fn write(root: &Path, text: String) -> Result<()> {
    fs::write(root.join("CHANGELOG.md"), text).context("cannot write CHANGELOG.md")?;
    for (path, _) in notes::files(root)? {
        fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    Ok(())
}

/// The one version of all members.
fn version(known: &Metadata) -> Result<String> {
    let first = known.packages.first().context("the workspace has no packages")?;
    Ok(first.version.clone())
}

fn tree(root: &Path) -> Outcome {
    let output = Command::new("git")
        .current_dir(root)
        .args(["status", "--porcelain", "--untracked-files=normal"])
        .output()
        .context("cannot start git")?;
    if !output.status.success() {
        bail!("git cannot tell how the tree is; run this in a clone");
    }
    let changed = String::from_utf8_lossy(&output.stdout).lines().count();
    if changed > 0 {
        bail!("{changed} files are not committed; commit them or put them away");
    }
    Ok(Step::Done("nothing is uncommitted".into()))
}

fn versions(root: &Path, known: &Metadata, version: &str) -> Outcome {
    let other = known.packages.iter().find(|package| package.version != version);
    if let Some(other) = other {
        bail!("{} is {}, others are {version}; write `version.workspace = true`", other.name, other.version);
    }
    let text = fs::read_to_string(root.join("CHANGELOG.md")).context("cannot read CHANGELOG.md")?;
    if text.contains(&format!("## [{version}]")) {
        bail!("CHANGELOG.md has {version} already; raise `version` in Cargo.toml");
    }
    let lock = fs::read_to_string(root.join("Cargo.lock")).context("cannot read Cargo.lock")?;
    for package in &known.packages {
        if !lock.contains(&format!("name = \"{}\"\nversion = \"{version}\"", package.name)) {
            bail!("Cargo.lock has another version of {}; run `cargo check`", package.name);
        }
    }
    Ok(Step::Done(format!("{} packages and Cargo.lock say {version}", known.packages.len())))
}

fn schemas(root: &Path, version: &str) -> Outcome {
    crate::schemas::run(root, &["--check".into()])?;
    let folder = root.join("schemas/recorded").join(version);
    if !folder.is_dir() {
        bail!(
            "schemas/recorded/{version} is missing; run `cargo xtask schemas --record {version}` and commit it"
        );
    }
    let same = fs::read_to_string(folder.join("SHA256SUMS")).context("the recorded set has no sums")?;
    let differing = same.lines().filter_map(|line| line.split_once("  ")).filter(|(_, name)| {
        let now = fs::read(root.join("schemas").join(name)).ok();
        now.is_none() || now != fs::read(folder.join(name)).ok()
    });
    let differing: Vec<&str> = differing.map(|(_, name)| name).collect();
    if let Some(first) = differing.first() {
        bail!(
            "schemas/{first} is not as recorded for {version}. If {version} is not out yet, remove \
             schemas/recorded/{version} and record it anew; if it is, raise the version"
        );
    }
    Ok(Step::Done(format!("what is published is what is recorded for {version}")))
}

/// Stores, journals and homes as this release writes them, for the releases after it.
fn fixtures(root: &Path, version: &str) -> Outcome {
    if !root.join("fixtures/past").is_dir() {
        bail!("fixtures/past is missing: no release can be tested against what {version} leaves behind");
    }
    if !root.join("fixtures/past").join(version).exists() {
        bail!("fixtures/past/{version} is missing; make it with this release and commit it");
    }
    Ok(Step::Done(format!("fixtures/past/{version} is there")))
}

/// The changelog with the notes in it, and how many there are.
fn changelog(root: &Path, version: &str) -> Result<(String, usize)> {
    let mut notes = Vec::new();
    let mut wrong = Vec::new();
    for (path, text) in notes::files(root)? {
        match Note::read(&text) {
            Ok(note) => notes.push(note),
            Err(bad) => wrong.push(format!("{}: {bad}", path.file_name().unwrap_or_default().display())),
        }
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("; "));
    }
    let text = fs::read_to_string(root.join("CHANGELOG.md")).context("cannot read CHANGELOG.md")?;
    Ok((fold(&text, &notes, version, &date(root)?)?, notes.len()))
}

/// The day of the last commit: the same for everybody who builds it.
fn date(root: &Path) -> Result<String> {
    let mut command = Command::new("git");
    command.current_dir(root).args(["log", "-1", "--format=%cs"]);
    let output = command.output().context("cannot start git")?;
    let date = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if date.is_empty() {
        bail!("git knows no commit here");
    }
    Ok(date)
}
