//! What the Rust compiler says is wrong.

use std::collections::HashSet;

use bowline_core::quality::{Failure, Frame, Stage};

use super::bound::append;

/// Most lines of one diagnosis that are kept.
const LINES_MAX: usize = 40;

/// Cargo's own last words about errors that were printed before.
const EPILOGUES: [&str; 7] = [
    "could not compile",
    "aborting due to",
    "test failed, to rerun",
    "doctest failed, to rerun",
    "test run failed",
    "no tests to run",
    "command `",
];

/// The errors among these lines, each once. Nothing where everything compiled.
pub(super) fn errors<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<Failure> {
    let mut lines = lines.peekable();
    let (mut found, mut seen, mut not_compiled) = (Vec::new(), HashSet::new(), None);
    while let Some(line) = lines.next() {
        if line.starts_with("error: could not compile") {
            not_compiled = Some(line);
        }
        let Some((code, said)) = start(line) else { continue };
        let mut body = String::new();
        let mut place = None;
        for _ in 0..LINES_MAX {
            let Some(next) = lines.next_if(|next| !next.trim().is_empty() && start(next).is_none()) else {
                break;
            };
            place = place.or_else(|| at(next));
            append(&mut body, next);
        }
        if seen.insert((said, place.clone())) {
            found.push(failure(code, said, &body, place));
        }
    }
    match (not_compiled, found.is_empty()) {
        (Some(line), true) => vec![failure(None, line.trim_start_matches("error: "), "", None)],
        (Some(_), false) => found,
        (None, _) => Vec::new(),
    }
}

/// `error[E0425]: message` or `error: message`.
fn start(line: &str) -> Option<(Option<&str>, &str)> {
    let rest = line.strip_prefix("error")?;
    let (code, said) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once("]: ").map(|(code, said)| (Some(code), said))?,
        None => (None, rest.strip_prefix(": ")?),
    };
    let is_epilogue =
        EPILOGUES.iter().any(|start| said.starts_with(start)) || said.contains(" target failed");
    (!is_epilogue).then_some((code, said))
}

/// ` --> src/lib.rs:6:5`.
fn at(line: &str) -> Option<(String, u32)> {
    let rest = line.trim_start().strip_prefix("--> ")?;
    let mut parts = rest.trim_end().rsplitn(3, ':');
    let (_, line, file) = (parts.next()?, parts.next()?, parts.next()?);
    Some((file.to_owned(), line.parse().ok()?))
}

fn failure(code: Option<&str>, said: &str, body: &str, place: Option<(String, u32)>) -> Failure {
    let mut message = said.to_owned();
    // `expected `String`, found `u32`` is in the marks below the source.
    let marked = body.lines().find_map(|line| {
        let at = line.find("expected `")?;
        let pair = line.get(at..)?.strip_prefix("expected ")?;
        let (expected, found) = pair.split_once(", found ")?;
        Some((expected.trim_matches('`').to_owned(), found.trim_matches('`').to_owned()))
    });
    if !body.is_empty() {
        message.push('\n');
        message.push_str(body.trim_end());
    }
    let (expected, actual) = marked.unzip();
    let trace =
        place.iter().map(|(file, line)| Frame { file: file.clone(), line: Some(*line), function: None });
    Failure {
        name: "build".to_owned(),
        message,
        place: place.as_ref().map(|(file, line)| format!("{file}:{line}")),
        stage: Stage::Build,
        error: code.map(str::to_owned),
        expected,
        actual,
        trace: trace.collect(),
        truncated: false,
    }
}
