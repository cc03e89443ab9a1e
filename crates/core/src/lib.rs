//! Bowline's pure heart: the vocabulary of a run and every decision about it.
//!
//! The shell (crate `bowline`) reports what happened as an [`input::Input`];
//! [`run::decide`] names the facts that follow ([`event::Event`]); the shell
//! makes them durable; [`run::Run::apply`] folds them in; [`run::Run::due`] says
//! what the shell owes the world now ([`effect::Effect`]).
//!
//! Invariants
//! - Nothing here is async, reads a clock, a file, a socket, the environment or
//!   a random number, or logs. Time and chance arrive inside inputs.
//! - Enums of this crate are closed and matched without `_`, so a new variant
//!   breaks every place that has an opinion.

#![deny(clippy::wildcard_enum_match_arm)]

pub mod agent;
pub mod append_list;
pub mod budget;
pub mod control;
pub mod defect;
pub mod effect;
pub mod event;
pub mod gate;
pub mod guard;
pub mod id;
pub mod input;
pub mod journal;
pub mod mask;
pub mod message;
pub mod plan;
pub mod policy;
pub mod provenance;
pub mod quality;
pub mod run;
#[cfg(feature = "schema")]
mod schema;
pub mod task;
pub mod tool;
pub mod undo;
pub mod untrusted;
pub mod verify;
pub mod view;
pub mod window;
