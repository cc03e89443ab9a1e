//! Confidence held against what became of earlier outputs.
//!
//! Outcomes are what people said about outputs they were asked about, and what was
//! reported about committed ones later. With enough of them a straight line through the
//! logits corrects later confidence ([`fit`]); [`reliability`] shows how far off it was.
//! Only what is shown or learned outside a run is computed in floats here: a run gets
//! the finished [`Calibration`] in whole numbers.

use serde::{Deserialize, Serialize};

use super::logistic;
use crate::control::Ppm;

/// Fewer outcomes than this correct nothing.
pub const ENOUGH: usize = 30;
/// How strongly the line is drawn to "as it is", in outcomes.
const PRIOR: f64 = 10.0;
const ROUNDS: usize = 50;
/// Bounds of what may be learned: a line that falls, or decides by itself, is none.
const SLOPE: (f64, f64) = (0.1, 3.0);
const SHIFT: f64 = 4.0;

/// One outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The logit its run had come to, uncorrected.
    pub logit: Ppm,
    /// Whether the output was right.
    pub right: bool,
}

/// A line through the logits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Its slope; 1 leaves confidence as it is.
    pub slope: Ppm,
    /// Its shift; 0 leaves confidence as it is.
    pub shift: Ppm,
    /// How many outcomes it is drawn through.
    pub outcomes: u32,
}

impl Calibration {
    pub(super) fn corrected(self, logit: Ppm) -> Ppm {
        self.slope.times(logit).plus(self.shift)
    }
}

/// The line that fits these outcomes best; `None` where there are too few.
#[must_use]
pub fn fit(recorded: &[Recorded]) -> Option<Calibration> {
    if recorded.len() < ENOUGH {
        return None;
    }
    let (mut slope, mut shift) = (1.0_f64, 0.0_f64);
    for _ in 0..ROUNDS {
        let (step_slope, step_shift) = newton_step(recorded, slope, shift);
        slope = (slope - step_slope).clamp(SLOPE.0, SLOPE.1);
        shift = (shift - step_shift).clamp(-SHIFT, SHIFT);
        if step_slope.abs().max(step_shift.abs()) < 1e-9 {
            break;
        }
    }
    let outcomes = u32::try_from(recorded.len()).unwrap_or(u32::MAX);
    Some(Calibration { slope: ppm(slope), shift: ppm(shift), outcomes })
}

/// One step of Newton's method on the log-likelihood with its prior.
fn newton_step(recorded: &[Recorded], slope: f64, shift: f64) -> (f64, f64) {
    let (mut by_slope, mut by_shift) = (PRIOR * (slope - 1.0), PRIOR * shift);
    let (mut slope_slope, mut slope_shift, mut shift_shift) = (PRIOR, 0.0, PRIOR);
    for outcome in recorded {
        let logit = float(outcome.logit);
        let believed = 1.0 / (1.0 + (-(slope * logit + shift)).exp());
        let off = believed - f64::from(u8::from(outcome.right));
        let spread = believed * (1.0 - believed);
        by_slope += off * logit;
        by_shift += off;
        slope_slope += spread * logit * logit;
        slope_shift += spread * logit;
        shift_shift += spread;
    }
    let whole = slope_slope * shift_shift - slope_shift * slope_shift;
    (
        (shift_shift * by_slope - slope_shift * by_shift) / whole,
        (slope_slope * by_shift - slope_shift * by_slope) / whole,
    )
}

/// Outcomes of like confidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Bin {
    /// From this confidence on.
    pub from: Ppm,
    /// Up to this one.
    pub to: Ppm,
    /// How many outcomes.
    pub outcomes: u64,
    /// How many of them were right.
    pub right: u64,
    /// Their mean confidence.
    pub believed: Ppm,
}

/// How far confidence can be relied upon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Reliability {
    /// By confidence, lowest first; only those that hold outcomes.
    pub bins: Vec<Bin>,
    /// The mean distance between what was believed and what came true.
    pub error: Ppm,
}

/// Holds confidence against outcomes, in tenths; corrected where a line is given.
#[must_use]
pub fn reliability(recorded: &[Recorded], learned: Option<Calibration>) -> Reliability {
    let believed = |outcome: &Recorded| {
        logistic(learned.map_or(outcome.logit, |learned| learned.corrected(outcome.logit)))
    };
    let tenth = |value: Ppm| (value.0 / 100_000).clamp(0, 9);
    let mut bins = Vec::new();
    let (mut off, mut whole) = (0_i128, 0_i128);
    for place in 0..10 {
        let inside: Vec<&Recorded> =
            recorded.iter().filter(|outcome| tenth(believed(outcome)) == place).collect();
        let count = i64::try_from(inside.len()).unwrap_or(i64::MAX);
        if count == 0 {
            continue;
        }
        let right = u64::try_from(inside.iter().filter(|outcome| outcome.right).count()).unwrap_or(0);
        let sum: i64 = inside.iter().map(|outcome| believed(outcome).0).sum();
        let outcomes = u64::try_from(count).unwrap_or(0);
        let mean = Ppm(sum / count);
        off += i128::from(mean.minus(Ppm::share(right, outcomes)).0.abs()) * i128::from(count);
        whole += i128::from(count);
        let (from, to) = (Ppm(place * 100_000), Ppm((place + 1) * 100_000));
        bins.push(Bin { from, to, outcomes, right, believed: mean });
    }
    let error = if whole == 0 { 0 } else { i64::try_from(off / whole).unwrap_or(i64::MAX) };
    Reliability { bins, error: Ppm(error) }
}

#[expect(clippy::cast_precision_loss, reason = "logits are small")]
fn float(value: Ppm) -> f64 {
    value.0 as f64 / 1e6
}

#[expect(clippy::cast_possible_truncation, reason = "clamped to a few units")]
fn ppm(value: f64) -> Ppm {
    Ppm((value * 1e6).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Outcomes whose line was computed elsewhere, by differences of the likelihood.
    fn known() -> Vec<Recorded> {
        let group = |(logit, count, right): (i64, usize, usize)| {
            (0..count).map(move |place| Recorded { logit: Ppm(logit), right: place < right })
        };
        [(-1_000_000, 30, 12), (500_000, 40, 22), (2_000_000, 50, 41)].into_iter().flat_map(group).collect()
    }

    #[test]
    fn the_line_is_the_likeliest_to_the_millionth() {
        let found = fit(&known()).unwrap();
        assert_eq!((found.slope, found.shift, found.outcomes), (Ppm(731_830), Ppm(30_540), 120));
    }

    #[test]
    fn a_step_goes_as_far_as_slope_and_curvature_say() {
        let (slope, shift) = newton_step(&known(), 0.7, 0.3);
        assert!((slope + 0.025_170_009_947).abs() < 1e-9, "{slope}");
        assert!((shift - 0.270_434_612_166).abs() < 1e-9, "{shift}");
    }
}
