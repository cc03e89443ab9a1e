//! The files of `schemas/`: which there are, and what the types say they hold.
//!
//! Each file says under [`WORD`] which contract it is, its version, who writes the values, and from which
//! version on this build reads them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use bowline_cli::output::{self, OUTPUT};
use bowline_core::event::{CONTRACT, Change, Event};
use bowline_core::journal::FORMAT;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use crate::compare::Direction;

/// Where a schema says what contract it is.
pub const WORD: &str = "x-bowline";
/// How a schema is called.
const ENDING: &str = ".schema.json";

/// What a file says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The version of what it describes.
    pub version: u64,
    /// The oldest version that is still read.
    pub reads_from: u64,
    /// Who writes the values.
    pub direction: Direction,
}

/// The label of a schema, or what is wrong with it.
pub fn label(schema: &Value) -> Result<Label> {
    let word = schema.get(WORD).with_context(|| format!("there is no {WORD:?}"))?;
    let number = |key: &str| {
        word.get(key).and_then(Value::as_u64).with_context(|| format!("{WORD}.{key} is no whole number"))
    };
    let direction = match word.get("direction").and_then(Value::as_str) {
        Some("written") => Direction::Written,
        Some("stored") => Direction::Stored,
        Some("read") => Direction::Read,
        other => bail!("{WORD}.direction is {other:?}, not written, stored or read"),
    };
    Ok(Label { version: number("version")?, reads_from: number("reads_from")?, direction })
}

/// Every file that is made from types, by its path below `schemas/`.
pub fn made() -> Result<BTreeMap<String, String>> {
    let journal = json!({ "version": FORMAT, "reads_from": 1, "direction": "stored", "phases": CONTRACT });
    let mut files = BTreeMap::new();
    files.insert(
        format!("event{ENDING}"),
        text(
            stored::<Event>(),
            "An event of a journal",
            "The body of a record is a list of these, as canonical JSON. See docs/compatibility.md.",
            journal.clone(),
        )?,
    );
    files.insert(
        format!("change{ENDING}"),
        text(
            stored::<Change>(),
            "A change of a run that works apart",
            "What `changes_found` names is a list of these, stored by its hash.",
            journal,
        )?,
    );
    for lines in output::lines() {
        let word = json!({ "version": OUTPUT, "reads_from": OUTPUT, "direction": "written" });
        let title = format!("A line of `bowline {} --json`", lines.command.replace('-', " "));
        let name = format!("output/{}{ENDING}", lines.command);
        files.insert(name, text(lines.schema, &title, lines.about, word)?);
    }
    Ok(files)
}

/// The schema of what is written of this type.
fn stored<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<T>()
}

fn text(schema: Schema, title: &str, description: &str, mut word: Value) -> Result<String> {
    let mut value = plain(schema.to_value());
    let map = value.as_object_mut().context("a schema of a type is an object")?;
    map.insert("title".into(), title.into());
    map.insert("description".into(), description.into());
    if let Some(word) = word.as_object_mut() {
        word.insert("made_from_types".into(), true.into());
    }
    map.insert(WORD.into(), word);
    Ok(format!("{}\n", serde_json::to_string_pretty(&sorted(value))?))
}

/// Keys in one order, whatever features the JSON reader was built with.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let ordered: BTreeMap<String, Value> = map.into_iter().collect();
            Value::Object(ordered.into_iter().map(|(key, value)| (key, sorted(value))).collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

/// Descriptions without the marks of rustdoc, each on one line.
fn plain(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let told = |(key, value): (String, Value)| match value {
                Value::String(text) if key == "description" => (key, Value::String(prose(&text))),
                other => (key, plain(other)),
            };
            Value::Object(map.into_iter().map(told).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(plain).collect()),
        other => other,
    }
}

