//! `go test -json`: one event a line.

use std::collections::BTreeMap;

use bowline_core::quality::{Failure, Stage};
use serde::Deserialize;

use super::go::{Package, Verdict, not_built};
use super::{Format, Report, ReportError, Texts};

const FORMAT: Format = Format::GoTestJson;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    #[serde(default)]
    package: String,
    #[serde(default)]
    import_path: String,
    #[serde(default)]
    test: Option<String>,
    #[serde(default)]
    output: String,
}

/// A package, and how it ended.
#[derive(Default)]
struct Known {
    tests: Package,
    /// The test that ran last.
    running: Option<usize>,
    ended: Option<Verdict>,
}

pub(super) fn read(texts: &Texts<'_>) -> Result<Report, ReportError> {
    let mut packages: BTreeMap<String, Known> = BTreeMap::new();
    let (mut compiler, mut unbuilt) = (texts.errors.to_string(), Vec::new());
    let mut lines = texts.document().lines().peekable();
    while let Some(line) = lines.next() {
        if !line.starts_with('{') {
            let name =
                line.strip_prefix("FAIL\t").and_then(|rest| rest.split_once(" [")).map(|(name, _)| name);
            unbuilt.extend(name.map(str::to_owned));
            continue;
        }
        let event: Event = match serde_json::from_str(line) {
            Ok(event) => event,
            Err(problem) if lines.peek().is_none() && problem.is_eof() => {
                let what = "the last event is not whole".to_owned();
                return Err(ReportError::Cut { format: FORMAT, what });
            }
            Err(problem) => return Err(ReportError::Malformed { format: FORMAT, what: problem.to_string() }),
        };
        match event.action.as_str() {
            "build-output" => compiler.push_str(&event.output),
            "build-fail" => unbuilt.push(event.import_path.split(' ').next().unwrap_or_default().to_owned()),
            _ if event.package.is_empty() => {}
            _ => packages.entry(event.package.clone()).or_default().take(&event),
        }
    }
    if packages.is_empty() && unbuilt.is_empty() {
        return Err(ReportError::Unrecognised { format: FORMAT });
    }
    let mut report = Report::new(FORMAT);
    for name in &unbuilt {
        not_built(name, compiler.lines(), &mut report);
    }
    for (name, known) in packages {
        known.close(&name, unbuilt.contains(&name), &mut report)?;
    }
    Ok(report)
}

impl Known {
    fn take(&mut self, event: &Event) {
        let verdict = match event.action.as_str() {
            "pass" => Some(Verdict::Passed),
            "fail" => Some(Verdict::Failed),
            "skip" => Some(Verdict::Skipped),
            _ => None,
        };
        let Some(name) = &event.test else {
            self.ended = verdict.or(self.ended);
            super::bound::append(&mut self.tests.aside, event.output.trim_end_matches('\n'));
            return;
        };
        if event.action == "run" {
            self.running = Some(self.tests.test(name));
            return;
        }
        // A test that never ran was made up by a line that another one printed.
        let Some(at) = self.tests.known(name) else {
            if let Some(running) = self.running {
                self.tests.print(running, &event.output);
            }
            return;
        };
        if let Some(verdict) = verdict {
            self.tests.judge(at, verdict);
        } else if event.action == "output" && !event.output.trim_start().starts_with("--- ") {
            self.tests.print(at, &event.output);
        }
    }

    fn close(self, name: &str, is_unbuilt: bool, report: &mut Report) -> Result<(), ReportError> {
        let Some(ended) = self.ended else {
            if is_unbuilt {
                return Ok(());
            }
            return Err(ReportError::Cut { format: FORMAT, what: format!("package {name} has no result") });
        };
        let unfinished = self.tests.tests.iter().any(|test| test.verdict.is_none());
        let any = self.tests.count(name, report);
        let contradiction = match (ended, any) {
            (Verdict::Passed | Verdict::Skipped, true) => "tests failed and their package passed",
            (Verdict::Passed, false) if unfinished => "a test did not end and its package passed",
            (Verdict::Failed, false) if !is_unbuilt => {
                report.errors = report.errors.saturating_add(1);
                let failure = Failure::new(name, "the package failed without a failed test");
                report.keep(Failure { stage: Stage::Around, ..failure });
                return Ok(());
            }
            (Verdict::Passed | Verdict::Skipped | Verdict::Failed, _) => return Ok(()),
        };
        Err(ReportError::Contradicts { format: FORMAT, what: format!("{name}: {contradiction}") })
    }
}
