//! Read models folded from events: what listings, reports and provenance show.
//!
//! Nothing here is a source of truth; all of it can be made again from a journal.

mod control;
mod outcome;
mod planned;
mod provenance;
mod repairs;
mod statement;
mod trouble;
mod verified;

use std::fmt::Write as _;

use crate::budget::{Gauge, Limit, amount};
use crate::event::{Confinement, Ending, Event, Outcome, Purpose, Refusal, RestoreOutcome, Verdict};
use crate::guard::loops;
use crate::id::{ActionId, RunId, SubtaskId, WorkerId};
use crate::policy::Concern;
use crate::untrusted::suspicion::Family;

pub use control::{quality_curve, quality_series};
pub use outcome::outcome;
pub(crate) use planned::subtask_failure;
pub use provenance::{ApprovalRef, CallRef, CheckRef, EvidenceRef, PROVENANCE, Provenance, StepRef};
pub use repairs::repair_rates;
pub use statement::statement;
pub use verified::{assured, measured};

fn claimed(epoch: u64, worker: &WorkerId, programs: Option<Confinement>) -> String {
    let programs = match programs {
        None | Some(Confinement::Caged) => "",
        Some(Confinement::Uncaged) => ", programs run without a cage",
    };
    format!("claimed by {worker}, epoch {epoch}{programs}")
}

/// One line about an event, for people. Texts are left out; names, numbers and
/// reasons stay.
#[must_use]
#[expect(clippy::too_many_lines, reason = "an exhaustive match that only words things")]
pub fn line(event: &Event) -> String {
    match event {
        Event::Submitted(submission) => format!("submitted: {}", first_line(&submission.task.goal)),
        Event::Claimed { epoch, worker, programs } => claimed(*epoch, worker, *programs),
        Event::Planned { plan, pruned, .. } => planned::made_line(plan, pruned),
        Event::Decomposed { order, .. } => {
            let names: Vec<&str> = order.iter().map(crate::id::SubtaskId::as_str).collect();
            format!("decomposed: {}", names.join(", "))
        }
        Event::Retrieved { evidence, .. } if evidence.is_empty() => "retrieved: no evidence named".into(),
        Event::Retrieved { evidence, .. } => {
            let names: Vec<String> =
                evidence.iter().map(|item| format!("{} ({})", item.path, item.sha256.short())).collect();
            format!("retrieved: {}", names.join(", "))
        }
        Event::SubtaskStarted { subtask, .. } => format!("{subtask} begins"),
        Event::StepStarted { step, purpose, last, .. } => step_line(*step, purpose, last.is_some()),
        Event::StepFinished { step, usage, calls, stop, .. } => {
            let wants: Vec<&str> = calls.iter().map(|call| &*call.tool).collect();
            let wants =
                if wants.is_empty() { String::new() } else { format!(", wants {}", wants.join(", ")) };
            format!("step {step}: {} after {} tokens{wants}", stop_word(*stop), usage.total())
        }
        Event::StepFailed { step, why, retry_at } => {
            let then = if retry_at.is_some() { ", tries again" } else { "" };
            format!("step {step}: no answer ({}){then}", why.message)
        }
        Event::CallRefused { action, why, message } => {
            format!("{action}: refused ({}): {}", refusal_word(*why), first_line(message))
        }
        Event::CallBlocked { action, why, .. } => blocked_line(*action, why),
        Event::StrategySwitched { subtask, why } => switched_line(subtask, why),
        Event::RoundRepeated { .. } | Event::Controlled(_) | Event::Remedied(_) => control::line(event),
        Event::ApprovalRequested { subject, binds, why, .. } => {
            format!("{subject}: waits for a person (content {}){}", binds.short(), concerns(why))
        }
        Event::ApprovalSettled { subject, verdict, .. } => match verdict {
            Verdict::Approved { by } => format!("{subject}: approved by {by}"),
            Verdict::Denied { by, reason } => format!("{subject}: denied by {by}: {reason}"),
            Verdict::SentBack { by, feedback } => format!("{subject}: {by} asks for changes: {feedback}"),
            Verdict::Expired => format!("{subject}: nobody answered in time"),
        },
        Event::CallStarted { action, tool, attempt, image, .. } => {
            let again = if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
            let file = image.as_ref().map_or(String::new(), |image| format!(" {}", image.path));
            format!("{action}: {tool}{file}{again}")
        }
        Event::CallFinished { action, outcome, duration_ms, suspicions, .. } => {
            finish_line(*action, *outcome, *duration_ms, suspicions)
        }
        Event::CallTroubled { .. } => trouble::attempt_line(event),
        Event::BreakerOpened { .. } | Event::BreakerClosed { .. } => trouble::breaker_line(event),
        Event::CallInDoubt { action, why, ask } => trouble::doubt_line(*action, *why, *ask),
        Event::CallSettled { action, settlement, by } => trouble::settled_line(*action, settlement, by),
        Event::Noticed { subtask, text } => format!("{subtask} is told: {}", first_line(text)),
        Event::SubtaskFinished { subtask, .. } => format!("{subtask} done"),
        Event::BranchChosen { .. }
        | Event::SubtaskFailed { .. }
        | Event::SubtaskDropped { .. }
        | Event::Replanned { .. } => planned::line(event),
        Event::Acted { .. } => "acted: verification begins".into(),
        Event::Checked { .. } | Event::Judged { .. } | Event::Verified { .. } => verified::line(event),
        Event::Diagnosed { diagnosis, .. } => {
            let cause =
                diagnosis.cause.as_ref().map_or(String::new(), |found| format!(" ({})", found.cause.words()));
            format!("diagnosed: {}{cause}", first_line(&diagnosis.summary))
        }
        Event::RepairStarted { .. } | Event::Repaired { .. } => repairs::line(event),
        Event::LimitNear { limit, of, used, allowed } => near_line(limit, of.as_ref(), (*used, *allowed)),
        Event::Stopping { .. } => "stopping".into(),
        Event::RollbackStarted { .. } => "rolling back".into(),
        Event::Restored { action, outcome } => match outcome {
            RestoreOutcome::Restored => format!("{action}: file restored"),
            RestoreOutcome::AlreadyAsBefore => format!("{action}: nothing to restore"),
            RestoreOutcome::ChangedSince => format!("{action}: changed since by somebody else, left alone"),
            RestoreOutcome::Failed(why) => format!("{action}: could not be restored: {why}"),
        },
        Event::Paused { by } => format!("paused by {by}"),
        Event::Resumed { by, .. } => format!("resumed by {by}"),
        Event::NotTakenUp { worker, why } => format!("{worker} cannot go on with it: {}", first_line(why)),
        Event::SignalRefused { by, why } => format!("{by} was refused: {why}"),
        Event::Ended { ending, .. } => ending_line(ending),
    }
}

