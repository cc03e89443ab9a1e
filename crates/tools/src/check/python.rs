//! What Python's test runners print, as failures: unittest and pytest.
//!
//! Text is read as it is; what is not recognised gives no failure, and the
//! caller falls back to the last lines.

use std::path::Path;
use std::sync::LazyLock;

use bowline_core::quality::Failure;
use regex::Regex;

type Pattern = LazyLock<Option<Regex>>;

/// A pattern that is part of the program: it compiles, or the tests fail.
fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

static UNITTEST_HEADER: Pattern = LazyLock::new(|| pattern(r"^(FAIL|ERROR|UNEXPECTED SUCCESS): (.+)$"));
static UNITTEST_FRAME: Pattern = LazyLock::new(|| pattern(r#"^ *File "(.+)", line (\d+)"#));
static UNITTEST_RAN: Pattern = LazyLock::new(|| pattern(r"^Ran (\d+) tests? in "));
static UNITTEST_SKIPPED: Pattern = LazyLock::new(|| pattern(r"^OK \(.*\bskipped=(\d+)"));
static PYTEST_HEADER: Pattern = LazyLock::new(|| pattern(r"^_{3,} (.+?) _{3,}$"));
static PYTEST_BAR: Pattern = LazyLock::new(|| pattern(r"^(={3,}|!{3,}) .+ (={3,}|!{3,})$"));
static PYTEST_PLACE: Pattern = LazyLock::new(|| pattern(r"^(\S[^:]*):(\d+): "));
static PYTEST_SUMMARY: Pattern =
    LazyLock::new(|| pattern(r"^(?:FAILED|ERROR|SUBFAILED\S*) (\S+)(?: - (.*))?$"));
static PYTEST_END: Pattern =
    LazyLock::new(|| pattern(r"^=* ?((?:\d+ [a-z]+(?:, )?)+|no tests ran) in [0-9.]+s"));

/// Every failed test the text names.
pub(super) fn failures(log: &str, root: &Path) -> Vec<Failure> {
    let lines: Vec<&str> = log.lines().collect();
    let found = unittest(&lines, root);
    if found.is_empty() { pytest(&lines, root) } else { found }
}

/// How many tests Python's own runner says it ran.
pub(super) fn tests_ran(log: &str) -> Option<u64> {
    let lines: Vec<&str> = log.lines().collect();
    sum(&lines, &UNITTEST_RAN)
}

/// Why a run that ended well (or with 5, "no tests") has tested nothing.
pub(super) fn nothing_tested(log: &str, code: i32) -> Option<String> {
    let lines: Vec<&str> = log.lines().collect();
    let (ran, skipped) = (sum(&lines, &UNITTEST_RAN), sum(&lines, &UNITTEST_SKIPPED));
    let ends: Vec<&str> = lines.iter().filter_map(|line| captures(&PYTEST_END, line, 1)).collect();
    match (ran, skipped) {
        (Some(0), _) => return Some("no tests ran: 0 tests were found".to_owned()),
        (Some(ran), Some(skipped)) if ran == skipped => {
            return Some(format!("no tests ran: all {ran} were skipped"));
        }
        (Some(_) | None, Some(_) | None) => {}
    }
    let tested = |end: &&str| {
        ["passed", "failed", "error", "xfailed", "xpassed"].iter().any(|word| end.contains(word))
    };
    match ends.last() {
        Some(end) if !ends.iter().any(tested) => Some(format!("no tests ran: {end}")),
        None if code == 5 && log.contains("NO TESTS RAN") => Some("no tests ran".to_owned()),
        Some(_) | None => None,
    }
}

/// The sum of the first group over all lines that match; `None` if none does.
fn sum(lines: &[&str], of: &Pattern) -> Option<u64> {
    let counts = lines.iter().filter_map(|line| captures(of, line, 1)?.parse::<u64>().ok());
    counts.fold(None, |sum, count| Some(sum.unwrap_or(0).saturating_add(count)))
}

fn captures<'a>(of: &Pattern, line: &'a str, group: usize) -> Option<&'a str> {
    of.as_ref()?.captures(line)?.get(group).map(|found| found.as_str())
}

fn is_bar(line: &str, of: char) -> bool {
    line.len() >= 70 && line.chars().all(|char| char == of)
}

fn unittest(lines: &[&str], root: &Path) -> Vec<Failure> {
    let mut failures = Vec::new();
    let mut rest = lines;
    while let Some(bar) = rest.iter().position(|line| is_bar(line, '=')) {
        rest = rest.get(bar + 1..).unwrap_or_default();
        let Some((header, after)) = rest.split_first() else { break };
        let (Some(kind), Some(name)) =
            (captures(&UNITTEST_HEADER, header, 1), captures(&UNITTEST_HEADER, header, 2))
        else {
            continue;
        };
        let end = after
            .iter()
            .position(|line| is_bar(line, '=') || captures(&UNITTEST_RAN, line, 1).is_some())
            .unwrap_or(after.len());
        let body = after.get(..end).unwrap_or_default();
        failures.push(unittest_failure(kind, name, body, root));
    }
    failures
}

