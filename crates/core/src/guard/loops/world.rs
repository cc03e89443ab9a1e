//! What is known of the world's state: whether an earlier result still holds.
//!
//! A clock counts changes. A change with a known target (a path) outdates what
//! was seen of that target only; any other change outdates everything. Code that
//! perhaps changed something outdates looks, not failures of edits. A workspace
//! fingerprint, where the caller has one, replaces guessing.

use serde::{Deserialize, Serialize};

use super::observe::Sighting;
use super::recent::Recent;
use crate::guard::{CallTrace, Change, Effect, Outcome, OutputTrace};
use crate::provenance::Digest;

/// Targets whose last change is remembered one by one.
pub(super) const TARGETS_MAX: usize = 64;
/// Fingerprints that are remembered.
pub(super) const STATES_MAX: usize = 64;

/// The world as a guard sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct World {
    /// Counts changes, sure and possible.
    now: u64,
    /// The last change that may have touched anything.
    everything: u64,
    /// The last call that perhaps changed something.
    unrest: u64,
    /// The last change of each target.
    targets: Recent<u64>,
    /// The workspace as it was last seen.
    fingerprint: Option<Digest>,
    /// How often each state of the workspace was reached.
    states: Recent<u32>,
}

/// What a call did to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing that anybody knows of.
    Still,
    /// It says it changed something, as it did before.
    Moved,
    /// It came back to a state seen before, for the first time.
    Returned,
    /// It reached a state not seen before.
    Progress,
    /// It came back to a state seen before, for at least the second time.
    Oscillation,
}

impl World {
    pub(super) fn new() -> Self {
        Self {
            now: 0,
            everything: 0,
            unrest: 0,
            targets: Recent::with_cap(TARGETS_MAX),
            fingerprint: None,
            states: Recent::with_cap(STATES_MAX),
        }
    }

    /// The time of the clock of changes.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Whether nothing is known to have changed what this call is about since then.
    pub(super) fn is_same_since(&self, call: &CallTrace, then: u64) -> bool {
        let target = match &call.target {
            Some(target) => self.targets.get(target).copied().unwrap_or(0),
            // Without a target the call may be about any of them.
            None => self.targets.values().copied().max().unwrap_or(0),
        };
        then >= target.max(self.everything)
    }

    /// Whether a result seen then must still hold: nothing may even perhaps have changed it.
    pub(super) fn surely_holds(&self, call: &CallTrace, then: u64) -> bool {
        let looks = match call.effect {
            Effect::Read | Effect::Poll | Effect::Cursor => true,
            Effect::Write | Effect::Exec => false,
        };
        self.is_same_since(call, then) && !(looks && then < self.unrest)
    }

    /// A person spoke: who knows what they did.
    pub(super) fn touch_everything(&mut self) {
        self.now += 1;
        self.everything = self.now;
    }

    /// Takes in what a call did, given how it relates to what was known; `after` is
    /// the fingerprint, where there is one.
    pub(super) fn advance(
        &mut self,
        call: &CallTrace,
        output: &OutputTrace,
        sighting: &Sighting,
        after: Option<Digest>,
    ) -> Step {
        let claims = call.change == Change::Surely && output.outcome == Outcome::Succeeded;
        match after {
            Some(after) => self.advance_to(call, after, claims),
            None if claims => {
                // Even the same change again may have changed something (`>>`, `sed -i`).
                self.mark(call);
                if sighting.is_done_before { Step::Moved } else { Step::Progress }
            }
            None => {
                if call.change == Change::Perhaps && !sighting.is_repeat() {
                    self.now += 1;
                    self.unrest = self.now;
                }
                Step::Still
            }
        }
    }

    fn advance_to(&mut self, call: &CallTrace, after: Digest, claims: bool) -> Step {
        let before = self.fingerprint.replace(after);
        if before == Some(after) {
            // The change may lie outside the workspace: outdate, but call it no progress.
            if claims {
                self.mark(call);
                return Step::Moved;
            }
            return Step::Still;
        }
        let visits = self.states.touch(&after, || 0).map_or(0, |visits| {
            *visits = visits.saturating_add(1);
            *visits
        });
        if before.is_none() && !claims {
            // The first look at a workspace tells nothing about this call.
            return Step::Still;
        }
        self.touch_everything();
        match visits {
            0 | 1 => Step::Progress,
            2 => Step::Returned,
            _ => Step::Oscillation,
        }
    }

    /// Bytes held by its tables.
    pub(super) fn bytes(&self) -> usize {
        self.targets.bytes() + self.states.bytes()
    }

    fn mark(&mut self, call: &CallTrace) {
        self.now += 1;
        match &call.target {
            Some(target) => {
                let now = self.now;
                if self.targets.is_full() && self.targets.get(target).is_none() {
                    // Room is made by forgetting a target, so everything counts as changed.
                    self.everything = now;
                }
                if let Some(at) = self.targets.touch(target, || now) {
                    *at = now;
                }
            }
            None => self.everything = self.now,
        }
    }
}
