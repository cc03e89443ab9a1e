//! Clippy reads the nearest `clippy.toml` only and merges nothing, so a crate
//! with its own must repeat the root's: a line left out is a ban lifted.

use anyhow::{Context, Result};
use toml::{Table, Value};

use crate::offence::Offence;
use crate::tree::File;

/// Compares every nested `clippy.toml` with the root's.
pub(super) fn check(files: &[File]) -> Result<Vec<Offence>> {
    let parse = |file: &File| {
        toml::from_str::<Table>(&file.text).with_context(|| format!("cannot read {}", file.path))
    };
    let Some(root) = files.iter().find(|file| file.path == "clippy.toml") else { return Ok(Vec::new()) };
    let root = parse(root)?;
    let mut offences = Vec::new();
    for nested in files.iter().filter(|file| file.path.ends_with("/clippy.toml")) {
        let table = parse(nested)?;
        for line in root.iter().flat_map(|(key, value)| missing(key, value, table.get(key))) {
            let message = format!("repeat the root's {line}: clippy does not merge the two files");
            offences.push(Offence::new("clippy", &nested.path, message));
        }
    }
    Ok(offences)
}

/// What of a setting is not repeated: list entries one by one, others whole.
fn missing(key: &str, wanted: &Value, found: Option<&Value>) -> Vec<String> {
    match (wanted, found) {
        (Value::Array(wanted), found) => {
            let found = found.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let absent = wanted.iter().filter(|entry| !found.contains(entry));
            absent.map(|entry| format!("`{key}` entry {}", entry_name(entry))).collect()
        }
        (wanted, Some(found)) if wanted == found => Vec::new(),
        (wanted, _) => vec![format!("`{key} = {wanted}`")],
    }
}

fn entry_name(entry: &Value) -> String {
    match entry.get("path").and_then(Value::as_str) {
        Some(path) => format!("`{path}` (with its reason)"),
        None => format!("`{entry}`"),
    }
}
