//! Read models folded from events: what listings, reports and provenance show.
//!
//! Nothing here is a source of truth; all of it can be made again from a journal.

mod answered;
mod control;
mod endings;
mod landed;
mod left_out;
mod outcome;
mod planned;
mod promoted;
mod provenance;
mod repairs;
mod routes;
mod statement;
mod trouble;
mod undone;
mod verified;

use std::fmt::Write as _;

use crate::budget::{Gauge, Limit, amount};
use crate::event::{Confinement, Event, Outcome, Refusal, Verdict};
use crate::guard::loops;
use crate::id::{ActionId, RunId, SubtaskId, WorkerId};
use crate::policy::Concern;
use crate::untrusted::suspicion::Family;

pub use control::{quality_curve, quality_series};
pub use endings::ending_line;
pub(crate) use endings::{failure, halt};
pub use landed::landed;
pub use outcome::outcome;
pub(crate) use planned::subtask_failure;
pub use promoted::promoted;
pub use provenance::{ApprovalRef, CallRef, CheckRef, EvidenceRef, PROVENANCE, Provenance, StepRef};
pub use repairs::repair_rates;
pub use statement::statement;
pub use undone::{Undone, undone};
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
        Event::StepStarted { step, purpose, last, sent, .. } => {
            routes::step_line(*step, purpose, last.is_some(), sent.as_deref())
        }
        Event::Routed(what) => routes::line(what),
        Event::Elided(what) => left_out::line(what),
        Event::StepFinished { .. } => answered::line(event),
        Event::StepFailed { step, why, retry_at, given_up } => {
            let then = routes::then(retry_at.is_some(), *given_up);
            format!("step {step}: no answer ({}){then}", why.message)
        }
        Event::CallRefused { action, why, message } => {
            format!("{action}: refused ({}): {}", refusal_word(*why), first_line(message))
        }
        Event::CallBlocked { action, why, .. } => blocked_line(*action, why),
        Event::StrategySwitched { subtask, why } => switched_line(subtask, why),
        Event::RoundRepeated { .. } | Event::Controlled(_) | Event::Remedied(_) => control::line(event),
        Event::Escalated(what) => repairs::escalated(what),
        Event::ApprovalRequested { subject, binds, why, .. } => {
            format!("{subject}: waits for a person (content {}){}", binds.short(), concerns(why))
        }
        Event::ApprovalSettled { subject, verdict, .. } => format!("{subject}: {}", said(verdict)),
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
        Event::RollbackStarted { .. }
        | Event::Restored { .. }
        | Event::CompensationStarted { .. }
        | Event::CompensationTroubled { .. }
        | Event::Compensated { .. }
        | Event::AlertRaised { .. }
        | Event::AlertTold { .. }
        | Event::UndoStarted { .. }
        | Event::UndoFinished { .. } => undone::line(event),
        Event::LandingStarted { .. } | Event::ChangesFound(_) | Event::Landed { .. } => landed::line(event),
        Event::Promoted(how) => promoted::line(how),
        Event::FromBackup(what) => trouble::backup_line(what),
        Event::Paused { by } => format!("paused by {by}"),
        Event::Resumed { by, without, .. } => resumed_line(by, without),
        Event::NotTakenUp { worker, why } => format!("{worker} cannot go on with it: {}", first_line(why)),
        Event::SignalRefused { by, why } => format!("{by} was refused: {why}"),
        Event::Ended { ending, .. } => ending_line(ending),
    }
}

fn resumed_line(by: &str, without: &[SubtaskId]) -> String {
    let without: Vec<&str> = without.iter().map(SubtaskId::as_str).collect();
    let without =
        if without.is_empty() { String::new() } else { format!(", without {}", without.join(", ")) };
    format!("resumed by {by}{without}")
}

fn said(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Approved { by } => format!("approved by {by}"),
        Verdict::Denied { by, reason } => format!("denied by {by}: {reason}"),
        Verdict::SentBack { by, feedback } => format!("{by} asks for changes: {feedback}"),
        Verdict::Expired => "nobody answered in time".into(),
    }
}

fn near_line(limit: &Limit, of: Option<&RunId>, (used, allowed): (u64, u64)) -> String {
    let gauge = Gauge { limit: limit.clone(), of: of.cloned(), used, allowed };
    format!("budget nearly used up: {}", gauge_line(&gauge))
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
        | Limit::Context
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
        Limit::Context => "tokens of one model call",
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
