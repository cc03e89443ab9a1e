//! Files and functions stay small. What is over the limit stands in the
//! ratchet (`xtask/ratchet.toml`) with its size, and may only shrink.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::RustFile;
use crate::offence::Offence;
use crate::source;
use crate::tree::File;

const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;
const RATCHET: &str = "xtask/ratchet.toml";

/// Known offenders and the size each is held to.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ratchet {
    /// By path.
    #[serde(default)]
    files: BTreeMap<String, usize>,
    /// By `path::name`.
    #[serde(default)]
    functions: BTreeMap<String, usize>,
}

impl Ratchet {
    /// The clone's ratchet; an empty one if there is none.
    pub(super) fn find(files: &[File]) -> Result<Self> {
        let Some(file) = files.iter().find(|file| file.path == RATCHET) else { return Ok(Self::default()) };
        toml::from_str(&file.text).with_context(|| format!("cannot read {RATCHET}"))
    }
}

/// A place and how big it is.
struct Sized {
    /// Its name in the ratchet.
    key: String,
    path: String,
    line: usize,
    lines: usize,
}

/// Compares files and functions with their limits and the ratchet.
pub(super) fn check(files: &[RustFile<'_>], ratchet: &Ratchet) -> Vec<Offence> {
    let file_sizes = files.iter().map(|rust| {
        let lines = rust.file.text.lines().count();
        Sized { key: rust.file.path.clone(), path: rust.file.path.clone(), line: 1, lines }
    });
    let function_sizes = files.iter().flat_map(|rust| {
        let path = &rust.file.path;
        source::functions(&rust.source).into_iter().map(move |found| Sized {
            key: format!("{path}::{}", found.name),
            path: path.clone(),
            line: found.line,
            lines: found.lines,
        })
    });
    let mut offences = compare(file_sizes, FILE_LINES_MAX, &ratchet.files);
    offences.extend(compare(function_sizes, FUNCTION_LINES_MAX, &ratchet.functions));
    offences
}

fn compare(sizes: impl Iterator<Item = Sized>, max: usize, held: &BTreeMap<String, usize>) -> Vec<Offence> {
    // Two functions of one name in one file share an entry; the larger counts.
    let mut largest: BTreeMap<String, Sized> = BTreeMap::new();
    for sized in sizes {
        let known = largest.get(&sized.key).map_or(0, |known| known.lines);
        if sized.lines >= known {
            largest.insert(sized.key.clone(), sized);
        }
    }
    let listed = held.iter().filter_map(|(key, &lines)| stale(key, lines, largest.get(key), max));
    let grown = largest.values().filter_map(|sized| too_big(sized, max, held.get(&sized.key).copied()));
    listed.chain(grown).collect()
}

/// An entry of the ratchet that no longer tells the truth.
fn stale(key: &str, listed: usize, found: Option<&Sized>, max: usize) -> Option<Offence> {
    let message = match found {
        None => format!("`{key}` is gone: take it off the list"),
        Some(sized) if sized.lines <= max => {
            format!("`{key}` is within {max} lines now: take it off the list")
        }
        Some(sized) if sized.lines < listed => {
            format!("`{key}` shrank to {} lines: write {} instead of {listed}", sized.lines, sized.lines)
        }
        Some(_) => return None,
    };
    Some(Offence::new("ratchet", RATCHET, message))
}

fn too_big(sized: &Sized, max: usize, listed: Option<usize>) -> Option<Offence> {
    let allowed = listed.unwrap_or(max).max(max);
    if sized.lines <= allowed {
        return None;
    }
    let (key, lines) = (&sized.key, sized.lines);
    let message = match listed {
        None => format!("`{key}` has {lines} lines, {max} at most: split it, or list it in {RATCHET}"),
        Some(listed) => {
            format!("`{key}` grew from {listed} to {lines} lines: a listed offender only shrinks")
        }
    };
    Some(Offence::new("size", &sized.path, message).at(sized.line))
}
