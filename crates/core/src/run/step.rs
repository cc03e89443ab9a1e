//! The next model call of a conversation: what it is told, what it sets aside,
//! and whether it is the last one a limit leaves.
//!
//! In the middle of a tool loop the last call is kept for a summary: no tools
//! are offered, and what is said becomes the partial work. A conversation that
//! asked for no tools gets its last call like any other, so that a short task
//! can still be finished with it. Nothing here changes a run.

use super::limit::{self, Fit, Need};
use super::prompt;
use super::state::{Phase, Run, Thread};
use crate::budget::{Allowance, Cost, Price};
use crate::event::Exhausted;
use crate::message::{Message, Payload};
use crate::provenance::Digest;

/// Most output tokens asked of a summary.
const SUMMARY_TOKENS: u64 = 1024;

/// What happens next in a conversation whose model is to be asked.
pub(super) enum Next {
    /// It is asked.
    Ask(Asking),
    /// It has to wait until something in flight settles.
    Wait(Exhausted),
    /// Its limits do not allow it.
    Stop(Exhausted),
}

/// A model call to be made.
pub(super) struct Asking {
    /// What the model is told first.
    pub(super) notice: Option<String>,
    /// What is set aside.
    pub(super) reserved: Cost,
    /// Why it is the last one, if it is.
    pub(super) last: Option<Exhausted>,
    /// The conversation's hash as it will be sent.
    pub(super) talk: Digest,
}

/// On what terms a model is asked.
#[derive(Clone, Copy)]
pub(super) struct Terms {
    /// What it costs.
    pub(super) price: Price,
    /// Most tokens of an answer.
    pub(super) answer: u64,
}

/// What happens next, under these limits, with a model on these terms.
pub(super) fn next(run: &Run, allowance: Option<&Allowance>, thread: &Thread, terms: Terms) -> Next {
    let told = prompt::budget(run, allowance, thread);
    let asking =
        |notice, most: u64| asking(thread, Terms { answer: terms.answer.min(most), ..terms }, notice);
    let working = asking(told.clone(), u64::MAX);
    if !matches!(run.phase, Phase::Critiquing(_)) && thread.in_tool_loop() {
        let closing = prompt::last_call(run, allowance, thread);
        let summary = asking(closing, SUMMARY_TOKENS);
        let both = Need { steps: 2, cost: working.reserved.plus(summary.reserved) };
        if let Some(why) = limit::too_small(run, allowance, both) {
            return weigh(run, allowance, Asking { last: Some(why), ..summary });
        }
    }
    let going_on = if thread.closing { prompt::go_on(told) } else { told };
    weigh(run, allowance, asking(going_on, u64::MAX))
}

/// What it would set aside is held by calls of the same run.
pub(super) fn waits_for_itself(run: &Run, thread: &Thread, terms: Terms) -> bool {
    matches!(next(run, None, thread, terms), Next::Wait(_))
}

fn weigh(run: &Run, allowance: Option<&Allowance>, asking: Asking) -> Next {
    match limit::fit(run, allowance, Need { steps: 1, cost: asking.reserved }) {
        Fit::Now => Next::Ask(asking),
        Fit::Later(why) => Next::Wait(why),
        Fit::Never(why) => Next::Stop(why),
    }
}

fn asking(thread: &Thread, terms: Terms, notice: Option<String>) -> Asking {
    let (talk, bytes) = match &notice {
        None => (thread.talk, thread.bytes),
        Some(text) => thread.with(&Message::User(vec![Payload::inline(text)])),
    };
    let reserved = limit::reservation(terms.price, bytes, terms.answer);
    Asking { notice, reserved, last: None, talk }
}

/// Output tokens asked of a call on these terms.
pub(super) fn output_tokens(terms: Terms, last: Option<&Exhausted>) -> u64 {
    let most = terms.answer;
    if last.is_some() { most.min(SUMMARY_TOKENS) } else { most }
}
