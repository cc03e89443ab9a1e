//! Commands that run tests: the report decides together with the exit code.
//!
//! A report in a file is removed before the tests run, so that what is read was written
//! by them and by nobody before. What is no report is no pass.

use std::time::Duration;

use bowline_core::quality::{CheckOutcome, Failure, TestRun};
use bowline_core::verify::{Measure, TestCounts};

use super::report::{self, Printed, Report};
use super::{FAILURES_MAX, judged, python};
use crate::background;
use crate::program::{Ended, Program, Ran};
use crate::sandbox::Author;
use crate::workspace::PathError;
use crate::{Sandbox, Workspace};

/// What a run of tests found, what it measured, what it printed.
pub type Tested = (CheckOutcome, Option<Measure>, String);

/// Runs tests in the workspace, with the output of the run on their standard input.
pub async fn run_tests(workspace: &Workspace, sandbox: &Sandbox, run: &TestRun, output: &str) -> Tested {
    let limit = Duration::from_millis(run.timeout_ms);
    if let Some(path) = &run.report
        && let Err(why) = remove(workspace, path).await
    {
        return (CheckOutcome::CouldNotRun(why), None, String::new());
    }
    let program = Program {
        argv: &run.argv,
        author: Author::Task,
        folder: workspace.root(),
        sandbox,
        is_own_tool: false,
        variables: Vec::new(),
        input: output.as_bytes().to_vec(),
        limit,
    };
    let ran = match program.run().await {
        Ok(ran) => ran,
        Err(why) => {
            let message = why.message();
            return (CheckOutcome::CouldNotRun(message.clone()), None, message);
        }
    };
    let log = ran.transcript(limit);
    let file = match &run.report {
        None => None,
        Some(path) => match read(workspace, path).await {
            Ok(Some(text)) => Some(text),
            Ok(None) => {
                let why = format!("the tests wrote no {path}; {}", ran.ended.in_words(limit));
                return (CheckOutcome::CouldNotRun(why), None, log);
            }
            Err(why) => return (CheckOutcome::CouldNotRun(why), None, log),
        },
    };
    let (outcome, measure) = concluded(workspace, run, (&ran, file.as_deref()), limit);
    (outcome, measure, log)
}

fn concluded(
    workspace: &Workspace,
    run: &TestRun,
    (ran, file): (&Ran, Option<&str>),
    limit: Duration,
) -> (CheckOutcome, Option<Measure>) {
    let name = run.argv.join(" ");
    let exit = match ran.ended {
        Ended::Exited(code) => code,
        Ended::TimedOut | Ended::Lost => {
            return (CheckOutcome::CouldNotRun(format!("{name}: {}", ran.ended.in_words(limit))), None);
        }
        Ended::Killed(_) => return (judged(workspace, &run.argv, ran, limit), None),
    };
    let printed = Printed { output: &ran.output, errors: &ran.errors, file, exit: Some(exit) };
    let Some(format) = printed.recognise() else { return unrecognised(workspace, run, ran, limit) };
    match report::read(format, &printed) {
        Ok(report) => from_report(&name, report),
        Err(why) => (CheckOutcome::CouldNotRun(format!("{why}; {}", why.remedy())), None),
    }
}

fn from_report(name: &str, report: Report) -> (CheckOutcome, Option<Measure>) {
    let counts = TestCounts {
        passed: u64::from(report.passed),
        failed: u64::from(report.failed.saturating_add(report.errors)),
        skipped: u64::from(report.skipped),
    };
    let measure = Some(Measure::Tests(counts));
    if report.is_pass() {
        return (CheckOutcome::Passed, measure);
    }
    if counts.ran() == 0 {
        let none = Failure::new(name, "no test ran, so nothing was tested");
        return (CheckOutcome::Failed(vec![none]), measure);
    }
    let more = u64::from(report.left_out)
        .saturating_add(u64::try_from(report.failures.len().saturating_sub(FAILURES_MAX)).unwrap_or(0));
    let mut failures = report.failures;
    failures.truncate(FAILURES_MAX);
    if more > 0 {
        failures.push(Failure::new(name, format!("… and {more} more failures")));
    }
    if failures.is_empty() {
        failures.push(Failure::new(name, format!("{} of {} tests failed", counts.failed, counts.ran())));
    }
    (CheckOutcome::Failed(failures), measure)
}

/// What Python's own runner prints is read as for any command; anything else is no report.
fn unrecognised(
    workspace: &Workspace,
    run: &TestRun,
    ran: &Ran,
    limit: Duration,
) -> (CheckOutcome, Option<Measure>) {
    let printed = format!("{}\n{}", ran.output, ran.errors);
    let outcome = judged(workspace, &run.argv, ran, limit);
    match (python::tests_ran(&printed), &outcome) {
        (Some(count), CheckOutcome::Failed(failures)) => {
            let failed = u64::try_from(failures.len()).unwrap_or(u64::MAX).min(count);
            let counts = TestCounts { passed: count - failed, failed, skipped: 0 };
            (outcome, Some(Measure::Tests(counts)))
        }
        (Some(count), _) => {
            (outcome, Some(Measure::Tests(TestCounts { passed: count, failed: 0, skipped: 0 })))
        }
        (None, CheckOutcome::Passed) => (
            CheckOutcome::CouldNotRun(
                "it exits with 0 and prints no report of tests; name the file it writes with `report`, or \
                 leave `tests` out"
                    .into(),
            ),
            None,
        ),
        (None, _) => (outcome, None),
    }
}

async fn remove(workspace: &Workspace, path: &str) -> Result<(), String> {
    let (workspace, path) = (workspace.clone(), path.to_owned());
    let limit = background::FILE_WORK_MAX;
    let removed = background::run(limit, move |_| {
        workspace.resolve(&path).and_then(|inside| workspace.remove(&inside))
    });
    match removed.await.map_err(|not_done| not_done.message(limit))? {
        Ok(()) | Err(PathError::Missing { .. } | PathError::NotAFolder { .. }) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

async fn read(workspace: &Workspace, path: &str) -> Result<Option<String>, String> {
    let bytes = super::assertion::file(workspace, path).await?;
    match bytes.map(String::from_utf8).transpose() {
        Ok(text) => Ok(text),
        Err(_) => Err(format!("{path} is no text")),
    }
}
