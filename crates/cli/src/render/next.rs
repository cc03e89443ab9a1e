//! What to do next with a run, as commands that can be copied.

use bowline_core::budget::Limit;
use bowline_core::event::{Ending, HaltReason};
use bowline_core::id::RunId;
use bowline_core::run::{Run, Wait};

/// Commands that move the run, each with what it does.
pub(crate) fn steps(program: &str, run: &Run) -> Vec<(String, String)> {
    match run.ending() {
        Some(Ending::Committed { .. }) => Vec::new(),
        Some(Ending::Failed { .. }) => {
            vec![(format!("{program} show {}", run.id), "what was tried, and how it was checked".into())]
        }
        Some(Ending::Halted { why }) => vec![reopen(program, run, why)],
        None => {
            let waits = run.waits();
            if waits.is_empty() {
                return vec![(format!("{program} resume {}", run.id), "goes on where it was".into())];
            }
            waits.iter().flat_map(|wait| answers(program, &run.id, wait)).collect()
        }
    }
}

/// The commands that answer what a run waits for.
pub(crate) fn answers(program: &str, run: &RunId, wait: &Wait) -> Vec<(String, String)> {
    let word = |rest: String, does: &str| (format!("{program} {rest}"), does.to_owned());
    match wait {
        Wait::Paused => vec![word(format!("resume {run}"), "goes on")],
        Wait::Approval { subject, .. } => vec![
            word(format!("approve {run} {subject}"), "shows it and says yes"),
            word(format!("deny {run} {subject} --reason TEXT"), "says no"),
        ],
        Wait::InDoubt { action, .. } => vec![
            word(format!("settle {run} {action} --happened --result TEXT"), "it happened"),
            word(format!("settle {run} {action} --repeat"), "it did not: make it now"),
            word(format!("settle {run} {action} --give-up"), "nobody knows: go on without it"),
        ],
    }
}

fn reopen(program: &str, run: &Run, why: &HaltReason) -> (String, String) {
    let plain = format!("{program} resume {}", run.id);
    match why {
        HaltReason::Cancelled { .. } => (plain, "reopens it".into()),
        HaltReason::ModelUnavailable { .. } => (plain, "goes on once the model answers".into()),
        HaltReason::LimitReached { limit, wanted, allowed } => {
            let more = (*wanted).max(allowed.saturating_mul(2)).max(1);
            (format!("{plain} --raise {}={}", limit.word(), amount(*limit, more)), "goes on with more".into())
        }
    }
}

/// An amount as `--raise` reads it.
fn amount(limit: Limit, kept: u64) -> String {
    match limit {
        Limit::Steps | Limit::ToolCalls | Limit::Tokens => kept.to_string(),
        Limit::ActiveTime => kept.div_ceil(1000).to_string(),
        Limit::Money => format!("{}.{:06}", kept / 1_000_000, kept % 1_000_000),
    }
}
