//! From what a task says to a model that can be asked.

use std::sync::Arc;

use bowline_core::task::{Format, ModelChoice, Task};
use bowline_models::{Model, OpenModelError};
use bowline_net::{Dial, Resolve, SystemDial, SystemResolver, Trust, Waits};

use crate::error::BadPlace;
use crate::key::{Environment, Key, Keys};
use crate::model::{Patience, Remote};
use crate::place::Place;

/// How models on servers are named in a task, besides the tables of `[models]`.
pub const KINDS: [&str; 5] =
    ["openai:NAME", "openai-responses:NAME", "anthropic:NAME", "gemini:NAME", "ollama:NAME"];

/// The variable that holds the key of a format's own provider; `None` where it needs none.
#[must_use]
pub fn provider_key(format: Format) -> Option<&'static str> {
    match format {
        Format::Openai | Format::OpenaiResponses => Some("OPENAI_API_KEY"),
        Format::Anthropic => Some("ANTHROPIC_API_KEY"),
        Format::Gemini => Some("GEMINI_API_KEY"),
        Format::Ollama => None,
    }
}

/// The model on a server that a name means in a task, if it means one.
#[must_use]
pub fn reference(task: &Task, model: &str) -> Option<ModelChoice> {
    task.models.get(model).cloned().or_else(|| ModelChoice::by_reference(model))
}

/// How servers are reached: the seams to the resolver and the sockets.
#[derive(Clone)]
pub struct Network {
    /// Looks names up.
    pub resolver: Arc<dyn Resolve>,
    /// Opens connections.
    pub dial: Arc<dyn Dial>,
    /// How long both may take.
    pub waits: Waits,
    /// Whose certificates are believed.
    pub trust: Trust,
}

impl Default for Network {
    /// The machine's own, and the public authorities.
    fn default() -> Self {
        Self {
            resolver: Arc::new(SystemResolver::default()),
            dial: Arc::new(SystemDial),
            waits: Waits::default(),
            trust: Trust::public(),
        }
    }
}

/// Opens models on servers.
#[derive(Clone)]
pub struct Remotes {
    keys: Arc<dyn Keys>,
    network: Network,
    patience: Patience,
}

impl Default for Remotes {
    /// With keys from the environment, over the machine's own network.
    fn default() -> Self {
        Self { keys: Arc::new(Environment), network: Network::default(), patience: Patience::default() }
    }
}

impl Remotes {
    /// The same with keys from elsewhere.
    #[must_use]
    pub fn with_keys(mut self, keys: Arc<dyn Keys>) -> Self {
        self.keys = keys;
        self
    }

    /// The same over another network.
    #[must_use]
    pub fn over(mut self, network: Network) -> Self {
        self.network = network;
        self
    }

    /// The same with other patience.
    #[must_use]
    pub fn waiting(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// The model a task names; `None` if it is none on a server.
    #[must_use]
    pub fn open(&self, task: &Task, model: &str) -> Option<Result<Arc<dyn Model>, OpenModelError>> {
        let choice = reference(task, model)?;
        let opened = self.model(&choice).map(|model| Arc::new(model) as Arc<dyn Model>);
        Some(opened.map_err(|bad| OpenModelError::Source { remedy: bad.remedy(), source: Box::new(bad) }))
    }

    /// A model by its description. Its key is read now; nothing is sent.
    pub fn model(&self, choice: &ModelChoice) -> Result<Remote, BadPlace> {
        let place = Place::of(choice)?;
        let key = self.key(choice, &place)?;
        Remote::new(choice.clone(), place, key, &self.network, self.patience)
    }

    fn key(&self, choice: &ModelChoice, place: &Place) -> Result<Option<Key>, BadPlace> {
        // The usual key of a provider goes to that provider, and nowhere without being named.
        let usual = provider_key(choice.format).filter(|_| place.is_own);
        let Some(variable) = choice.key_env.as_deref().or(usual) else { return Ok(None) };
        place.admit_key(variable)?;
        Ok(Some(self.keys.key(variable)?))
    }
}
