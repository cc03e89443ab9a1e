//! Attempts at a tool call: what came home, and whether it is tried again.
//!
//! Passing trouble leads to another attempt under the same id and key, after a
//! back-off; an answer of the tool, even an error, does not. A call that must not
//! be repeated gets one attempt, and doubt where nobody knows whether it happened.

use super::decide::{Draft, Refused};
use super::state::CallState;
use super::{aside, backoff, breaker, call, ending, limit, prompt};
use crate::event::{CallTrouble, Doubt, Event, Outcome};
use crate::id::{ActionId, Millis, ToolName};
use crate::input::{CallResult, Returned};
use crate::message::Payload;
use crate::provenance::Digest;
use crate::tool::{Repeat, ToolSpec};

/// Longest quotation of a tool's words in the journal of an attempt.
const QUOTE_MAX: usize = 500;

/// How an attempt is taken.
enum Came {
    /// It has its outcome.
    Home(Outcome),
    /// It may be tried again.
    Troubled(CallTrouble, Option<u64>),
    /// Nobody knows.
    Lost,
}

/// A tool came back.
pub(super) fn returned(
    draft: &mut Draft,
    action: ActionId,
    attempt: u32,
    result: &CallResult,
) -> Result<(), Refused> {
    let tool = match call::state_of(&draft.run, action) {
        Some(CallState::Running { attempt: open, tool, .. }) if *open == attempt => tool.clone(),
        Some(_) | None => return Err(Refused::NotExpected),
    };
    match taken(result.how, call::repeat_of(&draft.run, action)) {
        Came::Home(outcome) => {
            finish(draft, action, outcome, result);
            if outcome != Outcome::Cancelled {
                breaker::answered(draft, &tool);
            }
        }
        Came::Troubled(why, retry_after_ms) => {
            let opening = breaker::opening(&draft.run, &tool, draft.now);
            // A tool that is left alone from now on is not waited for either.
            let retry_at = match &opening {
                Some(_) => None,
                None => retry_at(draft, (action, attempt), &tool, retry_after_ms),
            };
            troubled(draft, (action, attempt), (tool, why, retry_at), result);
            opening.into_iter().for_each(|opening| draft.push(opening));
        }
        Came::Lost => {
            let opening = breaker::opening(&draft.run, &tool, draft.now);
            call::doubt(draft, action, Doubt::LostReply);
            opening.into_iter().for_each(|opening| draft.push(opening));
        }
    }
    Ok(())
}

/// An attempt that asked a model was interrupted by a crash: it is paid as reserved,
/// and made again if that is allowed.
pub(super) fn lost(draft: &mut Draft, action: ActionId) {
    let attempt = call::attempt_of(&draft.run, action);
    let Some((_, spec)) = call::find(&draft.run, action) else { return };
    let tool = spec.name.clone();
    let retry_at = may_retry(draft, attempt, &tool).then_some(draft.now);
    let result = CallResult {
        how: Returned::Unknown,
        output: Payload::inline(prompt::ASIDE_LOST),
        full: None,
        duration_ms: 0,
        trace: None,
        suspicions: Vec::new(),
        spent: None,
    };
    troubled(draft, (action, attempt), (tool, CallTrouble::Lost, retry_at), &result);
}

/// Notes trouble, or gives the call its answer where it is not tried again.
fn troubled(
    draft: &mut Draft,
    (action, attempt): (ActionId, u32),
    (tool, why, retry_at): (ToolName, CallTrouble, Option<Millis>),
    result: &CallResult,
) {
    if let Some(retry_at) = retry_at {
        let (message, duration_ms) = (quote(&result.output), result.duration_ms);
        draft.push(Event::CallTroubled { action, tool, attempt, why, message, duration_ms, retry_at });
        return;
    }
    let outcome = match why {
        CallTrouble::Unavailable => Outcome::Unavailable,
        CallTrouble::TimedOut | CallTrouble::Lost => Outcome::TimedOut,
    };
    // What trouble costs does not depend on whether it is tried again.
    let spent = aside::reserved(&draft.run, action).map(|reserved| why.paid(reserved));
    finish(draft, action, outcome, &CallResult { spent, ..result.clone() });
}

