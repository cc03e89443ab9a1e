//! Facts and debts in one line each, so that expectations are rows to read.

use crate::budget::Limit;
use crate::control::Decision;
use crate::effect::Effect;
use crate::event::{
    Controlled, Ending, Escalation, Event, Exhausted, FailReason, HaltReason, Judgement, Purpose, Raise,
    Remedied, Remedy, RestoreOutcome, Routed, Sent, SentFor, Settlement, StopReason, SubtaskOutput, Verdict,
    WayOn,
};
use crate::guard::loops::Finding as Looping;
use crate::id::{ActionId, Millis, RunId, ToolName};
use crate::message::{Message, Part, Payload};
use crate::plan::Plan;
use crate::policy::Concern;
use crate::quality::{CheckOutcome, CheckResult};
use crate::run::{Run, Wait};
use crate::verify::Opinion;

/// When every test begins.
pub(super) const START: Millis = Millis(1_000_000);

/// A word of one of our enums, as the journal writes it.
fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap();
    value.as_str().expect("a unit variant").replace('_', " ")
}

fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

pub(super) fn text(payload: &Payload) -> String {
    match payload {
        Payload::Inline(text) => text.to_string(),
        Payload::Stored { sha256, .. } => format!("<{}>", sha256.short()),
    }
}

pub(super) fn texts(content: &[Payload]) -> String {
    content.iter().map(text).collect::<String>()
}

fn at(moment: Millis) -> String {
    format!("+{}", moment.since(START))
}

fn planned(plan: &Plan) -> String {
    let rows = plan.subtasks().into_iter().map(|subtask| match list(&subtask.after).as_str() {
        "" => subtask.id.to_string(),
        after => format!("{} < {after}", subtask.id),
    });
    format!("planned {}", rows.collect::<Vec<_>>().join("; "))
}

fn blocked(action: ActionId, why: &Looping) -> String {
    format!("block {action}: {}", word(&why.reason))
}

