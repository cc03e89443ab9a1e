//! How often each strategy of repair worked against each cause, in finished runs.

use serde::{Deserialize, Serialize};

use super::{Ppm, Strategy};
use crate::defect::Cause;

/// Below this a strategy is not worth trying.
pub const PROMISING: Ppm = Ppm(500_000);
/// What is believed before anything was seen, and how many repairs that counts as.
const PRIOR: Ppm = Ppm(600_000);
const PRIOR_TRIES: u32 = 4;

/// How one strategy did against one cause; `None`: where the cause could not be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Against what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Which.
    pub strategy: Strategy,
    /// Repairs.
    pub tried: u32,
    /// Those that mended something and broke nothing.
    pub worked: u32,
}

/// What strategies did, by cause. At most one entry for each pair.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Rates(pub Vec<Rate>);

impl Rates {
    /// Takes note of one repair.
    pub fn note(&mut self, cause: Option<Cause>, strategy: Strategy, worked: bool) {
        let known = self.0.iter_mut().find(|rate| rate.cause == cause && rate.strategy == strategy);
        match known {
            Some(rate) => {
                rate.tried = rate.tried.saturating_add(1);
                rate.worked = rate.worked.saturating_add(u32::from(worked));
            }
            None => self.0.push(Rate { cause, strategy, tried: 1, worked: u32::from(worked) }),
        }
    }

    /// How likely it is to work.
    #[must_use]
    pub fn of(&self, cause: Option<Cause>, strategy: Strategy) -> Ppm {
        let seen = self.0.iter().find(|rate| rate.cause == cause && rate.strategy == strategy);
        let (tried, worked) = seen.map_or((0, 0), |rate| (rate.tried, rate.worked.min(rate.tried)));
        let believed = PRIOR.0 * i64::from(PRIOR_TRIES);
        Ppm((i64::from(worked) * Ppm::ONE.0 + believed) / (i64::from(tried) + i64::from(PRIOR_TRIES)))
    }

    /// Whether it is worth trying.
    #[must_use]
    pub fn is_promising(&self, cause: Option<Cause>, strategy: Strategy) -> bool {
        self.of(cause, strategy) >= PROMISING
    }

    /// Nothing was seen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_again_and_again_is_no_longer_promising_and_what_works_stays_so() {
        let cause = Some(Cause::LogicError);
        let mut rates = Rates::default();
        assert!(rates.is_promising(cause, Strategy::MinimalEdit), "before anything was seen");
        rates.note(cause, Strategy::MinimalEdit, false);
        assert_eq!(rates.of(cause, Strategy::MinimalEdit), Ppm(480_000));
        assert!(!rates.is_promising(cause, Strategy::MinimalEdit));
        assert!(rates.is_promising(Some(Cause::SchemaViolation), Strategy::MinimalEdit));
        for _ in 0..3 {
            rates.note(cause, Strategy::MinimalEdit, true);
        }
        assert!(rates.is_promising(cause, Strategy::MinimalEdit));
        assert_eq!(rates.0.len(), 1);
    }
}
