//! The same kind of failure again and again, whatever the arguments.
//!
//! A kind is a tool and a class of error: the error text without what changes
//! from call to call (numbers, quoted values, paths). A success of the tool
//! forgets its failures. At most [`KINDS_MAX`] kinds are kept, the ones that
//! failed last, with a few examples each; nothing here ends a run.

mod class;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::statistics::kept_name;
pub use class::error_class;

/// How many kinds of failure are kept.
pub const KINDS_MAX: usize = 64;
/// How many examples a kind keeps.
pub const EXAMPLES_MAX: usize = 3;
/// How much of an example is kept.
pub const EXAMPLE_CHARS_MAX: usize = 240;
/// The default of how many failures make a pattern.
pub const PATTERN_AT: u32 = 3;

/// A kind of failure.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    tool: Box<str>,
    class: Box<str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Streak {
    count: u32,
    first: u64,
    last: u64,
    examples: VecDeque<Box<str>>,
}

/// A kind of failure that came often enough to be a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pattern {
    /// The tool that fails.
    pub tool: Box<str>,
    /// How it fails, without what changes from call to call.
    pub class: Box<str>,
    /// How often since the tool last succeeded.
    pub count: u32,
    /// The first of them, counted in results of any tool.
    pub first: u64,
    /// The last of them.
    pub last: u64,
    /// The most recent error texts, oldest first.
    pub examples: Vec<Box<str>>,
}

/// Failures since each tool last succeeded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Failures {
    pattern_at: u32,
    results: u64,
    streaks: BTreeMap<Kind, Streak>,
}

impl Default for Failures {
    fn default() -> Self {
        Self::new(PATTERN_AT)
    }
}

impl Failures {
    /// Nothing failed yet; so many failures of a kind make a pattern (at least one).
    #[must_use]
    pub fn new(pattern_at: u32) -> Self {
        Self { pattern_at: pattern_at.max(1), results: 0, streaks: BTreeMap::new() }
    }

    /// A tool failed with this error; its class is read from the text.
    pub fn record_failure(&mut self, tool: &str, error: &str) {
        self.record_classed(tool, &error_class(error), error);
    }

    /// A tool failed, and the caller knows the class of its error.
    pub fn record_classed(&mut self, tool: &str, class: &str, error: &str) {
        self.results = self.results.saturating_add(1);
        let kind = Kind { tool: kept_name(tool), class: kept_name(class) };
        if !self.streaks.contains_key(&kind) && self.streaks.len() >= KINDS_MAX {
            self.forget_oldest();
        }
        let now = self.results;
        let streak = self.streaks.entry(kind).or_insert_with(|| Streak {
            count: 0,
            first: now,
            last: now,
            examples: VecDeque::new(),
        });
        streak.count = streak.count.saturating_add(1);
        streak.last = now;
        if streak.examples.len() >= EXAMPLES_MAX {
            streak.examples.pop_front();
        }
        streak.examples.push_back(error.chars().take(EXAMPLE_CHARS_MAX).collect());
    }

    /// A tool succeeded: what it failed at before was no pattern.
    pub fn record_success(&mut self, tool: &str) {
        self.results = self.results.saturating_add(1);
        let name = kept_name(tool);
        self.streaks.retain(|kind, _| kind.tool != name);
    }

    /// The patterns, the most frequent first.
    #[must_use]
    pub fn patterns(&self) -> Vec<Pattern> {
        let due = self.streaks.iter().filter(|(_, streak)| streak.count >= self.pattern_at);
        let mut patterns: Vec<Pattern> = due
            .map(|(kind, streak)| Pattern {
                tool: kind.tool.clone(),
                class: kind.class.clone(),
                count: streak.count,
                first: streak.first,
                last: streak.last,
                examples: streak.examples.iter().cloned().collect(),
            })
            .collect();
        patterns.sort_by(|a, b| b.count.cmp(&a.count).then(b.last.cmp(&a.last)));
        patterns
    }

    fn forget_oldest(&mut self) {
        let oldest = self.streaks.iter().min_by_key(|(_, streak)| streak.last).map(|(kind, _)| kind.clone());
        if let Some(kind) = oldest {
            self.streaks.remove(&kind);
        }
    }
}

/// JSON keys are strings, so kinds are stored beside their streaks.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    pattern_at: u32,
    results: u64,
    streaks: Vec<(Box<str>, Box<str>, Streak)>,
}

impl From<Failures> for Stored {
    fn from(failures: Failures) -> Self {
        let streaks = failures.streaks.into_iter().map(|(kind, streak)| (kind.tool, kind.class, streak));
        Self { pattern_at: failures.pattern_at, results: failures.results, streaks: streaks.collect() }
    }
}

impl From<Stored> for Failures {
    fn from(stored: Stored) -> Self {
        let streaks = stored.streaks.into_iter().map(|(tool, class, streak)| (Kind { tool, class }, streak));
        Self { pattern_at: stored.pattern_at, results: stored.results, streaks: streaks.collect() }
    }
}
