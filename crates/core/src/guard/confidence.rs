//! Where a reply was unsure of itself, from the log-probabilities of its tokens.
//!
//! Tokens are fed as they stream; low ones that stand together become a
//! [`Span`] with its place in the reply. Kept are the open span and at most
//! [`Settings::spans_max`] closed ones, never the tokens. Low probability is
//! not error: a rare but right name is unsure too, and a fluent falsehood is not.

mod exponential;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use exponential::exp_of_negative;

/// The most spans that may be asked for.
pub const SPANS_MAX: usize = 1024;
/// A log-probability this little above zero is rounding by the provider.
const ROUNDING: f64 = 1e-3;

/// What counts as unsure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// A token below this probability is low.
    pub below: f64,
    /// A single low token is a span only below this. At the start of a sentence
    /// it never is: there are many good ways to begin one.
    pub alone_below: f64,
    /// Up to so many sure tokens between low ones do not part them.
    pub gap_max: u32,
    /// So many spans are kept, the least sure ones.
    pub spans_max: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { below: 0.4, alone_below: 0.15, gap_max: 1, spans_max: 64 }
    }
}

/// Why settings or a token were refused.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum BadConfidence {
    /// No probability.
    #[error("{name} is {value} and must be between 0 and 1")]
    Level {
        /// Which setting.
        name: &'static str,
        /// What was given.
        value: f64,
    },
    /// Too many or none.
    #[error("spans_max is {value} and must be 1 to {SPANS_MAX}")]
    Spans {
        /// What was given.
        value: usize,
    },
    /// The logarithm of no probability.
    #[error("log-probability {value} is not the logarithm of a probability")]
    LogProbability {
        /// What was given.
        value: f64,
    },
}

impl BadConfidence {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Level { .. } => "set a probability between 0 and 1",
            Self::Spans { .. } => "set spans_max to a whole number in its range",
            Self::LogProbability { .. } => {
                "pass natural logarithms as the provider reports them, or leave the token out"
            }
        }
    }
}

/// A stretch of a reply the model was unsure of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// Where it begins in the reply, in bytes.
    pub start: u64,
    /// Where it ends, in bytes.
    pub end: u64,
    /// How many of its tokens are low.
    pub low_tokens: u32,
    /// Mean probability of its low tokens.
    pub mean_probability: f64,
    /// The least probable of them.
    pub lowest: f64,
}

/// The unsure stretches of one reply, as it streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confidence {
    settings: Settings,
    offset: u64,
    before: Before,
    open: Option<Open>,
    closed: Vec<Span>,
    dropped: u64,
}

/// What came before the next token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Before {
    /// Nothing, a line break, or a mark that always ends a sentence.
    SentenceEnd,
    /// A mark that ends a sentence if white space follows: `12.49` goes on.
    Mark,
    /// Anything else.
    Middle,
}

impl Before {
    fn is_sentence_start(self, token: &str) -> bool {
        match self {
            Self::SentenceEnd => true,
            Self::Mark => token.starts_with(char::is_whitespace),
            Self::Middle => false,
        }
    }

    fn after(self, token: &str) -> Self {
        match token.trim_end_matches(' ').chars().next_back() {
            Some('\n' | '。' | '！' | '？') => Self::SentenceEnd,
            Some('.' | '!' | '?') => Self::Mark,
            Some(letter) if !letter.is_alphanumeric() => self,
            Some(_) => Self::Middle,
            None => self,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Open {
    start: u64,
    end: u64,
    low_tokens: u32,
    sum: f64,
    lowest: f64,
    gap: u32,
    starts_sentence: bool,
}

impl Confidence {
    /// Of a reply not begun.
    pub fn new(settings: Settings) -> Result<Self, BadConfidence> {
        for (name, value) in [("below", settings.below), ("alone_below", settings.alone_below)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(BadConfidence::Level { name, value });
            }
        }
        if !(1..=SPANS_MAX).contains(&settings.spans_max) {
            return Err(BadConfidence::Spans { value: settings.spans_max });
        }
        Ok(Self {
            settings,
            offset: 0,
            before: Before::SentenceEnd,
            open: None,
            closed: Vec::new(),
            dropped: 0,
        })
    }

    /// Takes in the next token. One without a probability is passed as `None`
    /// and only moves the place on.
    pub fn record(&mut self, token: &str, log_probability: Option<f64>) -> Result<(), BadConfidence> {
        if let Some(value) = log_probability
            && (value.is_nan() || value > ROUNDING)
        {
            return Err(BadConfidence::LogProbability { value });
        }
        let start = self.offset;
        self.offset = self.offset.saturating_add(u64::try_from(token.len()).unwrap_or(u64::MAX));
        // Marks and white space are layout: unsure ones say nothing about content.
        let is_content = token.chars().any(char::is_alphanumeric);
        if is_content && let Some(value) = log_probability {
            self.weigh(token, start, exp_of_negative(value));
        }
        self.before = self.before.after(token);
        Ok(())
    }

    /// The spans so far, in order, the open one included. Asking changes nothing.
    #[must_use]
    pub fn spans(&self) -> Vec<Span> {
        let mut with_open = self.clone();
        with_open.close();
        with_open.closed.sort_by_key(|span| span.start);
        with_open.closed
    }

    /// How many spans were surer than those kept and fell out.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn weigh(&mut self, token: &str, start: u64, probability: f64) {
        let starts_sentence = self.before.is_sentence_start(token);
        if starts_sentence {
            self.close();
        }
        if probability >= self.settings.below {
            if let Some(open) = &mut self.open {
                open.gap = open.gap.saturating_add(1);
                if open.gap > self.settings.gap_max {
                    self.close();
                }
            }
            return;
        }
        // A token's leading space is not part of what is unsure.
        let lead = token.len() - token.trim_start().len();
        let start = start.saturating_add(u64::try_from(lead).unwrap_or(0));
        let open = self.open.get_or_insert(Open {
            start,
            end: start,
            low_tokens: 0,
            sum: 0.0,
            lowest: 1.0,
            gap: 0,
            starts_sentence,
        });
        open.end = self.offset;
        open.low_tokens = open.low_tokens.saturating_add(1);
        open.sum += probability;
        open.lowest = open.lowest.min(probability);
        open.gap = 0;
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let alone = open.low_tokens == 1;
        if alone && (open.starts_sentence || open.lowest >= self.settings.alone_below) {
            return;
        }
        self.closed.push(Span {
            start: open.start,
            end: open.end,
            low_tokens: open.low_tokens,
            mean_probability: open.sum / f64::from(open.low_tokens),
            lowest: open.lowest,
        });
        if self.closed.len() > self.settings.spans_max {
            self.drop_surest();
        }
    }

    fn drop_surest(&mut self) {
        let surest = self
            .closed
            .iter()
            .enumerate()
            .max_by(|(_, a), (_, b)| a.mean_probability.total_cmp(&b.mean_probability))
            .map(|(at, _)| at);
        if let Some(at) = surest {
            self.closed.remove(at);
            self.dropped = self.dropped.saturating_add(1);
        }
    }
}