fn step_line(step: u32, purpose: &Purpose, last: bool) -> String {
    let last = if last { ", for a summary: it is the last call" } else { "" };
    match purpose {
        Purpose::Act(id) => format!("step {step}: asks the model ({id}){last}"),
        Purpose::Critique(_) => format!("step {step}: asks the critic"),
        Purpose::Plan(_) => format!("step {step}: asks for a plan{last}"),
        Purpose::Judge(_) => format!("step {step}: asks the judge"),
    }
}

fn near_line(limit: &Limit, of: Option<&RunId>, (used, allowed): (u64, u64)) -> String {
    let gauge = Gauge { limit: limit.clone(), of: of.cloned(), used, allowed };
    format!("budget nearly used up: {}", gauge_line(&gauge))
}

/// One line about an ending.
#[must_use]
pub fn ending_line(ending: &Ending) -> String {
    use crate::event::{FailReason, HaltReason};
    match ending {
        Ending::Committed { provenance, .. } => {
            format!("committed, provenance {}", provenance.short())
        }
        Ending::Failed { why, .. } => match why {
            FailReason::EvidenceMissing { path, message } => format!("failed: evidence {path}: {message}"),
            FailReason::RepairsExhausted { rounds } => {
                format!("failed: the checks still fail after {rounds} repairs")
            }
            FailReason::Truncated { in_a_row } => format!("failed: {in_a_row} cut replies in a row"),
            FailReason::ModelRefused { message } => {
                format!("failed: the model refused: {}", first_line(message))
            }
            FailReason::NoPlan { message } => format!("failed: no plan: {}", first_line(message)),
            FailReason::OutputDenied { by, reason } => format!("failed: output denied by {by}: {reason}"),
            FailReason::ApprovalExpired => "failed: nobody answered in time".into(),
        },
        Ending::Halted { why, .. } => match why {
            HaltReason::Cancelled { by } => format!("halted: cancelled by {by}"),
            HaltReason::LimitReached(why) => {
                let (wanted, allowed) = (amount(&why.limit, why.wanted), amount(&why.limit, why.allowed));
                let of = why.of.as_ref().map_or(String::new(), |run| format!(" by run {run}"));
                format!("halted: {} would be {wanted}, allowed{of} are {allowed}", why.limit.word())
            }
            HaltReason::Looping(why) => format!("halted: going in circles: {}", finding_line(why)),
            HaltReason::ModelUnavailable { message } => {
                format!("halted: the model is unavailable: {}", first_line(message))
            }
            HaltReason::RepairStuck { why } => format!("halted: repairing does not help: {why}"),
        },
    }
}

fn blocked_line(action: ActionId, why: &loops::Finding) -> String {
    format!("{action}: blocked, one call saved: {}", finding_line(why))
}

fn switched_line(subtask: &SubtaskId, why: &loops::Finding) -> String {
    format!("{subtask}: told to change its strategy: {}", finding_line(why))
}

