//! How sure a run is of its output, from seven features.
//!
//! Each feature that applies has a strength from 0 to 1. Their weighted mean `x` (weights
//! of those that do not apply are left out) goes through a logistic:
//! `p = 1 / (1 + e^-(steepness · (x - middle)))`. What only a model said is worth less
//! than what was executed ([`Feature::worth`]), so that it never reaches certainty.

use serde::{Deserialize, Serialize};

use super::Calibration;
use crate::control::Ppm;

/// What confidence is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Feature {
    /// Schema, commands and assertions that held.
    Verified,
    /// Single tests that passed.
    Tested,
    /// What the judge thinks of it.
    Judged,
    /// Claims that the evidence bears out.
    Grounded,
    /// Other answers that agree.
    Consistent,
    /// How likely the model found its own words.
    Likely,
    /// How few repairs it took.
    Unrepaired,
}

impl Feature {
    /// Every feature.
    pub const ALL: [Self; 7] = [
        Self::Verified,
        Self::Tested,
        Self::Judged,
        Self::Grounded,
        Self::Consistent,
        Self::Likely,
        Self::Unrepaired,
    ];

    /// The most it is worth: what was executed counts in full.
    #[must_use]
    pub fn worth(self) -> Ppm {
        match self {
            Self::Verified | Self::Tested | Self::Unrepaired => Ppm::ONE,
            Self::Judged | Self::Grounded => Ppm(900_000),
            Self::Consistent => Ppm(850_000),
            Self::Likely => Ppm(800_000),
        }
    }

    /// Whether it says anything about the output by itself.
    fn is_evidence(self) -> bool {
        match self {
            Self::Verified
            | Self::Tested
            | Self::Judged
            | Self::Grounded
            | Self::Consistent
            | Self::Likely => true,
            Self::Unrepaired => false,
        }
    }

    /// The words for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Verified => "checks",
            Self::Tested => "tests",
            Self::Judged => "judge",
            Self::Grounded => "evidence",
            Self::Consistent => "other answers",
            Self::Likely => "likelihood",
            Self::Unrepaired => "few repairs",
        }
    }
}

/// What is known of an output; `None` where a feature does not apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Features {
    /// [`Feature::Verified`]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<Ppm>,
    /// [`Feature::Tested`]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tested: Option<Ppm>,
    /// [`Feature::Judged`]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<Ppm>,
    /// [`Feature::Grounded`]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grounded: Option<Ppm>,
    /// [`Feature::Consistent`]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consistent: Option<Ppm>,
    /// [`Feature::Likely`]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likely: Option<Ppm>,
    /// Rounds of repair it took.
    pub repairs: u32,
}

impl Features {
    /// The strength of one, from 0 to 1.
    #[must_use]
    pub fn of(&self, feature: Feature) -> Option<Ppm> {
        match feature {
            Feature::Verified => self.verified,
            Feature::Tested => self.tested,
            Feature::Judged => self.judged,
            Feature::Grounded => self.grounded,
            Feature::Consistent => self.consistent,
            Feature::Likely => self.likely,
            Feature::Unrepaired => Some(Ppm::share(1, u64::from(self.repairs).saturating_add(1))),
        }
    }
}

/// How much each feature counts, and how the mean becomes a probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weights {
    /// [`Feature::Verified`]
    pub verified: Ppm,
    /// [`Feature::Tested`]
    pub tested: Ppm,
    /// [`Feature::Judged`]
    pub judged: Ppm,
    /// [`Feature::Grounded`]
    pub grounded: Ppm,
    /// [`Feature::Consistent`]
    pub consistent: Ppm,
    /// [`Feature::Likely`]
    pub likely: Ppm,
    /// [`Feature::Unrepaired`]
    pub unrepaired: Ppm,
    /// How steep the logistic is.
    pub steepness: Ppm,
    /// The mean that is worth one half.
    pub middle: Ppm,
}

impl Default for Weights {
    /// Such that executable checks that all pass are above 0.95 after any number of
    /// repairs, unless the model finds its own words unlikely, and anything that only a
    /// model said stays below it.
    fn default() -> Self {
        Self {
            verified: Ppm(350_000),
            tested: Ppm(300_000),
            judged: Ppm(150_000),
            grounded: Ppm(100_000),
            consistent: Ppm(60_000),
            likely: Ppm(20_000),
            unrepaired: Ppm(15_000),
            steepness: Ppm(12_000_000),
            middle: Ppm(700_000),
        }
    }
}

/// How sure a run is of its output, and what that comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Confidence {
    /// The probability that it is right.
    pub value: Ppm,
    /// What it is made of.
    pub features: Features,
    /// Whether outcomes of earlier runs corrected it.
    pub calibrated: bool,
}

impl Weights {
    /// How much a feature counts.
    #[must_use]
    pub fn of(&self, feature: Feature) -> Ppm {
        match feature {
            Feature::Verified => self.verified,
            Feature::Tested => self.tested,
            Feature::Judged => self.judged,
            Feature::Grounded => self.grounded,
            Feature::Consistent => self.consistent,
            Feature::Likely => self.likely,
            Feature::Unrepaired => self.unrepaired,
        }
    }

    /// How sure these features make one; `None` where nothing is known of the output.
    #[must_use]
    pub fn confidence(&self, features: Features, learned: Option<Calibration>) -> Option<Confidence> {
        let logit = self.logit(&features)?;
        let logit = learned.map_or(logit, |learned| learned.corrected(logit));
        Some(Confidence { value: logistic(logit), features, calibrated: learned.is_some() })
    }

    /// What goes into the logistic.
    #[must_use]
    pub fn logit(&self, features: &Features) -> Option<Ppm> {
        let known = Feature::ALL.into_iter().filter_map(|feature| Some((feature, features.of(feature)?)));
        let (mut sum, mut whole, mut evidence) = (Ppm::ZERO, Ppm::ZERO, false);
        for (feature, strength) in known {
            let weight = self.of(feature);
            sum = sum.plus(weight.times(feature.worth()).times(strength));
            whole = whole.plus(weight);
            evidence |= feature.is_evidence() && weight > Ppm::ZERO;
        }
        let mean = sum.over(whole).filter(|_| evidence)?;
        Some(self.steepness.times(mean.minus(self.middle)))
    }
}

/// `1 / (1 + e^-x)`, in whole numbers.
#[must_use]
pub fn logistic(x: Ppm) -> Ppm {
    let power = exp_minus(x.0.unsigned_abs());
    let one = 1_000_000_000_000_i128;
    let low = power * one / (one + power);
    let value = if x.0 < 0 { low } else { one - low };
    Ppm(i64::try_from(value / 1_000_000).unwrap_or(Ppm::ONE.0))
}

/// `e^-x` in parts of 10^12, for `x` in parts per million: the power series of a
/// sixty-fourth of it, squared six times.
fn exp_minus(x: u64) -> i128 {
    const ONE: i128 = 1_000_000_000_000;
    if x > 27_000_000 {
        return 0;
    }
    let small = i128::from(x) * 1_000_000 / 64;
    let (mut term, mut sum) = (ONE, ONE);
    for count in 1..=12 {
        term = -term * small / ONE / count;
        sum += term;
    }
    (0..6).fold(sum, |power, _| power * power / ONE)
}
