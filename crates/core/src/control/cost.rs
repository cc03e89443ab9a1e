//! What a round of repair costs: `c·(1 + β·u)`, the harder the more.

use super::Ppm;
use crate::budget::Cost;

/// What a round costs at intensity 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundCost {
    /// At intensity 0.
    pub base: Cost,
    /// How much more at intensity 1, as a share of it.
    pub slope: Ppm,
}

impl RoundCost {
    /// The cost of rounds of these intensities in sum.
    #[must_use]
    pub fn of(&self, rounds: u32, effort: Ppm) -> Cost {
        let units = price_of(rounds, effort, self.slope);
        Cost { tokens: units.of(self.base.tokens), micros: units.of(self.base.micros) }
    }
}

/// Rounds of these intensities in sum, in units of a round at intensity 0.
#[must_use]
pub fn price_of(rounds: u32, effort: Ppm, slope: Ppm) -> Ppm {
    Ppm(i64::from(rounds).saturating_mul(Ppm::ONE.0)).plus(slope.times(effort))
}

/// What a round at intensity 0 costs, given what rounds of so many units cost.
#[must_use]
pub fn unit_price(spent: Cost, units: Ppm) -> Cost {
    let each = |amount: u64| {
        let scaled = u128::from(amount) * u128::from(Ppm::ONE.0.unsigned_abs());
        let units = u128::from(units.0.max(1).unsigned_abs());
        u64::try_from(scaled / units).unwrap_or(u64::MAX)
    };
    Cost { tokens: each(spent.tokens), micros: each(spent.micros) }
}
