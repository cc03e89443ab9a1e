//! `jest --json`, which vitest's JSON reporter writes too.

use bowline_core::quality::{Failure, Stage};
use serde::Deserialize;

use super::jest::of_text;
use super::{Format, Report, ReportError, Texts};

const FORMAT: Format = Format::JestJson;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    success: bool,
    num_failed_tests: u32,
    num_passed_tests: u32,
    num_total_tests: u32,
    test_results: Vec<Suite>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Suite {
    name: String,
    #[serde(default)]
    message: String,
    status: String,
    assertion_results: Vec<Test>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Test {
    #[serde(default)]
    ancestor_titles: Vec<String>,
    title: String,
    status: String,
    #[serde(default)]
    failure_messages: Vec<String>,
}

pub(super) fn read(texts: &Texts<'_>) -> Result<Report, ReportError> {
    let text = texts.document();
    // A test may have printed something before; the document is alone on its line or lines.
    let from = text.match_indices('{').map(|(at, _)| at);
    let starts = |at: &usize| *at == 0 || text.get(..*at).is_some_and(|before| before.ends_with('\n'));
    let Some(text) =
        from.filter(starts).find_map(|at| text.get(at..).filter(|rest| rest.contains("\"numTotalTests\"")))
    else {
        return Err(match text.trim_start().starts_with('{') {
            true => ReportError::Cut { format: FORMAT, what: "the document is not whole".to_owned() },
            false => ReportError::Unrecognised { format: FORMAT },
        });
    };
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<Document>();
    let document = match documents.next() {
        Some(Ok(document)) => document,
        Some(Err(problem)) if problem.is_eof() => {
            return Err(ReportError::Cut { format: FORMAT, what: "the document is not whole".to_owned() });
        }
        Some(Err(problem)) => {
            return Err(ReportError::Malformed { format: FORMAT, what: problem.to_string() });
        }
        None => return Err(ReportError::Unrecognised { format: FORMAT }),
    };
    judged(&document)
}

fn judged(document: &Document) -> Result<Report, ReportError> {
    let mut report = Report::new(FORMAT);
    for suite in &document.test_results {
        let file = suite.name.as_str();
        for test in &suite.assertion_results {
            count(file, test, &mut report);
        }
        let failed = suite.assertion_results.iter().any(|test| test.status == "failed");
        if suite.status == "failed" && !failed {
            report.errors = report.errors.saturating_add(1);
            report.keep(Failure { stage: Stage::Build, ..failure(file, &suite.message) });
        }
    }
    let listed = report.passed.saturating_add(report.failed).saturating_add(report.skipped);
    let contradiction = |what: String| Err(ReportError::Contradicts { format: FORMAT, what });
    if report.failed != document.num_failed_tests || report.passed != document.num_passed_tests {
        let (failed, passed) = (document.num_failed_tests, document.num_passed_tests);
        return contradiction(format!(
            "{} failed and {} passed are listed, the totals are {failed} and {passed}",
            report.failed, report.passed
        ));
    }
    if listed != document.num_total_tests {
        return contradiction(format!(
            "{listed} tests are listed, the total is {}",
            document.num_total_tests
        ));
    }
    if document.success && report.listed() > 0 {
        return contradiction("it lists failures and calls itself a success".to_owned());
    }
    if !document.success && report.is_pass() {
        return contradiction("it lists no failure and calls itself none".to_owned());
    }
    Ok(report)
}

fn count(file: &str, test: &Test, report: &mut Report) {
    match test.status.as_str() {
        "passed" => report.passed = report.passed.saturating_add(1),
        "failed" => {
            report.failed = report.failed.saturating_add(1);
            let titles = test.ancestor_titles.iter().chain([&test.title]).filter(|title| !title.is_empty());
            let name =
                std::iter::once(file).chain(titles.map(String::as_str)).collect::<Vec<_>>().join(" › ");
            let said = test.failure_messages.first().map_or("", String::as_str);
            report.keep(failure(&name, said));
        }
        _ => report.skipped = report.skipped.saturating_add(1),
    }
}

/// A message with its stack below it.
fn failure(name: &str, text: &str) -> Failure {
    let text = super::colour::without_colour(text);
    let text = text.strip_prefix("Error: ").filter(|rest| rest.starts_with("expect(")).unwrap_or(&text);
    of_text(name, text)
}
