//! The sets of schemas that were recorded with releases, and whether today's only add to the last one.
//!
//! A recorded set is never changed; its sums are beside it. A contract may break with an older one only
//! if its version grew and, where we read it, the old version is still read.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bowline_core::provenance::Digest;
use serde_json::Value;

use crate::compare::{Direction, compare};
use crate::published::{found, label};

/// Where recorded sets lie, below `schemas/`.
pub const FOLDER: &str = "recorded";
/// The sums of a set.
const SUMS: &str = "SHA256SUMS";

/// What is wrong between two sets, in words; nothing if the newer one only adds.
#[must_use]
pub fn broken(old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, was) in old {
        match new.get(name) {
            None => wrong.push(format!("{name} is gone: whoever relies on it finds nothing")),
            Some(is) => match judged(was, is) {
                Ok(found) => wrong.extend(found.into_iter().map(|what| format!("{name}: {what}"))),
                Err(bad) => wrong.push(format!("{name}: {bad:#}")),
            },
        }
    }
    wrong
}

fn judged(was: &str, is: &str) -> Result<Vec<String>> {
    let (was, is): (Value, Value) = (
        serde_json::from_str(was).context("the recorded file is no JSON")?,
        serde_json::from_str(is).context("the file is no JSON")?,
    );
    let (old, new) = (label(&was).context("the recorded file")?, label(&is)?);
    let mut wrong = Vec::new();
    if new.direction != old.direction {
        wrong.push("who writes it and who reads it is another now".to_owned());
    }
    if new.version < old.version {
        wrong.push(format!("its version went back from {} to {}", old.version, new.version));
    }
    let is_read = new.reads_from <= old.reads_from.min(old.version);
    if new.direction != Direction::Written && !is_read {
        wrong.push(format!(
            "version {} is not read any more: it needs an upcast, and reads_from must be {} at most",
            old.version, old.reads_from
        ));
    }
    if new.version > old.version {
        return Ok(wrong);
    }
    wrong.extend(compare(&was, &is, old.direction).into_iter().map(|found| found.to_string()));
    Ok(wrong)
}

/// The last recorded set: its release, and its folder.
pub fn last(schemas: &Path) -> Result<Option<(String, PathBuf)>> {
    let folder = schemas.join(FOLDER);
    let mut sets = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if !path.is_dir() {
            continue;
        }
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let release = release(&name).with_context(|| format!("{name:?} in {FOLDER} is no release"))?;
        sets.push((release, name, path));
    }
    sets.sort();
    Ok(sets.pop().map(|(_, name, path)| (name, path)))
}

fn release(name: &str) -> Option<Vec<u64>> {
    let numbers: Option<Vec<u64>> = name.split('.').map(|part| part.parse().ok()).collect();
    numbers.filter(|numbers| numbers.len() == 3)
}

/// Whether every recorded set is what its sums say, and today's set only adds to the last one.
pub fn check(schemas: &Path) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for entry in fs::read_dir(schemas.join(FOLDER)).context("there are no recorded schemas")? {
        let path = entry?.path();
        if path.is_dir() {
            let told = fs::read_to_string(path.join(SUMS)).unwrap_or_default();
            if told != sums(&found(&path)?) {
                wrong.push(format!(
                    "{} is not what its {SUMS} says; a recorded set never changes",
                    path.display()
                ));
            }
        }
    }
    match last(schemas)? {
        None => wrong.push("no set of schemas was ever recorded".into()),
        Some((release, folder)) => {
            let told = broken(&found(&folder)?, &found(schemas)?);
            wrong.extend(told.into_iter().map(|what| format!("against {release}: {what}")));
        }
    }
    Ok(wrong)
}

/// Keeps today's set as that of a release; there must be none yet.
pub fn record(schemas: &Path, name: &str) -> Result<PathBuf> {
    release(name).with_context(|| format!("{name:?} is no release, as in 0.2.0"))?;
    let folder = schemas.join(FOLDER).join(name);
    if folder.exists() {
        bail!("{} is recorded already, and a recorded set never changes", folder.display());
    }
    let files = found(schemas)?;
    for (file, text) in &files {
        let path = folder.join(file);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        }
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    fs::write(folder.join(SUMS), sums(&files)).context("cannot write the sums")?;
    Ok(folder)
}

/// As `sha256sum` writes them.
fn sums(files: &BTreeMap<String, String>) -> String {
    files.iter().map(|(name, text)| format!("{}  {name}\n", Digest::of(text.as_bytes()))).collect()
}
