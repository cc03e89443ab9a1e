//! What every [`Model`] must do, as code that can be run on any of them.
//!
//! An implementation brings a [`Subject`]: requests of which it says what comes
//! back. The first promise that does not hold is returned in words.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bowline_core::message::Stop;

use crate::{Model, Request, Unwatched, Watcher};

/// A model and requests with known answers.
pub struct Subject {
    /// The model.
    pub model: Arc<dyn Model>,
    /// Is answered with a text and several calls.
    pub with_calls: Request,
    /// Is answered with a reply that hit the output limit.
    pub truncated: Request,
    /// Is not answered within a moment.
    pub slow: Request,
}

/// Runs every check; the error names the promise that is broken.
pub async fn check(subject: &Subject) -> Result<(), String> {
    calls_have_ids_of_their_own(subject).await?;
    a_cut_reply_says_so(subject).await?;
    a_dropped_call_leaves_nothing(subject).await
}

async fn calls_have_ids_of_their_own(subject: &Subject) -> Result<(), String> {
    let heard = Heard::default();
    let answer =
        subject.model.call(subject.with_calls.clone(), &heard).await.map_err(|error| error.to_string())?;
    let ids: BTreeSet<_> = answer.calls.iter().map(|call| &call.id).collect();
    hold(answer.calls.len() > 1, "the request for calls is answered with several calls")?;
    hold(ids.len() == answer.calls.len(), "every call has an id of its own")?;
    hold(answer.stop == Stop::ToolUse, "a reply with calls stops for tool use")?;
    hold(answer.usage.input > 0 && answer.usage.output > 0, "usage is reported")?;
    hold(answer.usage.cached <= answer.usage.input, "cached tokens are part of the input")?;
    hold(heard.all() == answer.text, "the streamed pieces are the text")?;
    let price = subject.model.price().ok_or("broken promise: the price is known")?;
    hold(price.of(&answer.usage) == answer.micros, "a reply costs what the price says")?;
    let most = price.at_most(answer.usage.input, answer.usage.output);
    hold(most >= answer.micros, "the most that so many tokens can cost is not below the cost")
}

async fn a_cut_reply_says_so(subject: &Subject) -> Result<(), String> {
    let answer =
        subject.model.call(subject.truncated.clone(), &Unwatched).await.map_err(|error| error.to_string())?;
    hold(answer.stop == Stop::Truncated, "a reply that hit the limit says truncated")
}

async fn a_dropped_call_leaves_nothing(subject: &Subject) -> Result<(), String> {
    let heard = Heard::default();
    let call = subject.model.call(subject.slow.clone(), &heard);
    hold(
        tokio::time::timeout(Duration::from_millis(10), call).await.is_err(),
        "the slow request is not answered within a moment",
    )?;
    let at_drop = heard.all();
    let again = subject.model.call(subject.with_calls.clone(), &Unwatched).await;
    hold(again.is_ok(), "a dropped call does not disturb the next one")?;
    hold(heard.all() == at_drop, "a dropped call says nothing any more")
}

fn hold(holds: bool, promise: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("broken promise: {promise}")) }
}

#[derive(Default)]
struct Heard(Mutex<String>);

impl Heard {
    fn all(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Watcher for Heard {
    fn text(&self, piece: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_str(piece);
    }
}
