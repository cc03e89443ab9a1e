//! Checks of an output, what they found, and what a critic makes of it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::defect::RootCause;
use crate::id::SubtaskId;
use crate::message::Payload;
use crate::verify::{Assertion, ClaimRules, EdgeCases, Measure, Rubric, Sampling};

/// One acceptance check of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// What people call it.
    pub name: String,
    /// How it is made.
    pub how: CheckHow,
    /// The part of the plan it is about; `None`: the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<SubtaskId>,
}

/// How a check is made. Any may be made again at any time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
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
    /// This command runs tests, and what it prints or writes says which of them hold.
    Tests(TestRun),
    /// A plain statement about the output or a file.
    Assert(Assertion),
    /// A judge scores the output.
    Rubric(Rubric),
    /// A judge holds what the output claims against the evidence.
    Claims(ClaimRules),
    /// A judge looks for inputs that break the output; they are run.
    EdgeCases(EdgeCases),
    /// Other answers to the same task agree with the output.
    Consistent(Sampling),
}

/// A command that runs tests. It passes when it exits with 0, at least one test ran,
/// and none failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TestRun {
    /// Program and arguments; no shell in between. The output is its standard input.
    pub argv: Vec<String>,
    /// After this long it is killed and the check could not run.
    pub timeout_ms: u64,
    /// What kind of tests they are.
    pub level: TestLevel,
    /// A file of the workspace that holds its report; `None`: what it prints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
}

/// Kinds of tests, cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TestLevel {
    /// Of single parts.
    Unit,
    /// Of parts together.
    Integration,
    /// Of what somebody sees of the whole.
    Behavioural,
    /// Of what was mended before.
    Regression,
}

impl TestLevel {
    /// The words of task files.
    pub const WORDS: [(&'static str, Self); 4] = [
        ("unit", Self::Unit),
        ("integration", Self::Integration),
        ("behavioural", Self::Behavioural),
        ("regression", Self::Regression),
    ];
}

/// When a check is made: the cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Of the form of the output. If it fails nothing else is worth looking at.
    Schema,
    /// Of plain statements.
    Assertion,
    /// By a program.
    Program(TestLevel),
    /// By a judge.
    Judge,
    /// By other answers.
    Answers,
}

impl CheckHow {
    /// When it is made.
    #[must_use]
    pub fn level(&self) -> Level {
        match self {
            Self::Schema(_) => Level::Schema,
            Self::Assert(_) => Level::Assertion,
            Self::Command { .. } => Level::Program(TestLevel::Unit),
            Self::Tests(run) => Level::Program(run.level),
            Self::Rubric(_) | Self::Claims(_) | Self::EdgeCases(_) => Level::Judge,
            Self::Consistent(_) => Level::Answers,
        }
    }

    /// Whether a model is asked for it.
    #[must_use]
    pub fn is_judged(&self) -> bool {
        self.level() >= Level::Judge
    }

    /// The form it asks of the output.
    #[must_use]
    pub fn schema(&self) -> Option<&Value> {
        match self {
            Self::Schema(schema) => Some(schema),
            Self::Command { .. }
            | Self::Tests(_)
            | Self::Assert(_)
            | Self::Rubric(_)
            | Self::Claims(_)
            | Self::EdgeCases(_)
            | Self::Consistent(_) => None,
        }
    }

    /// How many answers that hold must be the same, where it asks for that; else 0.
    #[must_use]
    pub fn agree(&self) -> u32 {
        match self {
            Self::Consistent(sampling) => sampling.agree,
            Self::Schema(_)
            | Self::Command { .. }
            | Self::Tests(_)
            | Self::Assert(_)
            | Self::Rubric(_)
            | Self::Claims(_)
            | Self::EdgeCases(_) => 0,
        }
    }

    /// How many other answers must not hold, where it asks for that; else 0.
    #[must_use]
    pub fn rivals(&self) -> u32 {
        match self {
            Self::Consistent(sampling) => sampling.rivals,
            Self::Schema(_)
            | Self::Command { .. }
            | Self::Tests(_)
            | Self::Assert(_)
            | Self::Rubric(_)
            | Self::Claims(_)
            | Self::EdgeCases(_) => 0,
        }
    }

    /// The program it starts, if it starts one.
    #[must_use]
    pub fn program(&self) -> Option<&[String]> {
        match self {
            Self::Command { argv, .. } => Some(argv),
            Self::Tests(run) => Some(&run.argv),
            Self::EdgeCases(rules) => Some(&rules.argv),
            Self::Schema(_) | Self::Assert(_) | Self::Rubric(_) | Self::Claims(_) | Self::Consistent(_) => {
                None
            }
        }
    }

    /// The same, to be changed.
    pub fn program_mut(&mut self) -> Option<&mut [String]> {
        match self {
            Self::Command { argv, .. } => Some(argv),
            Self::Tests(run) => Some(&mut run.argv),
            Self::EdgeCases(rules) => Some(&mut rules.argv),
            Self::Schema(_) | Self::Assert(_) | Self::Rubric(_) | Self::Claims(_) | Self::Consistent(_) => {
                None
            }
        }
    }
}

/// One thing that is wrong, as a machine found it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// It holds.
    Passed,
    /// It does not.
    Failed(Vec<Failure>),
    /// It could not be made: that is not a pass.
    CouldNotRun(String),
    /// There was nothing to make it on; in words. Neither a pass nor a failure.
    NotApplicable(String),
}

impl CheckOutcome {
    /// Only a pass passes.
    #[must_use]
    pub fn is_pass(&self) -> bool {
        match self {
            Self::Passed => true,
            Self::Failed(_) | Self::CouldNotRun(_) | Self::NotApplicable(_) => false,
        }
    }

    /// It speaks against the output, or should have spoken and could not.
    #[must_use]
    pub fn is_bad(&self) -> bool {
        match self {
            Self::Failed(_) | Self::CouldNotRun(_) => true,
            Self::Passed | Self::NotApplicable(_) => false,
        }
    }
}

/// A check that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CheckResult {
    /// Which of the task's checks.
    pub name: String,
    /// What it found.
    pub outcome: CheckOutcome,
    /// What it printed.
    pub log: Payload,
    /// How long it took.
    pub duration_ms: u64,
    /// What it measured, besides whether it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<Measure>,
}

/// How bad a defect is, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DiagnosedBy {
    /// The model, asked as a critic.
    Critic,
    /// The failures themselves: the critic was skipped or gave no usable answer.
    Verifier,
    /// A person who was asked about the output.
    Person,
}

/// What is wrong with an output and how to mend it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Diagnosis {
    /// In a sentence.
    pub summary: String,
    /// Piece by piece, in the critic's order.
    pub defects: Vec<Defect>,
    /// Who says so.
    pub by: DiagnosedBy,
    /// Why it is wrong, where rules can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<RootCause>,
}
