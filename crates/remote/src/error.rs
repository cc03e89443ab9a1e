//! How a model server fails, and what to do about it.
//!
//! The kind of an error says whether the core tries again and what the attempt cost:
//! what may have been answered, and did not arrive, is paid as it was set aside.

use bowline_core::event::StepTrouble;
use bowline_models::ModelError;

/// A model server did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// Nobody was reached.
    #[error("{host} was not reached: {why}")]
    Unreached {
        /// Who.
        host: String,
        /// Why.
        why: String,
        /// What to do about it.
        remedy: &'static str,
        /// The way is shut, and stays so.
        lasting: bool,
    },
    /// It sends us elsewhere.
    #[error("{host} redirects the request; it is sent to no other address, and neither is its key")]
    Redirected {
        /// Who.
        host: String,
    },
    /// Nothing came, or nothing more.
    #[error("{host} was silent for {seconds} s")]
    Silent {
        /// Who.
        host: String,
        /// How long.
        seconds: u64,
    },
    /// The connection broke after the request was sent.
    #[error("the answer of {host} broke off: {why}")]
    BrokenOff {
        /// Who.
        host: String,
        /// Why.
        why: String,
    },
    /// More than anybody holds.
    #[error("the answer of {host} has {what} of more than {max} bytes")]
    TooLarge {
        /// Who.
        host: String,
        /// Of what.
        what: &'static str,
        /// How much is taken.
        max: usize,
    },
    /// Not the format that was asked for.
    #[error("the answer of {host} cannot be read: {why}")]
    Unreadable {
        /// Who.
        host: String,
        /// Why.
        why: String,
    },
    /// The stream ended without its last event.
    #[error("{host} ended its answer before it was whole")]
    Cut {
        /// Who.
        host: String,
    },
    /// It stops for a call that is not there.
    #[error("{host} stopped to call a tool, and called none")]
    NoCall {
        /// Who.
        host: String,
    },
    /// It says that it could not finish.
    #[error("{host} could not finish its answer: {said}")]
    Unfinished {
        /// Who.
        host: String,
        /// What it said.
        said: String,
    },
    /// Asked to slow down.
    #[error("{host} asks to slow down: {said}")]
    RateLimited {
        /// Who.
        host: String,
        /// What it said.
        said: String,
        /// How long it asks us to wait.
        retry_after_ms: Option<u64>,
    },
    /// Overloaded, or broken.
    #[error("{host} fails ({status}): {said}")]
    Failing {
        /// Who.
        host: String,
        /// The status of its answer.
        status: u16,
        /// What it said.
        said: String,
        /// How long it asks us to wait.
        retry_after_ms: Option<u64>,
    },
    /// Nothing is left to pay with.
    #[error("{host} has no credit left for this key: {said}")]
    Quota {
        /// Who.
        host: String,
        /// What it said.
        said: String,
    },
    /// The key is missing, wrong, or not enough.
    #[error("{host} does not accept the key: {said}")]
    BadKey {
        /// Who.
        host: String,
        /// What it said.
        said: String,
        /// The variable that holds it, if there is one.
        variable: Option<String>,
    },
    /// No such model.
    #[error("{host} has no model {model:?}: {said}")]
    UnknownModel {
        /// Who.
        host: String,
        /// What was asked for.
        model: String,
        /// What it said.
        said: String,
    },
    /// The conversation does not fit.
    #[error("the conversation does not fit into {model}: {said}")]
    TooLong {
        /// The model.
        model: String,
        /// What it said.
        said: String,
    },
    /// It refuses to tell how likely the model finds its words.
    #[error("{host} does not tell how likely {model} finds its words: {said}; it is asked without that")]
    Untold {
        /// Who.
        host: String,
        /// The model.
        model: String,
        /// What it said.
        said: String,
    },
    /// The request is refused for another reason.
    #[error("{host} refuses the request ({status}): {said}")]
    Refused {
        /// Who.
        host: String,
        /// The status of its answer.
        status: u16,
        /// What it said.
        said: String,
    },
}

