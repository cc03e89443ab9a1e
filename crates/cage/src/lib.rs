//! The process cage: a command sees, writes and reaches what it was granted.
//!
//! [`Cage::find`] looks for what the machine offers and tries it once;
//! [`Cage::command`] turns a [`Grant`] and an argument list into a command for
//! bubblewrap. Inside, our own [`launch`]er is the first process of a new pid
//! namespace: it puts up Landlock and the resource limits, starts the command,
//! watches it, and when it exits everything it left behind dies with it.
//!
//! [`Outside`] finds the few programs that run outside one.
//!
//! Invariants
//! - What is started outside a cage lies where no agent can have put it.
//! - Where a wall cannot be put up, nothing runs: [`Missing`] says what to install.
//! - What is not granted is not visible; a narrower entry decides over a wider one.
//! - The environment and the open files of the caller do not reach the command.
//! - No secret stands on a command line: the environment travels in a file in memory.
//!
//! Deciding who gets which grant never happens here, nor does anything async:
//! the caller owns deadline and output ([`Caged::run`] is the plain way).

#![cfg(target_os = "linux")]

mod attempt;
mod cage;
mod error;
mod filter;
mod grant;
pub mod launch;
mod mounts;
mod order;
mod outside;
mod placeholder;
mod probe;
mod report;
mod run;
pub mod tree;
mod words;

pub use cage::{Cage, Caged, Hold, Launcher};
pub use error::{Missing, Refused};
pub use grant::{Grant, Limits, Network};
pub use outside::{NotFound, Outside};
pub use probe::{Finding, Verdict, probes};
pub use report::{Limit, Report};
pub use run::{Bounds, Ended, Ran};
pub use words::{Ask, judge};

/// Whether an open folder is a stand-in for a protected path: put there by a cage, for as long
/// as it stands.
#[must_use]
pub fn is_stand_in(folder: impl std::os::fd::AsFd) -> bool {
    placeholder::Placeholder::is_left_over(folder)
}