#[expect(clippy::too_many_lines, reason = "an exhaustive match that only words things")]
pub(super) fn event(event: &Event) -> String {
    match event {
        Event::Submitted(_) => "submitted".into(),
        Event::Claimed { epoch, .. } => format!("claimed {epoch}"),
        Event::Planned { plan, .. } => planned(plan),
        Event::Decomposed { order, .. } => format!("order {}", list(order)),
        Event::Retrieved { evidence, .. } => {
            format!("retrieved {}", list(evidence.iter().map(|item| &item.path))).trim_end().into()
        }
        Event::SubtaskStarted { subtask, .. } => format!("begin {subtask}"),
        Event::StepStarted { .. } => started(event),
        Event::Routed(what) => routed(what),
        Event::Elided(what) => format!("leave out {} of {}", what.parts.len(), what.subtask),
        Event::CallBlocked { action, why, .. } => blocked(*action, why),
        Event::StrategySwitched { subtask, why } => format!("switch {subtask}: {}", word(&why.reason)),
        Event::RoundRepeated { round, back } => format!("round {round} is like {back} before"),
        Event::Controlled(said) => controlled(said),
        Event::Remedied(tried) => remedied(tried),
        Event::Escalated(what) => escalated(&what.step),
        Event::StepFinished { step, stop, .. } => format!("heard {step}: {}", word(stop)),
        Event::StepFailed { .. } => unheard(event),
        Event::CallRefused { action, why, .. } => format!("refuse {action}: {}", word(why)),
        Event::ApprovalRequested { subject, why, .. } => format!("question {subject}{}", concerns(why)),
        Event::ApprovalSettled { subject, verdict, .. } => format!("answer {subject}: {}", said(verdict)),
        Event::CallStarted { .. } => called(event),
        Event::CallFinished { action, outcome, .. } => format!("finish {action}: {}", word(outcome)),
        Event::CallTroubled { action, attempt, why, retry_at, .. } => {
            format!("trouble {action} #{attempt}: {}, again {}", word(why), at(*retry_at))
        }
        Event::BreakerOpened { tool, failures, until } => opened(tool, *failures, *until),
        Event::BreakerClosed { tool } => format!("close {tool}"),
        Event::CallInDoubt { action, why, ask } => {
            format!("doubt {action}: {}, ask {}", word(why), word(ask))
        }
        Event::CallSettled { action, settlement, by } => settled(*action, settlement, by),
        Event::Noticed { subtask, .. } => format!("notice {subtask}"),
        Event::SubtaskFinished { subtask, .. } => format!("done {subtask}"),
        Event::BranchChosen { .. }
        | Event::SubtaskFailed { .. }
        | Event::SubtaskDropped { .. }
        | Event::Replanned { .. } => moved(event),
        Event::Acted { outputs, .. } => acted(outputs),
        Event::Checked { round, result } => checked(*round, result),
        Event::Judged { round, index, ask, opinion } => judged((*round, *index, *ask), opinion),
        Event::Verified { round, finding, .. } => format!("verified {round}: {}", word(finding)),
        Event::Diagnosed { diagnosis, .. } => {
            format!("diagnosed by {}: {}", word(&diagnosis.by), diagnosis.summary)
        }
        Event::RepairStarted { round, .. } => format!("repair {round}"),
        Event::Repaired { round, .. } => format!("repaired {round}"),
        Event::LimitNear { limit, of, used, allowed } => {
            format!("near {}", measure(limit, *used, *allowed, of.as_ref()))
        }
        Event::Stopping { why: StopReason::Fail(why) } => format!("stopping: {}", failure(why)),
        Event::Stopping { why: StopReason::Halt(why) } => format!("stopping: {}", halt(why)),
        Event::RollbackStarted { why, remains } => rollback(why, remains),
        Event::CompensationStarted { .. }
        | Event::CompensationTroubled { .. }
        | Event::Compensated { .. }
        | Event::AlertRaised { .. }
        | Event::AlertTold { .. }
        | Event::UndoStarted { .. }
        | Event::UndoFinished { .. }
        | Event::LandingStarted { .. }
        | Event::ChangesFound(_)
        | Event::Landed { .. }
        | Event::Promoted(_)
        | Event::FromBackup(_) => crate::view::line(event),
        Event::Restored { action, outcome } => restored(*action, outcome),
        Event::Paused { by } => format!("paused by {by}"),
        Event::Resumed { raised, .. } => resumed(event, raised),
        Event::NotTakenUp { why, .. } => format!("not taken up: {why}"),
        Event::SignalRefused { why, .. } => format!("not now: {why}"),
        Event::Ended { ending, .. } => end(ending),
    }
}

fn called(event: &Event) -> String {
    let Event::CallStarted { action, tool, attempt, image, .. } = event else { return String::new() };
    let image = image.as_ref().map_or(String::new(), |image| format!(" [{}]", image.path));
    let again = if *attempt > 1 { format!(" #{attempt}") } else { String::new() };
    format!("start {action} {tool}{image}{again}")
}

fn rollback(why: &FailReason, remains: &[ActionId]) -> String {
    let remains = remains.iter().map(|action| format!(", {action} remains")).collect::<String>();
    format!("rollback: {}{remains}", failure(why))
}

fn resumed(event: &Event, raised: &[Raise]) -> String {
    let raised = raised.iter().map(|raise| format!(" {}={}", raise.limit.word(), raise.to));
    format!("{}{}", crate::view::line(event), raised.collect::<String>())
}

/// What became of a plan.
fn moved(event: &Event) -> String {
    if let Event::BranchChosen { choice, branch, .. } = event {
        return format!("choose {choice}: {}", branch.map_or("nothing".into(), |branch| branch.to_string()));
    }
    if let Event::SubtaskFailed { subtask, why, then } = event {
        let then = match then {
            WayOn::FallsBack { choice, from, to } => format!("{choice} {from} to {to}"),
            WayOn::PlansAnew => "plan anew".into(),
        };
        return format!("fail {subtask}: {}, {then}", crate::view::subtask_failure(why));
    }
    if let Event::SubtaskDropped { subtask } = event {
        return format!("drop {subtask}");
    }
    let Event::Replanned { instead_of, plan, .. } = event else { panic!("{event:?}") };
    format!("{} for {instead_of}", planned(plan))
}

