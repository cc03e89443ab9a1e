//! Our rules beside those of the published crate `noos` 0.4.1, on random streams
//! of events: where a rule is meant to be the same the decisions are equal, and
//! where ours differs on purpose the difference is asserted, event by event.
//!
//! Nothing here reads a copy of that crate's rules: it runs the crate, and what
//! is expected of ours is said in its own figures.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod both;
mod cost;
mod name_streak;
mod quality;
mod statistics;
mod together;
