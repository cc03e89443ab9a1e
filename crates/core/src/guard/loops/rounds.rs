//! Repair rounds that look alike: the same answer with the same diagnosis, in
//! other words. Reported only; what to do about it is for planning to say.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::guard::RoundTrace;

/// Rounds that are remembered.
pub const ROUNDS_MAX: usize = 8;

/// The last rounds of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rounds(VecDeque<RoundTrace>);

impl Rounds {
    /// Which earlier round this one resembles in both output and diagnosis, 1 for
    /// the last one. `similar_percent` is how similar they must be.
    #[must_use]
    pub fn like(&self, round: &RoundTrace, similar_percent: u32) -> Option<usize> {
        let is_like = |earlier: &RoundTrace| {
            earlier.output.similar_percent(&round.output) >= similar_percent
                && earlier.diagnosis.similar_percent(&round.diagnosis) >= similar_percent
        };
        self.0.iter().rev().position(is_like).map(|back| back + 1)
    }

    /// A round ended.
    pub fn record(&mut self, round: RoundTrace) {
        if self.0.len() == ROUNDS_MAX {
            self.0.pop_front();
        }
        self.0.push_back(round);
    }
}
