//! Ways to go about repair, and what one run under each comes to.

use bowline_core::budget::{Cost, UNLIMITED};
use bowline_core::control::{Decision, Memory, Plant, Ppm, Quality, Reading, RoundCost, Settings, judge};

use crate::dice::Dice;
use crate::world::World;

/// Rounds after which a run gives up.
pub(crate) const ROUNDS_MAX: u32 = 30;

/// A way to go about repair.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Policy {
    /// From scratch until it passes.
    Retry,
    /// Always this hard.
    Fixed(f64),
    /// As the controller says; where it escalates, with the intensity it names.
    Controlled(Settings),
}

/// What a run came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) rounds: u32,
    /// In units of a round of intensity 0.
    pub(crate) cost: f64,
    pub(crate) passed: bool,
}

/// Settings for a plant that is believed to be like this.
pub(crate) fn settings(gain: f64, sigma: f64, gate: f64, slope: f64) -> Settings {
    let plant = Plant { gain: ppm(gain), sigma: ppm(sigma), rounds: 0 };
    Settings { gate: ppm(gate), slope: ppm(slope), ..Settings::of(plant, Settings::DAMPING) }
}

/// In parts per million.
#[expect(clippy::cast_possible_truncation, reason = "amounts of the study are near one")]
pub(crate) fn ppm(value: f64) -> Ppm {
    Ppm((value * 1e6).round() as i64)
}

/// As a real number.
#[expect(clippy::cast_precision_loss, reason = "amounts of the study are near one")]
pub(crate) fn real(value: Ppm) -> f64 {
    value.0 as f64 / 1e6
}

/// One run, from its first attempt on.
pub(crate) fn play(world: &World, policy: &Policy, (gate, slope): (f64, f64), dice: &mut Dice) -> Outcome {
    let mut quality = world.attempt(dice);
    let (mut outcome, mut memory) = (Outcome::default(), Memory::default());
    loop {
        let passed = 1.0 - quality <= gate;
        if passed || outcome.rounds == ROUNDS_MAX {
            return Outcome { passed, ..outcome };
        }
        let intensity = match policy {
            Policy::Retry => 1.0,
            Policy::Fixed(intensity) => *intensity,
            Policy::Controlled(settings) => {
                let left = ROUNDS_MAX - outcome.rounds;
                let judgement = judge(settings, &memory, &play_round(quality, left, settings.slope));
                memory = judgement.memory;
                match judgement.decision {
                    Decision::Repair { intensity } | Decision::Escalate { intensity, .. } => real(intensity),
                    Decision::Stop { .. } => return Outcome { passed, ..outcome },
                }
            }
        };
        quality = match policy {
            Policy::Retry => world.attempt(dice),
            Policy::Fixed(_) | Policy::Controlled(_) => world.repaired(quality, intensity, dice),
        };
        outcome.rounds += 1;
        outcome.cost += 1.0 + slope * intensity;
    }
}

/// What the controller is told of a round.
pub(crate) fn play_round(quality: f64, rounds_left: u32, slope: Ppm) -> Reading {
    Reading {
        quality: Quality { correct: Some(ppm(quality)), ..Quality::default() },
        accepted: false,
        rounds_left,
        round_cost: RoundCost { base: Cost { tokens: 1, micros: 0 }, slope },
        left: Cost { tokens: UNLIMITED, micros: UNLIMITED },
    }
}

/// Many runs in sum.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) runs: u32,
    pub(crate) passed: u32,
    pub(crate) cost: f64,
    rounds: Vec<u32>,
}

impl Tally {
    /// So many runs.
    pub(crate) fn of(world: &World, policy: &Policy, terms: (f64, f64), lot: Lot) -> Self {
        let mut tally = Self::default();
        for run in 0..lot.runs {
            let mut dice = Dice::new(lot.seed, lot.cell, u64::from(run));
            tally.add(play(world, policy, terms, &mut dice));
        }
        tally
    }

    fn add(&mut self, outcome: Outcome) {
        self.runs += 1;
        self.passed += u32::from(outcome.passed);
        self.cost += outcome.cost;
        self.rounds.push(outcome.rounds);
    }

    /// The same with those of another.
    pub(crate) fn join(&mut self, other: &Self) {
        self.runs += other.runs;
        self.passed += other.passed;
        self.cost += other.cost;
        self.rounds.extend(&other.rounds);
    }

    /// Share of runs that passed.
    pub(crate) fn success(&self) -> f64 {
        f64::from(self.passed) / f64::from(self.runs.max(1))
    }

    /// What one success costs, failures paid for.
    pub(crate) fn cost_of_success(&self) -> f64 {
        if self.passed == 0 { f64::INFINITY } else { self.cost / f64::from(self.passed) }
    }

    /// The median of the rounds.
    pub(crate) fn median_rounds(&self) -> u32 {
        let mut rounds = self.rounds.clone();
        rounds.sort_unstable();
        rounds.get(rounds.len() / 2).copied().unwrap_or(0)
    }
}

/// Which runs, and how many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lot {
    pub(crate) seed: u64,
    pub(crate) cell: u64,
    pub(crate) runs: u32,
}
