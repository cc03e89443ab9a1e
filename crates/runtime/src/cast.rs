//! The models of one run, by name: its own, its critic, those it may be moved to.
//!
//! Which of them a step goes to is decided in the core. Here the privacy tier of the run
//! is held against each of them when it is opened, and again when a step is sent.

use std::collections::BTreeMap;
use std::sync::Arc;

use bowline_core::budget::Price;
use bowline_core::event::StepTrouble;
use bowline_core::task::Task;
use bowline_models::{Answer, Model, ModelError, Request, Watcher};

use crate::engine::ModelSource;
use crate::error::EngineError;

/// The models of a run.
pub(crate) struct Models {
    name: String,
    own: Arc<dyn Model>,
    /// Those besides it. One that cannot be opened now is known by why: the run may never
    /// need it, and a step that does is answered with that.
    others: BTreeMap<String, Result<Arc<dyn Model>, String>>,
    lets_out: bool,
}

impl Models {
    /// The models of a run that is taken up. Its own and its critic must be there.
    pub(crate) fn of(source: &dyn ModelSource, task: &Task) -> Result<Self, EngineError> {
        let own = open(source, task, &task.model)?;
        let mut others = BTreeMap::new();
        for name in task.routes.models().filter(|name| **name != task.model) {
            let model = open(source, task, name);
            others.insert(name.clone(), model.map_err(|error| format!("{error}; {}", error.remedy())));
        }
        if let Some(critic) = task.critic.as_ref().filter(|name| **name != task.model) {
            others.insert(critic.clone(), Ok(open(source, task, critic)?));
        }
        Ok(Self { name: task.model.clone(), own, others, lets_out: task.privacy.lets_out() })
    }

    /// This one alone, whatever the task names.
    pub(crate) fn only(task: &Task, model: Arc<dyn Model>) -> Self {
        let others = BTreeMap::new();
        Self { name: task.model.clone(), own: model, others, lets_out: task.privacy.lets_out() }
    }

    /// The model the run works with unless it is moved.
    pub(crate) fn own(&self) -> &Arc<dyn Model> {
        &self.own
    }

    /// What any of them is reached with and must not be seen.
    pub(crate) fn secrets(&self) -> Vec<(String, String)> {
        let others = self.others.values().filter_map(|model| model.as_ref().ok());
        others.chain([&self.own]).flat_map(|model| model.secrets()).collect()
    }

    /// Sends a step to the model it names, unless what it says would leave the machine
    /// and must not.
    pub(crate) async fn call(&self, request: Request, watch: &dyn Watcher) -> Result<Answer, ModelError> {
        let model = match self.others.get(&request.model) {
            None if request.model == self.name => &self.own,
            None => return Err(refused(format!("{} is no model of this run", request.model))),
            Some(Ok(model)) => model,
            Some(Err(why)) => return Err(refused(why.clone())),
        };
        if model.is_remote() && !self.lets_out {
            return Err(refused(sovereign(&request.model)));
        }
        model.call(request, watch).await
    }
}

fn refused(message: String) -> ModelError {
    ModelError { kind: StepTrouble::Permanent, message, retry_after_ms: None }
}

fn sovereign(name: &str) -> String {
    format!("the run is sovereign, and {name} is not on this machine")
}

/// On what terms the models of a task work, found when it is submitted: every one of them
/// must be there, have a price, and be allowed by the task's privacy tier.
pub(crate) struct Terms {
    /// What its own costs.
    pub(crate) own: Price,
    /// What its critic costs, where that is another.
    pub(crate) critic: Option<Price>,
    /// What those cost that it may be moved to.
    pub(crate) others: BTreeMap<String, Price>,
    /// Tokens that those of them take which say so.
    pub(crate) contexts: BTreeMap<String, u64>,
}

impl Terms {
    pub(crate) fn of(source: &dyn ModelSource, task: &Task) -> Result<Self, EngineError> {
        let mut contexts = BTreeMap::new();
        let mut price = |name: &String| {
            let model = open(source, task, name)?;
            contexts.extend(model.context_tokens().map(|takes| (name.clone(), takes)));
            model.price().ok_or_else(|| unpriced(name))
        };
        let critic = task.critic.as_ref().filter(|name| **name != task.model);
        let own = price(&task.model)?;
        let critic = critic.map(&mut price).transpose()?;
        let others = task.routes.models().map(|name| Ok((name.clone(), price(name)?)));
        let others = others.collect::<Result<_, EngineError>>()?;
        Ok(Self { own, critic, others, contexts })
    }
}

/// A model of a task. A sovereign run has none that is elsewhere.
fn open(source: &dyn ModelSource, task: &Task, name: &str) -> Result<Arc<dyn Model>, EngineError> {
    let model = source.open(task, name)?;
    if model.is_remote() && !task.privacy.lets_out() {
        return Err(EngineError::Task {
            what: sovereign(name),
            remedy: "choose a model on this machine, or another privacy tier".into(),
        });
    }
    Ok(model)
}

/// A model whose price nobody knows is not free.
fn unpriced(model: &str) -> EngineError {
    EngineError::Task {
        what: format!("nobody knows what {model} costs"),
        remedy: "give it a price or declare it free: `price` or `free = true` in a table of [models]".into(),
    }
}
