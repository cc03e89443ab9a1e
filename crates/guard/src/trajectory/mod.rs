//! Recorded runs of agents: one JSON object a line, plain or gzip.
//!
//! A line is checked while it is parsed, so what a [`Trajectory`] holds is
//! sound: every result belongs to a call that was made before it. Nothing here
//! judges a run.

mod error;
mod parse;
mod read;
#[cfg(test)]
mod tests;

use bowline_core::guard::Origin;

pub use error::ReadError;
pub use read::{Collection, Line};

/// One recorded run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trajectory {
    /// Names the run.
    pub id: String,
    /// The collection it is from.
    pub source: String,
    /// How it ended, if somebody knows.
    pub success: Option<bool>,
    /// Its calls, in the order they were asked for.
    pub calls: Vec<Call>,
    /// What happened, in order.
    pub moments: Vec<Moment>,
}

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Somebody wrote to the agent.
    User {
        /// What.
        text: String,
        /// Who.
        origin: Origin,
    },
    /// The model answered.
    Reply(Reply),
    /// The model asked for this entry of [`Trajectory::calls`].
    Asked(usize),
    /// The result of this entry came back.
    Answered(usize),
}

/// An answer of the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Its text.
    pub text: String,
    /// How many calls it asks for.
    pub calls: u32,
    /// How long it is, if somebody counted.
    pub tokens: Option<u64>,
}

/// A use of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// Its arguments, as text.
    pub args: String,
    /// What came back. A run that ended first has none.
    pub output: Option<Output>,
}

/// What came back from a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The text the model read.
    pub text: String,
    /// Whether it went well, if the recording says.
    pub ok: Option<bool>,
}
