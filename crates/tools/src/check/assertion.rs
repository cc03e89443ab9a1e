//! Plain statements about an output or a file, looked at through the path guard.
//!
//! A statement about something that is not there does not hold; one that cannot be
//! looked at (a pattern that is none, a file that may not be read) could not be made.

use bowline_core::control::Ppm;
use bowline_core::quality::{CheckOutcome, Failure};
use bowline_core::verify::{Assertion, Of, Proof, Target};
use regex::RegexBuilder;
use serde_json::Value;

use crate::Workspace;
use crate::arguments::parse_strict;
use crate::background;
use crate::workspace::{FILE_BYTES_MAX, PathError};

/// Largest compiled pattern, in bytes.
const PATTERN_MAX: usize = 1 << 20;
/// Longest quotation of what was found, in characters.
const QUOTE_MAX: usize = 200;

/// Looks whether a statement holds.
pub async fn assertion_check(workspace: &Workspace, stated: &Assertion, output: &str) -> CheckOutcome {
    let (text, subject) = match &stated.target {
        Target::Output => (Some(output.to_owned()), "the output".to_owned()),
        Target::File(path) => match file(workspace, path).await {
            Ok(bytes) => (bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()), path.clone()),
            Err(why) => return CheckOutcome::CouldNotRun(why),
        },
    };
    let place = match &stated.target {
        Target::Output => None,
        Target::File(path) => Some(path.clone()),
    };
    match (&stated.proof, text) {
        (Proof::Exists(wanted), text) if text.is_some() == *wanted => CheckOutcome::Passed,
        (Proof::Exists(true), _) => failed(format!("there is no {subject}"), place),
        (Proof::Exists(false), _) => failed(format!("{subject} is there"), place),
        (Proof::Matches { .. } | Proof::Value(_), None) => failed(format!("there is no {subject}"), place),
        (Proof::Matches { pattern, wanted }, Some(text)) => matched(pattern, *wanted, &text, &subject, place),
        (Proof::Value(of), Some(text)) => valued(of, &text, &subject),
    }
}

/// Whether a statement can be looked at, for when a task is loaded.
pub fn validate_assertion(stated: &Assertion) -> Result<(), String> {
    match &stated.proof {
        Proof::Matches { pattern, .. } => compiled(pattern).map(drop),
        Proof::Exists(_) | Proof::Value(_) => Ok(()),
    }
}

/// The bytes of a file of the workspace; `None` if it is not there.
pub(super) async fn file(workspace: &Workspace, path: &str) -> Result<Option<Vec<u8>>, String> {
    let (workspace, path) = (workspace.clone(), path.to_owned());
    let limit = background::FILE_WORK_MAX;
    let read = background::run(limit, move |_| {
        workspace.resolve(&path).and_then(|inside| workspace.read(&inside, FILE_BYTES_MAX))
    });
    match read.await.map_err(|not_done| not_done.message(limit))? {
        Ok(bytes) => Ok(Some(bytes)),
        Err(PathError::Missing { .. } | PathError::NotAFolder { .. }) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

fn compiled(pattern: &str) -> Result<regex::Regex, String> {
    let built = RegexBuilder::new(pattern).multi_line(true).size_limit(PATTERN_MAX).build();
    built.map_err(|problem| format!("the pattern cannot be used: {problem}"))
}

fn matched(pattern: &str, wanted: bool, text: &str, subject: &str, place: Option<String>) -> CheckOutcome {
    let pattern = match compiled(pattern) {
        Ok(pattern) => pattern,
        Err(why) => return CheckOutcome::CouldNotRun(why),
    };
    match (pattern.find(text), wanted) {
        (Some(_), true) | (None, false) => CheckOutcome::Passed,
        (None, true) => failed(format!("nothing in {subject} matches {pattern}"), place),
        (Some(found), false) => {
            let before = text.get(..found.start()).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let place = place.map(|path| format!("{path}:{line}"));
            failed(format!("{subject} has {:?}, which matches {pattern}", quoted(found.as_str())), place)
        }
    }
}

fn valued(of: &Of, text: &str, subject: &str) -> CheckOutcome {
    let place = Some(of.at.clone());
    let value = match parse_strict(text.trim()) {
        Ok(value) => value,
        Err(problem) => return failed(format!("{subject} is not JSON: {problem}"), place),
    };
    match value.pointer(&of.at) {
        None => failed(format!("there is nothing at {:?} in {subject}", of.at), place),
        Some(found) if is_near(found, &of.is, of.within) => CheckOutcome::Passed,
        Some(found) => {
            let (found, wanted) = (quoted(&found.to_string()), quoted(&of.is.to_string()));
            let within =
                if of.within == Ppm::ZERO { String::new() } else { format!(" within {}", of.within) };
            failed(format!("{} is {found} in {subject}, not {wanted}{within}", of.at), place)
        }
    }
}

/// Numbers are compared as numbers, whatever way they are written; anything else exactly.
fn is_near(found: &Value, wanted: &Value, within: Ppm) -> bool {
    match (found.as_f64(), wanted.as_f64()) {
        (Some(found), Some(wanted)) => {
            #[expect(clippy::cast_precision_loss, reason = "at most a billion millionths")]
            let within = within.0 as f64 / 1e6;
            // What a decimal loses in binary is not held against it.
            (found - wanted).abs() <= within + wanted.abs() * 1e-12
        }
        _ => found == wanted,
    }
}

fn quoted(text: &str) -> String {
    text.chars().take(QUOTE_MAX).collect()
}

fn failed(message: String, place: Option<String>) -> CheckOutcome {
    CheckOutcome::Failed(vec![Failure::new("statement", message).at(place)])
}
