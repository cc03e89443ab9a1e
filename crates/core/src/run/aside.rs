//! Side questions: calls of tools that ask the run's model.
//!
//! A side question is a tool call and a step: it counts as both, sets aside what
//! it may cost before it starts, and settles like a step. What a lost attempt
//! used nobody knows, so it is paid as reserved and decided on again: an attempt
//! is never made that its limits do not allow, not even after a crash.

use super::call;
use super::decide::Draft;
use super::limit::{self, Fit, Need};
use super::state::{CallState, Run};
use crate::budget::{ASIDE_TOKENS, Allowance, Cost};
use crate::event::Exhausted;
use crate::id::ActionId;

/// Bytes a question is wrapped in.
const WRAPPING: u64 = 512;

/// What an attempt at a call must set aside; `None` where its tool asks no model.
pub(super) fn reservation(run: &Run, action: ActionId) -> Option<Cost> {
    let (bytes, spec) = call::args_bytes(run, action)?;
    let output_tokens = run.limits.output_tokens.min(ASIDE_TOKENS);
    spec.asks_model().then(|| limit::reservation(run.price, bytes.saturating_add(WRAPPING), output_tokens))
}

/// What the attempt that is out has set aside.
pub(super) fn reserved(run: &Run, action: ActionId) -> Option<Cost> {
    match call::state_of(run, action)? {
        CallState::Running { reserved, .. } => *reserved,
        CallState::Waiting
        | CallState::AwaitingConsent
        | CallState::InDoubt { .. }
        | CallState::Again { .. }
        | CallState::BackingOff { .. }
        | CallState::Answered { .. } => None,
    }
}

/// What the next attempt would set aside is held by something in flight.
pub(super) fn must_wait(run: &Run, allowance: Option<&Allowance>, action: ActionId) -> bool {
    let Some(cost) = reservation(run, action) else { return false };
    matches!(limit::fit(run, allowance, Need { steps: 1, cost }), Fit::Later(_))
}

/// The bound that is too small for an attempt which also books this much.
pub(super) fn too_much(draft: &Draft, action: ActionId, micros: u64) -> Option<Exhausted> {
    let cost = reservation(&draft.run, action)?.plus(Cost { tokens: 0, micros });
    match limit::fit(&draft.run, draft.allowance.as_ref(), Need { steps: 1, cost }) {
        Fit::Now => None,
        Fit::Later(why) | Fit::Never(why) => Some(why),
    }
}
