//! What repairs did in runs that are over: the gain and noise of a class of tasks.
//!
//! Each repair of intensity `u` moved the quality by `Δ`. The gain is the slope of
//! `Δ` on `u` through the origin, the noise what that leaves over. Both are drawn
//! towards the prior as if it had been seen in [`PRIOR_ROUNDS`] rounds of full
//! intensity, so that few rounds say little.

use serde::{Deserialize, Serialize};

use super::Ppm;

/// Rounds that the prior is worth.
pub const PRIOR_ROUNDS: u32 = 4;
/// Most moves that are looked at, the latest.
pub const SERIES_MAX: usize = 1024;
/// The least gain that is believed: below, no number of rounds would do.
const GAIN_LEAST: Ppm = Ppm(10_000);

/// What a repair does to quality.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Plant {
    /// How much a repair of intensity 1 mends.
    pub gain: Ppm,
    /// The deviation of what it does besides.
    pub sigma: Ppm,
    /// Rounds this was seen in; 0: it is assumed.
    #[serde(default)]
    pub rounds: u32,
}

impl Default for Plant {
    /// Assumed of tasks nobody has seen repaired: a full repair mends half of all
    /// there is, give or take 3 %.
    fn default() -> Self {
        Self { gain: Ppm(500_000), sigma: Ppm(30_000), rounds: 0 }
    }
}

/// What one repair did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Move {
    /// How hard it tried.
    pub intensity: Ppm,
    /// By how much quality rose.
    pub gained: Ppm,
}

/// The moves of a series of rounds: the quality each began with, and how hard the
/// repair after it tried.
#[must_use]
pub fn moves(series: &[(Ppm, Ppm)]) -> Vec<Move> {
    let pairs = series.iter().zip(series.iter().skip(1));
    pairs
        .map(|((before, intensity), (after, _))| Move { intensity: *intensity, gained: after.minus(*before) })
        .collect()
}

/// Gain and noise by these moves, given what was assumed.
#[must_use]
pub fn estimate(moves: &[Move], prior: &Plant) -> Plant {
    let seen = moves.get(moves.len().saturating_sub(SERIES_MAX)..).unwrap_or(moves);
    let weight = i128::from(PRIOR_ROUNDS) * squared(Ppm::ONE);
    let product = |one: &Move| i128::from(one.intensity.0) * i128::from(one.gained.0);
    let above: i128 = seen.iter().map(product).sum();
    let below: i128 = seen.iter().map(|one| squared(one.intensity)).sum();
    let scaled = above * i128::from(Ppm::ONE.0) + weight * i128::from(prior.gain.0);
    let gain = Ppm::narrow(scaled / (below + weight)).max(GAIN_LEAST).min(Ppm::ONE);
    let left_over = |one: &Move| squared(one.gained.minus(gain.times(one.intensity)));
    let squares: i128 = seen.iter().map(left_over).sum();
    let rounds = u32::try_from(seen.len()).unwrap_or(u32::MAX);
    let whole = squares + i128::from(PRIOR_ROUNDS) * squared(prior.sigma);
    let variance = whole / i128::from(rounds.saturating_add(PRIOR_ROUNDS));
    let sigma = u128::try_from(variance).unwrap_or(0).isqrt();
    Plant { gain, sigma: Ppm::narrow(i128::try_from(sigma).unwrap_or(i128::MAX)), rounds }
}

fn squared(value: Ppm) -> i128 {
    i128::from(value.0) * i128::from(value.0)
}
