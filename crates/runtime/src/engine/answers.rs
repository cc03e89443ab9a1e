//! What people answer to what a run asks. An answer is bound to exactly what was shown.

use bowline_core::event::{Raise, Subject};
use bowline_core::id::{RunId, SubtaskId};
use bowline_core::input::Signal;
use bowline_core::provenance::Digest;
use bowline_core::run::Wait;

use super::{Engine, Stopped};
use crate::error::EngineError;

impl Engine {
    /// Goes on with a halted run with less to do: without these nodes of its plan, and
    /// whatever waits for them. What comes of it is in part, and waits for a person to
    /// agree before it is committed.
    pub async fn resume_without(
        &self,
        id: &RunId,
        by: &str,
        raise: Vec<Raise>,
        without: Vec<SubtaskId>,
    ) -> Result<Stopped, EngineError> {
        self.inspect(id).await?.run.scope_without(&without)?;
        self.signal(id, by, Signal::Resume { raise, without }).await?;
        self.run(id).await
    }

    /// Says yes to what a run waits for. `wait` comes from `Run::waits`, so the
    /// answer is bound to exactly what was shown.
    pub async fn approve(&self, id: &RunId, by: &str, wait: &Wait) -> Result<(), EngineError> {
        match wait {
            Wait::Approval { subject, binds, .. } => {
                self.answer(id, by, Signal::Approve { subject: *subject, binds: *binds }).await
            }
            Wait::Restored { .. } | Wait::Paused | Wait::InDoubt { .. } => Err(not_a_question(wait)),
        }
    }

    /// Says no to what a run waits for.
    pub async fn deny(&self, id: &RunId, by: &str, wait: &Wait, reason: &str) -> Result<(), EngineError> {
        match wait {
            Wait::Approval { subject, binds, .. } => {
                let signal = Signal::Deny { subject: *subject, binds: *binds, reason: reason.into() };
                self.answer(id, by, signal).await
            }
            Wait::Restored { .. } | Wait::Paused | Wait::InDoubt { .. } => Err(not_a_question(wait)),
        }
    }

    /// Sends an output that a run asks about back to repair, with what shall be changed.
    pub async fn send_back(
        &self,
        id: &RunId,
        by: &str,
        wait: &Wait,
        feedback: &str,
    ) -> Result<(), EngineError> {
        match wait {
            Wait::Approval { subject: Subject::Output, binds, .. } => {
                let signal = Signal::SendBack { binds: *binds, feedback: feedback.into() };
                self.answer(id, by, signal).await
            }
            Wait::Approval { .. } | Wait::Restored { .. } | Wait::Paused | Wait::InDoubt { .. } => {
                Err(not_a_question(wait))
            }
        }
    }

    /// Leaves an answer, unless somebody has answered otherwise and nobody has read that yet:
    /// the first answer is the one that counts, so a later one would be told to work and would not.
    async fn answer(&self, id: &RunId, by: &str, answer: Signal) -> Result<(), EngineError> {
        if let Some(refused) = self.answered_otherwise(id, &answer).await? {
            return Err(refused);
        }
        self.signal(id, by, answer.clone()).await?;
        // Of two at the same moment, the one that was stored first.
        self.answered_otherwise(id, &answer).await?.map_or(Ok(()), Err)
    }

    async fn answered_otherwise(
        &self,
        id: &RunId,
        answer: &Signal,
    ) -> Result<Option<EngineError>, EngineError> {
        let mail = self.store().mail(id).await?;
        let first = mail.into_iter().find(|mail| bound_to(&mail.signal) == bound_to(answer));
        Ok(first.and_then(|first| {
            let (theirs, ours) = (verdict(&first.signal)?, verdict(answer)?);
            (theirs != ours).then(|| EngineError::Task {
                what: format!("{} has answered this with {theirs:?}, and that answer counts", first.by),
                remedy: format!("`bowline cancel {id}` stops the run before anything follows from it"),
            })
        }))
    }
}

/// What an answer is bound to; `None` for anything else that people say.
fn bound_to(signal: &Signal) -> Option<Digest> {
    match signal {
        Signal::Approve { binds, .. } | Signal::Deny { binds, .. } | Signal::SendBack { binds, .. } => {
            Some(*binds)
        }
        _ => None,
    }
}

/// An answer in a word.
fn verdict(signal: &Signal) -> Option<&'static str> {
    match signal {
        Signal::Approve { .. } => Some("yes"),
        Signal::Deny { .. } => Some("no"),
        Signal::SendBack { .. } => Some("not like this"),
        _ => None,
    }
}

fn not_a_question(wait: &Wait) -> EngineError {
    let (what, remedy) = match wait {
        Wait::Restored { .. } => ("the run was brought back from a backup".to_string(), "take it up first"),
        Wait::Paused => ("the run is paused, not asking".to_string(), "resume it"),
        Wait::InDoubt { action, .. } => (
            format!("nobody knows whether {action} happened"),
            "settle it: happened, did not happen, or given up",
        ),
        Wait::Approval { subject, .. } => (format!("{subject} is a question"), "answer it"),
    };
    EngineError::Task { what, remedy: remedy.into() }
}
