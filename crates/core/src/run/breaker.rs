//! Circuit breakers: a tool that failed five times in a row is left alone for a
//! while, and then tried by one call before it is called like any other.
//!
//! Closed, open and half open are one fact and the time: open until a moment,
//! half open from then on. Every attempt feeds its breaker. A tool that answers, be
//! it with an error, is there; one that says it is unavailable, or does not answer
//! in time, is not. A process that died says nothing about its tools.

use super::decide::Draft;
use super::state::{Breaker, CallState, Run};
use crate::event::Event;
use crate::id::{ActionId, Millis, ToolName};
use crate::tool::ToolSpec;

/// Failures in a row that open it.
const FAILURES: u32 = 5;
/// First and longest time it stays open; each time twice the one before.
const FIRST_MS: u64 = 30_000;
const LONGEST_MS: u64 = 600_000;

/// How long the tool is not called, if it is not.
pub(super) fn left_alone_ms(run: &Run, tool: &ToolName, now: Millis) -> Option<u64> {
    let until = run.breakers.get(tool)?.until?;
    (until > now).then(|| until.since(now))
}

/// Calls of a tool that may be out at once; one alone while it is tried.
pub(super) fn at_once(run: &Run, spec: &ToolSpec) -> u32 {
    let on_trial = run.breakers.get(&spec.name).is_some_and(|breaker| breaker.until.is_some());
    if on_trial { 1 } else { spec.at_once() }
}

/// What another failure of a tool leads to. Looked at before it is folded in.
pub(super) fn opening(run: &Run, tool: &ToolName, now: Millis) -> Option<Event> {
    let Breaker { failures, openings, until } = run.breakers.get(tool).copied().unwrap_or_default();
    let failures = failures.saturating_add(1);
    let opens = match until {
        None => failures >= FAILURES,
        // The one that was let through. A late reply of an earlier call says nothing new.
        Some(until) => until <= now,
    };
    let stays_ms = FIRST_MS.saturating_mul(1 << openings.min(16)).min(LONGEST_MS);
    opens.then(|| Event::BreakerOpened { tool: tool.clone(), failures, until: now.plus(stays_ms) })
}

/// Notes that a tool answered.
pub(super) fn answered(draft: &mut Draft, tool: &ToolName) {
    if draft.run.breakers.get(tool).is_some_and(|breaker| breaker.until.is_some()) {
        draft.push(Event::BreakerClosed { tool: tool.clone() });
    }
}

impl Run {
    /// An attempt failed.
    pub(super) fn tool_failed(&mut self, action: ActionId) {
        if let Some(tool) = self.tool_out(action) {
            let breaker = self.breakers.entry(tool).or_default();
            breaker.failures = breaker.failures.saturating_add(1);
        }
    }

    /// A tool answered: what was failing in a row is not any more.
    pub(super) fn tool_answered(&mut self, action: ActionId) {
        let Some(tool) = self.tool_out(action) else { return };
        if self.breakers.get(&tool).is_some_and(|breaker| breaker.until.is_none()) {
            self.breakers.remove(&tool);
        }
    }

    pub(super) fn breaker_opened(&mut self, tool: &ToolName, until: Millis) {
        let breaker = self.breakers.entry(tool.clone()).or_default();
        breaker.openings = breaker.openings.saturating_add(1);
        breaker.until = Some(until);
    }

    /// The tool of a call that is out.
    fn tool_out(&self, action: ActionId) -> Option<ToolName> {
        match super::call::state_of(self, action)? {
            CallState::Running { tool, .. } => Some(tool.clone()),
            CallState::Waiting
            | CallState::AwaitingConsent
            | CallState::InDoubt { .. }
            | CallState::Again { .. }
            | CallState::BackingOff { .. }
            | CallState::Answered { .. } => None,
        }
    }
}
