//! How much of one failure is kept.

use bowline_core::defect::FRAMES_MAX;
use bowline_core::quality::{Failure, Frame};

const NAME_MAX: usize = 500;
const MESSAGE_MAX: usize = 4000;
const VALUE_MAX: usize = 2000;

/// Most text of one test's output that is looked at.
pub(super) const BODY_MAX: usize = 64 << 10;

/// The same within limits, marked if anything was left out.
pub(super) fn bounded(failure: Failure) -> Failure {
    let mut cut = failure.truncated;
    let mut kept = |text: String, max: usize| {
        if text.len() <= max {
            return text;
        }
        cut = true;
        crate::cap_output(&text, max).into_owned()
    };
    let mut failure = failure;
    failure.name = kept(failure.name, NAME_MAX);
    failure.message = kept(failure.message, MESSAGE_MAX);
    failure.place = failure.place.map(|place| kept(place, NAME_MAX));
    failure.error = failure.error.map(|error| kept(error, NAME_MAX));
    failure.expected = failure.expected.map(|value| kept(value, VALUE_MAX));
    failure.actual = failure.actual.map(|value| kept(value, VALUE_MAX));
    failure.truncated = cut || failure.trace.len() > FRAMES_MAX;
    failure.trace.truncate(FRAMES_MAX);
    for frame in &mut failure.trace {
        for text in std::iter::once(&mut frame.file).chain(frame.function.as_mut()) {
            if text.len() > NAME_MAX {
                *text = crate::cap_output(text, NAME_MAX).into_owned();
                failure.truncated = true;
            }
        }
    }
    failure
}

/// Appends a line, as long as there is room.
pub(super) fn append(body: &mut String, line: &str) {
    if body.len() + line.len() < BODY_MAX {
        body.push_str(line);
        body.push('\n');
    }
}

/// The same, at this file and line.
pub(super) fn located(failure: Failure, place: Option<(String, u32)>) -> Failure {
    let Some((file, line)) = place else { return failure };
    let place = Some(format!("{file}:{line}"));
    Failure { place, trace: vec![Frame { file, line: Some(line), function: None }], ..failure }
}

/// `file:line` of a frame.
pub(super) fn place_of(frame: &Frame) -> String {
    frame.line.map_or_else(|| frame.file.clone(), |line| format!("{}:{line}", frame.file))
}

/// The innermost place in the project itself, or else the innermost.
pub(super) fn place_in(trace: &[Frame]) -> Option<String> {
    let foreign = ["/site-packages/", "/node_modules/", "/lib/python", "/rustc/", "/lib/go", "/go/src/"];
    let own = |frame: &&Frame| {
        let inside = foreign.iter().any(|part| frame.file.contains(part));
        let built_in = ["node:", "<frozen", "node_modules/", "Native Method", "Unknown Source"];
        let frameworks = ["org.junit.", "org.opentest4j.", "org.testng.", "java.", "jdk.", "sun."];
        let function = frame.function.as_deref().unwrap_or_default();
        let inside = inside || frameworks.iter().any(|start| function.starts_with(start));
        frame.line.is_some() && !inside && !built_in.iter().any(|start| frame.file.starts_with(start))
    };
    trace.iter().find(own).or_else(|| trace.first()).map(place_of)
}

/// Lines without the indentation they share.
pub(super) fn dedented(lines: &[&str]) -> String {
    let indent = |line: &&str| line.len() - line.trim_start_matches(' ').len();
    let shared = lines.iter().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    let cut = |line: &&str| line.get(shared.min(line.len())..).unwrap_or_default().trim_end().to_owned();
    let text = lines.iter().map(cut).collect::<Vec<_>>().join("\n");
    text.trim_matches('\n').to_owned()
}

/// `7 failed`, `2 errors`: the number before a word.
pub(super) fn counted(part: &str) -> Option<(u32, &str)> {
    let (number, word) = part.trim().split_once(' ')?;
    Some((number.parse().ok()?, word.trim()))
}
