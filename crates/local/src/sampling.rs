//! Choosing the next token.
//!
//! The same scores, temperature and seed choose the same tokens. A request that names a
//! temperature gets it. Otherwise a first attempt is greedy unless the settings say
//! otherwise, and a later one is warmer, because a greedy model asked again would only
//! repeat itself. Every step and attempt has a seed of its own.

use bowline_core::control::Ppm;
use bowline_models::Request;
use sha2::{Digest as _, Sha256};
use toktrie::SimpleVob;

/// How tokens are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampling {
    /// 0: always the likeliest token.
    pub temperature: f32,
    /// Where chance begins.
    pub seed: u64,
}

/// What every further attempt adds to the temperature.
const WARMER: f32 = 0.35;
/// The warmest it gets by itself.
const WARMEST: f32 = 1.05;
/// The warmest anybody gets: beyond it, chance alone speaks.
const TEMPERATURE_MAX: Ppm = Ppm(2_000_000);
/// Tokens less likely than this part of the likeliest are never chosen by chance.
const LEAST_SHARE: f32 = 0.05;

impl Sampling {
    /// For one request: a function of the run, the step and the attempt alone.
    #[must_use]
    pub fn of(self, request: &Request) -> Self {
        let attempt = request.attempt.max(1);
        let again = f32::from(u16::try_from(attempt - 1).unwrap_or(u16::MAX));
        let warmed = (again * WARMER).min(WARMEST);
        let text = format!("{}\n{}\n{}\n{}", self.seed, request.run.as_str(), request.step, attempt);
        let digest = Sha256::digest(text.as_bytes());
        let seed = digest.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let temperature = request.temperature.map_or(self.temperature.max(warmed), degrees);
        Self { temperature, seed }
    }
}

/// A temperature as a number, in steps of a thousandth.
fn degrees(asked: Ppm) -> f32 {
    let thousandths = asked.0.clamp(0, TEMPERATURE_MAX.0) / 1_000;
    f32::from(u16::try_from(thousandths).unwrap_or(u16::MAX)) / 1_000.0
}

/// Chooses tokens by scores.
#[derive(Debug)]
pub(crate) struct Chooser {
    sampling: Sampling,
    state: u64,
}

impl Chooser {
    pub(crate) fn new(sampling: Sampling) -> Self {
        Self { sampling, state: sampling.seed }
    }

    /// One of the tokens that may come; `None` when none may.
    pub(crate) fn choose(&mut self, scores: &[f32], may: impl Fn(u32) -> bool) -> Option<u32> {
        let open = || (0..).zip(scores).filter(|(id, score)| score.is_finite() && may(*id));
        let best = open().max_by(|(a_id, a), (b_id, b)| a.total_cmp(b).then(b_id.cmp(a_id)));
        let (id, best) = best?;
        if self.sampling.temperature <= 0.0 {
            return Some(id);
        }
        let warmth = self.sampling.temperature;
        let weigh = |score: &f32| ((score - best) / warmth).exp();
        let likely =
            || open().map(|(id, score)| (id, weigh(score))).filter(|(_, weight)| *weight >= LEAST_SHARE);
        let total: f32 = likely().map(|(_, weight)| weight).sum();
        let mut left = self.chance() * total;
        for (id, weight) in likely() {
            left -= weight;
            if left <= 0.0 {
                return Some(id);
            }
        }
        Some(id)
    }

    /// A number from 0 to 1, by SplitMix64.
    fn chance(&mut self) -> f32 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        // Twenty-four bits are all a float tells apart.
        ((mixed ^ (mixed >> 31)) >> 40) as f32 / (1_u64 << 24) as f32
    }
}

/// Whether a mask lets a token through.
pub(crate) fn allows(mask: &SimpleVob, id: u32) -> bool {
    usize::try_from(id).is_ok_and(|at| at < mask.len()) && mask.is_allowed(id)
}
