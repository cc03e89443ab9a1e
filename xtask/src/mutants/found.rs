//! Which changes there are: `cargo mutants` says, for the files of a package.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::metadata::{self, Reach, cargo};

/// A package with files that are to be broken.
#[derive(Debug)]
pub(super) struct Package {
    pub(super) name: String,
    /// The files that begin its library and its programs, below the root.
    pub(super) roots: Vec<String>,
    /// Files and folders below the root that are to be broken.
    pub(super) places: Vec<String>,
}

/// The packages these files and folders belong to.
pub(super) fn packages(root: &Path, places: &[String]) -> Result<Vec<Package>> {
    let mut found: BTreeMap<String, Package> = BTreeMap::new();
    let members = metadata::ask(root, Reach::Members)?.packages;
    let below = |path: &str| Some(Path::new(path).strip_prefix(root).ok()?.to_string_lossy().into_owned());
    for place in places {
        if !root.join(place).exists() {
            bail!("there is no {place:?}; name files and folders as they lie below the root of the clone");
        }
        let owner = members.iter().find_map(|member| {
            let folder = below(member.manifest_path.strip_suffix("/Cargo.toml")?)?;
            Path::new(place).starts_with(folder).then_some(member)
        });
        let Some(member) = owner else { bail!("{place:?} belongs to no package") };
        let package = found.entry(member.name.clone()).or_insert_with(|| Package {
            name: member.name.clone(),
            roots: member
                .targets
                .iter()
                .filter(|target| target.is_shipped())
                .filter_map(|t| below(&t.src_path))
                .collect(),
            places: Vec::new(),
        });
        package.places.push(place.clone());
    }
    Ok(found.into_values().collect())
}

/// One change, as `cargo mutants` says it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Mutant {
    /// The file below the root.
    pub(super) file: String,
    /// `file:line:column: what`.
    pub(super) name: String,
    /// What stands there instead.
    pub(super) replacement: String,
    /// What it stands instead of.
    pub(super) span: Span,
}

/// A piece of a text.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Span {
    pub(super) start: Place,
    pub(super) end: Place,
}

/// A place in a text, both from 1, columns in characters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Place {
    /// Where that is in bytes.
    pub(super) fn offset(self, text: &str) -> Option<usize> {
        let mut start = 0;
        for _ in 1..self.line {
            start += text.get(start..)?.find('\n')? + 1;
        }
        let line = text.get(start..)?;
        let columns = line.char_indices().map(|(at, _)| at).chain([line.len()]);
        columns.into_iter().nth(self.column.checked_sub(1)?).map(|at| start + at)
    }
}

impl Mutant {
    /// What is changed, without the place: moving code changes nothing.
    pub(super) fn what(&self) -> &str {
        self.name.split_once(": ").map_or(self.name.as_str(), |(_, what)| what)
    }
}

/// All changes to the files of a package.
pub(super) fn ask(root: &Path, package: &Package) -> Result<Vec<Mutant>> {
    let mut command = Command::new(cargo());
    command.current_dir(root).args([
        "mutants",
        "--list",
        "--json",
        "--no-config",
        "--package",
        &package.name,
    ]);
    for place in &package.places {
        let pattern = if root.join(place).is_dir() { format!("{place}/**") } else { place.clone() };
        command.args(["--file", &pattern]);
    }
    let done = command.output().context("cannot start cargo")?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
        bail!("cargo mutants: {said}; if it is missing, run `cargo install cargo-mutants --locked`");
    }
    let mutants: Vec<Mutant> =
        serde_json::from_slice(&done.stdout).context("cannot read what cargo mutants says")?;
    if mutants.is_empty() {
        bail!("cargo mutants finds nothing to change in {}", package.places.join(", "));
    }
    Ok(mutants)
}
