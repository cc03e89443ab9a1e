//! Hands that undo: calls by what their tools declared, and the command that tells people
//! of what could not be undone.

use std::time::Duration;

use bowline_core::id::ActionId;
use bowline_core::input::{Compensation, What};
use bowline_core::provenance::Digest;
use bowline_core::run::{Deed, Reversal};
use bowline_core::undo::{Made, TIMEOUT_MS};
use bowline_store::StoreError;
use bowline_tools::{CallContext, OVERRUN_MAX, compensate};
use serde_json::{Value, json};

use crate::hands::{Arrival, Hands};

impl Hands {
    /// Makes one attempt at undoing a call.
    pub(crate) async fn compensate(
        &self,
        action: ActionId,
        attempt: u32,
        key: Digest,
        deed: &Deed,
    ) -> Result<Arrival, StoreError> {
        let Reversal::Call { by, key: call_key, args, result } = &deed.reversal else {
            let found = Compensation::Impossible("nothing undoes it".into());
            return Ok(What::Compensated { action, attempt, found }.into());
        };
        let args: Value = serde_json::from_str(&self.texts.text(args).await?).unwrap_or_default();
        let result = match result {
            Some(result) => Some(self.texts.text(result).await?),
            None => None,
        };
        let made = Made { run: &self.run, action, key: *call_key, args: &args, result: result.as_deref() };
        let timeout_ms = by.undo.timeout_ms();
        let context = CallContext { key, attempt, ..self.context(action, timeout_ms) };
        let tool = deed.tool.as_str();
        let choice = self.task.tools.iter().find(|choice| choice.name == tool);
        let secrets =
            choice.and_then(|choice| choice.command.as_ref()).map(|command| command.secrets.as_slice());
        let tool = (tool, secrets.unwrap_or_default());
        let undone = compensate::compensate(&self.registry, tool, &by.undo, &made, &context);
        // The probe has its time, and the undo has its own.
        let most = Duration::from_millis(timeout_ms).saturating_mul(2).saturating_add(OVERRUN_MAX * 2);
        let late =
            |_| Compensation::Trouble { message: "it did not end in time".into(), retry_after_ms: None };
        let found = tokio::time::timeout(most, undone).await.unwrap_or_else(late);
        Ok(What::Compensated { action, attempt, found: self.masked_compensation(found) }.into())
    }

    fn masked_compensation(&self, found: Compensation) -> Compensation {
        match found {
            Compensation::Done | Compensation::WasAsBefore => found,
            Compensation::Trouble { message, retry_after_ms } => {
                Compensation::Trouble { message: self.masked(message), retry_after_ms }
            }
            Compensation::Impossible(why) => Compensation::Impossible(self.masked(why)),
            Compensation::Failed(why) => Compensation::Failed(self.masked(why)),
        }
    }

    /// Runs the command for alerts.
    pub(crate) async fn alert(
        &self,
        argv: &[String],
        failed: &[(ActionId, Box<str>)],
    ) -> Result<Arrival, StoreError> {
        let calls: Vec<Value> =
            failed.iter().map(|(action, why)| json!({ "action": action, "why": why })).collect();
        let input = json!({ "run": self.run, "goal": self.task.goal, "not_undone": calls }).to_string();
        let key = Digest::of_parts(&[b"alert", self.run.as_str().as_bytes()]);
        let action = failed.first().map_or(ActionId { step: 0, index: 0 }, |(action, _)| *action);
        let context = CallContext { key, ..self.context(action, TIMEOUT_MS) };
        let most = Duration::from_millis(TIMEOUT_MS) + OVERRUN_MAX;
        let told = tokio::time::timeout(most, compensate::tell(argv, input, &context));
        let problem = told.await.unwrap_or_else(|_| Some("it did not end in time".into()));
        Ok(What::AlertTold(problem.map(|why| self.masked(why))).into())
    }
}
