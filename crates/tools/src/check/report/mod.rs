//! What a test tool printed, as counts and failures.
//!
//! [`recognise`] says whose output a text is; [`read`] reads it. Every reader is a
//! pure function of the text: nothing is run, opened or expanded here.
//!
//! Invariants
//! - A report is read whole or not at all: output that ends before the tool's own
//!   verdict is [`ReportError::Cut`], a verdict that disagrees with what is listed
//!   (or with the exit code) is [`ReportError::Contradicts`]. Neither is a pass.
//! - Tests may print what a tool would print. Counts are checked against each other,
//!   so that a line of theirs does not turn a failure into a pass.
//! - Reading is linear in the text; everything that is kept has a limit.

mod bound;
mod cargo;
mod colour;
mod expected;
mod go;
mod go_json;
mod jest;
mod jest_json;
mod junit;
mod nextest;
mod pytest;
mod recognised;
mod rustc;
mod tap;
#[cfg(test)]
mod tests;
mod vitest;
mod yaml;

use std::borrow::Cow;

use bowline_core::quality::Failure;
use serde::{Deserialize, Serialize};

use colour::without_colour;
pub use recognised::recognise;

/// Most text of one report, in bytes, both streams and the file together.
pub const TEXT_MAX: usize = 8 << 20;

/// Most failures kept of one report; the others are counted.
pub const FAILURES_MAX: usize = 100;

/// Whose output it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// pytest on a terminal.
    Pytest,
    /// `cargo test`.
    CargoTest,
    /// `cargo nextest run`.
    Nextest,
    /// `go test`, with or without `-v`.
    GoTest,
    /// `go test -json`.
    GoTestJson,
    /// jest on a terminal.
    Jest,
    /// `jest --json` and `vitest --reporter=json`, which write the same.
    JestJson,
    /// vitest on a terminal.
    Vitest,
    /// The XML that came from JUnit and that every tool can write.
    JunitXml,
    /// The Test Anything Protocol, 12 to 14.
    Tap,
}

impl Format {
    /// What people call the tool.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pytest => "pytest",
            Self::CargoTest => "cargo test",
            Self::Nextest => "cargo nextest",
            Self::GoTest => "go test",
            Self::GoTestJson => "go test -json",
            Self::Jest => "jest",
            Self::JestJson => "jest --json",
            Self::Vitest => "vitest",
            Self::JunitXml => "JUnit XML",
            Self::Tap => "TAP",
        }
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.name())
    }
}

/// What a tool left behind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Printed<'a> {
    /// Its standard output, as it came: the end of the last line says whether it is whole.
    pub output: &'a str,
    /// Its standard error; empty where both went into one.
    pub errors: &'a str,
    /// A report it wrote to a file, if it did.
    pub file: Option<&'a str>,
    /// Its exit code, if it is known.
    pub exit: Option<i32>,
}

impl Printed<'_> {
    /// Whose it is, by the file if there is one, else by either stream.
    #[must_use]
    pub fn recognise(&self) -> Option<Format> {
        self.file.and_then(recognise).or_else(|| recognise(self.output)).or_else(|| recognise(self.errors))
    }
}

/// What the tests came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Whose report it is.
    pub tool: Format,
    /// Tests that passed. A group of tests is none itself.
    pub passed: u32,
    /// Tests that failed.
    pub failed: u32,
    /// Tests that were skipped, or failed as they were expected to.
    pub skipped: u32,
    /// What went wrong outside tests: fixtures, code that does not compile or load.
    pub errors: u32,
    /// True if more may have passed or been skipped: some tools do not count them.
    #[serde(default)]
    pub at_least: bool,
    /// What went wrong, in the tool's order, [`FAILURES_MAX`] at most.
    pub failures: Vec<Failure>,
    /// How many failures are not kept.
    #[serde(default)]
    pub left_out: u32,
}

impl Report {
    fn new(tool: Format) -> Self {
        let (failures, at_least) = (Vec::new(), false);
        Self { tool, passed: 0, failed: 0, skipped: 0, errors: 0, at_least, failures, left_out: 0 }
    }

    /// How many tests really ran. Zero is for the caller to judge: nothing was tested.
    #[must_use]
    pub fn ran(&self) -> u32 {
        self.passed.saturating_add(self.failed)
    }

