//! What the user keeps correcting, so that it need not be said a fourth time.
//!
//! Corrections of the same kind (by the terms they share) are counted together;
//! from [`Settings::pattern_at`] on a kind is a pattern and is told to the model
//! in the user's own words ([`Corrections::prelude`]). Besides explicit
//! corrections, asking nearly the same again within a few turns counts.
//!
//! Bounded in kinds, examples and bytes. Nothing here rewrites a prompt.

mod bounds;
mod cues;
mod recognise;
#[cfg(test)]
mod tests;
mod topic;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

pub use bounds::BeyondBounds;
pub use recognise::is_correction;
use topic::Topic;

/// How many kinds are kept; the least corrected and oldest goes first.
pub const KINDS_MAX: usize = 64;
/// How many of the user's sentences a kind keeps.
pub const EXAMPLES_MAX: usize = 3;
/// How much of a sentence is kept.
pub const EXAMPLE_CHARS_MAX: usize = 160;
/// The largest window of turns.
pub const WINDOW_MAX: u32 = 32;

/// When corrections become a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// So many corrections of a kind are a pattern.
    pub pattern_at: u32,
    /// Asking again within so many turns is an implicit correction.
    pub window: u32,
    /// Corrections that share this much of their terms are of one kind.
    pub same_kind: f64,
    /// The longest prelude, in bytes.
    pub prelude_bytes_max: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { pattern_at: 3, window: 4, same_kind: 0.5, prelude_bytes_max: 2048 }
    }
}

/// What a user message turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remark {
    /// It says that something was wrong.
    Explicit,
    /// It asks for nearly the same again.
    Implicit,
    /// Neither.
    Plain,
}

/// One kind of correction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kind {
    topic: Topic,
    explicit: u32,
    implicit: u32,
    last_turn: u64,
    examples: VecDeque<Box<str>>,
}

impl Kind {
    fn count(&self) -> u32 {
        self.explicit.saturating_add(self.implicit)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    turn: u64,
    topic: Topic,
    han: Vec<char>,
}

/// A kind of correction that came often enough.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pattern {
    /// How often it was said outright.
    pub explicit: u32,
    /// How often the user asked again instead.
    pub implicit: u32,
    /// The user's own words, latest last.
    pub examples: Vec<Box<str>>,
    /// The terms the corrections are about.
    pub terms: Vec<Box<str>>,
}

/// All corrections of a user, below the threshold and above.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Corrections {
    settings: Settings,
    turn: u64,
    asked: VecDeque<Asked>,
    kinds: Vec<Kind>,
}

