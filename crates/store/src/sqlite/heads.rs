//! What the writer remembers of the runs it appends to.
//!
//! One process at a time works on runs, and in it one thread writes, so what was
//! written last need not be read again. A run's row is for listings: it is
//! written when what it shows changes, and every [`ROW_EVERY`] appends; where the
//! journal ends is what its last record says.
//!
//! Only a cache: forgetting all of it costs a query for each run.

use std::collections::HashMap;

use bowline_core::id::{Millis, RunId};

use crate::chain::Place;
use crate::{EndingKind, Summary};

/// Appends after which a run's row is written in any case.
pub(super) const ROW_EVERY: u32 = 16;

/// Runs remembered at once.
const RUNS: usize = 16_384;

/// A run as its last append left it.
pub(super) struct Head {
    pub(super) key: i64,
    pub(super) epoch: u64,
    pub(super) end: Place,
    shown: Option<Shown>,
    since: u32,
    unwritten: Option<Unwritten>,
}

/// What a listing must not be wrong about.
#[derive(PartialEq, Eq)]
struct Shown {
    phase: String,
    waiting: Option<String>,
    unable: Option<String>,
    wake_at: Option<Millis>,
    ending: Option<EndingKind>,
    owes: bool,
}

/// What the row does not show yet.
pub(super) struct Unwritten {
    pub(super) at: Millis,
    pub(super) summary: String,
}

impl Head {
    /// A run whose row may show anything.
    pub(super) fn found(key: i64, epoch: u64, end: Place) -> Self {
        Self { key, epoch, end, shown: None, since: 0, unwritten: None }
    }

    /// Whether the row must be written to show `summary`.
    pub(super) fn row_is_due(&self, summary: &Summary) -> bool {
        self.since + 1 >= ROW_EVERY
            || self.shown.as_ref().is_none_or(|shown| {
                let over = (shown.ending, shown.owes) != (summary.ending, summary.owes);
                over || (&shown.waiting, shown.wake_at, &shown.phase, &shown.unable)
                    != (&summary.waiting, summary.wake_at, &summary.phase, &summary.unable)
            })
    }

    /// The row shows `summary`.
    pub(super) fn row_written(&mut self, summary: &Summary) {
        let Summary { phase, waiting, unable, wake_at, ending, owes, .. } = summary;
        let (phase, waiting, unable) = (phase.clone(), waiting.clone(), unable.clone());
        self.shown = Some(Shown { phase, waiting, unable, wake_at: *wake_at, ending: *ending, owes: *owes });
        (self.since, self.unwritten) = (0, None);
    }

    /// The row stays as it is, once more.
    pub(super) fn row_left(&mut self, unwritten: Unwritten) {
        (self.since, self.unwritten) = (self.since + 1, Some(unwritten));
    }

    /// What the row does not show yet.
    pub(super) fn unwritten(&self) -> Option<&Unwritten> {
        self.unwritten.as_ref()
    }
}

/// The runs that were appended to.
#[derive(Default)]
pub(super) struct Heads(HashMap<RunId, Head>);

impl Heads {
    pub(super) fn get(&mut self, run: &RunId) -> Option<&mut Head> {
        self.0.get_mut(run)
    }

    pub(super) fn remember(&mut self, run: &RunId, head: Head) -> &mut Head {
        if self.0.len() >= RUNS {
            self.0.clear();
        }
        self.0.entry(run.clone()).insert_entry(head).into_mut()
    }

    pub(super) fn forget(&mut self, run: &RunId) {
        self.0.remove(run);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
