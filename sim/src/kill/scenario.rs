//! The reference tasks: between them they go through every phase and every way
//! a call can end.
//!
//! A scenario is written to a folder as a task file, a script for the model and
//! a workspace; [`Stage`] remembers what must be true of the files at the end.
//! Nothing here starts a process.

mod files;
mod script;
#[cfg(test)]
mod tests;
mod tools;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

pub use self::tools::World;
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
    /// Fails for good and must leave the files as they were and give back what it reserved.
    Rollback,
    /// People agree to a payment and to the output.
    Consent,
    /// Payments nobody can look up: a person settles what is in doubt.
    Doubt,
    /// Four sub-tasks at once, with contents too large to stand in the journal.
    Crowd,
    /// Fails after reservations of every kind and gives them back: one with passing
    /// trouble, one not at all, which is an alert; a person mends that one and undoes it.
    Saga,
    /// Commits, and a person undoes it, though a file was changed since by somebody else and
    /// one call cannot be undone at first.
    Undo,
    /// The first model cannot be reached, the second cannot mend it, a stronger one can.
    Switch,
    /// A file and a payment, and nothing that expects either to work: for faults at every
    /// system call, and not among the others.
    Brief,
}

/// What happens once a run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// A stranger changes a file that the run wrote.
    Change,
    /// A person mends what could not be undone.
    Mend,
    /// A person undoes the run.
    Undo {
        /// Files that somebody else changed are left.
        leave_changed: bool,
        /// How that must end.
        exit: i32,
    },
}

/// The file a stranger changes, and to what.
const CHANGED: (&str, &str) = ("shared.txt", "written by somebody else\n");

/// The file the brief scenario makes, if its disk lets it.
const MADE: (&str, &str) = ("made.txt", "made by the run\n");

