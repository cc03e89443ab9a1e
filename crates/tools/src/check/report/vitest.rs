//! vitest on a terminal.

use bowline_core::quality::{Failure, Frame, Stage};

use super::bound::{append, counted};
use super::jest::{Said, of_message};
use super::{Format, Report, ReportError, Texts};

const FORMAT: Format = Format::Vitest;

pub(super) fn read(texts: &Texts<'_>) -> Result<Report, ReportError> {
    let mut report = Report::new(FORMAT);
    let Some(said) = texts.lines().filter_map(|line| counts(line, "Tests")).last() else {
        if texts.lines().any(|line| line.starts_with("No test files found")) {
            return Ok(report);
        }
        return Err(match texts.lines().any(|line| line.starts_with(" RUN  v")) {
            true => ReportError::Cut { format: FORMAT, what: "there is no summary".to_owned() },
            false => ReportError::Unrecognised { format: FORMAT },
        });
    };
    (report.passed, report.failed, report.skipped) = (said.passed, said.failed, said.skipped);
    let blocks = blocks(texts.lines());
    let (mut tests, mut suites) = (0_u32, 0_u32);
    for failure in blocks {
        let count = if failure.stage == Stage::Test { &mut tests } else { &mut suites };
        *count = count.saturating_add(1);
        report.keep(failure);
    }
    if tests == 0 {
        for failure in crossed(texts.lines()) {
            tests = tests.saturating_add(1);
            report.keep(failure);
        }
    }
    report.errors = suites;
    let contradiction = |what: String| Err(ReportError::Contradicts { format: FORMAT, what });
    if tests != said.failed {
        return contradiction(format!("{tests} failures are listed, the summary says {}", said.failed));
    }
    let files = texts.lines().filter_map(|line| counts(line, "Test Files")).last().unwrap_or_default();
    if files.failed == 0 && said.failed > 0 {
        return contradiction("tests failed, and no file did".to_owned());
    }
    if files.failed > 0 && report.listed() == 0 {
        return contradiction(format!("{} files failed, and no failure is listed", files.failed));
    }
    let unhandled = texts.lines().filter_map(|line| line.trim_start().strip_prefix("Errors  ")).last();
    if let Some((number, _)) = unhandled.and_then(counted) {
        report.errors = report.errors.saturating_add(number);
    }
    Ok(report)
}

/// `      Tests  8 failed | 2 passed | 1 skipped (11)`; the sum has to be right.
fn counts(line: &str, label: &str) -> Option<Said> {
    let rest = line.strip_prefix(' ')?.trim_start().strip_prefix(label)?.strip_prefix("  ")?;
    if rest.trim() == "no tests" {
        return Some(Said::default());
    }
    let (parts, total) = rest.trim_end().strip_suffix(')')?.rsplit_once(" (")?;
    let mut said = Said::default();
    for part in parts.split(" | ") {
        let (number, word) = counted(part)?;
        match word {
            "passed" => said.passed = number,
            "failed" => said.failed = number,
            "skipped" | "todo" | "expected fail" => said.skipped = said.skipped.saturating_add(number),
            _ => return None,
        }
    }
    let sum = said.passed.saturating_add(said.failed).saturating_add(said.skipped);
    (sum <= total.parse().ok()?).then_some(said)
}

/// Blocks under ` FAIL  file > test`; tests with one error share a block.
fn blocks<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<Failure> {
    let (mut found, mut names, mut body) = (Vec::new(), Vec::new(), String::new());
    for line in lines {
        let name = line.strip_prefix(" FAIL  ");
        if line.starts_with('⎯') || (name.is_some() && !body.trim().is_empty()) {
            found.extend(std::mem::take(&mut names).into_iter().map(|name| failure(name, &body)));
            body.clear();
        }
        match name {
            Some(name) => names.push(name),
            None if !names.is_empty() && !line.starts_with('⎯') => append(&mut body, line),
            None => {}
        }
    }
    found.extend(names.into_iter().map(|name| failure(name, &body)));
    found
}

fn failure(name: &str, body: &str) -> Failure {
    // A file that could not be loaded is named twice: `a.test.js [ a.test.js ]`.
    let suite = name.split_once(" [ ").map(|(file, _)| file);
    let found = of_body(suite.unwrap_or(name), body);
    Failure { stage: if suite.is_some() { Stage::Build } else { Stage::Test }, ..found }
}

/// A failure out of the error, its diff and its frames.
pub(super) fn of_body(name: &str, body: &str) -> Failure {
    let lines: Vec<&str> = body.lines().collect();
    let end = lines.iter().position(|line| frame(line).is_some()).unwrap_or(lines.len());
    let message = lines.get(..end).unwrap_or_default().join("\n").trim().to_owned();
    let trace = lines.iter().filter_map(|line| frame(line)).collect();
    of_message(name, message, trace)
}

/// ` ❯ first cart.js:2:44`.
fn frame(line: &str) -> Option<Frame> {
    let rest = line.trim_start().strip_prefix("❯ ")?.trim();
    let (function, place) = rest.rsplit_once(' ').map_or((None, rest), |(name, place)| (Some(name), place));
    let mut parts = place.rsplitn(3, ':');
    let (_, number, file) = (parts.next()?, parts.next()?, parts.next()?);
    let number = number.parse().ok()?;
    Some(Frame { file: file.to_owned(), line: Some(number), function: function.map(str::to_owned) })
}

/// Names of failed tests in the tree, for when the error stream was lost.
fn crossed<'a>(lines: impl Iterator<Item = &'a str>) -> impl Iterator<Item = Failure> {
    let name = |line: &'a str| {
        let rest = line.trim_start().strip_prefix("× ")?;
        let timed = rest.strip_suffix("ms").and_then(|rest| rest.rsplit_once(' '));
        Some(timed.filter(|(_, time)| time.parse::<f64>().is_ok()).map_or(rest, |(name, _)| name))
    };
    lines.filter_map(name).map(|name| Failure::new(name, "failed"))
}
