//! Side questions of a run to its own model.
//!
//! A question is asked once and without tools; what it may cost was set aside by
//! the core before. Under a sovereign run a model that is not on this machine is
//! never asked.

use std::sync::Arc;

use async_trait::async_trait;
use bowline_core::budget::{ASIDE_TOKENS, Cost};
use bowline_core::event::{Purpose, StepTrouble};
use bowline_core::id::{ActionId, SubtaskId};
use bowline_core::message::Stop;
use bowline_core::task::Task;
use bowline_models::{Answer, Model, ModelError, Request, Said, Unwatched};
use bowline_tools::{Inference, SideAnswer, SideModel, SideQuestion};

/// Whom a run of this task may ask on the side.
pub(crate) fn of(task: &Task, model: &Arc<dyn Model>) -> Inference {
    if may_ask(task, model.as_ref()) {
        let output_tokens = task.limits.output_tokens.min(ASIDE_TOKENS);
        Inference::of(Arc::new(RunModel { model: model.clone(), name: task.model.clone(), output_tokens }))
    } else {
        Inference::default()
    }
}

fn may_ask(task: &Task, model: &dyn Model) -> bool {
    task.privacy.lets_out() || !model.is_remote()
}

/// The model of one run.
struct RunModel {
    model: Arc<dyn Model>,
    name: String,
    output_tokens: u64,
}

#[async_trait]
impl SideModel for RunModel {
    async fn ask(&self, question: SideQuestion<'_>) -> SideAnswer {
        let Some(purpose) = purpose(question.ctx.action) else {
            return SideAnswer::Failed {
                message: "this call has no name a model could be asked under".into(),
            };
        };
        let messages = [Said::System(question.standing.to_owned()), Said::User(question.text.to_owned())];
        let request = Request {
            run: question.ctx.run.clone(),
            step: question.ctx.action.step,
            attempt: question.ctx.attempt,
            purpose,
            model: self.name.clone(),
            messages: messages.into_iter().collect(),
            tools: Arc::new([]),
            schema: None,
            output_tokens: self.output_tokens,
            temperature: None,
            failed: Vec::new(),
            likelihood: false,
        };
        // Nobody watches: what a side question says belongs to no conversation.
        match self.model.call(request, &Unwatched).await {
            Ok(answer) => answered(answer),
            Err(trouble) => failed(trouble),
        }
    }
}

/// A side question is a conversation of its own, called after the call that asks it.
fn purpose(action: ActionId) -> Option<Purpose> {
    SubtaskId::parse(&format!("ask-{}-{}", action.step, action.index)).ok().map(Purpose::Act)
}

fn answered(answer: Answer) -> SideAnswer {
    let spent = Cost { tokens: answer.usage.total(), micros: answer.micros };
    match answer.stop {
        Stop::End | Stop::ToolUse => SideAnswer::Answered { text: answer.text, cut: false, spent },
        Stop::Truncated => SideAnswer::Answered { text: answer.text, cut: true, spent },
        Stop::Refused | Stop::Filtered => SideAnswer::Declined { spent },
    }
}

fn failed(ModelError { kind, message, retry_after_ms }: ModelError) -> SideAnswer {
    match kind {
        StepTrouble::Transient | StepTrouble::RateLimited => SideAnswer::Trouble { message, retry_after_ms },
        StepTrouble::Permanent => SideAnswer::Failed { message },
        StepTrouble::TimedOut | StepTrouble::Lost => SideAnswer::Lost { message },
    }
}
