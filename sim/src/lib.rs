//! The outside of Bowline: what a run's promises are measured against.
//!
//! [`ledger`] is the world that tools act on, in a process of its own that is
//! never killed with the runtime. [`tool`] is the command tool a run calls.
//! [`oracle`] starts the ledger, keeps the client log and asks the checker
//! (`checker/check.py`) for its verdict. [`kill`] kills the real program and
//! resumes it, with all of these as witnesses. [`past`] helps to record homes that later
//! versions must finish. [`world`] runs the engine in a
//! world that is simulated from a seed.
//!
//! Invariants
//! - Nothing here decides for a run, removes a duplicate it was not asked to
//!   remove, or forgives a stale epoch: the ledger records, the checker judges.
//! - Ledger, tool and checker depend on no other crate of the workspace.

pub mod chance;
pub mod clock;
pub mod kill;
pub mod ledger;
pub mod oracle;
pub mod past;
pub mod tool;
pub mod world;