fn acted(outputs: &[SubtaskOutput]) -> String {
    format!("acted {}", list(outputs.iter().map(|output| &output.subtask))).trim_end().into()
}

fn restored(action: ActionId, outcome: &RestoreOutcome) -> String {
    let outcome = match outcome {
        RestoreOutcome::Restored => "as before",
        RestoreOutcome::AlreadyAsBefore => "was as before",
        RestoreOutcome::ChangedSince => "changed since",
        RestoreOutcome::Failed(_) => "failed",
    };
    format!("restored {action}: {outcome}")
}

fn controlled(said: &Controlled) -> String {
    match said.judgement.decision {
        Decision::Repair { intensity } => format!("control: repair {intensity}"),
        Decision::Escalate { why, intensity } => format!("control: {}, repair {intensity}", word(&why)),
        Decision::Stop { why } => format!("control: {}", word(&why)),
    }
}

fn remedied(tried: &Remedied) -> String {
    let remedy = match tried.remedy {
        Remedy::SwitchStrategy { from, to } => format!("{}, not {}", to.words(), from.words()),
        Remedy::Perturb { vary } => format!("variation {vary}"),
        Remedy::FreshEvidence => "fresh evidence".into(),
        Remedy::Person => "person".into(),
    };
    format!("remedy for {}: {remedy}", tried.defect)
}

fn escalated(step: &Escalation) -> String {
    match step {
        Escalation::BiggerModel { model, rung } => format!("escalate: {} on rung {rung}", short(model)),
        Escalation::ReDecompose => "escalate: plan anew".into(),
        Escalation::Partial { missing } => format!("escalate: without {}", list(missing)),
        Escalation::Person { asked } => format!("escalate: person {asked}"),
    }
}

fn started(event: &Event) -> String {
    let Event::StepStarted { step, purpose, last, sent, .. } = event else { panic!("{event:?}") };
    ask(*step, purpose, last.is_some()) + &sent.as_deref().map(sent_to).unwrap_or_default()
}

fn unheard(event: &Event) -> String {
    let Event::StepFailed { step, why, retry_at, given_up } = event else { panic!("{event:?}") };
    let not_again = if *given_up { ", somebody else" } else { ", not again" };
    let retry = retry_at.map_or(not_again, |_| ", again later");
    format!("unheard {step}: {}{retry}", word(&why.kind))
}

fn sent_to(sent: &Sent) -> String {
    let why = match &sent.why {
        SentFor::Trouble { with } => format!("trouble with {}", short(with)),
        SentFor::Resting { model, .. } => format!("{} rests", short(model)),
        SentFor::TooLong { model } => format!("too long for {}", short(model)),
        SentFor::Stronger { rung } => format!("rung {rung}"),
    };
    format!(" at {} ({why})", short(&sent.model))
}

fn short(model: &str) -> &str {
    model.strip_prefix("scripted:").unwrap_or(model)
}

fn routed(what: &Routed) -> String {
    match what {
        Routed::Rests { model, failures, until, .. } => {
            format!("rest {} after {failures} until {}", short(model), at(*until))
        }
        Routed::Back { model } => format!("back {}", short(model)),
    }
}

fn opened(tool: &ToolName, failures: u32, until: Millis) -> String {
    format!("open {tool} after {failures} until {}", at(until))
}

fn settled(action: ActionId, settlement: &Settlement, by: &str) -> String {
    let what = match settlement {
        Settlement::Happened { .. } => "happened",
        Settlement::DidNotHappen => "did not happen",
        Settlement::GivenUp { .. } => "given up",
    };
    format!("settled {action}: {what}, says {by}")
}

fn ask(step: u32, purpose: &Purpose, last: bool) -> String {
    let last = if last { ", the last" } else { "" };
    match purpose {
        Purpose::Act(id) => format!("ask {step} for {id}{last}"),
        Purpose::Critique(round) => format!("ask {step} for critique {round}"),
        Purpose::Plan(round) => format!("ask {step} for plan {round}"),
        Purpose::Judge(Judgement { round, index, ask }) => {
            format!("ask {step} to judge {round}.{index} #{ask}")
        }
    }
}

