//! Checks of an output, what they found, and what a critic makes of it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::Payload;

/// One acceptance check of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What people call it.
    pub name: String,
    /// How it is made.
    pub how: CheckHow,
}

/// How a check is made. Either may be made again at any time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckHow {
    /// The output is JSON and fits this JSON Schema.
    Schema(Value),
    /// This command exits with 0 in the workspace. The output is its standard input.
    Command {
        /// Program and arguments; no shell in between.
        argv: Vec<String>,
        /// After this long it is killed and the check could not run.
        timeout_ms: u64,
    },
}

/// One thing that is wrong, as a machine found it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The check or test that failed.
    pub name: String,
    /// What it said.
    pub message: String,
    /// Where: a file and line, or a path into the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// It holds.
    Passed,
    /// It does not.
    Failed(Vec<Failure>),
    /// It could not be made: that is not a pass.
    CouldNotRun(String),
}

impl CheckOutcome {
    /// Only a pass passes.
    #[must_use]
    pub fn is_pass(&self) -> bool {
        match self {
            Self::Passed => true,
            Self::Failed(_) | Self::CouldNotRun(_) => false,
        }
    }
}

/// A check that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckResult {
    /// Which of the task's checks.
    pub name: String,
    /// What it found.
    pub outcome: CheckOutcome,
    /// What it printed.
    pub log: Payload,
    /// How long it took.
    pub duration_ms: u64,
}

/// How bad a defect is, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Could be better.
    Minor,
    /// Wrong.
    Major,
    /// Nothing works before this is mended.
    Critical,
}

/// One thing to mend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Defect {
    /// What is wrong.
    pub what: String,
    /// Where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// How it might be mended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// How bad it is.
    pub severity: Severity,
}

/// Who made a diagnosis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiagnosedBy {
    /// The model, asked as a critic.
    Critic,
    /// The failures themselves: the critic was skipped or gave no usable answer.
    Verifier,
}

/// What is wrong with an output and how to mend it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// In a sentence.
    pub summary: String,
    /// Piece by piece, in the critic's order.
    pub defects: Vec<Defect>,
    /// Who says so.
    pub by: DiagnosedBy,
}
