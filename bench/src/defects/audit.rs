//! What a run's journal tells about how it dealt with its defect, and the counts of that.

use std::collections::BTreeMap;

use bowline::Stopped;
use bowline::core::control::Strategy;
use bowline::core::event::{Ending, Event, Finding};
use bowline::core::provenance::Digest;
use bowline::core::quality::CheckOutcome;
use bowline::core::run::Run;

use super::case::Level;
use super::cast::{Cast, Judge, USAGE, Worker};
use super::{REPAIR_PERCENT, TOKENS};

/// What became of one run.
pub(super) struct Seen {
    end: End,
    events: Vec<Event>,
    output: Option<Digest>,
    rounds: u32,
    rounds_allowed: u32,
    repair_tokens: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Committed,
    AsksAPerson,
    NotDone,
}

impl Seen {
    pub(super) fn new(stopped: Stopped, run: &Run, events: Vec<Event>) -> Self {
        let end = match stopped {
            Stopped::Ended(Ending::Committed { .. }) => End::Committed,
            Stopped::Waiting(_) => End::AsksAPerson,
            Stopped::Ended(Ending::Failed { .. } | Ending::Halted { .. }) | Stopped::Asked => End::NotDone,
        };
        let output = match run.output.as_deref() {
            Some([only]) => Some(only.digest()),
            Some(_) | None => None,
        };
        Self {
            end,
            events,
            output,
            rounds: run.spend.repairs,
            rounds_allowed: run.limits.repairs,
            repair_tokens: run.repair_spend.settled.tokens,
        }
    }

    /// What the first verification found.
    fn first_finding(&self) -> Option<Finding> {
        self.events.iter().find_map(|event| match event {
            Event::Verified { finding, .. } => Some(*finding),
            _ => None,
        })
    }

    /// The last verification passed, with every gate open and no check that failed or
    /// could not run.
    fn gates_are_open(&self) -> bool {
        let last = self.events.iter().rev().find_map(|event| match event {
            Event::Verified { round, finding, assurance, .. } => Some((*round, *finding, assurance)),
            _ => None,
        });
        let Some((round, Finding::Passed, Some(assurance))) = last else { return false };
        let checks_hold = self.events.iter().all(|event| match event {
            Event::Checked { round: of, result } if *of == round => {
                matches!(result.outcome, CheckOutcome::Passed | CheckOutcome::NotApplicable(_))
            }
            _ => true,
        });
        checks_hold && assurance.gates.iter().all(|gate| gate.is_open())
    }
}

/// What became of all of them.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) cases: usize,
    pub(super) runs: usize,
    pub(super) committed: usize,
    pub(super) asked: usize,
    pub(super) not_done: usize,
    /// Runs whose defect schema or tests can tell, and those where the first verification did.
    pub(super) tellable: usize,
    pub(super) found: usize,
    pub(super) missed: Vec<String>,
    pub(super) past_a_gate: usize,
    pub(super) defect_committed: usize,
    pub(super) on_a_lie: usize,
    pub(super) over_budget: usize,
    pub(super) lost: usize,
    /// How often each way of repair was gone.
    pub(super) ways: BTreeMap<&'static str, usize>,
}

impl Tally {
    pub(super) fn add(&mut self, cast: &Cast, seen: &Seen) {
        self.runs += 1;
        match seen.end {
            End::Committed => self.committed += 1,
            End::AsksAPerson => self.asked += 1,
            End::NotDone => self.not_done += 1,
        }
        let is_tellable = cast.case.level != Level::Judge;
        self.tellable += usize::from(is_tellable);
        let wanted = match cast.case.level {
            Level::Schema => Finding::SchemaFailed,
            Level::Tests | Level::Judge => Finding::ChecksFailed,
        };
        let is_found = seen.first_finding() == Some(wanted);
        self.found += usize::from(is_tellable && is_found);
        if is_tellable && !is_found && !self.missed.contains(&cast.case.id) {
            self.missed.push(cast.case.id.clone());
        }
        let is_committed = seen.end == End::Committed;
        self.past_a_gate += usize::from(is_committed && !seen.gates_are_open());
        let is_good = seen.output == Some(Digest::of(cast.case.good.as_bytes())) && cast.case.can_be_mended();
        self.defect_committed += usize::from(is_committed && is_tellable && !is_good);
        let is_judged_alone = cast.case.is_judged_alone();
        self.on_a_lie += usize::from(is_committed && is_judged_alone && cast.judge != Judge::Honest);
        // One call may be out when the share is used up: it was set aside before.
        let share = TOKENS * REPAIR_PERCENT / 100;
        let is_over = seen.rounds > seen.rounds_allowed || seen.repair_tokens > share + USAGE.total();
        self.over_budget += usize::from(is_over);
        let mends = matches!(cast.worker, Worker::Mends | Worker::MendsLate) && cast.judge == Judge::Honest;
        let through = if is_tellable { is_committed } else { seen.end != End::NotDone };
        self.lost += usize::from(mends && cast.case.can_be_mended() && !(through && is_good));
        self.count_ways(&seen.events);
    }

    fn count_ways(&mut self, events: &[Event]) {
        for event in events {
            let Event::RepairStarted { strategy: Some(strategy), window, .. } = event else { continue };
            let way = match (strategy, window) {
                (Strategy::MinimalEdit, Some(_)) => "minimal edit in a window",
                (Strategy::MinimalEdit, None) => "minimal edit",
                (Strategy::SectionRewrite, _) => "section rewrite",
                (Strategy::FullRegeneration, _) => "full regeneration",
            };
            *self.ways.entry(way).or_default() += 1;
        }
    }

    pub(super) fn endings(&self) -> String {
        format!("{}, {}, {}", self.committed, self.asked, self.not_done)
    }

    pub(super) fn strategies(&self) -> String {
        let ways: Vec<String> = self.ways.iter().map(|(way, count)| format!("{way} {count}")).collect();
        ways.join(", ")
    }
}
