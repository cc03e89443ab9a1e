//! What to do next with a run, as commands that can be copied.

use bowline_core::budget::amount;
use bowline_core::event::{
    ContextBound, ContextFull, Ending, HaltReason, HaltReport, PromotionOutcome, Subject,
};
use bowline_core::id::{RunId, SubtaskId};
use bowline_core::plan::Node;
use bowline_core::run::{Phase, Run, Wait};
use bowline_core::task::WorkspaceMode;

/// Commands that move the run, each with what it does.
pub(crate) fn steps(program: &str, run: &Run) -> Vec<(String, String)> {
    match run.ending() {
        Some(Ending::Committed { .. }) => {
            let unpromoted = unpromoted(program, run);
            unapplied(program, run).into_iter().chain(unpromoted).collect()
        }
        Some(Ending::Failed { .. }) => {
            vec![(format!("{program} show {}", run.id), "what was tried, and how it was checked".into())]
        }
        Some(Ending::Halted { why, report }) => reopen(program, run, why, report.as_deref()),
        None => {
            let waits = run.waits();
            if waits.is_empty() {
                return vec![(format!("{program} resume {}", run.id), "goes on where it was".into())];
            }
            // Nobody can agree to what fails its checks.
            let is_unmended = matches!(run.phase, Phase::Repairing { .. });
            let yes = format!("{program} approve {} {}", run.id, Subject::Output);
            let answers = waits.iter().flat_map(|wait| answers(program, &run.id, wait));
            answers.filter(|(command, _)| !is_unmended || *command != yes).collect()
        }
    }
}

/// What to do about the changes of a committed run that the folder does not have.
fn unapplied(program: &str, run: &Run) -> Vec<(String, String)> {
    let is_isolated = run.task.workspace.mode == WorkspaceMode::Isolated;
    if !is_isolated || run.has_landed() || run.deeds.undo.is_some() {
        return Vec::new();
    }
    vec![
        (format!("{program} diff {}", run.id), "what it changed".into()),
        (format!("{program} apply {}", run.id), "applies it, once the files are as they were".into()),
    ]
}

/// What to do about an output that nobody took.
fn unpromoted(program: &str, run: &Run) -> Option<(String, String)> {
    let does = match run.promotion.as_ref()?.outcome {
        None => "goes on with handing its output on",
        Some(PromotionOutcome::NotTaken(_)) => "tries again to hand its output on, under the same key",
        Some(PromotionOutcome::Taken | PromotionOutcome::Withdrawn) => return None,
    };
    Some((format!("{program} resume {}", run.id), does.into()))
}

/// The commands that answer what a run waits for.
pub(crate) fn answers(program: &str, run: &RunId, wait: &Wait) -> Vec<(String, String)> {
    let word = |rest: String, does: &str| (format!("{program} {rest}"), does.to_owned());
    match wait {
        Wait::Restored { .. } => vec![word(
            format!("resume {run} --restored"),
            "takes it up here, once you know that nobody else does",
        )],
        Wait::Paused => vec![word(format!("resume {run}"), "goes on")],
        Wait::Approval { subject, .. } => vec![
            word(format!("approve {run} {subject}"), "shows it and says yes"),
            word(format!("deny {run} {subject} --reason TEXT"), "says no"),
        ]
        .into_iter()
        .chain(
            (*subject == Subject::Output)
                .then(|| word(format!("revise {run} --feedback TEXT"), "sends it back to repair")),
        )
        .collect(),
        Wait::InDoubt { action, .. } => vec![
            word(format!("settle {run} {action} --happened --result TEXT"), "it happened"),
            word(format!("settle {run} {action} --repeat"), "it did not: make it now"),
            word(format!("settle {run} {action} --give-up"), "nobody knows: go on without it"),
        ],
    }
}

fn reopen(program: &str, run: &Run, why: &HaltReason, report: Option<&HaltReport>) -> Vec<(String, String)> {
    let plain = format!("{program} resume {}", run.id);
    match why {
        HaltReason::Cancelled { .. } => vec![(plain, "reopens it".into())],
        HaltReason::Looping(_) => vec![(plain, "lets it go on, as if nothing had been counted".into())],
        HaltReason::RepairStuck { .. } => {
            vec![(plain, "goes on with another repair, once you have looked at it".into())]
        }
        HaltReason::ModelUnavailable { .. } => vec![(plain, "goes on once the model answers".into())],
        HaltReason::ContextFull(full) => more_room(program, run, full, report),
        HaltReason::LimitReached(why) => {
            // A journal of before there were reports names the limit alone.
            let twice = || why.wanted.max(why.allowed.saturating_mul(2)).max(1);
            let to = report.map_or_else(twice, |report| report.raise.to);
            let raise = format!("--raise {}={}", why.limit.word(), amount(&why.limit, to));
            match &why.of {
                None => {
                    let more = (format!("{plain} {raise}"), "goes on with more".into());
                    let less = spared(run)
                        .map(|id| (format!("{plain} --without {id}"), "or with less to do".into()));
                    std::iter::once(more).chain(less).collect()
                }
                Some(above) => vec![
                    (format!("{program} resume {above} {raise}"), "gives the run above it more".into()),
                    (plain, "then goes on".into()),
                ],
            }
        }
    }
}

/// The last node of the plan that a halted run could go on without.
fn spared(run: &Run) -> Option<&SubtaskId> {
    let nodes = run.plan.as_ref()?.nodes().iter().rev().map(Node::id);
    nodes.into_iter().find(|id| run.scope_without(std::slice::from_ref(id)).is_ok())
}

/// What helps where a conversation does not fit its model.
fn more_room(
    program: &str,
    run: &Run,
    full: &ContextFull,
    report: Option<&HaltReport>,
) -> Vec<(String, String)> {
    let plain = format!("{program} resume {}", run.id);
    let show = format!("{program} show {}", run.id);
    match (full.by, report) {
        (ContextBound::Task, Some(HaltReport { raise, .. })) => {
            let raise = format!("--raise {}={}", raise.limit.word(), amount(&raise.limit, raise.to));
            vec![(format!("{plain} {raise}"), "goes on with more room".into())]
        }
        (ContextBound::Task | ContextBound::Model, _) => {
            let does = "what there is; submit it with less evidence, a lower output_tokens, or a model that takes more";
            vec![(show, does.into())]
        }
        (ContextBound::Nobody, _) => {
            let does = "what there is; submit it with less evidence, or say what the model takes: context_tokens of its table in [models]";
            vec![(show, does.into())]
        }
    }
}
