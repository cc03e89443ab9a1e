//! Guards for agents that are not ours, and the proof of how good they are.
//!
//! [`session`] guards a running loop, line by line of JSON, and [`state_file`]
//! keeps it over restarts. [`trajectory`] reads recorded runs; [`judge`] is what a guard looks like to
//! them; [`score`] says what its opinions cost and saved; [`evaluate`] does all
//! of it over files, on every core.
//!
//! Invariants
//! - Nothing here is async, and nothing decides about calls: rules are in core.
//! - Scores depend on the files and the guard alone, never on threads or time.

pub mod detector;
pub mod evaluate;
pub mod judge;
mod rules;
pub mod score;
pub mod session;
pub mod state_file;
pub mod trajectory;
