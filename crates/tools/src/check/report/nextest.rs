//! `cargo nextest run`: a line a test, what failing ones printed, and a summary.

use std::collections::HashMap;

use bowline_core::quality::{Failure, Stage};

use super::bound::{append, counted};
use super::{Format, Report, ReportError, Texts, cargo, rustc};

const FORMAT: Format = Format::Nextest;

pub(super) fn read(texts: &Texts<'_>) -> Result<Report, ReportError> {
    let mut seen = Seen::default();
    for line in texts.lines() {
        seen.take(line);
    }
    let mut report = Report::new(FORMAT);
    let Some(said) = seen.said else {
        for failure in rustc::errors(texts.lines()) {
            report.errors = report.errors.saturating_add(1);
            report.keep(failure);
        }
        return match (
            report.errors,
            texts.lines().any(|line| line.trim_start().starts_with("Nextest run ID")),
        ) {
            (1.., _) => Ok(report),
            (0, true) => Err(ReportError::Cut { format: FORMAT, what: "there is no summary".to_owned() }),
            (0, false) => Err(ReportError::Unrecognised { format: FORMAT }),
        };
    };
    (report.passed, report.failed, report.skipped) = (said.passed, said.failed, said.skipped);
    let listed = u32::try_from(seen.failed.len()).unwrap_or(u32::MAX);
    let contradiction = |what: String| Err(ReportError::Contradicts { format: FORMAT, what });
    if said.passed.saturating_add(said.failed) != said.run {
        return contradiction(format!(
            "{} tests ran, {} passed and {} failed",
            said.run, said.passed, said.failed
        ));
    }
    if listed != said.failed || seen.passed > said.passed {
        return contradiction(format!("{listed} failures are listed, the summary says {}", said.failed));
    }
    for (name, status, body) in seen.failed {
        report.keep(failure(&name, &status, &body));
    }
    Ok(report)
}

/// What the summary says.
#[derive(Clone, Copy, Default)]
struct Said {
    run: u32,
    passed: u32,
    failed: u32,
    skipped: u32,
}

#[derive(Default)]
struct Seen {
    passed: u32,
    /// Name, status and output of each failed test.
    failed: Vec<(String, String, String)>,
    index: HashMap<String, usize>,
    /// Whose output the lines are.
    open: Option<usize>,
    said: Option<Said>,
}

impl Seen {
    fn take(&mut self, line: &str) {
        if let Some((status, name)) = status(line) {
            self.open = None;
            if ["PASS", "LEAK", "FLAKY"].contains(&status) {
                self.passed = self.passed.saturating_add(u32::from(self.said.is_none()));
            } else if !["SLOW", "SKIP", "START", "RETRY", "TERMINATING"].contains(&status) {
                let next = self.failed.len();
                let at = *self.index.entry(name.to_owned()).or_insert(next);
                if at == next {
                    self.failed.push((name.to_owned(), status.to_owned(), String::new()));
                }
                self.open = Some(at);
            }
        } else if let Some(said) = summary(line) {
            self.said = Some(said);
            self.open = None;
        } else if line.starts_with("    ") || line.trim().is_empty() {
            let body = self.open.and_then(|at| self.failed.get_mut(at));
            if let Some((_, _, body)) = body {
                append(body, line.get(4..).unwrap_or_default());
            }
        }
    }
}

/// `        FAIL [   0.035s] ( 1/14) shop::failing adds`.
fn status(line: &str) -> Option<(&str, &str)> {
    let (word, rest) = line.strip_prefix("     ")?.trim_start().split_once(" [")?;
    let (time, rest) = rest.split_once(']')?;
    time.trim().trim_start_matches('>').strip_suffix('s')?.parse::<f64>().ok()?;
    let rest = rest.trim_start();
    let name = match rest.strip_prefix('(') {
        Some(rest) => rest.split_once(") ")?.1,
        None => rest,
    };
    // `TRY 2 FAIL` is one try of several; the last one counts, under the same name.
    let word = word.rsplit(' ').next().unwrap_or(word);
    let is_status = word.chars().all(|letter| letter.is_ascii_uppercase() || letter == '-');
    (is_status && !name.trim().is_empty()).then(|| (word, name.trim()))
}

/// `     Summary [   0.273s] 14 tests run: 3 passed, 11 failed, 1 skipped`.
fn summary(line: &str) -> Option<Said> {
    let (_, rest) = line.strip_prefix("     Summary [")?.split_once("] ")?;
    let (run, counts) = rest.split_once(" run: ")?;
    let run = run.split([' ', '/']).next()?.parse().ok()?;
    let mut said = Said { run, ..Said::default() };
    let (mut depth, mut plain) = (0_u32, String::new());
    for letter in counts.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(letter),
            _ => {}
        }
    }
    for part in plain.split(',') {
        let (number, word) = counted(part)?;
        match word {
            "passed" => said.passed = number,
            "skipped" => said.skipped = number,
            "failed" | "timed out" | "exec failed" => said.failed = said.failed.saturating_add(number),
            _ => return None,
        }
    }
    Some(said)
}

fn failure(name: &str, status: &str, body: &str) -> Failure {
    // What the test itself printed is on its error stream; the other one repeats the harness.
    let own = body.split_once("test result: FAILED").map_or(body, |(_, own)| own);
    let test = name.split_once(' ').map_or(name, |(_, test)| test);
    let noted = body.contains("note: test did not panic as expected");
    let mut failure = cargo::failure(name, if noted { body } else { own });
    if let Some(at) = body.find("note: panic did not contain expected string") {
        let note = body.get(at..).unwrap_or_default().lines().take(3).collect::<Vec<_>>().join("\n");
        (failure.expected, failure.actual) = super::expected::pair(&note).unzip();
        failure.message = format!("{}\n{note}", failure.message);
    }
    if status != "FAIL" {
        failure.stage = Stage::Around;
        failure.error = Some(status.to_owned());
        failure.message = format!("{test}: {}", status.to_lowercase());
    }
    failure
}
