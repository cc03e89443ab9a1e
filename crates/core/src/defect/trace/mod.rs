//! Stack traces in any text: Python, Rust, Go, Node, Java and .NET.
//!
//! One pass over the lines; each language knows how its traces begin. Text
//! around them, and traces that are cut off, are no error.

mod at;
mod go;
mod python;
mod rust;
#[cfg(test)]
mod tests;

pub use at::at_line;

use crate::quality::Frame;

/// Most traces taken from one text; the last ones are nearest to the end of the program.
pub const TRACES_MAX: usize = 16;

/// Most frames of one trace, the innermost.
pub const FRAMES_MAX: usize = 24;

/// Longest text of an error that is kept, in bytes.
const MESSAGE_MAX: usize = 2000;

/// Most lines of one message.
const MESSAGE_LINES_MAX: usize = 20;

/// Whose trace it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// CPython's `Traceback`.
    Python,
    /// A panic, with or without backtrace.
    Rust,
    /// A panic with goroutines.
    Go,
    /// V8's, of Node and browsers.
    Node,
    /// Of a Java virtual machine.
    Java,
    /// Of .NET.
    DotNet,
}

/// One stack trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Whose it is.
    pub language: Language,
    /// The type of the error, where the language has one.
    pub error: Option<String>,
    /// What it said.
    pub message: Option<String>,
    /// Innermost first, [`FRAMES_MAX`] at most.
    pub frames: Vec<Frame>,
    /// How many frames further out are not kept.
    pub left_out: u32,
}

/// The stack traces in a text, in its order.
#[must_use]
pub fn traces(text: &str) -> Vec<Trace> {
    let mut lines = Lines { rest: text };
    let mut found = std::collections::VecDeque::new();
    // A trace of the `at` kind is announced by a line somewhere before it: messages have many lines.
    let mut header = None;
    while let Some(line) = lines.next() {
        let trace = if line.trim_start().starts_with(python::START) {
            python::read(&mut lines)
        } else if let Some(panic) = rust::start(line) {
            rust::read(panic, &mut lines)
        } else if let Some(said) = go::start(line) {
            go::read(said, &mut lines)
        } else if at::at_line(line).is_some() {
            at::read(header.take(), line, &mut lines)
        } else {
            header = at::header(line).or(header);
            continue;
        };
        header = None;
        if found.len() == TRACES_MAX {
            found.pop_front();
        }
        found.extend(trace);
    }
    found.into()
}

/// The lines of a text, with one to look ahead.
struct Lines<'a> {
    rest: &'a str,
}

impl<'a> Lines<'a> {
    fn peek(&self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let line = self.rest.split('\n').next()?;
        Some(line.strip_suffix('\r').unwrap_or(line))
    }

    fn next(&mut self) -> Option<&'a str> {
        let line = self.peek()?;
        self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest);
        Some(line)
    }

    fn next_if(&mut self, fits: impl Fn(&str) -> bool) -> Option<&'a str> {
        self.peek().filter(|line| fits(line))?;
        self.next()
    }
}

/// Collects frames from the innermost on.
#[derive(Default)]
struct Frames {
    kept: Vec<Frame>,
    left_out: u32,
}

impl Frames {
    fn push(&mut self, frame: Frame) {
        if self.kept.len() < FRAMES_MAX {
            self.kept.push(frame);
        } else {
            self.left_out = self.left_out.saturating_add(1);
        }
    }
}

/// `file:line` or `file:line:column`.
fn place(text: &str) -> Option<(&str, u32)> {
    let (before, last) = text.rsplit_once(':')?;
    let last: u32 = last.parse().ok()?;
    if let Some((file, line)) = before.rsplit_once(':')
        && let Ok(line) = line.parse()
        && !file.is_empty()
    {
        return Some((file, line));
    }
    (!before.is_empty()).then_some((before, last))
}

/// `Type: message` or a bare `Type`, where the type looks like one.
fn error_and_message(line: &str) -> Option<(&str, &str)> {
    let (name, message) = line.split_once(": ").unwrap_or((line.trim_end_matches(':'), ""));
    // Node writes a code behind the name: `TypeError [ERR_X]: …`.
    let name = name.split_once(" [").filter(|(_, code)| code.ends_with(']')).map_or(name, |(name, _)| name);
    let fits = |part: &str| {
        part.starts_with(|first: char| first.is_alphabetic() || first == '_')
            && part.chars().all(|letter| letter.is_alphanumeric() || "_$".contains(letter))
    };
    (name.len() <= 200 && name.split('.').all(fits)).then_some((name, message))
}

fn capped(text: &str) -> String {
    let mut end = text.floor_char_boundary(MESSAGE_MAX.min(text.len()));
    let lines = text.match_indices('\n').nth(MESSAGE_LINES_MAX - 1);
    if let Some((at, _)) = lines {
        end = end.min(at);
    }
    text.get(..end).unwrap_or_default().trim_end().to_owned()
}