impl Corrections {
    /// Nothing was corrected yet. Settings beyond their bounds are brought back to them.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let is_share = (0.0..=1.0).contains(&settings.same_kind);
        let settings = Settings {
            pattern_at: settings.pattern_at.max(1),
            window: settings.window.min(WINDOW_MAX),
            same_kind: if is_share { settings.same_kind } else { Settings::default().same_kind },
            ..settings
        };
        Self { settings, turn: 0, asked: VecDeque::new(), kinds: Vec::new() }
    }

    /// Takes in a user message, which starts a turn, and says what it was.
    pub fn record_message(&mut self, message: &str) -> Remark {
        self.turn = self.turn.saturating_add(1);
        let oldest = self.turn.saturating_sub(u64::from(self.settings.window));
        self.asked.retain(|asked| asked.turn >= oldest);
        let asked = Asked { turn: self.turn, topic: Topic::of(message), han: topic::han_bag(message) };
        let remark = if is_correction(message) {
            Remark::Explicit
        } else if !recognise::is_agreement(message)
            && self.asked.iter().any(|before| asks_again(before, &asked))
        {
            Remark::Implicit
        } else {
            Remark::Plain
        };
        self.count(remark, asked.topic.clone(), message);
        self.asked.push_back(asked);
        remark
    }

    /// Takes in a correction the caller knows to be one.
    pub fn record_correction(&mut self, text: &str) {
        self.count(Remark::Explicit, Topic::of(text), text);
    }

    /// The patterns, the most corrected first.
    #[must_use]
    pub fn patterns(&self) -> Vec<Pattern> {
        let mut due: Vec<&Kind> =
            self.kinds.iter().filter(|kind| kind.count() >= self.settings.pattern_at).collect();
        due.sort_by(|a, b| b.count().cmp(&a.count()).then(b.last_turn.cmp(&a.last_turn)));
        due.into_iter()
            .map(|kind| Pattern {
                explicit: kind.explicit,
                implicit: kind.implicit,
                examples: kind.examples.iter().cloned().collect(),
                terms: kind.topic.telling.clone(),
            })
            .collect()
    }

    /// What to put before later prompts: the user's own past corrections, quoted
    /// and marked as such, the most frequent first. `None` without a pattern.
    #[must_use]
    pub fn prelude(&self) -> Option<String> {
        let mut text = String::from("The user's own past corrections, in their words, most often first:\n");
        let opening = text.len();
        for pattern in self.patterns() {
            let times = pattern.explicit.saturating_add(pattern.implicit);
            let Some(latest) = pattern.examples.last() else { continue };
            let line = format!("- {times} times: \"{latest}\"\n");
            if text.len() + line.len() > self.settings.prelude_bytes_max {
                break;
            }
            text.push_str(&line);
        }
        (text.len() > opening).then_some(text)
    }

    fn count(&mut self, remark: Remark, topic: Topic, text: &str) {
        let (explicit, implicit) = match remark {
            Remark::Explicit => (1, 0),
            Remark::Implicit => (0, 1),
            Remark::Plain => return,
        };
        let place = self.kind_like(&topic).unwrap_or_else(|| self.new_kind(topic.clone()));
        let Some(kind) = self.kinds.get_mut(place) else { return };
        kind.explicit = kind.explicit.saturating_add(explicit);
        kind.implicit = kind.implicit.saturating_add(implicit);
        kind.last_turn = self.turn;
        for term in topic.telling {
            if kind.topic.telling.len() < topic::TERMS_MAX && !kind.topic.telling.contains(&term) {
                kind.topic.telling.push(term);
            }
        }
        if kind.examples.len() >= EXAMPLES_MAX {
            kind.examples.pop_front();
        }
        kind.examples.push_back(quotable(text));
    }

    fn kind_like(&self, topic: &Topic) -> Option<usize> {
        let overlaps = self.kinds.iter().map(|kind| kind.topic.overlap(topic)).enumerate();
        let best = overlaps.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
        (best.1 > 0.0 && best.1 >= self.settings.same_kind).then_some(best.0)
    }

    fn new_kind(&mut self, topic: Topic) -> usize {
        if self.kinds.len() >= KINDS_MAX {
            let least = self.kinds.iter().enumerate().min_by_key(|(_, kind)| (kind.count(), kind.last_turn));
            if let Some(place) = least.map(|(place, _)| place) {
                self.kinds.remove(place);
            }
        }
        let fresh = Kind { topic, explicit: 0, implicit: 0, last_turn: self.turn, examples: VecDeque::new() };
        self.kinds.push(fresh);
        self.kinds.len() - 1
    }
}

impl Default for Corrections {
    fn default() -> Self {
        Self::new(Settings::default())
    }
}

fn asks_again(before: &Asked, now: &Asked) -> bool {
    if now.han.len() >= 3 || before.han.len() >= 3 {
        return before.han == now.han;
    }
    before.topic.restates(&now.topic)
}

/// One line, of bounded length, that cannot close its own quotation marks.
fn quotable(text: &str) -> Box<str> {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words
        .chars()
        .filter(|letter| !letter.is_control())
        .map(|c| if c == '"' { '\'' } else { c })
        .take(EXAMPLE_CHARS_MAX)
        .collect()
}
