//! What tools did, counted: per turn and per run, per tool and in all.
//!
//! Every record costs the same whatever came before: counters and one table of
//! at most [`NAMES_MAX`] names are kept, never the calls themselves. Nothing is
//! judged here; a depth of 8 is reported as 8 whatever anybody's threshold is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::provenance::Digest;

/// How many tools are counted by name; further ones are counted together.
pub const NAMES_MAX: usize = 64;
/// The longest name kept as it is; a longer one is kept by its hash.
pub const NAME_BYTES_MAX: usize = 96;

/// How a call came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The tool did what was asked.
    Succeeded,
    /// It did not.
    Failed,
}

/// Counters of one tool, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tally {
    /// Calls made.
    pub calls: u64,
    /// Results that came back.
    pub results: u64,
    /// Results that were failures.
    pub failures: u64,
    /// Time spent, over all results.
    pub duration_ms_sum: u64,
    /// The longest single result.
    pub duration_ms_max: u64,
}

impl Tally {
    fn call(&mut self) {
        self.calls = self.calls.saturating_add(1);
    }

    fn result(&mut self, outcome: Outcome, duration_ms: u64) {
        self.results = self.results.saturating_add(1);
        self.duration_ms_sum = self.duration_ms_sum.saturating_add(duration_ms);
        self.duration_ms_max = self.duration_ms_max.max(duration_ms);
        match outcome {
            Outcome::Succeeded => {}
            Outcome::Failed => self.failures = self.failures.saturating_add(1),
        }
    }
}

/// The same tool, called so many times in a row up to now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trailing {
    /// Which tool.
    pub tool: Box<str>,
    /// How many calls in a row, the last included.
    pub depth: u64,
}

/// Counters of one scope.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tallies {
    total: Tally,
    by_tool: BTreeMap<Box<str>, Tally>,
    other: Tally,
    trailing: Option<Trailing>,
}

impl Tallies {
    /// All tools together.
    #[must_use]
    pub fn total(&self) -> Tally {
        self.total
    }

    /// One tool; zero if it was never seen, or only after the table was full.
    #[must_use]
    pub fn of(&self, tool: &str) -> Tally {
        self.by_tool.get(&kept_name(tool)).copied().unwrap_or_default()
    }

    /// Every tool counted by name.
    pub fn by_tool(&self) -> impl Iterator<Item = (&str, Tally)> {
        self.by_tool.iter().map(|(name, tally)| (&**name, *tally))
    }

    /// The tools that came after the table was full, together.
    #[must_use]
    pub fn other(&self) -> Tally {
        self.other
    }

    /// The tool called last, and how many times in a row.
    #[must_use]
    pub fn trailing(&self) -> Option<&Trailing> {
        self.trailing.as_ref()
    }

    fn record_call(&mut self, name: &str) {
        self.total.call();
        self.tally(name).call();
        match &mut self.trailing {
            Some(trailing) if &*trailing.tool == name => trailing.depth = trailing.depth.saturating_add(1),
            Some(_) | None => self.trailing = Some(Trailing { tool: name.into(), depth: 1 }),
        }
    }

    fn record_result(&mut self, name: &str, outcome: Outcome, duration_ms: u64) {
        self.total.result(outcome, duration_ms);
        self.tally(name).result(outcome, duration_ms);
    }

    fn tally(&mut self, name: &str) -> &mut Tally {
        let fits = self.by_tool.len() < NAMES_MAX || self.by_tool.contains_key(name);
        if fits { self.by_tool.entry(name.into()).or_default() } else { &mut self.other }
    }
}

/// Tool statistics of a run and of its current turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statistics {
    turn: Tallies,
    run: Tallies,
}

impl Statistics {
    /// Forgets the turn; the run goes on counting.
    pub fn start_turn(&mut self) {
        self.turn = Tallies::default();
    }

    /// A tool was called.
    pub fn record_call(&mut self, tool: &str) {
        let name = kept_name(tool);
        self.turn.record_call(&name);
        self.run.record_call(&name);
    }

    /// A tool answered.
    pub fn record_result(&mut self, tool: &str, outcome: Outcome, duration_ms: u64) {
        let name = kept_name(tool);
        self.turn.record_result(&name, outcome, duration_ms);
        self.run.record_result(&name, outcome, duration_ms);
    }

    /// Since the turn began.
    #[must_use]
    pub fn turn(&self) -> &Tallies {
        &self.turn
    }

    /// Since the run began.
    #[must_use]
    pub fn run(&self) -> &Tallies {
        &self.run
    }
}

/// A name of bounded length. Models invent names of any length, and two long
/// ones that begin alike are still two tools.
pub(super) fn kept_name(tool: &str) -> Box<str> {
    if tool.len() <= NAME_BYTES_MAX {
        return tool.into();
    }
    format!("{tool:.6}#{}", Digest::of(tool.as_bytes())).into()
}

#[cfg(test)]
mod tests;
