//! The reference tasks: between them they go through every phase and every way
//! a call can end.
//!
//! A scenario is written to a folder as a task file, a script for the model and
//! a workspace; [`Stage`] remembers what must be true of the files at the end.
//! Nothing here starts a process.

mod script;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::chance::Draw;
use crate::oracle::ToldEnding;

/// Names and contents.
type Files = Vec<(&'static str, String)>;

/// A reference task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scenario {
    /// Sub-tasks beside and after each other, evidence, a copy of the workspace.
    Plan,
    /// A payment whose reply is lost and looked up, a check that fails, a
    /// critique, a repair that mends it.
    Repair,
    /// Fails for good and must leave the files as they were.
    Rollback,
    /// People agree to a payment and to the output.
    Consent,
    /// Payments nobody can look up: a person settles what is in doubt.
    Doubt,
    /// Four sub-tasks at once, with contents too large to stand in the journal.
    Crowd,
}

impl Scenario {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Plan, Self::Repair, Self::Rollback, Self::Consent, Self::Doubt, Self::Crowd];

    /// One of them.
    pub fn any(chance: &mut Draw) -> Self {
        let place = usize::try_from(chance.below(Self::ALL.len() as u64)).unwrap_or(0);
        Self::ALL.get(place).copied().unwrap_or(Self::Plan)
    }

    /// What people call it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Repair => "repair",
            Self::Rollback => "rollback",
            Self::Consent => "consent",
            Self::Doubt => "doubt",
            Self::Crowd => "crowd",
        }
    }

    /// How it must end.
    #[must_use]
    pub fn ending(self) -> ToldEnding {
        match self {
            Self::Rollback => ToldEnding::Failed,
            Self::Plan | Self::Repair | Self::Consent | Self::Doubt | Self::Crowd => ToldEnding::Committed,
        }
    }

    fn works_on_a_copy(self) -> bool {
        self == Self::Plan
    }

    /// Files of the workspace before, and those that the run leaves changed.
    fn files(self) -> (Files, Files) {
        let own = |name: &'static str, text: &str| (name, text.to_owned());
        match self {
            Self::Plan => {
                (vec![own("notes.txt", "one\ntwo\n")], vec![own("report.txt", "the final report\n")])
            }
            Self::Repair => (vec![], vec![own("answer.txt", "fixed\n")]),
            Self::Rollback => {
                let before = vec![own("old.txt", "as it was\n"), own("deep/keep.txt", &page('k', 9_000))];
                (before, vec![])
            }
            Self::Consent | Self::Doubt => (vec![own("notes.txt", "one\n")], vec![]),
            Self::Crowd => {
                let before = vec![own("large.txt", &page('l', 12_000))];
                (before, PARTS.iter().map(|part| (part.1, page(part.2, 6_000))).collect())
            }
        }
    }

    /// What the task file says besides the common part.
    fn settings(self) -> Value {
        let check = |words: &[&str]| json!([{ "name": "check", "command": words }]);
        match self {
            Self::Plan => json!({
                "evidence": ["notes.txt"],
                "plan": [
                    { "id": "survey", "goal": "Read the notes" },
                    { "id": "buy", "goal": "Pay for it" },
                    { "id": "write", "goal": "Write the report", "after": ["survey", "buy"] },
                ],
                "check": check(&["grep", "-q", "final", "report.txt"]),
            }),
            Self::Repair => json!({ "check": check(&["grep", "-q", "fixed", "answer.txt"]) }),
            Self::Rollback => json!({ "check": check(&["false"]), "limits": { "repairs": 1 } }),
            Self::Consent => json!({ "review": "always" }),
            Self::Doubt => json!({ "review": "never" }),
            Self::Crowd => {
                let mut plan: Vec<Value> =
                    PARTS.iter().map(|part| json!({ "id": part.0, "goal": "Do your part" })).collect();
                let all: Vec<&str> = PARTS.iter().map(|part| part.0).collect();
                plan.push(json!({ "id": "gather", "goal": "Gather the parts", "after": all }));
                json!({ "plan": plan, "check": check(&["grep", "-q", "gathered"]) })
            }
        }
    }
}

/// Sub-task, file and filling of each part of the crowd.
const PARTS: [(&str, &str, char); 4] =
    [("north", "n.txt", 'n'), ("east", "e.txt", 'e'), ("south", "s.txt", 's'), ("west", "w.txt", 'w')];

/// Lines that are the same everywhere and compress to nothing in a reader's head.
fn page(letter: char, bytes: usize) -> String {
    let line: String = std::iter::repeat_n(letter, 99).chain(['\n']).collect();
    line.repeat(bytes.div_ceil(line.len()))
}

/// Where the tools of a task find the world.
#[derive(Clone, Debug)]
pub struct World {
    /// The program that plays the tools.
    pub sim: PathBuf,
    /// The ledger's folder.
    pub ledger: PathBuf,
}