fn checked(round: u32, result: &CheckResult) -> String {
    let outcome = match &result.outcome {
        CheckOutcome::Passed => "passed",
        CheckOutcome::Failed(_) => "failed",
        CheckOutcome::CouldNotRun(_) => "could not run",
        CheckOutcome::NotApplicable(_) => "not applicable",
    };
    format!("checked {round} {}: {outcome}", result.name)
}

fn judged((round, index, ask): (u32, u32, u32), opinion: &Opinion) -> String {
    let what = match opinion {
        Opinion::Rubric(scores) => {
            list(scores.iter().map(|scored| format!("{} {}", scored.name, scored.score)))
        }
        Opinion::Claims(claims) => format!("{} claims", claims.len()),
        Opinion::Cases(cases) => format!("{} cases", cases.len()),
        Opinion::Sample(_) => "a sample".into(),
        Opinion::Unusable(why) => format!("unusable: {why}"),
    };
    format!("judged {round}.{index} #{ask}: {what}")
}

pub(super) fn end(ending: &Ending) -> String {
    match ending {
        Ending::Committed { output, missing, .. } => {
            let part = if missing.is_empty() { String::new() } else { format!(" without {}", list(missing)) };
            format!("committed{part}: {}", texts(output).replace('\n', "/"))
        }
        Ending::Failed { why, .. } => format!("failed: {}", failure(why)),
        Ending::Halted { why, report } => {
            let partial = report.as_ref().and_then(|report| report.partial.as_deref());
            let partial = partial.map(|partial| format!("; so far: {}", texts(partial).replace('\n', "/")));
            format!("halted: {}{}", halt(why), partial.unwrap_or_default())
        }
    }
}

fn said(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Approved { by } => format!("yes, says {by}"),
        Verdict::Denied { by, reason } => format!("no, says {by}: {reason}"),
        Verdict::SentBack { by, feedback } => format!("not like this, says {by}: {feedback}"),
        Verdict::Expired => "nobody".into(),
    }
}

fn failure(why: &FailReason) -> String {
    match why {
        FailReason::EvidenceMissing { path, .. } => format!("{path} missing"),
        FailReason::RepairsExhausted { rounds } => format!("still wrong after {rounds} repairs"),
        FailReason::Undecided => "two answers hold".into(),
        FailReason::Truncated { in_a_row } => format!("{in_a_row} cut replies"),
        FailReason::ModelRefused { message } => format!("model refused: {message}"),
        FailReason::NoPlan { message } => format!("no plan: {message}"),
        FailReason::OutputDenied { by, reason } => format!("output denied by {by}: {reason}"),
        FailReason::ApprovalExpired => "nobody agreed".into(),
    }
}

fn halt(why: &HaltReason) -> String {
    match why {
        HaltReason::Cancelled { by } => format!("cancelled by {by}"),
        HaltReason::LimitReached(Exhausted { limit, wanted, allowed, of }) => {
            measure(limit, *wanted, *allowed, of.as_ref())
        }
        HaltReason::Looping(why) => format!("circles: {}", word(&why.reason)),
        HaltReason::ModelUnavailable { message } => format!("no model: {message}"),
        HaltReason::ContextFull(full) => format!("{} does not fit {}", full.subtask, full.model),
        HaltReason::RepairStuck { why } => format!("stuck: {why}"),
    }
}

/// Counts in full; amounts that depend on the words of a prompt without the first number.
fn measure(limit: &Limit, used: u64, allowed: u64, of: Option<&RunId>) -> String {
    let of = of.map_or(String::new(), |run| format!(" of {run}"));
    match limit {
        Limit::Tokens
        | Limit::Money
        | Limit::ActiveTime
        | Limit::RepairShare
        | Limit::RepairTime
        | Limit::Context => {
            format!("{} of {allowed}{of}", limit.word())
        }
        Limit::Steps
        | Limit::ToolCalls
        | Limit::Repairs
        | Limit::TreeSteps
        | Limit::Depth
        | Limit::AgentsAlive
        | Limit::Agents
        | Limit::Tool(_) => format!("{} {used} of {allowed}{of}", limit.word()),
    }
}

