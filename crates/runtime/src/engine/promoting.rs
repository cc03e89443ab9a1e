//! Handing on once more, for a person, what a run committed.

use bowline_core::event::{Ending, PromotionOutcome};
use bowline_core::id::RunId;
use bowline_core::input::Signal;
use bowline_core::run::Run;

use super::{Engine, Inner, Stopped};
use crate::error::EngineError;

impl Engine {
    /// Hands on what a run committed: goes on with that where it was interrupted, and tries
    /// it again, under the same key, where it was given up or never done. The ending stays
    /// what it is; [`Run::promotion`] says what came of it.
    pub async fn promote(&self, id: &RunId, by: &str) -> Result<Stopped, EngineError> {
        let run = self.inspect(id).await?.run;
        refuse(&run)?;
        self.inner.has_taker(&run)?;
        if !run.is_being_promoted() {
            self.signal(id, by, Signal::Promote).await?;
        }
        self.claim_and_work(id).await
    }
}

impl Inner {
    /// Somebody takes what the run commits, if it is to be handed on.
    pub(super) fn has_taker(&self, run: &Run) -> Result<(), EngineError> {
        if self.promote.is_some() || run.task.memory.is_some() {
            return Ok(());
        }
        Err(EngineError::Task {
            what: format!("nobody here takes what run {} committed", run.id),
            remedy: "work on it with an engine that has a hook for it (`EngineBuilder::promote`)".into(),
        })
    }
}

/// Whether handing its output on was given up.
pub(super) fn was_given_up(run: &Run) -> bool {
    let outcome = run.promotion.as_ref().and_then(|handed| handed.outcome.as_ref());
    matches!(outcome, Some(PromotionOutcome::NotTaken(_)))
}

fn refuse(run: &Run) -> Result<(), EngineError> {
    let refused = |what: &str, remedy: &str| {
        Err(EngineError::Task { what: format!("run {} {what}", run.id), remedy: remedy.into() })
    };
    match run.ending() {
        Some(Ending::Committed { .. }) => {}
        Some(Ending::Failed { .. } | Ending::Halted { .. }) | None => {
            return refused("is not committed", "only what is committed is handed on");
        }
    }
    if run.deeds.undo.is_some() {
        return refused("was undone", "run the task anew; what was undone is not handed on");
    }
    match run.promotion.as_ref().and_then(|handed| handed.outcome.as_ref()) {
        Some(PromotionOutcome::Taken) => {
            refused("was handed on already", "whoever took it has it, under the key in its journal")
        }
        Some(PromotionOutcome::NotTaken(_) | PromotionOutcome::Withdrawn) | None => Ok(()),
    }
}
