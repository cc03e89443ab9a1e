//! jest on a terminal.

use std::collections::HashSet;

use bowline_core::defect::at_line;
use bowline_core::quality::{Failure, Stage};

use super::bound::{append, counted, dedented, place_in};
use super::expected::pair;
use super::{Format, Report, ReportError, Texts};

const FORMAT: Format = Format::Jest;

pub(super) fn read(texts: &Texts<'_>) -> Result<Report, ReportError> {
    let mut report = Report::new(FORMAT);
    let counts = |line: &str, label: &str| total(line.strip_prefix(label)?);
    let Some(said) = texts.lines().filter_map(|line| counts(line, "Tests: ")).last() else {
        if texts.lines().any(|line| line.starts_with("No tests found")) {
            return Ok(report);
        }
        return Err(match texts.lines().any(|line| of_file(line).is_some()) {
            true => ReportError::Cut { format: FORMAT, what: "there is no summary".to_owned() },
            false => ReportError::Unrecognised { format: FORMAT },
        });
    };
    let suites = texts.lines().filter_map(|line| counts(line, "Test Suites: ")).last().unwrap_or_default();
    (report.passed, report.failed, report.skipped) = (said.passed, said.failed, said.skipped);
    let (mut tests, mut not_run) = (0_u32, 0_u32);
    for failure in failures(texts.lines()) {
        let count = if failure.stage == Stage::Build { &mut not_run } else { &mut tests };
        *count = count.saturating_add(1);
        report.keep(failure);
    }
    report.errors = not_run;
    let contradiction = |what: String| Err(ReportError::Contradicts { format: FORMAT, what });
    if tests != said.failed && (tests > 0 || not_run == 0) {
        return contradiction(format!("{tests} failures are listed, the summary says {}", said.failed));
    }
    if suites.failed == 0 && report.listed() > 0 {
        return contradiction("tests failed, and no suite did".to_owned());
    }
    if suites.failed > 0 && report.listed() == 0 {
        return contradiction(format!("{} suites failed, and no test is listed", suites.failed));
    }
    Ok(report)
}

/// Counts of a line of the summary.
#[derive(Clone, Copy, Default)]
pub(super) struct Said {
    pub(super) passed: u32,
    pub(super) failed: u32,
    pub(super) skipped: u32,
}

/// `8 failed, 1 skipped, 2 passed, 11 total`; the sum has to be right.
fn total(rest: &str) -> Option<Said> {
    let (parts, total) = match rest.rsplit_once(", ") {
        Some((parts, total)) => (parts, total),
        None => ("", rest),
    };
    let (total, word) = counted(total)?;
    let mut said = Said::default();
    for part in parts.split(", ").filter(|part| !part.trim().is_empty()) {
        let (number, word) = counted(part)?;
        match word {
            "passed" => said.passed = number,
            "failed" => said.failed = number,
            "skipped" | "todo" => said.skipped = said.skipped.saturating_add(number),
            _ => return None,
        }
    }
    let sum = said.passed.saturating_add(said.failed).saturating_add(said.skipped);
    (word == "total" && sum <= total).then_some(said)
}

/// Blocks under `  ● name`, each once: a long run repeats them at its end.
fn failures<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<Failure> {
    let (mut file, mut found, mut seen) = ("", Vec::new(), HashSet::new());
    let mut open: Option<(String, String)> = None;
    for line in lines {
        let heading = line.strip_prefix("  ● ");
        let suite = of_file(line);
        let top = suite.is_some() || (!line.is_empty() && !line.starts_with(' '));
        if heading.is_some() || top {
            found.extend(open.take().map(|(name, body)| failure(&name, &body)));
        }
        if let Some((failed, path)) = suite {
            file = if failed { path } else { "" };
        }
        if let Some(name) = heading.filter(|name| !file.is_empty() && *name != "Console") {
            let name = format!("{file} › {}", name.trim_end());
            open = seen.insert(name.clone()).then(|| (name, String::new()));
        } else if let Some((_, body)) = &mut open {
            append(body, line);
        }
    }
    found.extend(open.map(|(name, body)| failure(&name, &body)));
    found
}

/// `FAIL ./a.test.js (5.2 s)`: whether it failed, and its file. With colours a blank stands before.
fn of_file(line: &str) -> Option<(bool, &str)> {
    let line = line.strip_prefix(' ').unwrap_or(line);
    let (failed, path) = match line.strip_prefix("FAIL ") {
        Some(path) => (true, path),
        None => (false, line.strip_prefix("PASS ")?),
    };
    let path = path.rsplit_once(" (").map_or(path, |(path, _)| path).trim();
    Some((failed, path.trim_start_matches("./")))
}

fn failure(name: &str, body: &str) -> Failure {
    let suite = name.strip_suffix(" › Test suite failed to run");
    let found = of_text(suite.unwrap_or(name), body);
    Failure { stage: if suite.is_some() { Stage::Build } else { Stage::Test }, ..found }
}

/// A failure out of a message, the source around it and the stack below.
pub(super) fn of_text(name: &str, text: &str) -> Failure {
    let heading = |line: &&str| line.trim() == "● Test suite failed to run";
    let lines: Vec<&str> = text.lines().filter(|line| !is_source(line) && !heading(line)).collect();
    let end = lines.iter().position(|line| at_line(line).is_some()).unwrap_or(lines.len());
    let message = dedented(lines.get(..end).unwrap_or_default());
    let trace: Vec<_> = lines.iter().filter_map(|line| at_line(line)).map(|(_, frame)| frame).collect();
    of_message(name, message, trace)
}

/// A failure of JavaScript: type, expected and actual are in the message.
pub(super) fn of_message(name: &str, message: String, trace: Vec<bowline_core::quality::Frame>) -> Failure {
    let first = message.lines().next().unwrap_or_default();
    let is_type = |name: &&str| name.ends_with("Error") && name.chars().all(char::is_alphanumeric);
    let error = first.split_once(": ").map(|(name, _)| name).filter(is_type).map(str::to_owned);
    let error = error.or_else(|| first.starts_with("expect(").then(|| "AssertionError".to_owned()));
    let (expected, actual) = pair(&message).unzip();
    let place = unparsed(first).or_else(|| place_in(&trace));
    Failure { place, error, expected, actual, trace, ..Failure::new(name, message) }
}

/// `SyntaxError: /a.js: Unexpected token (2:18)` names its place itself.
fn unparsed(first: &str) -> Option<String> {
    let (file, rest) = first.strip_prefix("SyntaxError: ")?.split_once(": ")?;
    let (line, _) = rest.rsplit_once(" (")?.1.strip_suffix(')')?.split_once(':')?;
    line.parse::<u32>().ok().map(|line| format!("{file}:{line}"))
}

/// A line of the source that is shown: `> 4 | code`, `    |   ^`.
fn is_source(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches('>').trim_start();
    let rest = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    rest.trim_start().starts_with("| ") || rest.trim() == "|"
}
