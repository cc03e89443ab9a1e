//! Fixtures of the past: homes with open runs, and journals, as earlier versions of the
//! program left them (`fixtures/past`).
//!
//! [`run`] makes a set with any program given by its path; [`Fixture`] is one home of a
//! set, unpacked to the very place it was recorded in and finished step by step; a
//! [`manifest`] keeps every byte of a set as it was. The tests that finish old runs with
//! today's program use the same steps and the same [`Facts`] (`crates/cli/tests/it/past.rs`).
//!
//! Nothing here knows what is in a store or in an event: only the programs that are started
//! do. A set is written once and never again.

pub mod manifest;

mod examples;
mod facts;
mod fixture;
mod play;
mod record;
mod scenario;
mod world;

pub use examples::Codes;
pub use facts::Facts;
pub use fixture::{Fixture, Set, sets};
pub use play::Programs;
pub use record::run;
pub use scenario::{Scenario, Step};
pub use world::World;

/// Where sets lie in a clone.
pub const FOLDER: &str = "fixtures/past";
/// How the next set is recorded, below [`FOLDER`].
const SCENARIOS: &str = "scenarios";
/// Where every machine records and unpacks: journals hold the paths of their workspaces.
const PLACE: &str = "/tmp/bowline-past";
