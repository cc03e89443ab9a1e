//! Go's panics: the first goroutine is the one that panicked.

use super::{Frames, Language, Lines, Trace, capped, place};
use crate::quality::Frame;

/// Lines between the panic and its goroutine: other panics, registers, a blank.
const PREAMBLE_MAX: usize = 8;

/// `panic: message` or `fatal error: message`.
pub(super) fn start(line: &str) -> Option<&str> {
    line.strip_prefix("panic: ").or_else(|| line.strip_prefix("fatal error: "))
}

pub(super) fn read(said: &str, lines: &mut Lines<'_>) -> Option<Trace> {
    for _ in 0..PREAMBLE_MAX {
        if lines.next_if(|line| !is_goroutine(line)).is_none() {
            break;
        }
    }
    let mut frames = Frames::default();
    if lines.next_if(is_goroutine).is_some() {
        while let Some(function) = lines.next_if(|line| !line.trim().is_empty() && !line.starts_with('\t')) {
            let Some(at) = lines.next_if(|line| line.starts_with('\t')) else { break };
            let at = at.trim();
            let at = at.split_once(" +0x").map_or(at, |(at, _)| at);
            let Some((file, line)) = place(at) else { continue };
            frames.push(Frame { file: file.to_owned(), line: Some(line), function: Some(name(function)) });
        }
    }
    drop_the_runtime(&mut frames.kept);
    let message = said.strip_suffix(" [recovered]").unwrap_or(said);
    Some(Trace {
        language: Language::Go,
        error: Some("panic".to_owned()),
        message: Some(capped(message)),
        frames: frames.kept,
        left_out: frames.left_out,
    })
}

fn is_goroutine(line: &str) -> bool {
    line.starts_with("goroutine ") && line.ends_with("]:")
}

/// `pkg.Name(0xc000, …)` without its arguments.
fn name(line: &str) -> String {
    let line = line.strip_prefix("created by ").unwrap_or(line);
    let line = line.split_once(" in goroutine ").map_or(line, |(line, _)| line);
    let end = line.rfind('(').filter(|at| *at > 0 && line.ends_with(')')).unwrap_or(line.len());
    capped(line.get(..end).unwrap_or(line))
}

/// What recovers and panics again stands above the function that panicked.
fn drop_the_runtime(frames: &mut Vec<Frame>) {
    let is_panic = |frame: &Frame| frame.function.as_deref() == Some("panic");
    if let Some(at) = frames.iter().position(is_panic) {
        frames.drain(..=at);
    }
}