impl Scenario {
    /// All that are killed at moments of their own.
    pub const ALL: [Self; 9] = [
        Self::Plan,
        Self::Repair,
        Self::Rollback,
        Self::Consent,
        Self::Doubt,
        Self::Crowd,
        Self::Saga,
        Self::Undo,
        Self::Switch,
    ];

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
            Self::Saga => "saga",
            Self::Undo => "undo",
            Self::Switch => "switch",
            Self::Brief => "brief",
        }
    }

    /// How it must end.
    #[must_use]
    pub fn ending(self) -> ToldEnding {
        match self {
            Self::Rollback | Self::Saga => ToldEnding::Failed,
            Self::Plan
            | Self::Repair
            | Self::Consent
            | Self::Doubt
            | Self::Crowd
            | Self::Undo
            | Self::Switch
            | Self::Brief => ToldEnding::Committed,
        }
    }

    /// The exit code of that.
    #[must_use]
    pub fn exit(self) -> i32 {
        match self {
            Self::Rollback => 1,
            Self::Saga => 5,
            Self::Plan
            | Self::Repair
            | Self::Consent
            | Self::Doubt
            | Self::Crowd
            | Self::Undo
            | Self::Switch
            | Self::Brief => 0,
        }
    }

    /// What happens after that.
    #[must_use]
    pub fn afterwards(self) -> &'static [After] {
        match self {
            // What nothing undoes remains, so not all is as before.
            Self::Saga => &[After::Mend, After::Undo { leave_changed: false, exit: 1 }],
            Self::Undo => &[
                After::Change,
                After::Undo { leave_changed: false, exit: 2 },
                After::Undo { leave_changed: true, exit: 5 },
                After::Mend,
                After::Undo { leave_changed: true, exit: 1 },
            ],
            Self::Plan
            | Self::Repair
            | Self::Rollback
            | Self::Consent
            | Self::Doubt
            | Self::Crowd
            | Self::Switch
            | Self::Brief => &[],
        }
    }

    /// Whether a person denies this call: of two in one reply, the first.
    #[must_use]
    pub fn denies(self, subject: &str) -> bool {
        self == Self::Saga && subject.ends_with(".0")
    }

    fn works_on_a_copy(self) -> bool {
        self == Self::Plan
    }

    /// Files of the workspace before, and those that are changed at the very end.
    fn files(self) -> (Files, Files) {
        let own = |name: &'static str, text: &str| (name, text.to_owned());
        match self {
            Self::Plan => {
                (vec![own("notes.txt", "one\ntwo\n")], vec![own("report.txt", "the final report\n")])
            }
            Self::Repair | Self::Switch => (vec![], vec![own("answer.txt", "fixed\n")]),
            Self::Rollback | Self::Saga => {
                let before = vec![own("old.txt", "as it was\n"), own("deep/keep.txt", &page('k', 9_000))];
                (before, vec![])
            }
            Self::Consent | Self::Doubt => (vec![own("notes.txt", "one\n")], vec![]),
            Self::Brief => (vec![own("notes.txt", "one\n")], vec![own(MADE.0, MADE.1)]),
            Self::Crowd => {
                let before = vec![own("large.txt", &page('l', 12_000))];
                (before, PARTS.iter().map(|part| (part.1, page(part.2, 6_000))).collect())
            }
            Self::Undo => {
                let before = vec![own("notes.txt", "one\n"), own("gone.txt", &page('g', 5_000))];
                (before, vec![own(CHANGED.0, CHANGED.1)])
            }
        }
    }

    /// What the task file says besides the common part.
    fn settings(self, world: &World) -> Value {
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
            Self::Doubt | Self::Brief => json!({ "review": "never" }),
            Self::Crowd => {
                let mut plan: Vec<Value> =
                    PARTS.iter().map(|part| json!({ "id": part.0, "goal": "Do your part" })).collect();
                let all: Vec<&str> = PARTS.iter().map(|part| part.0).collect();
                plan.push(json!({ "id": "gather", "goal": "Gather the parts", "after": all }));
                json!({ "plan": plan, "check": check(&["grep", "-q", "gathered"]) })
            }
            Self::Saga => json!({
                "check": check(&["false"]), "limits": { "repairs": 0 }, "on_alert": world.argv("tell"),
            }),
            Self::Undo => json!({ "review": "never", "on_alert": world.argv("tell") }),
            Self::Switch => json!({
                "fallbacks": ["scripted:other.json"], "ladder": ["scripted:big.json"],
                "check": check(&["grep", "-q", "fixed", "answer.txt"]), "limits": { "repairs": 1 },
            }),
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
        for (name, script) in script::of(scenario) {
            fs::write(folder.join(name), script.to_string())?;
        }
        let mode = if scenario.works_on_a_copy() { "copy" } else { "in-place" };
        let mut task = json!({
            "goal": format!("Play {}", scenario.word()), "model": "scripted:model.json",
            "tools": ["read_file", "write_file", "edit_file", "move_file", "delete_file"],
            "tool": world.tools(),
            "workspace": { "path": "workspace", "mode": mode },
            // The tools write to the ledger, which is outside the workspace.
            "sandbox": "none",
        });
        if let (Value::Object(task), Value::Object(settings)) = (&mut task, scenario.settings(world)) {
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

    /// Plays the stranger who changes a file.
    pub fn change(&self) -> io::Result<()> {
        fs::write(self.workspace().join(CHANGED.0), CHANGED.1)
    }

    /// Compares the files with what they must be, byte by byte, and names each
    /// that differs. `copy` is where the run worked if it worked on a copy; `wrote` says
    /// whether its writes came to an end as done.
    pub fn wrong_files(&self, copy: &Path, wrote: bool) -> io::Result<Vec<String>> {
        let (before, mut changed) = self.scenario.files();
        if self.scenario == Scenario::Brief && !wrote && !self.workspace().join(MADE.0).exists() {
            // A call that did not work may have done its work, or not.
            changed.clear();
        }
        let before: files::Bytes = before.into_iter().map(owned).collect();
        let mut after = before.clone();
        after.extend(changed.into_iter().map(owned));
        let mut wrong = Vec::new();
        if self.scenario.works_on_a_copy() {
            files::compare(&self.workspace(), &before, &mut wrong)?;
            files::compare(copy, &after, &mut wrong)?;
        } else {
            files::compare(&self.workspace(), &after, &mut wrong)?;
        }
        Ok(wrong)
    }
}

fn owned((name, text): (&str, String)) -> (String, Vec<u8>) {
    (name.to_owned(), text.into_bytes())
}
