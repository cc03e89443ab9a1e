//! What is behind a failure: stack traces out of text, and the root cause.
//!
//! [`traces`] finds the stack traces of six languages in any text. [`root_cause`]
//! names which of eleven causes the [`Evidence`] speaks for, and which rule says so.
//!
//! Invariants
//! - Nothing here asks a model: what rules cannot tell is `None`, never a guess.
//! - Reading is bounded, and what is kept is too.

mod cause;
mod trace;

pub use cause::{
    Breach, Cause, Claim, Evidence, RepairTry, Retrieval, RootCause, Rule, SENTENCES_MAX, Source, Standing,
    ToolTrouble, Trust, root_cause,
};
pub use trace::{FRAMES_MAX, Language, TRACES_MAX, Trace, at_line, traces};