/// What is due, wake-ups aside.
pub(super) fn due(run: &Run) -> String {
    let shown = run.due().into_iter().filter_map(|effect| match effect {
        Effect::CallModel { step, .. } => Some(format!("model {step}")),
        Effect::PrepareCall { action, .. } => Some(format!("prepare {action}")),
        Effect::RunTool { action, attempt, .. } => Some(format!("tool {action} #{attempt}")),
        Effect::Probe { action, .. } => Some(format!("probe {action}")),
        Effect::ReadEvidence { paths } => Some(format!("evidence {}", paths.join(" "))),
        Effect::RunCheck { round, index, .. } => Some(format!("check {round}.{index}")),
        Effect::Weigh { serial, .. } => Some(format!("weigh {serial}")),
        Effect::Splice { round, window, .. } => Some(format!("splice {round} {}", window.words())),
        Effect::Restore { action, .. } => Some(format!("restore {action}")),
        Effect::Compensate { action, attempt, .. } => Some(format!("undo {action} #{attempt}")),
        Effect::Alert { .. } => Some("alert".into()),
        Effect::FindChanges => Some("changes".into()),
        Effect::Land { back, .. } => Some(if back { "take back" } else { "land" }.into()),
        Effect::StoreResult { .. } => Some("store".into()),
        Effect::Promote { attempt, .. } => Some(format!("promote #{attempt}")),
        Effect::WakeAt { .. } => None,
    });
    list(shown)
}

pub(super) fn wakes(run: &Run) -> String {
    let moments = run.due().into_iter().filter_map(|effect| match effect {
        Effect::WakeAt { at: moment } => Some(at(moment)),
        Effect::CallModel { .. }
        | Effect::PrepareCall { .. }
        | Effect::RunTool { .. }
        | Effect::Probe { .. }
        | Effect::ReadEvidence { .. }
        | Effect::RunCheck { .. }
        | Effect::Weigh { .. }
        | Effect::Splice { .. }
        | Effect::Restore { .. }
        | Effect::Compensate { .. }
        | Effect::Alert { .. }
        | Effect::FindChanges
        | Effect::Land { .. }
        | Effect::StoreResult { .. }
        | Effect::Promote { .. } => None,
    });
    list(moments)
}

pub(super) fn waits(run: &Run) -> String {
    list(run.waits().iter().map(|wait| match wait {
        Wait::Paused => "paused".into(),
        Wait::Restored { .. } => "restored".into(),
        Wait::Approval { subject, .. } => format!("answer about {subject}"),
        Wait::InDoubt { action, tool, .. } => format!("doubt about {action} {tool}"),
    }))
}

/// A conversation without its standing instructions, one message a line.
pub(super) fn talk(run: &Run, thread: &str) -> Vec<String> {
    let thread = run.threads.iter().find(|(id, _)| id.as_str() == thread).expect("a conversation").1;
    let line = |message: &Message| match message {
        Message::System(_) => None,
        Message::User(content) => Some(format!("user: {}", texts(content).replace('\n', "/"))),
        Message::Assistant { text: said, calls } => {
            Some(format!("model: {} [{}]", text(said), list(calls.iter().map(|call| &call.tool))))
        }
        Message::Briefing(parts) => Some(format!("user: {}", briefing(parts).replace('\n', "/"))),
        Message::ToolResult { call, output, mark: _, given: _, is_error, notice } => {
            let notice = if notice.is_some() { " (told)" } else { "" };
            Some(format!("{call}{}{notice}: {}", if *is_error { " failed" } else { "" }, text(output)))
        }
    };
    thread.messages.iter().filter_map(line).collect()
}

fn briefing(parts: &[Part]) -> String {
    let part = |part: &Part| match part {
        Part::Words(words) => text(words),
        Part::Material { source, text: said, .. } => format!("<{source}: {}>", text(said)),
    };
    parts.iter().map(part).collect()
}

fn concerns(why: &[Concern]) -> String {
    why.iter().map(|concern| format!(": {}", concern.words())).collect()
}
