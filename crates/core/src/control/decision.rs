//! The word of the controller after a verification, with everything it rests on.

use serde::{Deserialize, Serialize};

use super::{Gains, Memory, Model, Plant, Ppm, Quality, RoundCost, Settings, floor, rounds_to_gate};
use crate::budget::{Cost, UNLIMITED};

/// What the controller is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Measured just now.
    pub quality: Quality,
    /// Every check holds.
    pub accepted: bool,
    /// Repair rounds that may still be started.
    pub rounds_left: u32,
    /// What a round costs.
    pub round_cost: RoundCost,
    /// What may still be spent on repair.
    pub left: Cost,
}

/// Why repairing will not do by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The noise keeps the error above the gate, however often it is repaired.
    NoiseFloor,
    /// The last rounds brought nothing beyond the noise.
    Stalled,
    /// More rounds would be needed than there are.
    RoundsShort,
    /// More would be needed than may be spent.
    MeansShort,
}

impl Why {
    /// How hard to try where nothing else can change: with everything when repairs did
    /// not answer to less. A forecast that does not fit is no reason for that.
    fn hold(self, settings: &Settings, intensity: Ppm) -> Ppm {
        match self {
            Self::NoiseFloor | Self::Stalled => settings.band.most,
            Self::RoundsShort | Self::MeansShort => intensity,
        }
    }

    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::NoiseFloor => "the noise of repairs keeps the error above the gate",
            Self::Stalled => "the last rounds brought nothing beyond the noise",
            Self::RoundsShort => "more rounds would be needed than are left",
            Self::MeansShort => "more would be needed than may still be spent",
        }
    }
}

/// Why there is no further round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StopWhy {
    /// It is good enough.
    Reached,
    /// No round is left.
    NoRoundLeft,
    /// Not even one more round can be paid.
    NothingLeft,
}

impl StopWhy {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Reached => "the gate is reached",
            Self::NoRoundLeft => "no round is left",
            Self::NothingLeft => "one more round costs more than is left",
        }
    }
}

/// What the controller says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Decision {
    /// Repair, this hard.
    Repair {
        /// From the least to the most of the band.
        intensity: Ppm,
    },
    /// Repairing as before will not do: something else must change.
    Escalate {
        /// Why.
        why: Why,
        /// How hard to try, where nothing else can change.
        intensity: Ppm,
    },
    /// No further round.
    Stop {
        /// Why.
        why: StopWhy,
    },
}

impl Decision {
    /// How hard a repair tries that is made after it.
    #[must_use]
    pub fn intensity(&self) -> Option<Ppm> {
        match self {
            Self::Repair { intensity } | Self::Escalate { intensity, .. } => Some(*intensity),
            Self::Stop { .. } => None,
        }
    }
}

/// A decision with what led to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    /// What was measured.
    pub quality: Quality,
    /// What is missing in the worst of it.
    pub error: Ppm,
    /// The error that would be small enough.
    pub gate: Ppm,
    /// What repairs are believed to do.
    pub plant: Plant,
    /// The law.
    pub gains: Gains,
    /// The error that noise keeps up; `None`: there is no telling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<Ppm>,
    /// Rounds until the gate, were there no noise; `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// What those rounds cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Cost>,
    /// What may still be spent on repair.
    pub left: Cost,
    /// Repair rounds that may still be started.
    pub rounds_left: u32,
    /// What is remembered after this round.
    pub memory: Memory,
    /// What follows.
    pub decision: Decision,
}

/// What the controller says to a reading.
///
/// Where nothing was measured, the worst is assumed.
#[must_use]
pub fn judge(settings: &Settings, memory: &Memory, reading: &Reading) -> Judgement {
    let error = reading.quality.error(&settings.setpoints).unwrap_or(Ppm::ONE);
    let Settings { gains, band, plant, gate, .. } = *settings;
    let model = Model { plant: plant.gain, gains, band, gate };
    let ahead = rounds_to_gate(&model, memory, error);
    let (after, intensity) = memory.next(error, &gains, &band);
    let mut judgement = Judgement {
        quality: reading.quality,
        error,
        gate,
        plant,
        gains,
        floor: floor(&gains, plant.gain, plant.sigma),
        rounds: ahead.map(|(rounds, _)| rounds),
        forecast: ahead.map(|(rounds, effort)| reading.round_cost.of(rounds, effort)),
        left: reading.left,
        rounds_left: reading.rounds_left,
        memory: after.note((memory, error), &plant),
        decision: Decision::Repair { intensity },
    };
    judgement.decision = decided(settings, reading, &judgement, intensity);
    judgement.memory.asked = judgement.decision.intensity();
    judgement
}

fn decided(settings: &Settings, reading: &Reading, judgement: &Judgement, intensity: Ppm) -> Decision {
    let in_gate = judgement.error <= settings.gate;
    let next = reading.round_cost.of(1, intensity);
    if in_gate && reading.accepted {
        Decision::Stop { why: StopWhy::Reached }
    } else if reading.rounds_left == 0 {
        Decision::Stop { why: StopWhy::NoRoundLeft }
    } else if !covers(reading.left, next) {
        Decision::Stop { why: StopWhy::NothingLeft }
    } else if let Some(why) = trouble(settings, judgement) {
        let intensity =
            if judgement.memory.forced { settings.band.most } else { why.hold(settings, intensity) };
        Decision::Escalate { why, intensity }
    } else if judgement.memory.forced {
        Decision::Repair { intensity: settings.band.most }
    } else if in_gate {
        // Good enough, and yet a check fails: mended with the lightest hand.
        Decision::Repair { intensity: settings.band.least }
    } else {
        Decision::Repair { intensity }
    }
}

/// Why repairing as before will not do.
fn trouble(settings: &Settings, judgement: &Judgement) -> Option<Why> {
    if judgement.floor.is_none_or(|floor| floor > settings.gate) {
        return Some(Why::NoiseFloor);
    }
    if judgement.memory.stalled >= settings.stall {
        return Some(Why::Stalled);
    }
    if judgement.rounds.is_none_or(|rounds| rounds > judgement.rounds_left) {
        return Some(Why::RoundsShort);
    }
    judgement.forecast.filter(|forecast| !covers(judgement.left, *forecast)).map(|_| Why::MeansShort)
}

fn covers(left: Cost, need: Cost) -> bool {
    let enough = |left: u64, need: u64| left == UNLIMITED || need <= left;
    enough(left.tokens, need.tokens) && enough(left.micros, need.micros)
}
