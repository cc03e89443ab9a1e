//! Runs at work, event by event: as lines, as JSON, or with a live line below.
//!
//! Every durable event is shown exactly once and in order, whoever reports it.

use std::collections::BTreeMap;

use bowline_core::event::Event;
use bowline_core::id::{Millis, RunId};
use bowline_core::provenance::Digest;
use bowline_core::run::Run;
use bowline_core::view;

use super::screen::Look;
use super::{Screen, escape, live};
use crate::output::runs as output;

/// How much is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Every event.
    Events,
    /// Nothing on the way.
    Nothing,
}

/// What has been shown of each run.
pub(crate) struct Progress {
    screen: Screen,
    detail: Detail,
    /// Lines carry the run's id, since several runs are shown.
    many: bool,
    runs: BTreeMap<RunId, Seen>,
}

struct Seen {
    next: u64,
    run: Option<Run>,
}

impl Progress {
    /// Nothing shown yet.
    pub(crate) fn new(screen: &Screen, detail: Detail) -> Self {
        Self { screen: screen.clone(), detail, many: false, runs: BTreeMap::new() }
    }

    /// For several runs at once.
    pub(crate) fn of_many(screen: &Screen, detail: Detail) -> Self {
        Self { many: true, ..Self::new(screen, detail) }
    }

    /// Shows this run from event `next` on; `run` is its state before that.
    pub(crate) fn begin(&mut self, id: &RunId, next: u64, run: Option<Run>) {
        self.runs.insert(id.clone(), Seen { next, run });
    }

    /// The event of this run that is to be shown next.
    pub(crate) fn next(&self, id: &RunId) -> Option<u64> {
        self.runs.get(id).map(|seen| seen.next)
    }

    /// Every run that is shown, and its next event.
    pub(crate) fn places(&self) -> Vec<(RunId, u64)> {
        self.runs.iter().map(|(id, seen)| (id.clone(), seen.next)).collect()
    }

    /// Shows an event, if it is the next one.
    pub(crate) fn event(&mut self, id: &RunId, (seq, at, event): (u64, Millis, &Event)) {
        let Some(seen) = self.runs.get_mut(id) else { return };
        if seq != seen.next {
            return;
        }
        seen.next = seq + 1;
        match &mut seen.run {
            Some(run) => run.apply(event, at),
            None => seen.run = Run::begin(id, event, at),
        }
        let since = seen.run.as_ref().map_or(0, |run| at.since(run.submitted_at));
        match (self.detail, self.screen.is_json()) {
            (Detail::Nothing, _) => {}
            (Detail::Events, true) => {
                self.screen.json(&output::Event { run: id, seq, at, event });
            }
            (Detail::Events, false) => self.print(id, since, event),
        }
    }

    /// Tells machines the hash of the state a worker works from.
    pub(crate) fn state(&self, id: &RunId, seq: u64, sha256: Digest) {
        if self.detail == Detail::Events && self.screen.is_json() {
            self.screen.json(&output::StateHash { run: id, seq, state: sha256 });
        }
    }

    fn print(&self, id: &RunId, since_ms: u64, event: &Event) {
        let text = escape::line(&view::line(event));
        let whose = if self.many { format!("{id}  ") } else { String::new() };
        let time = self.screen.paint(Look::Dim, &format!("{:>9}", clock(since_ms)));
        self.screen.line(&format!("{whose}{time}  {}", self.looks(event, &text)));
    }

    #[expect(clippy::too_many_lines, reason = "an exhaustive match that only colours things")]
    fn looks(&self, event: &Event, text: &str) -> String {
        use bowline_core::event::{Ending, Finding, Routed};
        match event {
            Event::Ended { ending: Ending::Committed { .. }, .. }
            | Event::Verified { finding: Finding::Passed, .. } => self.screen.paint(Look::Good, text),
            Event::Ended { ending: Ending::Failed { .. } | Ending::Halted { .. }, .. }
            | Event::Verified {
                finding: Finding::ChecksFailed | Finding::SchemaFailed | Finding::NotSure,
                ..
            }
            | Event::StepFailed { .. }
            | Event::CallTroubled { .. }
            | Event::BreakerOpened { .. } => self.screen.paint(Look::Bad, text),
            Event::Routed(what) => match **what {
                Routed::Rests { .. } => self.screen.paint(Look::Bad, text),
                Routed::Back { .. } => text.into(),
            },
            Event::ApprovalRequested { .. }
            | Event::CallInDoubt { .. }
            | Event::FromBackup(_)
            | Event::Paused { .. }
            | Event::CallBlocked { .. }
            | Event::StrategySwitched { .. }
            | Event::RoundRepeated { .. }
            | Event::SubtaskFailed { .. }
            | Event::Replanned { .. }
            | Event::Remedied(_)
            | Event::Escalated(_)
            | Event::Elided(_)
            | Event::LimitNear { .. } => self.screen.paint(Look::Open, text),
            Event::Submitted(_)
            | Event::Claimed { .. }
            | Event::Planned { .. }
            | Event::Decomposed { .. }
            | Event::Retrieved { .. }
            | Event::SubtaskStarted { .. }
            | Event::BranchChosen { .. }
            | Event::SubtaskDropped { .. }
            | Event::StepStarted { .. }
            | Event::StepFinished { .. }
            | Event::CallRefused { .. }
            | Event::ApprovalSettled { .. }
            | Event::CallStarted { .. }
            | Event::CallFinished { .. }
            | Event::BreakerClosed { .. }
            | Event::CallSettled { .. }
            | Event::Noticed { .. }
            | Event::SubtaskFinished { .. }
            | Event::Acted { .. }
            | Event::Checked { .. }
            | Event::Judged { .. }
            | Event::Verified { finding: Finding::NothingToCheck, .. }
            | Event::Diagnosed { .. }
            | Event::Controlled(_)
            | Event::RepairStarted { .. }
            | Event::Repaired { .. }
            | Event::Stopping { .. }
            | Event::RollbackStarted { .. }
            | Event::Restored { .. }
            | Event::CompensationStarted { .. }
            | Event::CompensationTroubled { .. }
            | Event::Compensated { .. }
            | Event::AlertRaised { .. }
            | Event::AlertTold { .. }
            | Event::UndoStarted { .. }
            | Event::UndoFinished { .. }
            | Event::LandingStarted { .. }
            | Event::ChangesFound(_)
            | Event::Landed { .. }
            | Event::Promoted(_)
            | Event::Resumed { .. }
            | Event::NotTakenUp { .. }
            | Event::SignalRefused { .. } => text.into(),
        }
    }

    /// Draws the live line again; only on a terminal.
    pub(crate) fn tick(&self, now: Millis) {
        if self.detail == Detail::Nothing || self.screen.is_json() || !self.screen.is_terminal() {
            return;
        }
        let at_work =
            || self.runs.values().filter_map(|seen| seen.run.as_ref()).filter(|run| run.ending().is_none());
        match (at_work().next(), at_work().count()) {
            (Some(run), 1) => self.screen.live(&live::line(run, now)),
            (Some(_), several) => self.screen.live(&format!("{several} runs at work")),
            (None, _) => self.screen.clear_live(),
        }
    }
}

/// Time since the submission, to the millisecond: `12.345`.
fn clock(ms: u64) -> String {
    format!("{}.{:03}", ms / 1000, ms % 1000)
}
