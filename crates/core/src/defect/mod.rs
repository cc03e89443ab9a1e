//! What is behind a failure.
//!
//! [`traces`] finds the stack traces of six languages in any text. Reading is
//! linear in the text, and what is kept is bounded.

mod trace;

pub use trace::{FRAMES_MAX, Language, TRACES_MAX, Trace, at_line, traces};
