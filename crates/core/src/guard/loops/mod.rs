//! The loop detector: is this run still getting anywhere?
//!
//! Two actions, because real agents recover. A call whose result is known is
//! **blocked** early, which loses nothing; a run is **stopped** late, on evidence
//! that has added up. Before each call ask [`Detector::check`]; afterwards record
//! what happened. Between the two stands a notice: [`Detector::switch_due`] says
//! once that the model should be told to change its strategy.
//!
//! Invariants
//! - `check` looks at the state only: asked twice it answers the same.
//! - Every change of the evidence names its reason.
//! - Every table has a cap ([`Detector::BYTES_MAX`] in all), and no call costs
//!   more because of how many came before it.
//! - A run that is folded again from its traces stands where it stood.

mod counters;
mod ladder;
mod observe;
mod recent;
mod record;
mod rounds;
mod settings;
#[cfg(test)]
mod tests;
mod verdict;
mod window;
mod world;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

pub use counters::Counters;
pub use ladder::Stage;
pub use rounds::{ROUNDS_MAX, Rounds};
pub use settings::{Action, Settings, Weights};
pub use verdict::{Evidence, Finding, Layer, Reason, Verdict};

use super::{Breadth, CallTrace, Change, Effect, Outcome, Sketch};
use crate::provenance::Digest;
use crate::tool::Repeat;
use ladder::Ladder;
use recent::Recent;
use window::Window;
use world::World;

/// Calls that are remembered by their key.
const CALLS_MAX: usize = 128;
/// Outputs that are remembered.
const OUTPUTS_MAX: usize = 128;
/// Kinds of error that are remembered.
const ERRORS_MAX: usize = 64;
/// Openings of replies that are remembered.
const OPENINGS_MAX: usize = 64;
/// Replies whose words are remembered.
const SAID_MAX: usize = 10;
/// Tools that did not exist, and calls that were refused.
const REFUSALS_MAX: usize = 32;

/// Watches one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Detector {
    settings: Settings,
    counters: Counters,
    world: World,
    calls: Recent<Known>,
    /// Who produced each output first.
    outputs: Recent<Digest>,
    errors: Recent<u32>,
    openings: Recent<u32>,
    /// The words of the last replies.
    said: VecDeque<Sketch>,
    /// Unknown tools by name, refused calls by key.
    refusals: Recent<u32>,
    window: Window,
    streaks: Streaks,
    ladder: Ladder,
}

/// What is known of a call that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    /// When, by the clock of changes.
    at: u64,
    digest: Digest,
    outcome: Outcome,
    empty: bool,
    /// Equal results in a row, in one world.
    same: u32,
    /// Times made in one world, whatever the result.
    times: u32,
}

/// Things in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Streaks {
    /// Equal calls with equal results.
    same: u32,
    failures: u32,
    /// Calls without anything new.
    stale: u32,
    /// Calls of `tool` without anything new.
    tool_stale: u32,
    /// Empty results of the read tool `tool`.
    empty: u32,
    tool: Option<Digest>,
    replies_without_call: u32,
    truncated: u32,
}

impl Detector {
    /// A detector takes at most this many bytes in memory, whatever it has seen.
    pub const BYTES_MAX: usize = 64 * 1024;