fn taken(how: Returned, repeat: Option<Repeat>) -> Came {
    match (how, repeat) {
        (Returned::Known(outcome @ (Outcome::Ok | Outcome::Error | Outcome::Cancelled)), _) => {
            Came::Home(outcome)
        }
        (Returned::Trouble { retry_after_ms }, _) => Came::Troubled(CallTrouble::Unavailable, retry_after_ms),
        (Returned::Known(Outcome::Unavailable), _) => Came::Troubled(CallTrouble::Unavailable, None),
        (
            Returned::Known(Outcome::TimedOut) | Returned::Unknown,
            Some(Repeat::Freely | Repeat::WithSameKey),
        ) => Came::Troubled(CallTrouble::TimedOut, None),
        // Whoever calls that a known outcome is not believed.
        (Returned::Known(Outcome::TimedOut) | Returned::Unknown, Some(Repeat::Never) | None) => Came::Lost,
    }
}

fn finish(draft: &mut Draft, action: ActionId, outcome: Outcome, result: &CallResult) {
    let CallResult { how: _, output, full, duration_ms, trace, suspicions, spent } = result.clone();
    // Whoever asked no model has nothing to settle; who does not say what it used pays it all.
    let spent = aside::reserved(&draft.run, action).map(|reserved| spent.unwrap_or(reserved));
    draft.push(Event::CallFinished { action, outcome, output, full, duration_ms, trace, suspicions, spent });
}

/// When a call is tried again, if it is.
fn retry_at(
    draft: &Draft,
    (action, attempt): (ActionId, u32),
    tool: &ToolName,
    retry_after_ms: Option<u64>,
) -> Option<Millis> {
    if !may_retry(draft, attempt, tool) {
        return None;
    }
    let run = &draft.run;
    let draw = Digest::of_parts(&[
        b"call backoff",
        run.seed.as_bytes(),
        action.to_string().as_bytes(),
        &attempt.to_be_bytes(),
    ]);
    backoff::wait_ms(draw, attempt, retry_after_ms).map(|wait| draft.now.plus(wait))
}

/// Another attempt is within the tool's rules and the run's bounds.
fn may_retry(draft: &Draft, attempt: u32, tool: &ToolName) -> bool {
    let allowed = draft.run.tool(tool.as_str()).map_or(1, ToolSpec::attempts);
    let one = limit::CallNeed { calls: 1, micros: 0 };
    attempt < allowed && limit::over_call(&draft.run, draft.allowance.as_ref(), tool, one).is_none()
}

fn quote(output: &Payload) -> String {
    match output {
        Payload::Inline(text) => text.chars().take(QUOTE_MAX).collect(),
        Payload::Stored { len, .. } => format!("{len} bytes of output"),
    }
}

/// Makes the next attempt at a call whose moment has come. `None`: there is no such call.
pub(super) fn retry(draft: &mut Draft, action: ActionId) -> Option<()> {
    let (_, spec) = call::find(&draft.run, action)?;
    let (tool, micros) = (spec.name.clone(), call::retry_micros(&draft.run, action));
    if let Some(left_ms) = breaker::left_alone_ms(&draft.run, &tool, draft.now) {
        let output = Payload::inline(&prompt::unavailable(&draft.run, &tool, left_ms));
        settle(draft, action, Outcome::Unavailable, output);
        return Some(());
    }
    let need = limit::CallNeed { calls: 0, micros };
    if let Some(why) = limit::over_call(&draft.run, draft.allowance.as_ref(), &tool, need) {
        ending::stop(draft, limit::halt(why));
        return Some(());
    }
    call::start_again(draft, action)
}

/// Answers a call that is not tried again after all.
pub(super) fn settle(draft: &mut Draft, action: ActionId, outcome: Outcome, output: Payload) {
    draft.push(Event::CallFinished {
        action,
        outcome,
        output,
        full: None,
        duration_ms: 0,
        trace: None,
        suspicions: Vec::new(),
        spent: None,
    });
}
