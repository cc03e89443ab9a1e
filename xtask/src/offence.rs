//! One broken rule, at one place, in words that say what to do.

use std::fmt;

/// A place that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Offence {
    /// The file, crate or edge.
    pub place: String,
    /// The line, from 1, where there is one.
    pub line: Option<usize>,
    /// The name of the rule.
    pub rule: &'static str,
    /// What is wrong and what to do.
    pub message: String,
}

impl Offence {
    /// An offence of a whole file, crate or edge.
    pub fn new(rule: &'static str, place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), line: None, rule, message: message.into() }
    }

    /// The same at a line.
    #[must_use]
    pub fn at(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }
}

impl fmt::Display for Offence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}: {}", self.rule, self.message)
    }
}
