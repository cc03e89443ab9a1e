//! The copy of the clone that is broken. It lies beside the build, so that the
//! clone stays clean, and is written only where it differs, so that cargo builds
//! only what changed.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

const SKIPPED: [&str; 3] = ["target", "node_modules", "__pycache__"];

/// The copy.
#[derive(Debug)]
pub(super) struct Scratch {
    /// Where the clone's root is copied to.
    pub(super) root: PathBuf,
    /// What it is built into.
    pub(super) target: PathBuf,
    /// Where outcomes are kept.
    pub(super) kept: PathBuf,
    /// A number of all code: with another one, what was not noticed is tried again.
    pub(super) code: u64,
    /// A number of each file of code, by its path.
    pub(super) texts: BTreeMap<String, u64>,
    /// A number of all tests: with others, more may be noticed.
    pub(super) tests: u64,
    pub(super) clone: PathBuf,
}

/// What is copied, and where to.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) clone: PathBuf,
    pub(super) folder: PathBuf,
}

impl Places {
    /// A clone, and a folder beside the build we were built in.
    pub(super) fn of(root: &Path) -> Result<Self> {
        let us = std::env::current_exe().context("xtask cannot find itself")?;
        let target = us.parent().and_then(Path::parent).context("xtask lies in no target folder")?;
        Ok(Self { clone: root.to_path_buf(), folder: target.join("mutants") })
    }
}

impl Scratch {
    /// Copies the clone, except for these files, which are about to be written.
    pub(super) fn copy(places: &Places, except: &BTreeSet<&str>) -> Result<Self> {
        let Places { clone, folder } = places;
        let root = folder.join("clone");
        let (mut code, mut tests) = (DefaultHasher::new(), DefaultHasher::new());
        let (mut wanted, mut texts) = (BTreeSet::new(), BTreeMap::new());
        for path in files(clone)? {
            let from = clone.join(&path);
            let bytes = std::fs::read(&from).with_context(|| format!("cannot read {path}"))?;
            if is_compiled(&path) && is_test(&path) {
                (&path, &bytes).hash(&mut tests);
            } else if is_compiled(&path) {
                let number = number(&bytes);
                (&path, number).hash(&mut code);
                texts.insert(path.clone(), number);
            }
            if !except.contains(path.as_str()) {
                let to = root.join(&path);
                if write_if_other(&to, &bytes)? {
                    let mode = std::fs::metadata(&from).with_context(|| format!("cannot look at {path}"))?;
                    std::fs::set_permissions(&to, mode.permissions())
                        .with_context(|| format!("cannot set the mode of {}", to.display()))?;
                }
            }
            wanted.insert(path);
        }
        for path in files(&root)?.difference(&wanted) {
            std::fs::remove_file(root.join(path)).with_context(|| format!("cannot remove {path}"))?;
        }
        Ok(Self {
            root,
            target: folder.join("build"),
            kept: folder.clone(),
            code: code.finish(),
            texts,
            tests: tests.finish(),
            clone: clone.clone(),
        })
    }

    /// The text of a file of the clone.
    pub(super) fn original(&self, path: &str) -> Result<String> {
        std::fs::read_to_string(self.clone.join(path)).with_context(|| format!("cannot read {path}"))
    }

    /// Another text for a file.
    pub(super) fn write(&self, path: &str, text: &str) -> Result<()> {
        write_if_other(&self.root.join(path), text.as_bytes()).map(drop)
    }
}

fn number(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

/// What a tested crate is made of; what judges it is not.
fn is_compiled(path: &str) -> bool {
    if path.starts_with("xtask/") || path.starts_with("fuzz/") {
        return false;
    }
    path.ends_with(".rs") || path.ends_with(".toml") || path.ends_with(".lock")
}

/// All files below a folder that are no build output, below it.
fn files(root: &Path) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let mut folders = vec![String::new()];
    if !root.exists() {
        return Ok(found);
    }
    while let Some(folder) = folders.pop() {
        let here = root.join(&folder);
        for entry in std::fs::read_dir(&here).with_context(|| format!("cannot list {}", here.display()))? {
            let entry = entry.with_context(|| format!("cannot list {}", here.display()))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            let kind = entry.file_type().with_context(|| format!("cannot look at {path}"))?;
            if kind.is_dir() && name != ".git" && !SKIPPED.contains(&name.as_str()) {
                folders.push(path);
            } else if kind.is_file() && name != ".git" {
                found.insert(path);
            }
        }
    }
    Ok(found)
}

fn write_if_other(path: &Path, bytes: &[u8]) -> Result<bool> {
    if std::fs::read(path).is_ok_and(|now| now == bytes) {
        return Ok(false);
    }
    let folder = path.parent().context("a file lies in a folder")?;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(true)
}
