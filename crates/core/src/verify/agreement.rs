//! Other answers to the same task, compared with the output.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::control::Ppm;
use crate::provenance::canonical_value;

/// How many answers may be asked for.
pub const SAMPLES: [u32; 3] = [3, 5, 7];
/// Characters in one piece when free texts are compared.
const PIECE: usize = 3;

/// How answers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// They are the same, or not: for discrete answers. JSON is compared by value.
    Vote,
    /// They are more or less alike: for free text.
    Similarity,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// How many other answers.
    pub samples: u32,
    /// How they are compared.
    pub by: By,
    /// Instead of other answers: how many answers must be the same that hold in all other
    /// checks; 0 where samples are asked for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub agree: u32,
    /// Instead: how many other answers are held against the executed checks, none of which
    /// may hold there too; 0 where samples are asked for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rivals: u32,
}

impl Sampling {
    /// How many other answers are asked for.
    #[must_use]
    pub fn asks(self) -> u32 {
        self.samples.max(self.rivals)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// How far other answers agree with the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Agreement {
    /// From 0 to 1: the share that is the same, or the mean likeness.
    pub score: Ppm,
    /// How many answers were compared with it.
    pub samples: u32,
    /// How many are the same as the one most of them give.
    pub most_alike: u32,
}

/// Compares the output with the samples. With `By::Vote` also gives the answer most of
/// them gave, where that is not the output.
#[must_use]
pub fn agree<'s>(by: By, output: &str, samples: &'s [String]) -> (Agreement, Option<&'s str>) {
    let count = u32::try_from(samples.len()).unwrap_or(u32::MAX);
    match by {
        By::Vote => {
            let own = plain(output);
            let mut votes: BTreeMap<String, (u32, &str)> = BTreeMap::new();
            for sample in samples {
                let (votes, _) = votes.entry(plain(sample)).or_insert((0, sample));
                *votes += 1;
            }
            let same = votes.get(&own).map_or(0, |(votes, _)| *votes);
            let winner = votes.iter().max_by_key(|(_, (votes, _))| *votes);
            let most_alike = winner.map_or(0, |(_, (votes, _))| *votes);
            let score = Ppm::share(u64::from(same), u64::from(count.max(1)));
            let other = winner.filter(|(key, (votes, _))| **key != own && *votes > same);
            (Agreement { score, samples: count, most_alike }, other.map(|(_, (_, sample))| *sample))
        }
        By::Similarity => {
            let own = pieces(output);
            let sum: i64 = samples.iter().map(|sample| cosine(&own, &pieces(sample)).0).sum();
            let score = Ppm(sum / i64::from(count.max(1)));
            (Agreement { score, samples: count, most_alike: 0 }, None)
        }
    }
}

/// Counts the output and the earlier answers that held as it does and are the same, out of
/// `wanted`.
#[must_use]
pub fn confirm(wanted: u32, output: &str, earlier: &[String]) -> Agreement {
    let own = plain(output);
    let same = 1 + earlier.iter().filter(|answer| plain(answer) == own).count();
    let same = u32::try_from(same).unwrap_or(u32::MAX);
    let score = Ppm::share(u64::from(same.min(wanted)), u64::from(wanted.max(1)));
    Agreement { score, samples: u32::try_from(earlier.len()).unwrap_or(u32::MAX), most_alike: same }
}

/// Whether two answers say something else.
#[must_use]
pub fn differ(one: &str, other: &str) -> bool {
    plain(one) != plain(other)
}

/// JSON in canonical form; other text with its white space evened out, and letters alike.
fn plain(text: &str) -> String {
    match serde_json::from_str(crate::plan::unfenced(text)) {
        Ok(value) => canonical_value(&value),
        Err(_) => text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase(),
    }
}

type Pieces = BTreeMap<[char; PIECE], u32>;

fn pieces(text: &str) -> Pieces {
    let even = plain(text);
    let letters: Vec<char> = std::iter::once(' ').chain(even.chars()).chain([' ']).collect();
    let mut counted = Pieces::new();
    for piece in letters.windows(PIECE) {
        if let Ok(piece) = <[char; PIECE]>::try_from(piece) {
            *counted.entry(piece).or_default() += 1;
        }
    }
    counted
}

/// The cosine of two counts, in whole numbers.
fn cosine(one: &Pieces, other: &Pieces) -> Ppm {
    let square = |pieces: &Pieces| -> u128 { pieces.values().map(|&count| u128::from(count).pow(2)).sum() };
    let both = one
        .iter()
        .map(|(piece, &count)| u128::from(count) * u128::from(other.get(piece).copied().unwrap_or(0)));
    let dot: u128 = both.sum();
    let whole = (square(one) * square(other)).isqrt();
    if whole == 0 {
        return Ppm::ZERO;
    }
    let share = dot.saturating_mul(1_000_000) / whole;
    Ppm(i64::try_from(share).unwrap_or(Ppm::ONE.0).min(Ppm::ONE.0))
}
