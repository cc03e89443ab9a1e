//! The ladder: evidence adds up, strategy is switched once, the circuit breaks.
//!
//! Evidence never falls below zero (a CUSUM), so a long good past does not buy
//! patience for a loop. Only a person resets it.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::settings::{Action, Settings};
use super::verdict::{Evidence, Reason};

/// Changes of the evidence that are kept for the trail.
pub(super) const TRAIL_MAX: usize = 16;

/// How far up the ladder a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Nothing has been said yet.
    #[default]
    Watching,
    /// The model is to be told to change its strategy.
    SwitchDue,
    /// It has been told.
    Switched,
    /// The circuit is broken: the run ends.
    Broken,
}

/// Evidence and blocks of one turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ladder {
    evidence: u32,
    trail: VecDeque<Evidence>,
    blocks: u32,
    stage: Stage,
    /// The evidence when the switch became due.
    switched_at: u32,
    /// What made the last step up.
    cause: Option<Reason>,
}

impl Ladder {
    pub(super) fn evidence(&self) -> u32 {
        self.evidence
    }

    pub(super) fn trail(&self) -> impl Iterator<Item = &Evidence> {
        self.trail.iter()
    }

    pub(super) fn stage(&self) -> Stage {
        self.stage
    }

    pub(super) fn cause(&self) -> Option<Reason> {
        self.cause
    }

    /// Adds to the evidence, or takes from it.
    pub(super) fn add(&mut self, step: Evidence) {
        if step.points == 0 {
            return;
        }
        self.evidence = self.evidence.saturating_add_signed(step.points);
        if self.trail.len() == TRAIL_MAX {
            self.trail.pop_front();
        }
        self.trail.push_back(step);
    }

    pub(super) fn add_block(&mut self) {
        self.blocks = self.blocks.saturating_add(1);
    }

    /// Something new happened between blocks.
    pub(super) fn forgive_blocks(&mut self) {
        self.blocks = 0;
    }

    /// Whether one more block makes the next step up.
    pub(super) fn is_last_block(&self, settings: &Settings) -> bool {
        self.blocks.saturating_add(1) >= settings.blocks
    }

    /// Climbs as far as the evidence and the blocks say.
    pub(super) fn climb(&mut self, settings: &Settings) {
        let blocked_out = self.blocks >= settings.blocks;
        let cause = if blocked_out { Some(Reason::Blocked) } else { self.heaviest() };
        if self.stage == Stage::Watching && (blocked_out || self.evidence >= settings.threshold) {
            self.switched_at = self.evidence;
            self.step_to(Stage::SwitchDue, cause);
        } else if self.has_switched() && blocked_out {
            self.step_to(Stage::Broken, cause);
        }
        if self.has_switched() && self.evidence >= self.breaks_at(settings) {
            self.step_to(Stage::Broken, cause);
        }
    }

    /// Twice the threshold breaks the circuit. Where blocking comes first, the
    /// switch gets its chance too: as much again as stood when it became due.
    fn breaks_at(&self, settings: &Settings) -> u32 {
        let twice = settings.threshold.saturating_mul(2);
        match settings.action {
            Action::Block | Action::Stop => twice,
            Action::Both => twice.max(self.switched_at.saturating_add(settings.threshold)),
        }
    }

    pub(super) fn has_switched(&self) -> bool {
        matches!(self.stage, Stage::SwitchDue | Stage::Switched)
    }

    fn step_to(&mut self, stage: Stage, cause: Option<Reason>) {
        self.stage = stage;
        self.cause = cause;
        self.blocks = 0;
    }

    pub(super) fn break_for(&mut self, cause: Reason) {
        self.step_to(Stage::Broken, Some(cause));
    }

    pub(super) fn told(&mut self) {
        if self.stage == Stage::SwitchDue {
            self.stage = Stage::Switched;
        }
    }

    /// The reason that weighs most in the trail.
    fn heaviest(&self) -> Option<Reason> {
        let sum = |reason: Reason| -> i64 {
            self.trail.iter().filter(|step| step.reason == reason).map(|step| i64::from(step.points)).sum()
        };
        self.trail.iter().map(|step| step.reason).max_by_key(|reason| sum(*reason))
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.trail.capacity() * size_of::<Evidence>()
    }

    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }
}
