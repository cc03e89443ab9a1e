//! What is wrong with a raw task: all of it, each with its place and a remedy.

use std::cell::RefCell;
use std::fmt;

use serde_json::Value;

/// Most problems that are reported at once; a file with more is no task file.
const PROBLEMS_MAX: usize = 100;

/// Longest piece of the user's own text that is quoted back.
const QUOTE_MAX: usize = 40;

/// Everything that is wrong with a raw task. Never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines(.problems))]
pub struct BadTask {
    /// In the order of the sections; at most a hundred.
    pub problems: Vec<Problem>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, as in `check[1].command`; counts from 0.
    pub place: String,
    /// What is wrong there.
    pub what: String,
    /// What to write instead.
    pub remedy: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.place, self.what, self.remedy)
    }
}

fn lines(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}

/// Collects problems while a task is read to its end.
#[derive(Default)]
pub(crate) struct Problems(RefCell<Vec<Problem>>);

impl Problems {
    /// Notes one more, unless there are enough.
    pub(crate) fn note(&self, place: &str, what: impl Into<String>, remedy: impl Into<String>) {
        let mut problems = self.0.borrow_mut();
        if problems.len() < PROBLEMS_MAX {
            problems.push(Problem { place: place.into(), what: what.into(), remedy: remedy.into() });
        }
    }

    /// How many were noted so far.
    pub(crate) fn count(&self) -> usize {
        self.0.borrow().len()
    }

    /// What was read, unless anything was noted on the way.
    pub(crate) fn settle<T>(self, read: Option<T>) -> Result<T, BadTask> {
        let problems = self.0.into_inner();
        match read {
            Some(read) if problems.is_empty() => Ok(read),
            Some(_) | None => Err(BadTask { problems }),
        }
    }
}

/// A value in words, short and without control characters.
pub(crate) fn described(value: &Value) -> String {
    match value {
        Value::Null => "nothing (null)".into(),
        Value::Bool(word) => format!("`{word}`"),
        Value::Number(number) => format!("the number {}", quoted(&number.to_string()).trim_matches('"')),
        Value::String(text) => format!("the text {}", quoted(text)),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "a table".into(),
    }
}

/// The user's own text, escaped and shortened.
pub(crate) fn quoted(text: &str) -> String {
    let start: String = text.chars().take(QUOTE_MAX).collect();
    let cut = if start.len() < text.len() { "…" } else { "" };
    format!("{start:?}{cut}")
}

/// A key as it may stand in a place.
pub(crate) fn shown_key(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.len() <= QUOTE_MAX && key.chars().all(is_bare) {
        key.into()
    } else {
        quoted(key)
    }
}
