//! What is worth keeping of a committed run, handed on to whoever keeps it.
//!
//! The run's own program takes it where the task names one, else the hook of the engine.
//! Nothing here decides whether, when or how often: that is in the core.

use std::time::Duration;

use async_trait::async_trait;
use bowline_core::effect::Committed;
use bowline_core::gate::Assurance;
use bowline_core::id::{ActionId, RunId, SubtaskId};
use bowline_core::input::What;
use bowline_core::provenance::Digest;
use bowline_core::task::PROMOTE_MS;
use bowline_store::StoreError;
use bowline_tools::{CallContext, OVERRUN_MAX, compensate};
use serde_json::{Value, json};

use crate::hands::{Arrival, Hands};

/// What a run committed, for whoever keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promotion {
    /// The same each time this output is handed on: one that was seen was taken.
    pub key: Digest,
    /// The run.
    pub run: RunId,
    /// The class of tasks it belongs to, if it says so.
    pub class: Option<String>,
    /// What was asked.
    pub goal: String,
    /// What was committed.
    pub output: String,
    /// SHA-256 of that text.
    pub output_sha256: Digest,
    /// Hash of the provenance record, which names the journal it was made from.
    pub provenance: Digest,
    /// Parts of the plan the output is without. Empty: it is whole.
    pub missing: Vec<SubtaskId>,
    /// Gates, confidence and who agreed, as the last verification left them.
    pub assurance: Option<Box<Assurance>>,
}

impl Promotion {
    /// The same as JSON, as programs get it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "key": self.key,
            "run": self.run,
            "class": self.class,
            "goal": self.goal,
            "output": self.output,
            "output_sha256": self.output_sha256,
            "provenance": self.provenance,
            "missing": self.missing,
            "assurance": self.assurance,
        })
    }
}

/// An output was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct NotTaken {
    /// Why; it is journalled, and shown to people.
    pub why: String,
}

/// Keeps what runs commit: a memory, an index, a queue of somebody else.
#[async_trait]
pub trait Promote: Send + Sync {
    /// Takes a committed output. It may be handed on more than once, after a crash or a
    /// failure: always under the same [`Promotion::key`]. A call that takes longer than
    /// a minute is dropped, and counts as not taken.
    async fn promote(&self, promotion: Promotion) -> Result<(), NotTaken>;
}

impl Hands {
    /// Whether this worker has somebody of its own to hand outputs on to.
    pub(crate) fn promotes(&self) -> bool {
        self.promote.is_some()
    }

    /// Makes one attempt at handing the output on.
    pub(crate) async fn hand_on(
        &self,
        attempt: u32,
        key: Digest,
        committed: &Committed,
    ) -> Result<Arrival, StoreError> {
        let output = self.texts.join(&committed.output).await?;
        let promotion = Promotion {
            key,
            run: self.run.clone(),
            class: self.task.class.clone(),
            goal: self.task.goal.clone(),
            output_sha256: Digest::of(output.as_bytes()),
            output,
            provenance: committed.provenance,
            missing: committed.missing.clone(),
            assurance: committed.assurance.clone(),
        };
        let timeout_ms = self.task.memory.as_ref().map_or(PROMOTE_MS, |memory| memory.timeout_ms());
        // A program that is ended gets a moment to go.
        let most = Duration::from_millis(timeout_ms).saturating_add(OVERRUN_MAX);
        let taken = tokio::time::timeout(most, self.take(attempt, promotion, timeout_ms)).await;
        let problem = taken.unwrap_or_else(|_| Some(format!("it took longer than {timeout_ms} ms")));
        Ok(What::Promoted { attempt, problem: problem.map(|why| self.masked(why)) }.into())
    }

    async fn take(&self, attempt: u32, promotion: Promotion, timeout_ms: u64) -> Option<String> {
        match (&self.task.memory, &self.promote) {
            (Some(memory), _) => {
                let input = promotion.to_json().to_string();
                let context = self.context(ActionId { step: 0, index: 0 }, timeout_ms);
                let context = CallContext { key: promotion.key, attempt, ..context };
                compensate::tell(&memory.promote, input, &context).await
            }
            (None, Some(hook)) => hook.promote(promotion).await.err().map(|error| error.to_string()),
            (None, None) => Some("nobody here takes what runs commit".into()),
        }
    }
}
