//! What is compared: where runs were left, and what became of them, of their files and of the
//! world outside.
//!
//! All of it is asked with the program under test or read from files; no word of a journal is
//! compared but its hashes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::manifest;
use super::play::Programs;
use super::world::World;

/// Where tools of a scenario write down what they did: outside of the home and of every
/// workspace.
const OUTSIDE: &str = "outside";
/// Where tasks and their workspaces are.
const TASKS: &str = "task";

/// Where a run was left.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Left {
    /// Its name.
    pub run: String,
    /// Records of its journal.
    pub records: usize,
    /// Hash of the last of them.
    pub head: String,
    /// Its last event.
    pub last: String,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Ended {
    /// Its name.
    pub run: String,
    /// committed, failed or halted; nothing if it has not ended.
    pub ending: Option<String>,
    /// Hash of its output, or of the work so far.
    pub output_sha256: Option<String>,
}

/// What became of a home.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// Its runs, the oldest first.
    pub runs: Vec<Ended>,
    /// What tools did to the world outside: a line each, which begins with the run's name.
    /// In order for each run.
    pub outside: Vec<String>,
    /// Every file that runs worked on, with its hash.
    pub files: BTreeMap<String, String>,
}

/// All that is known of a fixture when it is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Seconds since 1970 when it was left, rounded up.
    pub left_at: u64,
    /// Where its runs were left.
    pub left: Vec<Left>,
    /// What became of it in the hands of the program that recorded it.
    pub facts: Facts,
}

/// Where each run of a home stands, the oldest first.
pub(super) fn left(world: &World, home: &Path, programs: &Programs) -> Result<Vec<Left>> {
    if !home.join("store.db").exists() {
        return Ok(Vec::new());
    }
    let one = |run: String| -> Result<Left> {
        let journal = programs.ask(world, home, &["export", &run, "--json"])?;
        let records = objects(&journal)?;
        let last = records.last().with_context(|| format!("run {run} has no record"))?;
        let events = member(last, "events").as_array().and_then(|events| events.last());
        let kind = events.and_then(Value::as_object).and_then(|event| event.keys().next());
        Ok(Left {
            run,
            records: records.len(),
            head: text(member(last, "hash")).context("a record without a hash")?,
            last: kind.context("a record without an event")?.clone(),
        })
    };
    names(world, home, programs)?.into_iter().map(one).collect()
}

/// Whether the journal of a run begins with what it was when it was left.
pub(super) fn begins_with(world: &World, programs: &Programs, left: &Left) -> Result<bool> {
    let journal = programs.ask(world, &world.home(), &["export", &left.run, "--json"])?;
    let records = objects(&journal)?;
    let last = left.records.checked_sub(1).and_then(|at| records.get(at));
    Ok(last.is_some_and(|record| member(record, "hash").as_str() == Some(&left.head)))
}

/// What became of the home in a world.
pub(super) fn facts(world: &World, programs: &Programs) -> Result<Facts> {
    let home = world.home();
    let one = |run: String| -> Result<Ended> {
        let shown: Value = serde_json::from_str(&programs.ask(world, &home, &["show", &run, "--json"])?)?;
        let output_sha256 = member(&shown, "output").as_str().map(|text| manifest::hash(text.as_bytes()));
        Ok(Ended { run, ending: text(member(&shown, "ending")), output_sha256 })
    };
    let has_runs = home.join("store.db").exists();
    let runs = if has_runs { names(world, &home, programs)? } else { Vec::new() };
    let runs = runs.into_iter().map(one).collect::<Result<Vec<_>>>()?;
    let outside = fs::read_to_string(world.path().join(OUTSIDE)).unwrap_or_default();
    let mut files = BTreeMap::new();
    for folder in [world.path().join(TASKS), home.join("workspaces")] {
        if folder.is_dir() {
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let found = manifest::hashes(&folder)?;
            files.extend(found.into_iter().map(|(path, hash)| (format!("{name}/{path}"), hash)));
        }
    }
    let mut outside: Vec<String> = outside.lines().map(str::to_owned).collect();
    // Runs that are worked on beside each other have no order among them; each has its own.
    outside.sort_by(|left, right| left.split(' ').next().cmp(&right.split(' ').next()));
    Ok(Facts { runs, outside, files })
}

/// Every run of a home, the oldest first.
fn names(world: &World, home: &Path, programs: &Programs) -> Result<Vec<String>> {
    let rows = objects(&programs.ask(world, home, &["runs", "--all", "--json"])?)?;
    let names = rows.iter().rev().map(|row| text(member(row, "run")).context("a run without a name"));
    names.collect()
}

fn objects(lines: &str) -> Result<Vec<Value>> {
    lines.lines().map(|line| serde_json::from_str(line).with_context(|| format!("no JSON: {line}"))).collect()
}

fn member<'v>(value: &'v Value, name: &str) -> &'v Value {
    value.get(name).unwrap_or(&Value::Null)
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}
