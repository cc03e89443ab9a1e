//! The controller of repair in a run: asked after every verification that failed.
//!
//! What it says is an event before anything follows from it. By default its
//! intensity is advice to the repair, and only the limits end a run; a task that
//! obeys it tries what is beyond repair where it escalates, and then halts for a person.

use super::decide::Draft;
use super::escalating;
use super::state::Run;
use crate::budget::{Cost, UNLIMITED, UNLIMITED_COUNT};
use crate::control::{
    Decision, Obedience, Ppm, Reading, RoundCost, Strategy, judge, measured, price_of, unit_price,
};
use crate::event::{Controlled, Event, Finding, HaltReason, StopReason};
use crate::window::Window;

/// A verification is over: the controller speaks, unless everything passed.
pub(super) fn speak(draft: &mut Draft, finding: Finding, round: u32) {
    match finding {
        Finding::Passed | Finding::NothingToCheck => return,
        Finding::SchemaFailed | Finding::ChecksFailed | Finding::NotSure => {}
    }
    // A part is taken or left: nobody mends it.
    if !draft.run.recourse.missing.is_empty() {
        return;
    }
    let run = &draft.run;
    let settings = run.task.control.believing(run.mending.learned);
    let judgement = judge(&settings, &run.mending.memory, &reading(run));
    draft.push(Event::Controlled(Box::new(Controlled { round, judgement })));
    match (draft.run.task.control.obedience, judgement.decision) {
        (Obedience::Obey, Decision::Escalate { why, .. }) => {
            let why = HaltReason::RepairStuck { why: why.words().into() };
            escalating::escalate(draft, StopReason::Halt(why));
        }
        // Rounds and means have limits of their own, which end the run in their own words.
        (Obedience::Obey, Decision::Repair { .. } | Decision::Stop { .. }) | (Obedience::Advise, _) => {}
    }
}

fn reading(run: &Run) -> Reading {
    let slope = run.task.control.slope;
    Reading {
        quality: measured(&run.failures, run.task.checks.len()),
        accepted: false,
        rounds_left: run.limits.repairs.saturating_sub(run.repair_rounds()),
        round_cost: RoundCost { base: base(run, slope), slope },
        left: left(run),
    }
}

/// What a round of intensity 0 costs: by the rounds so far, or, before the first,
/// as if making everything anew cost what making it did.
fn base(run: &Run, slope: Ppm) -> Cost {
    let (mending, spent) = (run.repair_spend.settled, run.spend.settled);
    if run.mending.units > Ppm::ZERO {
        unit_price(run.mended_for().settled, run.mending.units)
    } else {
        unit_price(spent.minus(mending), price_of(1, Ppm::ONE, slope))
    }
}

/// What may still be spent on repair: of the whole, and of the share for repairs.
fn left(run: &Run) -> Cost {
    let of = |allowed: u64, spent: u64, mending: u64| {
        if allowed == UNLIMITED {
            return UNLIMITED;
        }
        let whole = allowed.saturating_sub(spent);
        let percent = run.limits.repair_percent;
        if percent == UNLIMITED_COUNT {
            return whole;
        }
        let share = u128::from(allowed) * u128::from(percent) / 100;
        whole.min(u64::try_from(share).unwrap_or(UNLIMITED).saturating_sub(mending))
    };
    let (spent, mending) = (run.spend.settled, run.mended_for().settled);
    Cost {
        tokens: of(run.limits.tokens, spent.tokens, mending.tokens),
        micros: of(run.limits.micros, spent.micros, mending.micros),
    }
}

impl Run {
    /// The controller spoke.
    pub(super) fn controlled(&mut self, said: &Controlled) {
        self.mending.memory = said.judgement.memory;
        self.mending.intensity = said.judgement.decision.intensity();
    }

    /// A repair begins.
    pub(super) fn repair_started(&mut self, strategy: Option<Strategy>, window: Option<&Window>) {
        self.mending.window = window.cloned();
        self.mending.cut_off = 0;
        self.spend.repairs += 1;
        let intensity = self.mending.intensity.unwrap_or(Ppm::ONE);
        let units = price_of(1, intensity, self.task.control.slope);
        self.mending.units = self.mending.units.plus(units);
        self.mending.strategy = strategy.or_else(|| self.mending.next_strategy());
        if let (Some(strategy), Some(defect)) = (self.mending.strategy, self.mending.defects.last()) {
            self.mending.tried.entry(*defect).or_default().insert(strategy);
        }
    }
}
