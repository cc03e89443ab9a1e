//! The control law: PID within a band, without wind-up.

use serde::{Deserialize, Serialize};

use super::{Gains, Plant, Ppm};

/// Between what the intensity of a repair stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// The gentlest repair that is one.
    pub least: Ppm,
    /// The hardest.
    pub most: Ppm,
}

impl Band {
    /// The nearest intensity in it.
    #[must_use]
    pub fn hold(&self, wanted: Ppm) -> Ppm {
        wanted.min(self.most).max(self.least)
    }
}

/// What the controller remembers between rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// The sum of errors that counted.
    #[serde(default)]
    pub integral: Ppm,
    /// The last error; `None` before the first: then nothing has changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Ppm>,
    /// The error after the last round that was real progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Ppm>,
    /// Rounds in a row that brought nothing beyond the noise.
    #[serde(default)]
    pub stalled: u32,
    /// How hard the last repair was to try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Ppm>,
    /// A round brought less than half of what was believed of it. A model that did
    /// not answer to a gentle repair is not asked gently again: from then on every
    /// repair tries its hardest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forced: bool,
}

impl Memory {
    /// The next intensity, and what is remembered after it.
    ///
    /// While the band holds the intensity back, the error is not added up (it
    /// would have to be unwound again), and the sum alone never asks for more than
    /// the whole band.
    #[must_use]
    pub fn next(&self, error: Ppm, gains: &Gains, band: &Band) -> (Self, Ppm) {
        let change = self.last.map_or(Ppm::ZERO, |last| error.minus(last));
        let direct = gains.proportional.times(error).plus(gains.derivative.times(change));
        let sum = bounded(self.integral.plus(error), gains.integral, band);
        let wanted = direct.plus(gains.integral.times(sum));
        let held = band.hold(wanted);
        let winds_up = (wanted > held && error > Ppm::ZERO) || (wanted < held && error < Ppm::ZERO);
        let integral = if winds_up { self.integral } else { sum };
        (Self { integral, last: Some(error), ..*self }, held)
    }

    /// Notes what a round brought. Progress is more than the noise since the last
    /// round that was progress, so that small steps add up.
    #[must_use]
    pub(super) fn note(self, (before, error): (&Self, Ppm), plant: &Plant) -> Self {
        let is_better = self.mark.is_none_or(|mark| mark.minus(error) > plant.sigma);
        let mark = if is_better { Some(error) } else { self.mark };
        let stalled = if is_better { 0 } else { self.stalled.saturating_add(1) };
        let fell_short = match (before.last, before.asked) {
            (Some(last), Some(asked)) => last.minus(error) < Ppm(plant.gain.times(asked).0 / 2),
            (None, _) | (_, None) => false,
        };
        Self { mark, stalled, forced: self.forced || fell_short, ..self }
    }
}

fn bounded(sum: Ppm, gain: Ppm, band: &Band) -> Ppm {
    match band.most.over(gain) {
        Some(most) if most > Ppm::ZERO => sum.min(most).max(Ppm(most.0.saturating_neg())),
        Some(_) | None => sum,
    }
}
