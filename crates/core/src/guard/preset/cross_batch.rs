//! The same call with the same result, over the batches of one turn.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Asked, Cause};
use crate::provenance::Digest;

/// The time that is blocked when every result was the same.
const TIMES: usize = 3;
/// The time that is blocked whatever the results were.
const TIMES_HARD: usize = 6;
/// Calls that are looked back at; a call that leaves the window is forgotten.
const WINDOW: usize = 32;
/// Tools whose success changes the world.
const CHANGING: [&str; 4] = ["create_file", "edit_file", "search_replace", "write_file"];
/// Editors that say in their arguments what they do.
const EDITORS: [&str; 2] = ["str_replace_based_edit_tool", "str_replace_editor"];
/// What such an editor does when it changes a file.
const EDITS: [&str; 4] = ["create", "insert", "str_replace", "undo_edit"];

/// Which tools the rule takes for editors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Editors {
    /// The four names of the source.
    AsShipped,
    /// Those, and editors that name the edit in their arguments.
    Known,
}

/// The last calls of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrossBatch {
    editors: Editors,
    window: VecDeque<Ran>,
}

/// A call that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ran {
    key: Digest,
    output: Digest,
    ok: bool,
}

impl CrossBatch {
    /// An empty window.
    #[must_use]
    pub fn new(editors: Editors) -> Self {
        Self { editors, window: VecDeque::new() }
    }

    pub(super) fn check(&self, call: &Asked) -> Option<Cause> {
        let key = call.key;
        let mut same = self.window.iter().filter(|ran| ran.key == key);
        let first = same.next()?;
        let (mut times, mut is_stable) = (1_usize, true);
        for ran in same {
            times += 1;
            is_stable &= (ran.output, ran.ok) == (first.output, first.ok);
        }
        let ran = u32::try_from(times).unwrap_or(u32::MAX);
        if times + 1 >= TIMES_HARD {
            return Some(Cause::AnyResult { ran });
        }
        (is_stable && times + 1 >= TIMES).then_some(Cause::SameResult { ran })
    }

    pub(super) fn record(&mut self, call: &Asked, output: &str, ok: bool) {
        let key = call.key;
        let is_new = self.window.iter().all(|ran| ran.key != key);
        if ok && is_new && self.changes(call) {
            self.window.clear();
        }
        self.window.push_back(Ran { key, output: Digest::of(output.as_bytes()), ok });
        if self.window.len() > WINDOW {
            self.window.pop_front();
        }
    }

    pub(super) fn clear(&mut self) {
        self.window.clear();
    }

    fn changes(&self, call: &Asked) -> bool {
        match (call.edit, self.editors) {
            (Edit::Named, Editors::AsShipped | Editors::Known) | (Edit::Described, Editors::Known) => true,
            (Edit::Described, Editors::AsShipped) | (Edit::Nothing, _) => false,
        }
    }
}

/// What a call does to the world when it succeeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Edit {
    /// Nothing the rule knows of.
    Nothing,
    /// Its tool's name says that it edits.
    Named,
    /// Its tool is an editor and its arguments name an edit.
    Described,
}

impl Edit {
    pub(super) fn of(tool: &str, args: Option<&Value>) -> Self {
        if CHANGING.contains(&tool) {
            return Self::Named;
        }
        let verb = args.and_then(|args| args.get("command")).and_then(Value::as_str);
        let is_edit = EDITORS.contains(&tool) && verb.is_some_and(|verb| EDITS.contains(&verb));
        if is_edit { Self::Described } else { Self::Nothing }
    }
}
