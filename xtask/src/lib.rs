//! What a machine can check about Bowline's sources, and the one command that
//! checks it all (`cargo xtask ci`).
//!
//! Rules are plain functions from texts to [`Offence`]s, so each is tested on
//! samples in memory; reading the tree and running cargo happens at the edges
//! ([`tree`], [`metadata`], [`ci`]). Nothing here depends on the crates it
//! judges, and nothing here changes a file.

pub mod bench;
pub mod ci;
pub mod control;
pub mod fuzz;
pub mod harness;
pub mod hostile;
pub mod kill;
pub mod layers;
pub mod licences;
pub mod mcp;
pub mod metadata;
pub mod mutants;
pub mod offence;
pub mod past;
pub mod prove;
pub mod redteam;
pub mod release;
pub mod schemas;
pub mod sim;
pub mod source;
pub mod tidy;
pub mod tree;

pub use offence::Offence;
