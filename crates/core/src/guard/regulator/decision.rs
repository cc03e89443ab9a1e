//! What a regulator answers.

use serde::{Deserialize, Serialize};

use crate::guard::confidence::Span;

/// What to do now. Least to most severe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Go on.
    Continue,
    /// Go on, and tell the model the notice.
    Warn,
    /// Do not make the call that was asked for; give the model the notice.
    Block,
    /// End the run.
    Stop,
}

/// The rules, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Somebody wants the run to end.
    Cancel,
    /// Money or tokens.
    Cap,
    /// Time at work.
    Deadline,
    /// The work gets worse, or stays bad.
    QualityDecline,
    /// The calls go round in circles.
    ToolLoop,
    /// Replies are cut off.
    Truncation,
    /// Model calls or tool calls.
    Iterations,
    /// The answer is about something else.
    ScopeDrift,
    /// Users corrected this before, or calls fail again in the same way.
    Procedural,
}

/// A rule that fired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fired {
    /// Which.
    pub rule: Rule,
    /// What it asks for.
    pub verdict: Verdict,
    /// What it saw, in one word.
    pub reason: String,
    /// On which evidence, one sentence each.
    pub evidence: Vec<String>,
    /// What the model, or whoever reads the ending, is told.
    pub notice: String,
    /// The setting that changes this.
    pub setting: String,
}

/// One decision: the first rule that fired acts, all are reported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// What to do.
    pub verdict: Verdict,
    /// Every rule that fired. What ends a run comes before what blocks a call,
    /// that before a warning; among equals the order of [`Rule`] decides.
    pub fired: Vec<Fired>,
    /// Where the last reply is unsure of itself, in its order. No verdict follows
    /// from it: a rare but right name is unsure too.
    pub low_confidence: Vec<Span>,
}

impl Decision {
    /// The decision that follows from these, whatever order they are given in.
    #[must_use]
    pub fn of(mut fired: Vec<Fired>) -> Self {
        fired.sort_by(|one, other| {
            let urgency = |fired: &Fired| (std::cmp::Reverse(fired.verdict), fired.rule);
            urgency(one).cmp(&urgency(other)).then_with(|| one.reason.cmp(&other.reason))
        });
        let verdict = fired.first().map_or(Verdict::Continue, |first| first.verdict);
        Self { verdict, fired, low_confidence: Vec::new() }
    }

    /// The rule that acts.
    #[must_use]
    pub fn acting(&self) -> Option<&Fired> {
        self.fired.first()
    }
}
