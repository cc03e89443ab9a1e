//! The last calls with their results, and the cycles in them.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::provenance::Digest;

/// Shortest and longest period that is looked for. A period of one is a repeat,
/// which is judged elsewhere.
pub(super) const PERIODS: std::ops::RangeInclusive<usize> = 2..=8;
/// Calls kept: three of the longest periods.
pub(super) const WINDOW_MAX: usize = 24;

/// One call with its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Turned {
    pub(super) key: Digest,
    pub(super) digest: Digest,
    /// It brought the world to a new state, so no cycle goes through it.
    pub(super) progress: bool,
}

/// The last calls, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Window(VecDeque<Turned>);

impl Window {
    pub(super) fn push(&mut self, turned: Turned) {
        if self.0.len() == WINDOW_MAX {
            self.0.pop_front();
        }
        self.0.push_back(turned);
    }

    pub(super) fn last(&self) -> Option<&Turned> {
        self.0.back()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<Turned>()
    }

    /// The period of a cycle that has been gone through twice.
    pub(super) fn cycle(&self) -> Option<usize> {
        PERIODS.into_iter().find(|&period| self.repeats(period, period) && self.varies(period))
    }

    /// The period of the cycle that this call would complete for the `times`th time.
    pub(super) fn completes(&self, key: &Digest, times: u32) -> Option<usize> {
        let times = usize::try_from(times).unwrap_or(usize::MAX).max(2);
        PERIODS.into_iter().find(|&period| {
            let back = |steps: usize| self.0.len().checked_sub(steps).and_then(|at| self.0.get(at));
            back(period).is_some_and(|turned| &turned.key == key)
                && self.repeats(period, (times - 1).saturating_mul(period) - 1)
                && self.varies(period)
        })
    }

    /// Whether each of the last `count` entries equals the one a period before it.
    fn repeats(&self, period: usize, count: usize) -> bool {
        let newest = self.0.iter().rev().take(count);
        let older = self.0.iter().rev().skip(period);
        let mut length = 0;
        let equal = newest.zip(older).all(|(new, old)| {
            length += 1;
            new.key == old.key && new.digest == old.digest && !new.progress
        });
        equal && length == count
    }

    /// Whether the last period holds more than one call; else it is a plain repeat.
    fn varies(&self, period: usize) -> bool {
        let mut keys = self.0.iter().rev().take(period).map(|turned| turned.key);
        let first = keys.next();
        keys.any(|key| Some(key) != first)
    }
}