impl RemoteError {
    /// What kind of trouble it is.
    #[must_use]
    pub fn kind(&self) -> StepTrouble {
        match self {
            Self::Unreached { lasting: false, .. }
            | Self::Redirected { .. }
            | Self::Failing { .. }
            | Self::Untold { .. } => StepTrouble::Transient,
            // An answer was begun, and somebody may have been billed for it.
            Self::Silent { .. }
            | Self::BrokenOff { .. }
            | Self::TooLarge { .. }
            | Self::Unreadable { .. }
            | Self::Cut { .. }
            | Self::NoCall { .. }
            | Self::Unfinished { .. } => StepTrouble::TimedOut,
            Self::RateLimited { .. } => StepTrouble::RateLimited,
            Self::Unreached { lasting: true, .. }
            | Self::Quota { .. }
            | Self::BadKey { .. }
            | Self::UnknownModel { .. }
            | Self::TooLong { .. }
            | Self::Refused { .. } => StepTrouble::Permanent,
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Unreached { remedy, .. } => (*remedy).to_owned(),
            Self::Redirected { .. } => "name the address it redirects to in `base_url`".into(),
            Self::Silent { .. }
            | Self::BrokenOff { .. }
            | Self::Cut { .. }
            | Self::NoCall { .. }
            | Self::Unfinished { .. }
            | Self::RateLimited { .. }
            | Self::Failing { .. } => "wait a little and resume the run".into(),
            Self::Untold { .. } => "leave `likelihood` out of the table of this model".into(),
            Self::TooLarge { .. } => "ask for less at a time: lower `output_tokens`".into(),
            Self::Unreadable { .. } => {
                "check `format` and `base_url`: what answers there does not speak that format".into()
            }
            Self::Quota { .. } => "add credit at the provider or use another key, then resume the run".into(),
            Self::BadKey { variable: Some(variable), .. } => {
                format!("set {variable} to a valid key, then resume the run")
            }
            Self::BadKey { variable: None, .. } => {
                "name the variable that holds a key in `key_env` of the model".into()
            }
            Self::UnknownModel { .. } => {
                "correct the model's name, or make it available at the server, then resume the run".into()
            }
            Self::TooLong { .. } => {
                "use a model with a longer context, or give the task less to read, then resume the run".into()
            }
            Self::Refused { .. } => "mend what it says, or use another model, then resume the run".into(),
        }
    }

    fn retry_after_ms(&self) -> Option<u64> {
        match self {
            Self::RateLimited { retry_after_ms, .. } | Self::Failing { retry_after_ms, .. } => {
                *retry_after_ms
            }
            Self::Unreached { .. }
            | Self::Redirected { .. }
            | Self::Silent { .. }
            | Self::BrokenOff { .. }
            | Self::TooLarge { .. }
            | Self::Unreadable { .. }
            | Self::Cut { .. }
            | Self::NoCall { .. }
            | Self::Unfinished { .. }
            | Self::Quota { .. }
            | Self::BadKey { .. }
            | Self::UnknownModel { .. }
            | Self::TooLong { .. }
            | Self::Untold { .. }
            | Self::Refused { .. } => None,
        }
    }
}

impl From<RemoteError> for ModelError {
    fn from(error: RemoteError) -> Self {
        let kind = error.kind();
        // What will not pass by itself is told with what somebody can do about it.
        let message = match kind {
            StepTrouble::Permanent => format!("{error}; {}", error.remedy()),
            StepTrouble::Transient | StepTrouble::RateLimited | StepTrouble::TimedOut | StepTrouble::Lost => {
                error.to_string()
            }
        };
        Self { kind, message, retry_after_ms: error.retry_after_ms() }
    }
}

/// A model that cannot be opened where a task says it is.
#[derive(Debug, thiserror::Error)]
pub enum BadPlace {
    /// No address.
    #[error("{url:?} is no address of a model server: {why}")]
    Address {
        /// As written.
        url: String,
        /// What is wrong.
        why: String,
    },
    /// A key that everybody on the way could read.
    #[error("the key in {variable} would go to {host} in the clear")]
    KeyInTheClear {
        /// The variable.
        variable: String,
        /// To whom.
        host: String,
    },
    /// Said to be here, and is not.
    #[error("{host} is not on this machine, so what it is told leaves the machine")]
    NotLocal {
        /// Who.
        host: String,
    },
    /// A model of this name is run elsewhere by the server.
    #[error("{model} is run elsewhere, whatever the address of the server is")]
    Cloud {
        /// Which.
        model: String,
    },
    /// The key.
    #[error(transparent)]
    Key(#[from] bowline_tools::BadSecret),
    /// The authorities.
    #[error(transparent)]
    Trust(#[from] bowline_net::BadTrust),
}

impl BadPlace {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Address { .. } => "write base_url as https://host/path, or http://127.0.0.1:port/path \
                                     for a server on this machine"
                .into(),
            Self::KeyInTheClear { .. } => "use https, or leave `key_env` out".into(),
            Self::NotLocal { .. } => {
                "leave privacy = \"local\" out, or serve the model on 127.0.0.1 or ::1".into()
            }
            Self::Cloud { .. } => {
                "leave privacy = \"local\" out, or choose a model that is on this machine".into()
            }
            Self::Key(bad) => bad.remedy.clone(),
            Self::Trust(bad) => bad.remedy().to_owned(),
        }
    }
}