/// What the guard found, on what evidence, and which setting changes it.
#[must_use]
pub fn finding_line(why: &loops::Finding) -> String {
    let times = if why.times > 1 { format!(" ({} times)", why.times) } else { String::new() };
    let mut line = format!("{}{times}", why.reason.words());
    if why.evidence > 0 {
        let trail = trail_words(&why.trail);
        let _ = write!(line, "; evidence {} ({trail})", hundredths(i64::from(why.evidence)));
    }
    if !why.setting.is_empty() {
        let _ = write!(line, "; set by guard.{}", why.setting.replace(", ", " and guard."));
    }
    line
}

/// The trail in groups: a reason, how often it came in a row, what it added up to.
fn trail_words(trail: &[loops::Evidence]) -> String {
    let groups = trail.chunk_by(|one, next| one.reason == next.reason);
    let words = groups.filter_map(|group| {
        let points: i64 = group.iter().map(|evidence| i64::from(evidence.points)).sum();
        let times = if group.len() > 1 { format!(" {} times", group.len()) } else { String::new() };
        let sign = if points > 0 { "+" } else { "" };
        let reason = group.first()?.reason.words();
        Some(format!("{reason}{times} {sign}{}", hundredths(points)))
    });
    words.collect::<Vec<_>>().join(", ")
}

fn hundredths(points: i64) -> String {
    let sign = if points < 0 { "-" } else { "" };
    let points = points.unsigned_abs();
    format!("{sign}{}.{:02}", points / 100, points % 100)
}

/// How much of a limit is used, in words.
#[must_use]
pub fn gauge_line(gauge: &Gauge) -> String {
    let limit = &gauge.limit;
    let (used, allowed) = (amount(limit, gauge.used), amount(limit, gauge.allowed));
    let of = gauge.of.as_ref().map_or(String::new(), |run| format!(" of run {run} and those below it"));
    match limit {
        Limit::Money => format!("${used} of ${allowed}{of}"),
        Limit::RepairShare => format!("{used} % of {allowed} % of the budget for repairs{of}"),
        Limit::Tool(name) => format!("{used} of {allowed} calls of {name}{of}"),
        Limit::Steps
        | Limit::ToolCalls
        | Limit::Tokens
        | Limit::ActiveTime
        | Limit::Repairs
        | Limit::RepairTime
        | Limit::TreeSteps
        | Limit::Depth
        | Limit::AgentsAlive
        | Limit::Agents => format!("{used} of {allowed} {}{of}", unit(limit)),
    }
}

fn unit(limit: &Limit) -> &'static str {
    match limit {
        Limit::Steps => "model calls",
        Limit::ToolCalls | Limit::Tool(_) => "tool calls",
        Limit::Tokens => "tokens",
        Limit::Money => "dollars",
        Limit::ActiveTime => "seconds of work",
        Limit::Repairs => "repair rounds",
        Limit::RepairShare => "percent",
        Limit::RepairTime => "seconds of repair",
        Limit::TreeSteps => "model calls of all agents",
        Limit::Depth => "levels of agents",
        Limit::AgentsAlive => "agents at once",
        Limit::Agents => "agents",
    }
}

fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= 100 { line.into() } else { line.chars().take(99).chain(['…']).collect() }
}

fn stop_word(stop: crate::message::Stop) -> &'static str {
    use crate::message::Stop;
    match stop {
        Stop::End | Stop::ToolUse => "answered",
        Stop::Truncated => "cut off",
        Stop::Refused => "refused",
        Stop::Filtered => "filtered",
    }
}

fn finish_line(action: ActionId, outcome: Outcome, duration_ms: u64, signs: &[Family]) -> String {
    let (word, signs) = (outcome_word(outcome), Family::list(signs));
    let sign = if signs.is_empty() { "" } else { ", SUSPICIOUS: " };
    format!("{action}: {word} in {duration_ms} ms{sign}{signs}")
}

fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "done",
        Outcome::Error => "error",
        Outcome::TimedOut => "timed out",
        Outcome::Cancelled => "cancelled",
        Outcome::Unavailable => "not available",
    }
}

/// Why a person is asked, where there is a reason to name.
fn concerns(why: &[Concern]) -> String {
    first_line(&why.iter().map(|concern| format!(": {}", concern.words())).collect::<String>())
}

fn refusal_word(why: Refusal) -> &'static str {
    match why {
        Refusal::UnknownTool => "unknown tool",
        Refusal::BadArguments => "bad arguments",
        Refusal::Truncated => "cut off",
        Refusal::Unprepared => "cannot work",
        Refusal::Denied => "denied",
        Refusal::Cancelled => "cancelled",
        Refusal::NotOffered => "no tools were offered",
        Refusal::NotAllowed => "not granted",
        Refusal::Unavailable => "not available",
    }
}
