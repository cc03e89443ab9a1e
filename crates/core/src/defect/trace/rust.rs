//! Rust's panics: the place of the panic is the innermost frame; a backtrace, if
//! there is one, gives the others.

use super::{Frames, Language, Lines, MESSAGE_LINES_MAX, Trace, capped, place};
use crate::quality::Frame;

/// The panic's place, and its message where it stands on the same line (before Rust 1.73).
pub(super) struct Panic<'a> {
    file: &'a str,
    line: u32,
    said: Option<&'a str>,
}

/// `thread 'x' panicked at src/lib.rs:3:5:`, or the old `… at 'message', src/lib.rs:3:5`.
pub(super) fn start(line: &str) -> Option<Panic<'_>> {
    let (thread, at) = line.split_once(" panicked at ")?;
    if !thread.trim_start().starts_with("thread ") {
        return None;
    }
    if let Some((said, where_)) = at.strip_prefix('\'').and_then(|old| old.rsplit_once("', ")) {
        let (file, line) = place(where_.trim_end())?;
        return Some(Panic { file, line, said: Some(said) });
    }
    let (file, line) = place(at.trim_end().trim_end_matches(':'))?;
    Some(Panic { file, line, said: None })
}

pub(super) fn read(panic: Panic<'_>, lines: &mut Lines<'_>) -> Option<Trace> {
    let mut message = String::from(panic.said.unwrap_or_default());
    if panic.said.is_none() {
        for _ in 0..MESSAGE_LINES_MAX {
            let Some(line) = lines.next_if(|line| !ends_message(line)) else { break };
            if !message.is_empty() {
                message.push('\n');
            }
            message.push_str(line);
        }
    }
    let mut frames = Frames::default();
    frames.push(Frame { file: panic.file.to_owned(), line: Some(panic.line), function: None });
    if lines.next_if(|line| line.trim() == "stack backtrace:").is_some() {
        backtrace(lines, &mut frames);
    }
    Some(Trace {
        language: Language::Rust,
        error: Some("panic".to_owned()),
        message: Some(capped(&message)).filter(|message| !message.is_empty()),
        frames: frames.kept,
        left_out: frames.left_out,
    })
}

fn ends_message(line: &str) -> bool {
    let line = line.trim();
    line.is_empty()
        || line.starts_with("note: ")
        || line == "stack backtrace:"
        || line.starts_with("---- ")
        || start(line).is_some()
}

/// `   5: name` and `             at ./src/lib.rs:3:5`, one after the other.
fn backtrace(lines: &mut Lines<'_>, frames: &mut Frames) {
    let panicked = frames.kept.first().cloned();
    while let Some(line) = lines.next_if(|line| numbered(line).is_some()) {
        let function = numbered(line);
        let at = lines.next_if(|line| line.trim_start().starts_with("at "));
        let Some((file, line)) = at.and_then(|at| place(at.trim_start().strip_prefix("at ")?.trim())) else {
            continue;
        };
        let file = file.strip_prefix("./").unwrap_or(file);
        let here = Frame {
            file: file.to_owned(),
            line: Some(line),
            function: function.map(|function| capped(&function)),
        };
        // The panic's own place has the name of its function only here.
        let same = |first: &Frame| first.file == here.file && first.line == here.line;
        if panicked.as_ref().is_some_and(same) {
            let innermost = frames.kept.first_mut().filter(|first| first.function.is_none());
            if let Some(innermost) = innermost {
                innermost.function = here.function;
                continue;
            }
        }
        if !file.starts_with("/rustc/") {
            frames.push(here);
        }
    }
}

fn numbered(line: &str) -> Option<String> {
    let (number, function) = line.trim_start().split_once(": ")?;
    number.parse::<u32>().ok()?;
    Some(function.trim().to_owned())
}
