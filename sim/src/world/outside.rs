//! The outside: what really happened in the simulated world. It survives every
//! crash, and it refuses a worker whose epoch is older than one it has seen for
//! that run, as an outside that takes part in fencing does.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::ledger::wire::{Caller, Entry, EntryKind, Operation, args_hash};

/// The outside ledger, in memory.
#[derive(Debug, Default)]
pub(super) struct Outside {
    pub(super) entries: Vec<Entry>,
    /// For each entry, how far the run's journal was durable when it was made.
    pub(super) durable: Vec<u64>,
    newest: BTreeMap<String, u64>,
    /// A fault of the outside itself: it does not look at epochs.
    pub(super) ignores_epochs: bool,
}

/// When something reached the outside.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// By the clock journals are written with.
    pub(super) at: u64,
    /// How far the run's journal is durable.
    pub(super) durable: u64,
}

impl Outside {
    /// Takes note that this worker speaks for the run now. False for one that is stale.
    pub(super) fn admits(&mut self, run: &str, epoch: u64) -> bool {
        let newest = self.newest.entry(run.into()).or_default();
        let admitted = epoch >= *newest || self.ignores_epochs;
        *newest = epoch.max(*newest);
        admitted
    }

    /// Makes the operation; `None` when the caller is stale.
    pub(super) fn act(
        &mut self,
        op: Operation,
        caller: &Caller,
        args: &Value,
        moment: Moment,
    ) -> Option<String> {
        if !self.admits(&caller.run, caller.epoch) {
            return None;
        }
        let first = self.effect(op, &caller.key).filter(|_| op.removes_duplicates());
        let known = first.map(|first| (first.n, first.result().to_string()));
        let kind = if known.is_some() { EntryKind::Duplicate } else { EntryKind::Effect };
        let of = known.as_ref().map(|(n, _)| *n);
        let entry = self.note(kind, op, caller, args, moment, of);
        Some(known.map_or_else(|| entry.result().to_string(), |(_, result)| result))
    }

    /// Gives back, once, what the call with this key took, if it took something; `None`
    /// when the caller is stale.
    pub(super) fn release(
        &mut self,
        of: &str,
        caller: &Caller,
        args: &Value,
        moment: Moment,
    ) -> Option<bool> {
        if !self.admits(&caller.run, caller.epoch) {
            return None;
        }
        let Some(taken) = self.effect(Operation::Reserve, of).map(|taken| taken.n) else {
            return Some(false);
        };
        let first = self.effect(Operation::Release, &caller.key).map(|first| first.n);
        let kind = if first.is_some() { EntryKind::Duplicate } else { EntryKind::Effect };
        self.note(kind, Operation::Release, caller, args, moment, first.or(Some(taken)));
        Some(true)
    }

    /// Looks for an effect; `None` when the caller is stale.
    pub(super) fn look(
        &mut self,
        op: Operation,
        caller: &Caller,
        args: &Value,
        moment: Moment,
    ) -> Option<Option<String>> {
        if !self.admits(&caller.run, caller.epoch) {
            return None;
        }
        let found = self.effect(op, &caller.key).map(|first| (first.n, first.result().to_string()));
        self.note(EntryKind::Look, op, caller, args, moment, found.as_ref().map(|(n, _)| *n));
        Some(found.map(|(_, result)| result))
    }

    /// What an action of a run came to, for a person who looks.
    pub(super) fn result_of(&self, run: &str, action: &str) -> Option<String> {
        let mut effects = self.entries.iter().filter(|entry| entry.kind == EntryKind::Effect);
        effects
            .find(|entry| entry.run == run && entry.action == action)
            .map(|entry| entry.result().to_string())
    }

    fn effect(&self, op: Operation, key: &str) -> Option<&Entry> {
        let mut effects = self.entries.iter().filter(|entry| entry.kind == EntryKind::Effect);
        effects.find(|entry| entry.op == op && entry.key == key)
    }

    #[expect(clippy::too_many_arguments, reason = "the columns of one ledger line")]
    fn note(
        &mut self,
        kind: EntryKind,
        op: Operation,
        caller: &Caller,
        args: &Value,
        moment: Moment,
        of: Option<u64>,
    ) -> Entry {
        let entry = Entry {
            n: self.entries.len() as u64 + 1,
            kind,
            op,
            run: caller.run.clone(),
            action: caller.action.clone(),
            key: caller.key.clone(),
            epoch: caller.epoch,
            attempt: caller.attempt,
            args: Some(args_hash(args)),
            amount: args.get("amount").and_then(Value::as_u64).unwrap_or(0),
            at: moment.at,
            of,
        };
        self.entries.push(entry.clone());
        self.durable.push(moment.durable);
        entry
    }
}
