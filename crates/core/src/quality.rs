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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The check or test that failed.
    pub name: String,
    /// What it said.
    pub message: String,
    /// Where: a file and line, or a path into the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// When it went wrong.
    #[serde(default, skip_serializing_if = "Stage::is_test")]
    pub stage: Stage,
    /// The type of the error, as its language calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What should have come out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<String>,
    /// The way to it, innermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trace: Vec<Frame>,
    /// True if anything of this was too long to keep.
    #[serde(default, skip_serializing_if = "is_false")]
    pub truncated: bool,
}

impl Failure {
    /// A failure of which nothing more is known.
    #[must_use]
    pub fn new(name: impl Into<String>, message: impl Into<String>) -> Self {
        Self { name: name.into(), message: message.into(), ..Self::default() }
    }

    /// The same with a place.
    #[must_use]
    pub fn at(self, place: Option<String>) -> Self {
        Self { place, ..self }
    }

    /// File and line, where the place is one.
    #[must_use]
    pub fn location(&self) -> Option<(&str, u32)> {
        let (file, line) = self.place.as_deref()?.rsplit_once(':')?;
        Some((file, line.parse().ok()?))
    }

    /// The same with every text replaced, for masking: no field is forgotten.
    #[must_use]
    pub fn map_texts(self, replaced: impl Fn(String) -> String) -> Self {
        let Self { name, message, place, stage, error, expected, actual, trace, truncated } = self;
        let frame = |frame: Frame| Frame {
            file: replaced(frame.file),
            line: frame.line,
            function: frame.function.map(&replaced),
        };
        Self {
            name: replaced(name),
            message: replaced(message),
            place: place.map(&replaced),
            stage,
            error: error.map(&replaced),
            expected: expected.map(&replaced),
            actual: actual.map(&replaced),
            trace: trace.into_iter().map(frame).collect(),
            truncated,
        }
    }
}

/// When a test went wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// While it ran.
    #[default]
    Test,
    /// Before or after it ran: a fixture, a hook, the process around it.
    Around,
    /// It never ran: the code does not compile or cannot be loaded.
    Build,
}

impl Stage {
    fn is_test(&self) -> bool {
        *self == Self::Test
    }
}

/// One step of a stack trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// The source, as the trace names it.
    pub file: String,
    /// The line in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
}

fn is_false(flag: &bool) -> bool {
    !flag
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