    /// A detector that has seen nothing.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            counters: Counters::default(),
            world: World::new(),
            calls: Recent::with_cap(CALLS_MAX),
            outputs: Recent::with_cap(OUTPUTS_MAX),
            errors: Recent::with_cap(ERRORS_MAX),
            openings: Recent::with_cap(OPENINGS_MAX),
            said: VecDeque::new(),
            refusals: Recent::with_cap(REFUSALS_MAX),
            window: Window::default(),
            streaks: Streaks::default(),
            ladder: Ladder::default(),
        }
    }

    /// The settings it works with.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What it has counted over the whole run.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Evidence so far, in hundredths.
    #[must_use]
    pub fn evidence(&self) -> u32 {
        self.ladder.evidence()
    }

    /// How far up the ladder the run is.
    #[must_use]
    pub fn stage(&self) -> Stage {
        self.ladder.stage()
    }

    /// What to do with this call, asked before it is made.
    #[must_use]
    pub fn check(&self, call: &CallTrace) -> Verdict {
        if let stop @ Verdict::Stop(_) = self.check_run() {
            return stop;
        }
        if self.settings.action == Action::Stop {
            return Verdict::Allow;
        }
        let Some((reason, times)) = self.grounds_to_block(call) else { return Verdict::Allow };
        let last = self.ladder.is_last_block(&self.settings);
        let mut finding = self.finding(reason, times);
        if last && self.ladder.has_switched() && self.settings.action == Action::Both {
            return Verdict::Stop(finding);
        }
        finding.switch = last && self.stage() == Stage::Watching;
        Verdict::Block(finding)
    }

    /// Whether the run may go on at all, asked when there is no call to check.
    #[must_use]
    pub fn check_run(&self) -> Verdict {
        if self.stage() == Stage::Broken && self.settings.action != Action::Block {
            let cause = self.ladder.cause().unwrap_or(Reason::Stagnation);
            return Verdict::Stop(self.finding(cause, 1));
        }
        Verdict::Allow
    }

    /// The notice that the model should change its strategy, until it was given
    /// ([`Detector::record_switch`]).
    #[must_use]
    pub fn switch_due(&self) -> Option<Finding> {
        let due = self.stage() == Stage::SwitchDue;
        due.then(|| self.finding(self.ladder.cause().unwrap_or(Reason::Stagnation), 1))
    }

    /// Which calls of one batch are duplicates: for each, the index of the first
    /// one like it, whose real result it is to be given. A call that must never be
    /// repeated by itself is never taken for a duplicate, and none is of a call that
    /// stands before something that may change what is seen.
    #[must_use]
    pub fn duplicates(batch: &[CallTrace]) -> Vec<Option<usize>> {
        let mut first = std::collections::BTreeMap::new();
        let mut duplicates = Vec::with_capacity(batch.len());
        for (at, call) in batch.iter().enumerate() {
            let before = first.get(&call.key).copied().filter(|_| call.repeat != Repeat::Never);
            if call.change != Change::Never {
                first.clear();
            }
            first.insert(call.key, before.unwrap_or(at));
            duplicates.push(before);
        }
        duplicates
    }

    /// Bytes it takes in memory now.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let sketches = self.said.capacity();
        size_of::<Self>()
            + self.calls.bytes()
            + self.outputs.bytes()
            + self.errors.bytes()
            + self.openings.bytes()
            + self.refusals.bytes()
            + self.world.bytes()
            + self.window.bytes()
            + self.ladder.bytes()
            + sketches * (size_of::<Sketch>() + Sketch::BYTES)
    }

    fn finding(&self, reason: Reason, times: u32) -> Finding {
        Finding {
            layer: reason.layer(),
            reason,
            times,
            evidence: self.ladder.evidence(),
            trail: self.ladder.trail().copied().collect(),
            setting: reason.setting().to_owned(),
            switch: false,
            notice: reason.advice().to_owned(),
        }
    }

    /// The first layer that would rather not see this call made, and how many
    /// times it counts with it.
    fn grounds_to_block(&self, call: &CallTrace) -> Option<(Reason, u32)> {
        self.refused(call)
            .or_else(|| self.known_result(call))
            .or_else(|| self.circling(call))
            .or_else(|| self.finding_nothing(call))
    }

    fn refused(&self, call: &CallTrace) -> Option<(Reason, u32)> {
        let count = |name: &Digest| self.refusals.get(name).copied().unwrap_or(0).saturating_add(1);
        let (unknown, denied) = (count(&call.tool), count(&call.key));
        if unknown >= self.settings.unknown_at {
            Some((Reason::UnknownTool, unknown))
        } else if denied >= self.settings.denied_at {
            Some((Reason::Denied, denied))
        } else {
            None
        }
    }

    fn known_result(&self, call: &CallTrace) -> Option<(Reason, u32)> {
        let known = self.calls.get(&call.key)?;
        if !self.world.is_same_since(call, known.at) {
            return None;
        }
        let settings = &self.settings;
        let (times, stubborn) = match call.effect {
            // Going on is the purpose of these, so only an answer that does not move counts.
            Effect::Cursor => (known.same, settings.stubborn_at),
            Effect::Poll => (known.times, settings.poll_at),
            Effect::Read | Effect::Write | Effect::Exec => (known.times, settings.stubborn_at),
        };
        let times = times.saturating_add(1);
        if times >= stubborn {
            let reason = if call.effect == Effect::Poll { Reason::PolledOut } else { Reason::Stubborn };
            return Some((reason, times));
        }
        let enough = match (call.effect, known.outcome) {
            // One empty answer is no answer to hold against anybody.
            (Effect::Read, _) | (Effect::Write, Outcome::Failed) if !known.empty => settings.read_repeats,
            (Effect::Read | Effect::Exec | Effect::Write, _) => settings.exec_repeats,
            (Effect::Cursor | Effect::Poll, _) => return None,
        };
        let holds = self.world.surely_holds(call, known.at);
        (holds && known.same >= enough).then_some((Reason::SameInOneWorld, known.same.saturating_add(1)))
    }

    fn circling(&self, call: &CallTrace) -> Option<(Reason, u32)> {
        if call.effect == Effect::Poll {
            return None;
        }
        let periods = self.settings.cycle_periods;
        self.window.completes(&call.key, periods).map(|_| (Reason::Cycle, periods))
    }

    fn finding_nothing(&self, call: &CallTrace) -> Option<(Reason, u32)> {
        let times = self.streaks.empty.saturating_add(1);
        let same_tool = self.streaks.tool == Some(call.tool);
        let looks = call.effect == Effect::Read && call.breadth == Breadth::Narrow;
        (looks && same_tool && times >= self.settings.empty_at).then_some((Reason::EmptyInARow, times))
    }
}
