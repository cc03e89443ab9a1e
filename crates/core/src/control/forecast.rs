//! How many rounds it will take: the noise-free loop, band and all, run ahead.
//!
//! For a proportional law that is never held back by its band this is the closed
//! form `⌈ln(ε/e₀) / ln|1 − G·Kp|⌉`, evaluated in whole numbers.

use super::{Band, Gains, Memory, Ppm};

/// Most rounds that are foreseen: beyond, it is never.
pub const ROUNDS_MAX: u32 = 1000;

/// The loop as it is believed to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// How much a repair of intensity 1 mends.
    pub plant: Ppm,
    /// The law.
    pub gains: Gains,
    /// Its bounds.
    pub band: Band,
    /// The error that is small enough.
    pub gate: Ppm,
}

/// Rounds until the error is within the gate, and the sum of their intensities;
/// `None`: not within [`ROUNDS_MAX`].
#[must_use]
pub fn rounds_to_gate(model: &Model, memory: &Memory, error: Ppm) -> Option<(u32, Ppm)> {
    let (mut memory, mut error) = (*memory, error);
    let mut effort = Ppm::ZERO;
    for rounds in 0..=ROUNDS_MAX {
        // Better than wanted is fine: only what is missing counts.
        if error <= model.gate {
            return Some((rounds, effort));
        }
        let (after, intensity) = memory.next(error, &model.gains, &model.band);
        memory = after;
        effort = effort.plus(intensity);
        error = error.minus(model.plant.times(intensity));
    }
    None
}
