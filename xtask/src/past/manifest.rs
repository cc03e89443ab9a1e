//! The hash of every file of a set, so that none is changed, added or lost unnoticed.
//!
//! Written once, by whoever records the set. Nothing here repairs a set: what is not as it was
//! recorded comes back from the history of the repository.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Its name in a set.
const NAME: &str = "manifest.json";

/// Every file of a set, and what recorded it.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    /// What the program said its version is.
    program: String,
    /// SHA-256 of each file, by its path in the set.
    files: BTreeMap<String, String>,
}

/// Writes the manifest of a set that is complete.
pub(super) fn write(set: &Path, program: &str) -> Result<()> {
    let manifest = Manifest { program: program.to_owned(), files: hashes(set)? };
    let text = serde_json::to_string_pretty(&manifest)?;
    fs::write(set.join(NAME), format!("{text}\n")).context("cannot write the manifest")
}

/// What in a set is not as it was recorded: a line for each file.
pub fn check(set: &Path) -> Result<Vec<String>> {
    let path = set.join(NAME);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let manifest: Manifest = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
    let found = hashes(set)?;
    let mut wrong = Vec::new();
    for (name, hash) in &manifest.files {
        match found.get(name) {
            None => wrong.push(format!("{name} is missing: what was recorded is never removed")),
            Some(now) if now != hash => {
                wrong.push(format!("{name} was changed: what was recorded is never changed"));
            }
            Some(_) => {}
        }
    }
    let added = found.keys().filter(|name| !manifest.files.contains_key(*name));
    wrong.extend(added.map(|name| format!("{name} was added: record another set instead")));
    Ok(wrong)
}

/// The hash of every file below a folder, but for the manifest.
pub(super) fn hashes(folder: &Path) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    walk(folder, "", &mut files)?;
    files.remove(NAME);
    Ok(files)
}

/// The hash of a text.
pub(super) fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn walk(folder: &Path, prefix: &str, files: &mut BTreeMap<String, String>) -> Result<()> {
    let listed = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in listed {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            walk(&entry.path(), &format!("{name}/"), files)?;
        } else if kind.is_symlink() {
            files.insert(name, format!("link to {}", fs::read_link(entry.path())?.display()));
        } else if kind.is_file() {
            let bytes = fs::read(entry.path()).with_context(|| format!("cannot read {name}"))?;
            files.insert(name, hash(&bytes));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set() -> tempfile::TempDir {
        let set = tempfile::tempdir().unwrap();
        fs::create_dir(set.path().join("homes")).unwrap();
        fs::write(set.path().join("homes/a.tar.gz"), "a").unwrap();
        fs::write(set.path().join("homes/b.tar.gz"), "b").unwrap();
        write(set.path(), "bowline 0.1.0").unwrap();
        set
    }

    #[test]
    fn a_set_as_it_was_recorded_has_nothing_wrong() {
        assert_eq!(check(set().path()).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn what_was_changed_added_or_lost_is_named() {
        let told = |change: fn(&Path)| {
            let set = set();
            change(set.path());
            check(set.path()).unwrap()
        };
        let changed = told(|set| fs::write(set.join("homes/a.tar.gz"), "other").unwrap());
        assert_eq!(changed, ["homes/a.tar.gz was changed: what was recorded is never changed"]);
        let added = told(|set| fs::write(set.join("homes/c.tar.gz"), "c").unwrap());
        assert_eq!(added, ["homes/c.tar.gz was added: record another set instead"]);
        let lost = told(|set| fs::remove_file(set.join("homes/b.tar.gz")).unwrap());
        assert_eq!(lost, ["homes/b.tar.gz is missing: what was recorded is never removed"]);
        let moved = told(|set| fs::rename(set.join("homes/a.tar.gz"), set.join("homes/d")).unwrap());
        assert_eq!(moved.len(), 2);
    }

    #[test]
    fn a_set_without_its_manifest_is_an_error() {
        let set = set();
        fs::remove_file(set.path().join(NAME)).unwrap();
        assert!(check(set.path()).unwrap_err().to_string().contains("manifest.json"));
    }
}
