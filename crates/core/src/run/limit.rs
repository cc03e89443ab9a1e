//! Bounds: what may still be started.

use super::decide::Draft;
use super::ending;
use super::state::{Phase, Run, Thread};
use crate::budget::{Cost, Limit};
use crate::event::{HaltReason, Raise, StopReason};

/// Bytes of English text a token stands for, cautiously.
const BYTES_A_TOKEN: u64 = 3;
/// Tokens a request costs besides its texts.
const TOKENS_A_REQUEST: u64 = 64;

/// What a model call on this conversation must set aside.
pub(super) fn reservation(run: &Run, thread: &Thread) -> Cost {
    let input = thread.bytes / BYTES_A_TOKEN + TOKENS_A_REQUEST;
    let output = run.limits.output_tokens;
    Cost { tokens: input.saturating_add(output), micros: run.price.of(input, output) }
}

/// The reason a model call must not be made, if there is one.
pub(super) fn over_step(run: &Run, need: Cost) -> Option<StopReason> {
    let used = run.spend.settled.plus(run.reserved).plus(need);
    let steps = (Limit::Steps, u64::from(run.spend.steps) + 1, u64::from(run.limits.steps));
    let tokens = (Limit::Tokens, used.tokens, run.limits.tokens);
    let money = (Limit::Money, used.micros, run.limits.micros);
    first_over(&[steps, tokens, money])
}

/// The reason a tool call must not be made, if there is one.
pub(super) fn over_call(run: &Run) -> Option<StopReason> {
    let calls = u64::from(run.spend.tool_calls) + 1;
    first_over(&[(Limit::ToolCalls, calls, u64::from(run.limits.tool_calls))])
}

/// Stops the run when its working time is used up.
pub(super) fn active_time(draft: &mut Draft) -> bool {
    if draft.run.stopping.is_some() || !is_bounded(&draft.run) {
        return false;
    }
    let allowed = draft.run.limits.active_ms;
    let wanted = active_at(&draft.run, draft.now);
    if wanted < allowed {
        return false;
    }
    ending::stop(draft, halt(Limit::ActiveTime, wanted, allowed));
    true
}

/// Undoing is finite and must not stop half-way: only work is bounded.
pub(super) fn is_bounded(run: &Run) -> bool {
    !matches!(run.phase, Phase::RollingBack(_))
}

/// Working time used at this moment.
fn active_at(run: &Run, now: crate::id::Millis) -> u64 {
    let since = if run.has_work() { now.since(run.now) } else { 0 };
    run.spend.active_ms.saturating_add(since)
}

/// Sets limits higher; a lower value changes nothing.
pub(super) fn raise(run: &mut Run, raised: &[Raise]) {
    for Raise { limit, to } in raised {
        let count = u32::try_from(*to).unwrap_or(u32::MAX);
        match limit {
            Limit::Steps => run.limits.steps = run.limits.steps.max(count),
            Limit::ToolCalls => run.limits.tool_calls = run.limits.tool_calls.max(count),
            Limit::Tokens => run.limits.tokens = run.limits.tokens.max(*to),
            Limit::Money => run.limits.micros = run.limits.micros.max(*to),
            Limit::ActiveTime => run.limits.active_ms = run.limits.active_ms.max(*to),
        }
    }
}

fn first_over(rows: &[(Limit, u64, u64)]) -> Option<StopReason> {
    let over = rows.iter().find(|(_, wanted, allowed)| wanted > allowed);
    over.map(|(limit, wanted, allowed)| halt(*limit, *wanted, *allowed))
}

fn halt(limit: Limit, wanted: u64, allowed: u64) -> StopReason {
    StopReason::Halt(HaltReason::LimitReached { limit, wanted, allowed })
}
