//! Acceptance checks: a command that must exit with 0, a schema the output must fit.
//!
//! A check only looks. A command that ran no tests has checked nothing and does
//! not pass; what could not be started or ended in time is neither.

mod assertion;
mod cases;
mod python;
pub mod report;
mod suite;

use std::time::Duration;

use bowline_core::quality::{CheckOutcome, Failure};
use serde_json::Value;

pub use assertion::{assertion_check, validate_assertion};
pub use cases::run_edge_cases;
pub use suite::{Tested, run_tests};

use crate::arguments::parse_strict;
use crate::program::{Ended, Program, Ran};
use crate::sandbox::Author;
use crate::schema::Schema;
use crate::{Sandbox, Workspace, background};

/// Most failures of one check.
const FAILURES_MAX: usize = 50;

/// Longest message of one failure, in bytes.
const MESSAGE_MAX: usize = 2000;

/// Longest time for a schema, which is bounded by its steps long before.
const SCHEMA_MAX: Duration = Duration::from_secs(60);

/// Lines of the log shown when nothing better is known.
const LAST_LINES: usize = 20;

/// Runs a command in the workspace, with the output of the run on its standard
/// input. Gives what it found and everything it printed.
pub async fn run_command_check(
    workspace: &Workspace,
    sandbox: &Sandbox,
    argv: &[String],
    output_text: &str,
    timeout: Duration,
) -> (CheckOutcome, String) {
    let program = Program {
        argv,
        author: Author::Task,
        folder: workspace.root(),
        sandbox,
        is_own_tool: false,
        variables: Vec::new(),
        input: output_text.as_bytes().to_vec(),
        limit: timeout,
    };
    match program.run().await {
        Ok(ran) => {
            let log = ran.transcript(timeout);
            (judged(workspace, argv, &ran, timeout), log)
        }
        Err(why) => {
            let message = why.message();
            (CheckOutcome::CouldNotRun(message.clone()), message)
        }
    }
}

fn judged(workspace: &Workspace, argv: &[String], ran: &Ran, timeout: Duration) -> CheckOutcome {
    let name = argv.join(" ");
    let printed = format!("{}\n{}", ran.output, ran.errors);
    match ran.ended {
        Ended::TimedOut | Ended::Lost => {
            CheckOutcome::CouldNotRun(format!("{name}: {}", ran.ended.in_words(timeout)))
        }
        Ended::Exited(code @ (0 | 5)) if let Some(nothing) = python::nothing_tested(&printed, code) => {
            CheckOutcome::Failed(vec![Failure::new(name, nothing)])
        }
        Ended::Exited(0) => CheckOutcome::Passed,
        Ended::Exited(_) | Ended::Killed(_) => {
            let mut failures = python::failures(&printed, workspace.root());
            if failures.is_empty() {
                let message = format!("{}\n{}", ran.ended.in_words(timeout), last_lines(&printed));
                failures.push(Failure::new(name, message.trim_end()));
            }
            failures.truncate(FAILURES_MAX);
            for failure in &mut failures {
                failure.message = crate::cap_output(&failure.message, MESSAGE_MAX).into_owned();
            }
            CheckOutcome::Failed(failures)
        }
    }
}

fn last_lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let from = lines.len().saturating_sub(LAST_LINES);
    lines.get(from..).unwrap_or_default().join("\n")
}

/// The same as [`schema_check`], beside everything else that is going on.
pub async fn run_schema_check(schema: &Value, output_text: &str) -> CheckOutcome {
    let (schema, text) = (schema.clone(), output_text.to_owned());
    let checked = background::run(SCHEMA_MAX, move |_| schema_check(&schema, &text)).await;
    checked.unwrap_or_else(|late| CheckOutcome::CouldNotRun(late.message(SCHEMA_MAX)))
}

/// Whether an output is JSON and fits a schema; places are JSON pointers. One that would take
/// too long to check does not fit.
#[must_use]
pub fn schema_check(schema: &Value, output_text: &str) -> CheckOutcome {
    let schema = match Schema::compile(schema) {
        Ok(schema) => schema,
        Err(problem) => return CheckOutcome::CouldNotRun(format!("the schema cannot be used: {problem}")),
    };
    let failure = |message: String, place: Option<String>| Failure::new("schema", message).at(place);
    let value = match parse_strict(output_text.trim()) {
        Ok(value) => value,
        Err(problem) => {
            let fenced = output_text.trim_start().starts_with("```");
            let hint = if fenced { "; the output must be the JSON alone, without a code fence" } else { "" };
            return CheckOutcome::Failed(vec![failure(
                format!("the output is not JSON: {problem}{hint}"),
                None,
            )]);
        }
    };
    let misfits = schema.misfits(&value);
    if misfits.is_empty() {
        return CheckOutcome::Passed;
    }
    let place = |pointer: String| if pointer.is_empty() { None } else { Some(pointer) };
    CheckOutcome::Failed(
        misfits.into_iter().map(|misfit| failure(misfit.message, place(misfit.pointer))).collect(),
    )
}

/// Whether a schema can be used, for when a task is loaded.
pub fn validate_schema(schema: &Value) -> Result<(), String> {
    Schema::compile(schema).map(drop)
}
