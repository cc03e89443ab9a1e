//! Lines about which model is asked, and why not the first choice.

use crate::event::{Purpose, Routed, Sent, SentFor};

/// One line about a model call that is sent.
pub(super) fn step_line(step: u32, purpose: &Purpose, last: bool, sent: Option<&Sent>) -> String {
    let last = if last { ", for a summary: it is the last call" } else { "" };
    let sent = sent.map(self::sent).unwrap_or_default();
    match purpose {
        Purpose::Act(id) => format!("step {step}: asks the model ({id}){sent}{last}"),
        Purpose::Critique(_) => format!("step {step}: asks the critic{sent}"),
        Purpose::Plan(_) => format!("step {step}: asks for a plan{sent}{last}"),
        Purpose::Judge(_) => format!("step {step}: asks the judge{sent}"),
    }
}

/// Whom a step goes to, and why.
fn sent(Sent { model, why }: &Sent) -> String {
    let why = match why {
        SentFor::Trouble { with } => format!("{with} gave no answer"),
        SentFor::Resting { model, .. } => format!("{model} is left alone"),
        SentFor::TooLong { model } => format!("the conversation cannot be made to fit {model}"),
        SentFor::Stronger { rung } => format!("rung {rung} of the ladder"),
    };
    format!(", {model}: {why}")
}

/// What follows a step without an answer.
pub(super) fn then(is_tried_again: bool, is_given_up: bool) -> &'static str {
    match (is_tried_again, is_given_up) {
        (true, _) => ", tries again",
        (false, true) => ", another model is asked",
        (false, false) => "",
    }
}

/// One line about a model that is left alone, or is not any more.
pub(super) fn line(what: &Routed) -> String {
    match what {
        Routed::Rests { model, failures, .. } => {
            let times = if *failures == 1 { "once".into() } else { format!("{failures} times in a row") };
            format!("{model}: no answer {times}, left alone for a while")
        }
        Routed::Back { model } => format!("{model}: answers again, asked as before"),
    }
}