fn prose(text: &str) -> String {
    let mut rest = text;
    let mut told = String::with_capacity(text.len());
    while let Some((before, link)) = rest.split_once("[`") {
        told.push_str(before);
        let Some((name, after)) = link.split_once("`]") else {
            told.push_str("[`");
            rest = link;
            continue;
        };
        told.push_str(&format!("`{name}`"));
        rest = match after.strip_prefix('(').and_then(|target| target.split_once(')')) {
            Some((_, after)) => after,
            None => after,
        };
    }
    told.push_str(rest);
    told.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Every schema below a folder, by its path below it; recorded sets are left out.
pub fn found(folder: &Path) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    gather(folder, "", &mut files)?;
    Ok(files)
}

fn gather(folder: &Path, below: &str, files: &mut BTreeMap<String, String>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if path.is_dir() && name != crate::recorded::FOLDER {
            gather(&path, &format!("{below}{name}/"), files)?;
        } else if name.ends_with(ENDING) {
            let text =
                fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            files.insert(format!("{below}{name}"), text);
        }
    }
    Ok(())
}

/// Writes what the types say, and removes what no type says any more.
pub fn write(folder: &Path) -> Result<Vec<String>> {
    let mut told = Vec::new();
    let made = made()?;
    for (name, text) in &made {
        let path = folder.join(name);
        if fs::read_to_string(&path).is_ok_and(|old| old == *text) {
            continue;
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        }
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        told.push(format!("wrote {name}"));
    }
    for name in orphans(&found(folder)?, &made) {
        fs::remove_file(folder.join(&name)).with_context(|| format!("cannot remove {name}"))?;
        told.push(format!("removed {name}: no type says it any more"));
    }
    Ok(told)
}

/// What of the files is not what the types say.
pub fn check(folder: &Path) -> Result<Vec<String>> {
    let (made, found) = (made()?, found(folder)?);
    let mut wrong: Vec<String> = made
        .iter()
        .filter_map(|(name, text)| match found.get(name) {
            None => Some(format!("schemas/{name} is missing")),
            Some(there) if there != text => Some(format!("schemas/{name} is not what the types say")),
            Some(_) => None,
        })
        .collect();
    wrong.extend(orphans(&found, &made).map(|name| format!("schemas/{name} comes from no type any more")));
    for (name, text) in &found {
        let value: Value = serde_json::from_str(text).with_context(|| format!("schemas/{name}"))?;
        if let Err(bad) = label(&value) {
            wrong.push(format!("schemas/{name}: {bad:#}"));
        }
    }
    Ok(wrong)
}

fn orphans<'a>(
    found: &'a BTreeMap<String, String>,
    made: &'a BTreeMap<String, String>,
) -> impl Iterator<Item = String> + 'a {
    let is_made = |text: &str| {
        serde_json::from_str::<Value>(text)
            .is_ok_and(|value| value.pointer(&format!("/{WORD}/made_from_types")) == Some(&Value::Bool(true)))
    };
    found
        .iter()
        .filter(move |(name, text)| !made.contains_key(*name) && is_made(text))
        .map(|(name, _)| name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_lose_the_marks_of_rustdoc_and_nothing_else() {
        for (raw, expected) in [
            ("[`CONTRACT`]", "`CONTRACT`"),
            ("see [`a`](crate::a) and\n[`b`], ok", "see `a` and `b`, ok"),
            ("a [list] of [`", "a [list] of [`"),
            ("from [0, 1]\n  on", "from [0, 1] on"),
        ] {
            assert_eq!(prose(raw), expected);
        }
    }

    #[test]
    fn a_label_says_version_reader_and_direction_or_is_refused() {
        let good = json!({ WORD: { "version": 2, "reads_from": 1, "direction": "stored" } });
        let expected = Label { version: 2, reads_from: 1, direction: Direction::Stored };
        assert_eq!(label(&good).unwrap(), expected);
        for bad in [
            json!({}),
            json!({ WORD: { "version": 2, "reads_from": 1 } }),
            json!({ WORD: { "version": "2", "reads_from": 1, "direction": "read" } }),
            json!({ WORD: { "version": 2, "direction": "read" } }),
            json!({ WORD: { "version": 2, "reads_from": 1, "direction": "both" } }),
        ] {
            assert!(label(&bad).is_err(), "{bad}");
        }
    }
}
