//! The gains of the controller, given or derived.

use serde::{Deserialize, Serialize};

use super::Ppm;

/// How strongly error, its sum and its change move the intensity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Gains {
    /// On the error as it is.
    pub proportional: Ppm,
    /// On the sum of errors so far.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub integral: Ppm,
    /// On the change since the last round.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub derivative: Ppm,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(value: &Ppm) -> bool {
    *value == Ppm::ZERO
}

impl Gains {
    /// Largest gain that may be written: no plant needs more.
    pub const MOST: Ppm = Ppm(100_000_000);
    /// Least damping.
    pub const DAMPING_LEAST: Ppm = Ppm(200_000);
    /// Most damping.
    pub const DAMPING_MOST: Ppm = Ppm(500_000);

    /// The proportional gain that leaves a share `damping` of the error after a
    /// round of a plant with gain `plant`: `(1 − α) / G`.
    #[must_use]
    pub fn proportional(plant: Ppm, damping: Ppm) -> Self {
        let proportional = Ppm::ONE.minus(damping).over(plant).unwrap_or(Self::MOST).min(Self::MOST);
        Self { proportional, integral: Ppm::ZERO, derivative: Ppm::ZERO }
    }

    /// The same with a tenth of it on the sum and a twentieth on the change: enough
    /// that a gain that was guessed too high is made up for within a few rounds, and
    /// stable for every damping there is.
    #[must_use]
    pub fn damped(plant: Ppm, damping: Ppm) -> Self {
        let proportional = Self::proportional(plant, damping).proportional;
        Self { proportional, integral: Ppm(proportional.0 / 10), derivative: Ppm(proportional.0 / 20) }
    }
}
