//! The same call for the third time in a run, whatever it returned.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::{Asked, Cause};
use crate::provenance::Digest;

/// The time that is blocked.
const TIMES: u32 = 3;
/// Different calls that are remembered; beyond it the oldest is forgotten.
const CALLS_MAX: usize = 4096;

/// Counts calls by tool and arguments over a whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SameCall {
    counts: BTreeMap<Digest, u32>,
    /// The keys of `counts`, oldest first.
    order: VecDeque<Digest>,
}

impl SameCall {
    pub(super) fn check(&self, call: &Asked) -> Option<Cause> {
        let times = self.counts.get(&call.key).copied().unwrap_or_default().saturating_add(1);
        (times >= TIMES).then_some(Cause::SameCall { times })
    }

    pub(super) fn count(&mut self, call: &Asked) {
        let key = call.key;
        let count = self.counts.entry(key).or_default();
        *count = count.saturating_add(1);
        if *count > 1 {
            return;
        }
        self.order.push_back(key);
        if self.order.len() > CALLS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.counts.remove(&oldest);
        }
    }
}
