//! The examples of a version, as they were then: each is looked at and, where it ends within
//! seconds, run, and must end with the same codes for ever.
//!
//! They are played on a copy, since some write.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::play::Programs;
use super::world::World;

/// Where they are, in a set and in a world.
const FOLDER: &str = "examples";
/// Their codes, in a set.
const CODES: &str = "examples.json";
/// One that takes longer is looked at and not run.
const TIME: Duration = Duration::from_secs(4);
/// How often a program is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// How the program ended, for one example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Codes {
    /// When it was asked whether the example is right.
    pub check: i32,
    /// When it ran it; nothing where that takes too long.
    pub run: Option<i32>,
}

/// Copies the examples of a clone into a set, and plays them.
pub(super) fn record(clone: &Path, set: &Path, name: &str, programs: &Programs) -> Result<()> {
    copy(&clone.join(FOLDER), &set.join(FOLDER))?;
    let world = unpack(set, name)?;
    let mut codes = BTreeMap::new();
    for example in names(&set.join(FOLDER))? {
        let check = ended(&world, programs, &format!("bowline check {FOLDER}/{example}"))?;
        // What is no task has nothing to run.
        let run = match check {
            Some(0) => ended(&world, programs, &format!("bowline run {FOLDER}/{example}"))?,
            _ => None,
        };
        codes.insert(example, Codes { check: check.unwrap_or(-1), run });
    }
    let text = serde_json::to_string_pretty(&codes)?;
    fs::write(set.join(CODES), format!("{text}\n")).context("cannot write the codes of examples")
}

/// The codes that were recorded.
pub(super) fn recorded(set: &Path) -> Result<BTreeMap<String, Codes>> {
    let path = set.join(CODES);
    if !path.exists() {
        return Ok(BTreeMap::new());
    }
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| path.display().to_string())
}

/// What they end with now, as far as they were run then.
pub(super) fn played(set: &Path, name: &str, programs: &Programs) -> Result<BTreeMap<String, Codes>> {
    let mut codes = recorded(set)?;
    if codes.is_empty() {
        return Ok(codes);
    }
    let world = unpack(set, name)?;
    for (example, codes) in &mut codes {
        let word = format!("{FOLDER}/{example}");
        let check = ended(&world, programs, &format!("bowline check {word}"))?;
        codes.check = check.unwrap_or(-1);
        if codes.run.is_some() {
            codes.run = ended(&world, programs, &format!("bowline run {word}"))?;
        }
    }
    Ok(codes)
}

fn unpack(set: &Path, name: &str) -> Result<World> {
    let world = World::take(name, FOLDER)?;
    copy(&set.join(FOLDER), &world.path().join(FOLDER))?;
    Ok(world)
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// What a script ends with; nothing if it takes too long.
fn ended(world: &World, programs: &Programs, script: &str) -> Result<Option<i32>> {
    let mut command = programs.script(world, script);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().context("cannot start sh")?;
    let mut waited = Duration::ZERO;
    while waited < TIME * 4 {
        if let Some(ended) = child.try_wait()? {
            return Ok(Some(ended.code().unwrap_or(-1)).filter(|_| waited < TIME));
        }
        std::thread::sleep(LOOK);
        waited += LOOK;
    }
    super::play::kill(child.id());
    child.wait()?;
    Ok(None)
}

/// Copies a folder of plain files, with what may be run.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
