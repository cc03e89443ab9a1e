//! How fast a call was, and how fast a network is.

use std::time::Duration;

use crate::settings::Clock;
use crate::transformer::{EngineBroken, FEED_TOKENS_MAX, Network};

/// Tokens that are read to measure a network.
const PROMPT: u32 = 256;
/// Tokens that are written.
const OUTPUT: u32 = 64;

/// Counts and times of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Speed {
    /// Tokens of the prompt that had to be read.
    pub prompt_tokens: u64,
    /// Tokens of the prompt that were remembered.
    pub cached_tokens: u64,
    /// How long reading took.
    pub prompt: Duration,
    /// Tokens written.
    pub output_tokens: u64,
    /// How long writing took.
    pub output: Duration,
}

impl Speed {
    /// Measures a network by a prompt of 256 tokens, or half its context, and 64 tokens
    /// after it, the likeliest each time.
    pub fn measure(network: &dyn Network, vocabulary: usize, clock: &Clock) -> Result<Self, EngineBroken> {
        let ids = u32::try_from(vocabulary).unwrap_or(u32::MAX).max(1);
        let room = u32::try_from(network.context() / 2).unwrap_or(u32::MAX);
        let prompt: Vec<u32> = (0..PROMPT.min(room)).map(|at| at.wrapping_mul(37) % ids).collect();
        let mut memory = network.remember();
        let begun = clock();
        let mut scores = Vec::new();
        for tokens in prompt.chunks(FEED_TOKENS_MAX) {
            scores = network.feed(&mut memory, tokens)?;
        }
        let read = clock();
        for _ in 0..OUTPUT.min(room) {
            let best = (0..).zip(&scores).max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(id, _)| id);
            scores = network.feed(&mut memory, &[best])?;
        }
        Ok(Self {
            prompt_tokens: u64::from(PROMPT.min(room)),
            cached_tokens: 0,
            prompt: read.saturating_sub(begun),
            output_tokens: u64::from(OUTPUT.min(room)),
            output: clock().saturating_sub(read),
        })
    }

    /// Tokens read in a second.
    #[must_use]
    pub fn prompt_per_second(&self) -> f64 {
        rate(self.prompt_tokens, self.prompt)
    }

    /// Tokens written in a second.
    #[must_use]
    pub fn output_per_second(&self) -> f64 {
        rate(self.output_tokens, self.output)
    }
}

fn rate(tokens: u64, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { tokens as f64 / time.as_secs_f64() }
}
