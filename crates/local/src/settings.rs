//! How a local model is run.

use std::sync::Arc;
use std::time::Duration;

use crate::cache::CacheLimits;
use crate::sampling::Sampling;

/// Most tokens of context that are used without being asked for.
const CONTEXT_DEFAULT: usize = 8_192;

/// A clock that begins anywhere and never goes back.
pub type Clock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// When a model that is offered tools must use one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolUse {
    /// When it likes.
    #[default]
    Free,
    /// Before it says anything about what it was asked: until there is a result since the
    /// last thing somebody said. Models below a billion parameters hardly ever call a
    /// tool by themselves.
    First,
}

/// How a local model is run.
#[derive(Clone)]
pub struct Settings {
    /// Most threads of the engine.
    pub threads: usize,
    /// Most tokens of a conversation; `None`: what the model has, at most 8,192.
    pub context_tokens: Option<usize>,
    /// How tokens are chosen at a first attempt.
    pub sampling: Sampling,
    /// When tools must be used.
    pub tool_use: ToolUse,
    /// What is remembered between calls.
    pub cache: CacheLimits,
    /// Most calls that wait.
    pub waiting_max: usize,
    /// Longest wait for an answer, queue included.
    pub call_ms_max: u64,
    /// For speeds.
    pub clock: Clock,
}

impl Settings {
    /// Everything as usual: all cores, greedy, ten minutes a call.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self {
            threads: std::thread::available_parallelism().map_or(1, usize::from).min(16),
            context_tokens: None,
            sampling: Sampling::default(),
            tool_use: ToolUse::default(),
            cache: CacheLimits::default(),
            waiting_max: 64,
            call_ms_max: 600_000,
            clock,
        }
    }

    /// The context to use of a model that has so much.
    #[must_use]
    pub fn context(&self, most: usize) -> usize {
        self.context_tokens.unwrap_or(most.min(CONTEXT_DEFAULT))
    }
}
