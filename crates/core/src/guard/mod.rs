//! Guards that watch an agent loop from outside: is it still getting anywhere?
//!
//! A guard sees *traces*, small values made from texts by pure functions
//! ([`CallTrace`], [`OutputTrace`], [`ReplyTrace`], [`RoundTrace`]), so it can be
//! folded from a journal that holds no texts, and kept in a checkpoint.
//! [`loops::Detector`] is the one loop detector.
//!
//! Invariants
//! - Nothing here runs a tool, reads a clock or keeps a text.
//! - Asking ([`loops::Detector::check`]) changes nothing; recording does.
//! - Every table has a cap, so memory is bounded whatever the run does.

pub mod confidence;
pub mod corrections;
pub mod drift;
mod effect;
pub mod failures;
mod key;
pub mod ledger;
pub mod loops;
mod normalise;
pub mod preset;
pub mod quality;
pub mod regulator;
mod shell;
mod signature;
mod sketch;
pub mod statistics;
#[cfg(test)]
mod tests;
mod trace;

pub use effect::{Breadth, Change, Effect, Guess};
pub use normalise::normalised;
pub use shell::classify as classify_shell;
pub use signature::error_signature;
pub use sketch::Sketch;
pub use trace::{CallTrace, Origin, Outcome, OutputTrace, ReplyTrace, RoundTrace};