    /// Something was tested, and nothing went wrong.
    #[must_use]
    pub fn is_pass(&self) -> bool {
        self.ran() > 0 && self.failed == 0 && self.errors == 0
    }

    /// Keeps a failure within its limits, or counts it.
    fn keep(&mut self, failure: Failure) {
        if self.failures.len() < FAILURES_MAX {
            self.failures.push(bound::bounded(failure));
        } else {
            self.left_out = self.left_out.saturating_add(1);
        }
    }

    /// How many failures were listed, kept or not.
    fn listed(&self) -> u32 {
        u32::try_from(self.failures.len()).unwrap_or(u32::MAX).saturating_add(self.left_out)
    }
}

/// Why a text is no report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// More than [`TEXT_MAX`].
    #[error("the report of {format} has {bytes} bytes, more than {TEXT_MAX}")]
    TooLong {
        /// As what it was read.
        format: Format,
        /// How long it is.
        bytes: usize,
    },
    /// Nothing in it is of this tool.
    #[error("this is no output of {format}")]
    Unrecognised {
        /// As what it was read.
        format: Format,
    },
    /// It ends before the tool's verdict.
    #[error("the output of {format} ends too early: {what}")]
    Cut {
        /// As what it was read.
        format: Format,
        /// What is missing.
        what: String,
    },
    /// Two things in it cannot both be true.
    #[error("the output of {format} contradicts itself: {what}")]
    Contradicts {
        /// As what it was read.
        format: Format,
        /// Which two.
        what: String,
    },
    /// It breaks the rules of its format.
    #[error("the report of {format} cannot be read: {what}")]
    Malformed {
        /// As what it was read.
        format: Format,
        /// How.
        what: String,
    },
}

impl ReportError {
    /// What whoever runs the tests can do.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::TooLong { .. } => "have the tool print less, for instance without passing tests",
            Self::Unrecognised { .. } => "name the right tool, or let the exit code alone decide",
            Self::Cut { .. } => "run it again, and longer: the tool was stopped before it was done",
            Self::Contradicts { .. } => {
                "do not let tests print what the tool prints; prefer a report in a file"
            }
            Self::Malformed { .. } => "write the report anew with the tool itself",
        }
    }
}

/// The texts without colours, as the readers get them.
struct Texts<'a> {
    output: Cow<'a, str>,
    errors: Cow<'a, str>,
    file: Option<Cow<'a, str>>,
    exit: Option<i32>,
}

impl Texts<'_> {
    /// The report in a file, or else standard output.
    fn document(&self) -> &str {
        self.file.as_deref().unwrap_or(&self.output)
    }

    /// Lines of standard output, then of standard error.
    fn lines(&self) -> impl Iterator<Item = &str> {
        self.output.lines().chain(self.errors.lines())
    }
}

/// Reads what a tool printed.
///
/// # Errors
/// Where the text is too long, not of that tool, cut off, or contradicts itself or its exit code.
pub fn read(format: Format, printed: &Printed<'_>) -> Result<Report, ReportError> {
    let bytes = printed.output.len() + printed.errors.len() + printed.file.map_or(0, str::len);
    if bytes > TEXT_MAX {
        return Err(ReportError::TooLong { format, bytes });
    }
    let texts = Texts {
        output: without_colour(printed.output),
        errors: without_colour(printed.errors),
        file: printed.file.map(without_colour),
        exit: printed.exit,
    };
    let report = match format {
        Format::Pytest => pytest::read(&texts),
        Format::CargoTest => cargo::read(&texts),
        Format::Nextest => nextest::read(&texts),
        Format::GoTest => go::read(&texts),
        Format::GoTestJson => go_json::read(&texts),
        Format::Jest => jest::read(&texts),
        Format::JestJson => jest_json::read(&texts),
        Format::Vitest => vitest::read(&texts),
        Format::JunitXml => junit::read(&texts),
        Format::Tap => tap::read(&texts),
    }?;
    match printed.exit {
        Some(code) if code != 0 && report.is_pass() => {
            let what = format!("it lists no failure and exited with {code}");
            Err(ReportError::Contradicts { format, what })
        }
        Some(0) if report.failed > 0 || report.errors > 0 => {
            let what = "it lists failures and exited with 0".to_owned();
            Err(ReportError::Contradicts { format, what })
        }
        Some(_) | None => Ok(report),
    }
}