impl World {
    fn tool(&self, name: &str, operation: &str, probes: bool, settings: &Value) -> Value {
        let argv = |errand: &str| {
            let (sim, ledger) = (self.sim.display().to_string(), self.ledger.display().to_string());
            json!([sim, "tool", errand, "--dir", ledger])
        };
        let mut tool = json!({
            "name": name, "command": argv(operation), "description": format!("Does {operation}."),
            "schema": { "type": "object" }, "timeout_seconds": 20,
        });
        if let (Value::Object(fields), Value::Object(settings)) = (&mut tool, settings) {
            if probes {
                fields.insert("probe".into(), argv(&format!("look-{operation}")));
            }
            fields.extend(settings.clone());
        }
        tool
    }

    fn tools(&self) -> Value {
        let never = json!({ "repeat": "never", "consent": "not-needed" });
        json!([
            self.tool("pay", "pay", true, &never),
            self.tool("slow_pay", "slow_pay", true, &never),
            self.tool("wire", "pay", false, &never),
            self.tool("slow_wire", "slow_pay", false, &never),
            self.tool("asked_pay", "pay", true, &json!({ "repeat": "never", "consent": "ask" })),
            self.tool("put", "put", false, &json!({ "repeat": "with-same-key", "consent": "not-needed" })),
        ])
    }
}

/// A scenario in a folder, ready to be run.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Which.
    pub scenario: Scenario,
    /// Where everything of it is.
    pub folder: PathBuf,
}

impl Stage {
    /// Writes the scenario.
    pub fn set(scenario: Scenario, folder: &Path, world: &World) -> io::Result<Self> {
        let stage = Self { scenario, folder: folder.into() };
        for (name, text) in scenario.files().0 {
            let path = stage.workspace().join(name);
            fs::create_dir_all(path.parent().unwrap_or(folder))?;
            fs::write(path, text)?;
        }
        fs::create_dir_all(stage.workspace())?;
        fs::write(folder.join("model.json"), script::of(scenario).to_string())?;
        let mode = if scenario.works_on_a_copy() { "copy" } else { "in-place" };
        let mut task = json!({
            "goal": format!("Play {}", scenario.word()), "model": "scripted:model.json",
            "tools": ["read_file", "write_file", "edit_file"], "tool": world.tools(),
            "workspace": { "path": "workspace", "mode": mode },
            // The tools write to the ledger, which is outside the workspace.
            "sandbox": "none",
        });
        if let (Value::Object(task), Value::Object(settings)) = (&mut task, scenario.settings()) {
            task.extend(settings);
        }
        fs::write(stage.task(), task.to_string())?;
        Ok(stage)
    }

    /// The task file.
    #[must_use]
    pub fn task(&self) -> PathBuf {
        self.folder.join("task.json")
    }

    /// The workspace as it was given.
    #[must_use]
    pub fn workspace(&self) -> PathBuf {
        self.folder.join("workspace")
    }

    /// Compares the files with what they must be, byte by byte, and names each
    /// that differs. `copy` is where the run worked if it worked on a copy.
    pub fn wrong_files(&self, copy: &Path) -> io::Result<Vec<String>> {
        let (before, changed) = self.scenario.files();
        let before: BTreeMap<String, Vec<u8>> = before.into_iter().map(owned).collect();
        let mut after = before.clone();
        after.extend(changed.into_iter().map(owned));
        let mut wrong = Vec::new();
        if self.scenario.works_on_a_copy() {
            compare(&self.workspace(), &before, &mut wrong)?;
            compare(copy, &after, &mut wrong)?;
        } else {
            compare(&self.workspace(), &after, &mut wrong)?;
        }
        Ok(wrong)
    }
}

fn owned((name, text): (&str, String)) -> (String, Vec<u8>) {
    (name.to_owned(), text.into_bytes())
}

fn compare(folder: &Path, expected: &BTreeMap<String, Vec<u8>>, wrong: &mut Vec<String>) -> io::Result<()> {
    let mut found = BTreeMap::new();
    read_below(folder, "", &mut found)?;
    for (name, bytes) in expected {
        match found.remove(name) {
            Some(there) if there == *bytes => {}
            Some(there) => wrong.push(format!(
                "{} has {} bytes that are not the {} expected",
                folder.join(name).display(),
                there.len(),
                bytes.len()
            )),
            None => wrong.push(format!("{} is missing", folder.join(name).display())),
        }
    }
    wrong.extend(found.keys().map(|name| format!("{} should not be there", folder.join(name).display())));
    Ok(())
}

fn read_below(folder: &Path, prefix: &str, found: &mut BTreeMap<String, Vec<u8>>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            let files = found.len();
            read_below(&entry.path(), &format!("{name}/"), found)?;
            if found.len() == files {
                // Nobody expects an empty folder: it was left behind.
                found.insert(format!("{name}/"), Vec::new());
            }
        } else {
            found.insert(name, fs::read(entry.path())?);
        }
    }
    Ok(())
}