fn unittest_failure(kind: &str, name: &str, body: &[&str], root: &Path) -> Failure {
    // Between header and first bar stands the test's doc string; the last bar belongs to the summary.
    let from = body.iter().position(|line| is_bar(line, '-')).map_or(body.len(), |bar| bar + 1);
    let body = body.get(from..).unwrap_or_default();
    let end = body.iter().rposition(|line| is_bar(line, '-')).unwrap_or(body.len());
    let body = body.get(..end).unwrap_or_default();
    let frames: Vec<(usize, String)> = body
        .iter()
        .enumerate()
        .filter_map(|(at, line)| {
            let file = captures(&UNITTEST_FRAME, line, 1)?;
            Some((at, format!("{file}:{}", captures(&UNITTEST_FRAME, line, 2)?)))
        })
        .collect();
    let after_frames = frames.last().map_or(0, |(at, _)| at + 1);
    let said: Vec<&str> = body
        .get(after_frames..)
        .unwrap_or_default()
        .iter()
        .skip_while(|line| line.starts_with(' ') || line.is_empty())
        .copied()
        .collect();
    let message = match (kind, said.join("\n").trim_end()) {
        ("UNEXPECTED SUCCESS", "") => "passed, but was expected to fail".to_owned(),
        (_, said) => said.to_owned(),
    };
    let inside = frames.iter().rev().find_map(|(_, place)| below(place, root));
    let place = inside.or_else(|| frames.last().map(|(_, place)| place.clone()));
    Failure::new(name, message).at(place)
}

/// A place as a path below the workspace, if it is in it.
fn below(place: &str, root: &Path) -> Option<String> {
    let path = Path::new(place);
    if path.is_relative() {
        return Some(place.to_owned());
    }
    path.strip_prefix(root).ok().map(|inside| inside.display().to_string())
}

fn pytest(lines: &[&str], root: &Path) -> Vec<Failure> {
    let summary: Vec<(&str, &str)> = lines
        .iter()
        .filter_map(|line| {
            Some((
                captures(&PYTEST_SUMMARY, line, 1)?,
                captures(&PYTEST_SUMMARY, line, 2).unwrap_or_default(),
            ))
        })
        .collect();
    let mut failures = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = captures(&PYTEST_HEADER, line, 1) else { continue };
        let after = lines.get(at + 1..).unwrap_or_default();
        let ends =
            |line: &&str| captures(&PYTEST_HEADER, line, 1).or(captures(&PYTEST_BAR, line, 1)).is_some();
        let end = after.iter().position(ends).unwrap_or(after.len());
        failures.push(pytest_failure(full_name(name, &summary), after.get(..end).unwrap_or_default(), root));
    }
    if failures.is_empty() {
        let short = |(name, message): (&str, &str)| {
            Failure::new(name, if message.is_empty() { "failed" } else { message })
        };
        failures = summary.into_iter().map(short).collect();
    }
    failures
}

/// The name to run the test by, when the summary has it: `file.py::Class::test`.
fn full_name(name: &str, summary: &[(&str, &str)]) -> String {
    let plain = name.split(" (").next().unwrap_or(name);
    let same =
        |node: &&str| node.split_once("::").is_some_and(|(_, inner)| inner.replace("::", ".") == plain);
    match summary.iter().map(|(node, _)| *node).find(same) {
        Some(node) => format!("{node}{}", name.get(plain.len()..).unwrap_or_default()),
        None => name.to_owned(),
    }
}

fn pytest_failure(name: String, body: &[&str], root: &Path) -> Failure {
    let said = body.iter().filter_map(|line| line.strip_prefix('E'));
    let said: Vec<&str> =
        said.filter(|rest| rest.is_empty() || rest.starts_with("  ")).map(str::trim).collect();
    let message = if said.is_empty() {
        body.iter()
            .rev()
            .find(|line| !line.trim().is_empty())
            .map(|line| line.trim().to_owned())
            .unwrap_or_default()
    } else {
        said.join("\n").trim().to_owned()
    };
    let place = body.iter().rev().find_map(|line| {
        let line = format!("{line} ");
        let place = format!("{}:{}", captures(&PYTEST_PLACE, &line, 1)?, captures(&PYTEST_PLACE, &line, 2)?);
        below(&place, root)
    });
    Failure::new(name, message).at(place)
}

#[cfg(test)]
mod tests;
