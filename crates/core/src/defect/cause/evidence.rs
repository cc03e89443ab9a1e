//! What is known of an output that is wrong.

use serde::{Deserialize, Serialize};

use crate::control::Strategy;
use crate::event::Outcome;
use crate::quality::Failure;

/// Everything a root cause is told from. What is not known is left empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// What was delivered.
    pub output: Option<String>,
    /// The evidence the work was to be based on.
    pub sources: Vec<Source>,
    /// Tests that failed.
    pub failures: Vec<Failure>,
    /// Where the output does not fit its schema.
    pub misfits: Vec<Failure>,
    /// Why checks could not be made.
    pub could_not_run: Vec<String>,
    /// Tools that were in trouble.
    pub tools: Vec<ToolTrouble>,
    /// What was looked for and found.
    pub retrieval: Option<Retrieval>,
    /// Claims of the output, as a judge found them.
    pub claims: Vec<Claim>,
    /// Rules of the policy that were broken.
    pub breaches: Vec<Breach>,
    /// Wanted files, sections or fields that are not there.
    pub missing: Vec<String>,
    /// Replies that ended at the output limit.
    pub cut_off: u32,
    /// Repairs that were tried, the oldest first.
    pub repairs: Vec<RepairTry>,
}

/// A piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// What the output cites it by.
    pub id: String,
    /// What it says.
    pub text: String,
}

/// A tool that did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolTrouble {
    /// Which.
    pub tool: String,
    /// How the call went.
    pub outcome: Outcome,
    /// What it said.
    pub message: String,
    /// True if it, or another, did it later.
    #[serde(default)]
    pub recovered: bool,
}

impl ToolTrouble {
    pub(super) fn is_open(&self) -> bool {
        let failed = match self.outcome {
            Outcome::Error | Outcome::TimedOut | Outcome::Unavailable => true,
            Outcome::Ok | Outcome::Cancelled => false,
        };
        failed && !self.recovered
    }
}

/// What was looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retrieval {
    /// Questions asked.
    pub asked: u32,
    /// Questions with an answer.
    pub found: u32,
    /// What the task needs and nothing spoke of.
    #[serde(default)]
    pub missing: Vec<String>,
}

/// A claim, and how the evidence stands to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// What it says.
    pub text: String,
    /// How the evidence stands to it.
    pub standing: Standing,
}

/// How evidence stands to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It follows from a source.
    Supported,
    /// No source speaks of it.
    Unsupported,
    /// A source says otherwise.
    Contradicted,
}

/// A rule of the policy that was broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breach {
    /// Which rule.
    pub rule: String,
    /// Where, in words that may be shown.
    pub excerpt: String,
}

/// One repair, and what was wrong before and after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepairTry {
    /// How it went about it.
    pub strategy: Strategy,
    /// Names of what was wrong before, in any order.
    pub before: Vec<String>,
    /// Names of what was wrong after.
    pub after: Vec<String>,
}

impl RepairTry {
    /// Exactly the same is still wrong.
    pub(super) fn changed_nothing(&self) -> bool {
        let all_in = |some: &[String], others: &[String]| some.iter().all(|name| others.contains(name));
        !self.after.is_empty() && all_in(&self.before, &self.after) && all_in(&self.after, &self.before)
    }

    /// Something is wrong that was not wrong before.
    pub(super) fn broke_something(&self) -> bool {
        self.after.iter().any(|name| !self.before.contains(name))
    }
}
