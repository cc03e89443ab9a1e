//! The run machine under a model checker: every order in which things can happen.
//!
//! The machine is the real one ([`bowline_core::run::decide`], `apply`, `due`);
//! only what surrounds it is a model: a worker that dies at any moment, models and
//! tools with every outcome, people with every answer, and time that passes to the
//! moments the machine asks for. [`World`] is one state of both, [`Move`] one thing
//! that happens next, and [`Promise`] what must hold whatever happens.
//!
//! ```text
//! scenario ─► World ─ moves ─► Move ─ turn ─► decide ─► journal ─ fold ─► World
//!                                │                        │
//!                                └► outside (ledger) ◄─ audit ─► broken promises
//! ```
//!
//! Invariants
//! - No rule of the machine is written a second time: the audit reads the journal
//!   and the ledger, which the machine cannot see.
//! - Two worlds count as one only if nothing that can still happen tells them apart.
//! - A planted bug is a seam that breaks its contract, never a change to the machine.

mod audit;
mod canon;
mod check;
mod journal;
mod menu;
mod moves;
mod outside;
mod plant;
mod promise;
mod scenario;
mod setup;
mod turn;
mod world;

#[cfg(test)]
mod tests;

pub use check::{Figures, Verdict, check, find};
pub use moves::Move;
pub use plant::{PLANTS, Plant};
pub use promise::{Landmark, Promise};
pub use scenario::{Bounds, SCENARIOS, Scenario};
pub use world::{Model, World};
