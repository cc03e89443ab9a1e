//! CPython's tracebacks: outermost frame first, the error on the first line
//! that is not indented.

use super::{FRAMES_MAX, Language, Lines, Trace, capped, error_and_message};
use crate::quality::Frame;
use std::collections::VecDeque;

pub(super) const START: &str = "Traceback (most recent call last):";

pub(super) fn read(lines: &mut Lines<'_>) -> Option<Trace> {
    let mut frames: VecDeque<Frame> = VecDeque::new();
    let mut left_out = 0_u32;
    let margin = lines.peek().map_or(0, |line| indent(line).saturating_sub(2));
    while let Some(line) = lines.next_if(|line| indent(line) > margin || frame(line).is_some()) {
        let Some(frame) = frame(line) else { continue };
        // The innermost comes last, so the outermost make room.
        if frames.len() == FRAMES_MAX {
            frames.pop_front();
            left_out = left_out.saturating_add(1);
        }
        frames.push_back(frame);
    }
    let said = lines.next_if(|line| error_and_message(line.trim()).is_some());
    let (error, message) = said.and_then(|line| error_and_message(line.trim())).unzip();
    if frames.is_empty() && error.is_none() {
        return None;
    }
    let message = message.filter(|message| !message.is_empty()).map(capped);
    let frames = frames.into_iter().rev().collect();
    Some(Trace { language: Language::Python, error: error.map(str::to_owned), message, frames, left_out })
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// `File "x.py", line 3, in name`; a syntax error has no function.
pub(super) fn frame(line: &str) -> Option<Frame> {
    let (file, rest) = line.trim_start().strip_prefix("File \"")?.split_once("\", line ")?;
    let (number, function) = match rest.split_once(", in ") {
        Some((number, function)) => (number, Some(function.trim_end().to_owned())),
        None => (rest.trim_end(), None),
    };
    Some(Frame { file: file.to_owned(), line: number.parse().ok(), function })
}
