//! The outside: what tools really did, what people really said, what checks really
//! found. The machine never reads it.

use std::collections::{BTreeMap, BTreeSet};

use bowline_core::id::ActionId;
use bowline_core::provenance::Digest;

use crate::menu::Fate;

/// See the module's page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Outside {
    /// By action, everything about its call.
    pub(crate) calls: BTreeMap<ActionId, CallBook>,
    /// Requests that were made and whose reply is on its way.
    pub(crate) flights: BTreeMap<(ActionId, u32), Fate>,
    /// Requests whose worker is gone and that may still arrive, with their key.
    pub(crate) late: BTreeMap<(ActionId, u32), Digest>,
    /// Requests that arrived so.
    pub(crate) landed: u32,
    /// What the last verification really found, by check; and of which bytes.
    pub(crate) checks: BTreeMap<usize, (bool, Digest)>,
    /// Outputs a person said yes to.
    pub(crate) agreed: BTreeSet<Digest>,
    /// Calls that can be undone and have no outcome; true for files.
    pub(crate) begun: BTreeMap<ActionId, bool>,
    /// Those that came to an end, in the order they did.
    pub(crate) writes: Vec<ActionId>,
    /// Those that were undone, or could not be.
    pub(crate) settled: BTreeSet<ActionId>,
    /// Those that are as if they had not been made.
    pub(crate) back: BTreeSet<ActionId>,
    /// The undo that is under way: what is left of it, the next one last.
    pub(crate) todo: Vec<ActionId>,
    /// What did not work in it.
    pub(crate) failed: Vec<ActionId>,
    /// People were alerted in it.
    pub(crate) alerted: bool,
    /// The attempt at undoing a call that is durable: action, attempt and key.
    pub(crate) amending: Option<(ActionId, u32, Digest)>,
    /// Keys under which calls were really undone.
    pub(crate) amends: BTreeMap<ActionId, BTreeSet<Digest>>,
}

/// What is known outside about one call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct CallBook {
    /// The tool, as the model named it.
    pub(crate) tool: &'static str,
    /// Requests made.
    pub(crate) requests: u32,
    /// Times it happened. Requests with the same key happen once where the tool
    /// removes duplicates.
    pub(crate) effects: u32,
    /// Keys of requests that happened.
    pub(crate) keys: BTreeSet<Digest>,
    /// The key of its intents.
    pub(crate) key: Option<Digest>,
    /// The intent without outcome: attempt and key.
    pub(crate) open: Option<(u32, Digest)>,
    /// Times a person said that it had not happened.
    pub(crate) did_nots: u32,
    /// A person said that it had.
    pub(crate) happened: bool,
    /// A person said yes to exactly this.
    pub(crate) agreed: bool,
    /// Answers it was given.
    pub(crate) answers: u32,
}

impl Outside {
    /// A request arrives. `once`: the tool removes duplicates by their key.
    pub(crate) fn arrive(&mut self, action: ActionId, key: Digest, once: bool) {
        let book = self.calls.entry(action).or_default();
        let is_new = book.keys.insert(key);
        book.effects += u32::from(is_new || !once);
    }

    /// A request of this action may still arrive.
    pub(crate) fn is_late(&self, action: ActionId) -> bool {
        self.late.keys().any(|(late, _)| *late == action)
    }

    /// Requests made so far.
    pub(crate) fn requests(&self) -> u32 {
        self.calls.values().map(|book| book.requests).sum()
    }
}
