//! The one line about a run at work: where it stands, what it has used, what it
//! waits for.

use bowline_core::event::Ask;
use bowline_core::id::{Millis, SubtaskId, ToolName};
use bowline_core::run::{ApprovalState, Breaker, CallState, Phase, Run, Thread, ThreadState};
use bowline_core::view::gauge_line;

use super::words;

/// The line.
pub(crate) fn line(run: &Run, now: Millis) -> String {
    let spend = &run.spend;
    let mut parts = vec![run.phase.word().to_owned()];
    let awaited = awaited(run, now);
    if !awaited.is_empty() {
        parts.push(format!("waits for {}", awaited.join(", ")));
    }
    parts.extend([
        words::duration(now.since(run.submitted_at)),
        words::several(u64::from(spend.steps), "step"),
        words::several(u64::from(spend.tool_calls), "tool call"),
        format!("{} tokens", words::count(spend.settled.tokens)),
        words::money(spend.settled.micros),
    ]);
    parts.extend(left_alone(run, now).iter().map(|tool| format!("leaves alone {tool}")));
    parts.extend(near(run).iter().map(|used| format!("nearly used up: {used}")));
    parts.join(" · ")
}

/// Limits of which little is left.
pub(crate) fn near(run: &Run) -> Vec<String> {
    run.gauges().iter().filter(|gauge| gauge.is_near()).map(gauge_line).collect()
}

/// What the run waits for right now.
pub(crate) fn awaited(run: &Run, now: Millis) -> Vec<String> {
    if run.ending().is_some() {
        return Vec::new();
    }
    let mut awaited = Vec::new();
    if run.paused {
        awaited.push("a person: paused".to_owned());
    }
    let questions = run.approvals.iter().filter(|(_, approval)| approval.state == ApprovalState::Open);
    awaited.extend(questions.map(|(subject, _)| format!("a person: {subject}")));
    awaited.extend(run.threads.iter().flat_map(|(id, thread)| thread_waits(id, thread, now)));
    if let Phase::Verifying(verification) = &run.phase
        && let Some(check) = run.task.checks.get(verification.results.len())
    {
        awaited.push(format!("check {}", check.name));
    }
    awaited
}

/// Tools that failed again and again, and when each is tried again.
pub(crate) fn left_alone(run: &Run, now: Millis) -> Vec<String> {
    let open = run.breakers.iter().filter_map(|(tool, breaker)| Some((tool, breaker, breaker.until?)));
    let one = |(tool, breaker, until): (&ToolName, &Breaker, Millis)| {
        let again = match until.since(now) {
            0 => "one call tries it next".to_owned(),
            left => format!("tried again in {}", words::duration(left)),
        };
        format!("{tool}, which failed {} times in a row; {again}", breaker.failures)
    };
    open.map(one).collect()
}

fn thread_waits(id: &SubtaskId, thread: &Thread, now: Millis) -> Vec<String> {
    match &thread.state {
        ThreadState::Thinking(open) => vec![format!("the model ({id}, step {})", open.step)],
        ThreadState::BackingOff { until } => {
            vec![format!("the model ({id}), again in {}", words::duration(until.since(now)))]
        }
        ThreadState::Calling(_) => thread
            .calls()
            .filter_map(|(action, call)| match &call.state {
                CallState::Running { tool, .. } => Some(format!("{tool} ({action})")),
                CallState::InDoubt { ask: Ask::Probe, .. } => Some(format!("the probe of {action}")),
                CallState::InDoubt { ask: Ask::Person, .. } => {
                    Some(format!("a person: doubt about {action}"))
                }
                CallState::BackingOff { until, .. } => Some(format!(
                    "{} ({action}), again in {}",
                    call.call.tool,
                    words::duration(until.since(now))
                )),
                CallState::Waiting
                | CallState::AwaitingConsent
                | CallState::Again { .. }
                | CallState::Answered { .. } => None,
            })
            .collect(),
        ThreadState::Ready | ThreadState::Answered(_) | ThreadState::Done(_) => Vec::new(),
    }
}
