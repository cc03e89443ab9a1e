//! What every [`Model`] must do, as code that can be run on any of them.
//!
//! An implementation brings a [`Subject`]: requests of which it says what comes
//! back. The first promise that does not hold is returned in words.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bowline_core::control::Ppm;
use bowline_core::event::StepTrouble;
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
    /// Asks for JSON that fits its schema; `None` for a model that takes no schema.
    pub structured: Option<Request>,
    /// Is turned away for a while; `None` for a model that never does that.
    pub limited: Option<Request>,
    /// Is turned away for good; `None` for a model that never does that.
    pub refused: Option<Request>,
}

/// Runs every check; the error names the promise that is broken.
pub async fn check(subject: &Subject) -> Result<(), String> {
    calls_have_ids_of_their_own(subject).await?;
    a_cut_reply_says_so(subject).await?;
    a_dropped_call_leaves_nothing(subject).await?;
    an_answer_in_a_form_is_of_that_form(subject).await?;
    trouble_is_told_apart(subject).await
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
    hold(answer.usage.reasoning <= answer.usage.output, "reasoning is part of the output")?;
    hold(heard.all() == answer.text, "the streamed pieces are the text")?;
    let untold = answer.likelihood.is_none() || subject.with_calls.likelihood;
    hold(untold, "a likelihood nobody asked for is not told")?;
    let price = subject.model.price().ok_or("broken promise: the price is known")?;
    hold(price.of(&answer.usage) == answer.micros, "a reply costs what the price says")?;
    let most = price.at_most(answer.usage.input, answer.usage.output);
    hold(most >= answer.micros, "the most that so many tokens can cost is not below the cost")?;
    let fits = subject.model.context_tokens().is_none_or(|takes| answer.usage.total() <= takes);
    hold(fits, "a model that says what it takes in one call does not take more")
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

async fn an_answer_in_a_form_is_of_that_form(subject: &Subject) -> Result<(), String> {
    let Some(request) = subject.structured.clone() else { return Ok(()) };
    let heard = Heard::default();
    let answer = subject.model.call(request, &heard).await.map_err(|error| error.to_string())?;
    hold(answer.stop == Stop::End && answer.calls.is_empty(), "an answer in a form is an answer, no call")?;
    let is_json =
        serde_json::from_str::<serde_json::Value>(&answer.text).is_ok_and(|value| value.is_object());
    hold(is_json, "an answer in a form is one JSON value of that form")?;
    let is_probability = answer.likelihood.is_none_or(|told| (Ppm::ZERO..=Ppm::ONE).contains(&told));
    hold(is_probability, "a likelihood that is told is from 0 to 1")?;
    hold(heard.all() == answer.text, "the streamed pieces of an answer in a form are its text")
}

async fn trouble_is_told_apart(subject: &Subject) -> Result<(), String> {
    if let Some(request) = subject.limited.clone() {
        let kind = trouble(subject, request).await?;
        hold(kind == StepTrouble::RateLimited, "a request to slow down says so")?;
    }
    if let Some(request) = subject.refused.clone() {
        let kind = trouble(subject, request).await?;
        hold(kind == StepTrouble::Permanent, "what will not pass by itself says so")?;
    }
    Ok(())
}

async fn trouble(subject: &Subject, request: Request) -> Result<StepTrouble, String> {
    let heard = Heard::default();
    let Err(error) = subject.model.call(request, &heard).await else {
        return Err("broken promise: a request that is turned away has no answer".to_owned());
    };
    hold(!error.message.is_empty() && !error.remedy().is_empty(), "trouble is told in words, with a remedy")?;
    hold(heard.all().is_empty(), "nothing is shown of an answer that was never begun")?;
    Ok(error.kind)
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
