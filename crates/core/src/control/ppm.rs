//! Parts per million: the one number of the controller.

use serde::{Deserialize, Serialize};

/// A share, gain or intensity in parts per million. Arithmetic saturates, and
/// rounds towards zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Ppm(pub i64);

impl Ppm {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// The whole.
    pub const ONE: Self = Self(1_000_000);

    /// A part of a whole; the whole of nothing is 1.
    #[must_use]
    pub fn share(part: u64, whole: u64) -> Self {
        if whole == 0 {
            return Self::ONE;
        }
        Self::narrow(i128::from(part) * i128::from(Self::ONE.0) / i128::from(whole))
    }

    /// The sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The product.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        Self::narrow(i128::from(self.0) * i128::from(other.0) / i128::from(Self::ONE.0))
    }

    /// The quotient; `None` of nothing.
    #[must_use]
    pub fn over(self, other: Self) -> Option<Self> {
        let scaled = i128::from(self.0) * i128::from(Self::ONE.0);
        (other.0 != 0).then(|| Self::narrow(scaled / i128::from(other.0)))
    }

    /// This share of an amount.
    #[must_use]
    pub fn of(self, amount: u64) -> u64 {
        let share = i128::from(amount) * i128::from(self.0.max(0)) / i128::from(Self::ONE.0);
        u64::try_from(share).unwrap_or(u64::MAX)
    }

    /// In percent, rounded to the nearest.
    #[must_use]
    pub fn percent(self) -> i64 {
        self.0.saturating_add(5_000).div_euclid(10_000)
    }

    pub(super) fn narrow(wide: i128) -> Self {
        Self(i64::try_from(wide).unwrap_or(if wide < 0 { i64::MIN } else { i64::MAX }))
    }
}

impl std::fmt::Display for Ppm {
    /// As a decimal with three places: `0.713`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let thousandths = self.0.unsigned_abs() / 1000;
        write!(f, "{sign}{}.{:03}", thousandths / 1000, thousandths % 1000)
    }
}
