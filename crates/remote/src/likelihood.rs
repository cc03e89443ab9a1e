//! How likely a model found its own words: the geometric mean of the probabilities of its
//! tokens, out of the logarithms that servers give.
//!
//! A server is a stranger: a value that is no logarithm of a probability makes all of it
//! untold, since the mean of the others would be that of another answer. Nothing is kept
//! of a token but its part of the sum.

use std::fmt;

use bowline_core::control::Ppm;
use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};

use crate::json::{self, Raw};

/// The least a token counts for, one in a million: some servers write a number far below
/// for "not among the likeliest".
const LEAST: f64 = -13.815_510_557_964_274;
/// How far above nothing a logarithm may be for having been rounded.
const ROUNDING: f64 = 0.001;

/// What was told so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Likelihood {
    sum: f64,
    tokens: f64,
    /// The mean, where the server took it itself.
    mean: Option<f64>,
    spoiled: bool,
}

impl Likelihood {
    /// Takes in a list of tokens, each with its logarithm; what is absent says nothing.
    pub(crate) fn tokens(&mut self, raw: Raw<'_>) {
        if raw.is_none() {
            return;
        }
        match json::part::<Tokens>(raw) {
            Some(Tokens(more)) => {
                self.sum += more.sum;
                self.tokens += more.tokens;
                self.spoiled |= more.spoiled;
            }
            None => self.spoiled = true,
        }
    }

    /// Takes in a mean the server took; the last one counts, and none where tokens are told.
    pub(crate) fn mean(&mut self, raw: Raw<'_>) {
        if raw.is_some() {
            self.mean = json::number(raw).and_then(sound);
            self.spoiled |= self.mean.is_none();
        }
    }

    /// What it comes to, from 0 to 1.
    pub(crate) fn told(&self) -> Option<Ppm> {
        let mean = if self.tokens > 0.0 { Some(self.sum / self.tokens) } else { self.mean };
        mean.filter(|_| !self.spoiled).map(|mean| ppm(mean.exp()))
    }

    fn add(&mut self, log: Option<f64>) {
        match log.and_then(sound) {
            Some(log) => {
                self.sum += log;
                self.tokens += 1.0;
            }
            None => self.spoiled = true,
        }
    }
}

/// A logarithm of a probability, within bounds; `None` where it cannot be one.
fn sound(log: f64) -> Option<f64> {
    (log.is_finite() && log <= ROUNDING).then(|| log.clamp(LEAST, 0.0))
}

#[expect(clippy::cast_possible_truncation, reason = "a probability is at most a million millionths")]
fn ppm(probability: f64) -> Ppm {
    Ppm((probability.clamp(0.0, 1.0) * 1e6).round() as i64)
}

/// A list of tokens, summed up while it is read: a long one takes no memory.
struct Tokens(Likelihood);

#[derive(serde::Deserialize)]
struct Token<'a> {
    #[serde(borrow, default, alias = "logProbability")]
    logprob: Raw<'a>,
}

impl<'de> Deserialize<'de> for Tokens {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(Summed)
    }
}

struct Summed;

impl<'de> Visitor<'de> for Summed {
    type Value = Tokens;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of tokens with their logarithms")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tokens, A::Error> {
        let mut sum = Likelihood::default();
        while let Some(token) = list.next_element::<Token<'de>>()? {
            sum.add(json::number(token.logprob));
        }
        Ok(Tokens(sum))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    fn told(lists: &[&str]) -> Option<Ppm> {
        let mut likelihood = Likelihood::default();
        for list in lists {
            let raw: Box<RawValue> = serde_json::from_str(list).unwrap();
            likelihood.tokens(Some(&raw));
        }
        likelihood.told()
    }

    #[test]
    fn the_mean_is_that_of_all_tokens_in_whichever_pieces_they_come() {
        let (half, eighth) = (r#"{"logprob": -0.6931471805599453}"#, r#"{"logprob": -2.0794415416798357}"#);
        assert_eq!(told(&[&format!("[{half}, {eighth}]")]), Some(Ppm(250_000)));
        assert_eq!(told(&[&format!("[{half}]"), "[]", &format!("[{eighth}]")]), Some(Ppm(250_000)));
        assert_eq!(told(&[r#"[{"logProbability": 0}]"#]), Some(Ppm::ONE));
    }

    #[test]
    fn nothing_told_is_no_likelihood() {
        assert_eq!(told(&[]), None);
        assert_eq!(told(&["[]"]), None);
        let mut absent = Likelihood::default();
        absent.tokens(None);
        absent.mean(None);
        assert_eq!(absent.told(), None);
    }

    #[test]
    fn what_is_no_logarithm_of_a_probability_makes_all_of_it_untold() {
        for odd in [
            r#"[{"logprob": 0.5}]"#,
            r#"[{"logprob": 1e308}]"#,
            r#"[{"logprob": 1e999}]"#,
            r#"[{"logprob": -1e999}]"#,
            r#"[{"logprob": "-0.1"}]"#,
            r#"[{"logprob": null}]"#,
            r#"[{"logprob": [[-1]]}]"#,
            r#"[{}]"#,
            "[-0.1]",
            "\"NaN\"",
            "{}",
            "7",
        ] {
            assert_eq!(told(&[r#"[{"logprob": -0.1}]"#, odd, r#"[{"logprob": -0.1}]"#]), None, "{odd}");
        }
    }

    #[test]
    fn rounding_is_forgiven_and_no_token_counts_for_less_than_one_in_a_million() {
        assert_eq!(told(&[r#"[{"logprob": 0.0000001}]"#]), Some(Ppm::ONE));
        assert_eq!(told(&[r#"[{"logprob": -9999.0}]"#]), Some(Ppm(1)));
        let long = format!("[{}]", vec![r#"{"logprob": -9999.0}"#; 100_000].join(","));
        assert_eq!(told(&[&long]), Some(Ppm(1)));
    }

    #[test]
    fn a_mean_counts_where_no_token_is_told() {
        let mean = |written: &str| {
            let raw: Box<RawValue> = serde_json::from_str(written).unwrap();
            let mut likelihood = Likelihood::default();
            likelihood.mean(Some(&raw));
            likelihood
        };
        assert_eq!(mean("-0.6931471805599453").told(), Some(Ppm(500_000)));
        assert_eq!(mean("0.7").told(), None);
        assert_eq!(mean("\"-0.7\"").told(), None);
        let mut both = mean("-5");
        let raw: Box<RawValue> = serde_json::from_str(r#"[{"logprob": 0}]"#).unwrap();
        both.tokens(Some(&raw));
        assert_eq!(both.told(), Some(Ppm::ONE));
    }
}
