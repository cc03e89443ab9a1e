//! What a run did to the world, and how far it is undone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::append_list::AppendList;
use crate::event::Compensator;
use crate::id::{ActionId, Millis, ToolName};
use crate::message::Payload;

/// A call that was started and may have changed something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deed {
    /// Which.
    pub action: ActionId,
    /// The event that was its intent.
    pub seq: u64,
    /// The tool.
    pub tool: ToolName,
    /// How it is undone.
    pub reversal: Reversal,
}

/// How a call is undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Reversal {
    /// Its file is put back, by its image.
    Image,
    /// Something else makes up for it.
    Call {
        /// What.
        by: Box<Compensator>,
        /// The key of the call.
        key: crate::provenance::Digest,
        /// The arguments of the call.
        args: Payload,
        /// What came of the call; `None` where nobody knows.
        result: Option<Payload>,
    },
    /// The changes that were brought to the folder are taken back.
    Landing,
    /// Nothing undoes it.
    Nothing,
}

/// Everything a run did to the world.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deeds {
    /// Calls that came to an end, in the order they did.
    pub done: AppendList<Deed>,
    /// Calls that were started and have no outcome.
    pub open: BTreeMap<ActionId, Deed>,
    /// Those that are as if they had not been made.
    pub undone: BTreeSet<ActionId>,
    /// The last undo that a person asked for.
    pub undo: Option<Box<PersonsUndo>>,
    /// Something could not be undone that should have been.
    pub alerted: bool,
}

impl Deeds {
    /// The call, if it did something.
    #[must_use]
    pub fn find(&self, action: ActionId) -> Option<&Deed> {
        self.done.iter().rev().find(|deed| deed.action == action)
    }

    /// What is undone to come back to how it was at an event: the calls that began after
    /// it, the last that came to an end first. And those that nothing undoes.
    #[must_use]
    pub fn since(&self, to: u64) -> (Vec<ActionId>, Vec<ActionId>) {
        let open = self.open.values().rev();
        let after = open.chain(self.done.iter().rev()).filter(|deed| deed.seq > to);
        let after = after.filter(|deed| !self.undone.contains(&deed.action));
        let (remains, undoable): (Vec<&Deed>, Vec<&Deed>) =
            after.partition(|deed| deed.reversal == Reversal::Nothing);
        let name = |deed: &Deed| deed.action;
        (undoable.into_iter().map(name).collect(), remains.into_iter().map(name).collect())
    }
}

/// An undo under way, of a rollback or for a person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Undoing {
    /// The calls, in the order they are undone.
    pub todo: Arc<[ActionId]>,
    /// How many of them came to an end.
    pub settled: usize,
    /// The attempt that is out, where the next one is undone by a call.
    pub attempt: Option<UndoAttempt>,
    /// Those that did not work, and why.
    pub failed: Vec<(ActionId, Box<str>)>,
    /// Those that are not as before, failed or left alone.
    pub left: Vec<ActionId>,
    /// Who is told of what failed.
    pub alert: AlertState,
}

/// Where the undo of a call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UndoAttempt {
    /// Counts from 1, crashes included.
    pub attempt: u32,
    /// Attempts that met trouble.
    pub troubles: u32,
    /// Not out now: tried again at this moment.
    pub again_at: Option<Millis>,
}

/// Whether a person was told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlertState {
    /// There was nothing to tell yet.
    #[default]
    Quiet,
    /// It is on the record; the command for alerts is still to be run, if there is one.
    Raised,
    /// That was done.
    Told,
}

/// An undo that a person asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersonsUndo {
    /// Who.
    pub by: String,
    /// To how it was at which event.
    pub to: u64,
    /// How far it is.
    pub undoing: Undoing,
    /// It is over.
    pub finished: bool,
}
