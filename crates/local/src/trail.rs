//! Answers that failed are not given again.
//!
//! Every answer leaves a [`Trail`]: what was chosen at each place where more than one token
//! might have come, and how likely it was. When an answer failed, the next one is drawn as
//! if the failed one had never been possible ([`Detour`]): a token is worth what the model
//! gives it, less the share of that which leads to a failed answer. So the next answer
//! leaves the trail where the model was least sure of it.
//!
//! Invariants
//! - No token that can lead to nothing but a failed answer is chosen while another may come.
//!   So a failed answer is said again only where the grammar leaves nothing else to say, or
//!   in pieces nobody knew of; the engine begins such an answer anew.
//! - What is kept of trails is a memo: without it a trail is found again from its text.
//! - One text may have several trails: it was said in other pieces.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use bowline_core::control::Ppm;
use sha2::{Digest as _, Sha256};

use crate::vocab::Vocabulary;

/// Trails that are remembered.
const KEPT_MAX: usize = 64;
/// From this share on, nothing but failed answers is left behind a token.
const SPENT: f64 = 1.0 - 1e-12;

/// A token that was chosen among several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Choice {
    pub(crate) token: u32,
    /// How likely the model found it, of all that might have come.
    pub(crate) share: f64,
}

/// How an answer came about.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Trail {
    pub(crate) text: Vec<u8>,
    pub(crate) choices: Vec<Choice>,
}

impl Trail {
    /// The choice that comes after these, where it begins with them.
    fn after(&self, chosen: &[Choice]) -> Option<Choice> {
        let same = |(ours, theirs): (&Choice, &Choice)| ours.token == theirs.token;
        self.choices.get(chosen.len()).filter(|_| self.choices.iter().zip(chosen).all(same)).copied()
    }

    /// Whether it says the same in the same pieces.
    fn is(&self, other: &Self) -> bool {
        let tokens = |trail: &Self| trail.choices.iter().map(|choice| choice.token).collect::<Vec<_>>();
        self.text == other.text && tokens(self) == tokens(other)
    }

    /// The text as whoever asked got it: half a letter is shown as such.
    fn said(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.text)
    }

    /// The share of what may follow the choice with this number that is this very answer.
    fn rest(&self, number: usize) -> f64 {
        self.choices.iter().skip(number + 1).map(|choice| choice.share).product()
    }
}

/// What failed answers mean for the next token.
pub(crate) struct Detour<'a> {
    vocabulary: &'a Vocabulary,
    /// How much of what follows a token is failed answers.
    spent: Vec<(u32, f64)>,
    /// What comes next in failed answers that begin like this one, and the token that says it.
    along: Vec<(u32, &'a [u8])>,
    /// What comes next in failed answers whose text begins like this one in other pieces.
    beside: Vec<&'a [u8]>,
}

impl<'a> Detour<'a> {
    /// `None` where no failed answer begins with what has been written.
    pub(crate) fn of(
        vocabulary: &'a Vocabulary,
        failed: &'a [Trail],
        chosen: &[Choice],
        written: &[u8],
    ) -> Option<Self> {
        let mut detour = Self { vocabulary, spent: Vec::new(), along: Vec::new(), beside: Vec::new() };
        for trail in failed {
            let Some(ahead) = trail.text.strip_prefix(written) else { continue };
            let Some(next) = trail.after(chosen) else {
                detour.beside.push(ahead);
                continue;
            };
            let rest = trail.rest(chosen.len());
            match detour.spent.iter_mut().find(|(token, _)| *token == next.token) {
                Some((_, share)) => *share += rest,
                None => detour.spent.push((next.token, rest)),
            }
            detour.along.push((next.token, ahead));
        }
        (!detour.along.is_empty() || !detour.beside.is_empty()).then_some(detour)
    }

    /// The scores of the next token once failed answers are out of the question.
    pub(crate) fn scores(&self, scores: &[f32]) -> Vec<f32> {
        let mut left = scores.to_vec();
        for (token, share) in &self.spent {
            if let Some(score) = usize::try_from(*token).ok().and_then(|at| left.get_mut(at)) {
                *score += if *share >= SPENT { f32::NEG_INFINITY } else { (1.0 - share).ln() as f32 };
            }
        }
        for ahead in &self.beside {
            for (id, score) in (0..).zip(&mut left) {
                if self.vocabulary.goes_on(id, ahead) {
                    *score = f32::NEG_INFINITY;
                }
            }
        }
        left
    }

    /// What would be left of failed answers behind a token that says a piece of them in
    /// another way than they were said. It is a way to say the same, unless the answer can
    /// part from each of these right after it.
    pub(crate) fn disguised(&self, token: u32) -> Vec<&'a [u8]> {
        let others = self.along.iter().filter(|(next, _)| *next != token);
        let rest = others.filter(|(_, ahead)| self.vocabulary.goes_on(token, ahead));
        rest.map(|(_, ahead)| ahead.get(self.vocabulary.bytes(token).len()..).unwrap_or_default()).collect()
    }
}

/// What the model gives a token, of all it may say now; from 0 to 1. In double precision:
/// what is left beside a likely token counts.
pub(crate) fn share(scores: &[f32], may: impl Fn(u32) -> bool, token: u32) -> f64 {
    let open = || (0..).zip(scores).filter(|(id, score)| score.is_finite() && may(*id));
    let best = open().map(|(_, score)| *score).fold(f32::NEG_INFINITY, f32::max);
    let weigh = |score: f32| f64::from(score - best).exp();
    let total: f64 = open().map(|(_, score)| weigh(*score)).sum();
    let own = usize::try_from(token).ok().and_then(|at| scores.get(at)).map_or(0.0, |score| weigh(*score));
    if total > 0.0 { (own / total).clamp(0.0, 1.0) } else { 0.0 }
}

/// How likely an answer was, from what its choices were worth: their geometric mean. An
/// answer without a choice was certain.
pub(crate) fn likelihood(worths: &[f64]) -> Ppm {
    let least = 0.5 / Ppm::ONE.0 as f64;
    let logs: f64 = worths.iter().map(|worth| worth.clamp(least, 1.0).ln()).sum();
    let mean = (logs / worths.len().max(1) as f64).exp();
    Ppm((mean * Ppm::ONE.0 as f64).round() as i64).min(Ppm::ONE)
}

/// What a trail depends on, beside its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asked([u8; 32]);

impl Asked {
    pub(crate) fn of(prompt: &[u32], form: &str, tokens_max: usize) -> Self {
        let mut hash = Sha256::new();
        for token in prompt {
            hash.update(token.to_le_bytes());
        }
        hash.update(format!("\n{tokens_max}\n{form}"));
        Self(hash.finalize().into())
    }
}

/// The trails of the last answers.
#[derive(Debug, Default)]
pub(crate) struct Trails(VecDeque<(Asked, Trail)>);

impl Trails {
    /// All ways in which a text came about.
    pub(crate) fn find(&self, asked: Asked, text: &str) -> Vec<Trail> {
        let known = self.0.iter().filter(|(of, trail)| *of == asked && trail.said() == text);
        known.map(|(_, trail)| trail.clone()).collect()
    }

    pub(crate) fn keep(&mut self, asked: Asked, trail: Trail) {
        if self.0.iter().any(|(of, known)| *of == asked && known.is(&trail)) {
            return;
        }
        if self.0.len() == KEPT_MAX {
            self.0.pop_front();
        }
        self.0.push_back((asked, trail));
    }
}
