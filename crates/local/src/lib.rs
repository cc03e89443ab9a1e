//! A language model inside the process: GGUF on the CPU, in plain Rust.
//!
//! A file becomes a [`LocalModel`], which is a [`bowline_models::Model`]: a queue, one
//! engine thread, and behind it vocabulary, chat template, grammar and network. Where
//! weights come from is the business of [`weights`].
//!
//! Invariants
//! - Nothing that is said to the model leaves the machine; [`weights`] alone may fetch.
//! - An answer to a request with a schema, and every call of a tool, fits its schema by
//!   construction, or the answer says that it was cut.
//! - Time is a parameter ([`Clock`]); chance comes from the run, the step and the attempt.

mod cache;
mod engine;
mod error;
mod generate;
pub mod gguf;
mod grammar;
mod model;
mod queue;
mod reply;
mod sampling;
mod settings;
mod speed;
mod team;
mod template;
mod tensor;
mod trail;
mod transformer;
mod vocab;
pub mod weights;

pub use cache::CacheLimits;
pub use error::LoadError;
pub use grammar::{BadSchema, CALLS_MAX};
pub use model::{Loaded, LocalModel};
pub use sampling::Sampling;
pub use settings::{Clock, Settings, ToolUse};
pub use speed::Speed;
pub use template::{BadConversation, Template};
pub use tensor::Kind;
pub use transformer::{EngineBroken, FEED_TOKENS_MAX, Memory, Network, Shape, Transformer};
pub use vocab::Vocabulary;

/// The architectures that can be run.
pub const ARCHITECTURES: &[&str] = &["llama", "qwen2"];

#[cfg(test)]
#[path = "../tests/it/tiny.rs"]
mod tiny;
