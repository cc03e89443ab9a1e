//! Edge cases, run one after the other: a program gets the input of a case and must
//! print what is expected of it.

use std::time::Duration;

use bowline_core::quality::{CheckOutcome, Failure};
use bowline_core::verify::{EdgeCase, EdgeCases, Measure, TestCounts};

use crate::program::{Ended, Program};
use crate::sandbox::Author;
use crate::{Sandbox, Workspace};

/// Longest quotation of what was printed, in characters.
const QUOTE_MAX: usize = 500;

/// Runs every case. One that is not what is expected is a failure; a program that
/// cannot be started at all has tested nothing.
pub async fn run_edge_cases(
    workspace: &Workspace,
    sandbox: &Sandbox,
    rules: &EdgeCases,
    cases: &[EdgeCase],
) -> (CheckOutcome, Option<Measure>, String) {
    let limit = Duration::from_millis(rules.timeout_ms);
    let (mut failures, mut log) = (Vec::new(), String::new());
    for (place, case) in cases.iter().enumerate() {
        let program = Program {
            argv: &rules.argv,
            author: Author::Task,
            folder: workspace.root(),
            sandbox,
            is_own_tool: false,
            variables: Vec::new(),
            input: case.input.as_bytes().to_vec(),
            limit,
        };
        let ran = match program.run().await {
            Ok(ran) => ran,
            Err(why) => return (CheckOutcome::CouldNotRun(why.message()), None, log),
        };
        log += &format!("case {}: {:?}\n{}\n", place + 1, case.input, ran.transcript(limit));
        let printed = ran.output.trim();
        let message = match ran.ended {
            Ended::Exited(0) if printed == case.expected.trim() => continue,
            Ended::Exited(0) => format!("gives {:?}", quoted(printed)),
            Ended::Exited(_) | Ended::Killed(_) | Ended::TimedOut | Ended::Lost => {
                format!("{}: {}", ran.ended.in_words(limit), quoted(ran.errors.trim()))
            }
        };
        let why = if case.why.is_empty() { String::new() } else { format!(" ({})", case.why) };
        let expected = quoted(case.expected.trim());
        let message = format!("with {:?} it {message}, not {expected:?}{why}", case.input);
        failures.push(Failure {
            expected: Some(expected),
            actual: Some(quoted(printed)),
            ..Failure::new(format!("case {}", place + 1), message)
        });
    }
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let failed = count(failures.len());
    let counts = TestCounts { passed: count(cases.len()).saturating_sub(failed), failed, skipped: 0 };
    let outcome = if failures.is_empty() { CheckOutcome::Passed } else { CheckOutcome::Failed(failures) };
    (outcome, Some(Measure::Tests(counts)), log)
}

fn quoted(text: &str) -> String {
    text.chars().take(QUOTE_MAX).collect()
}
