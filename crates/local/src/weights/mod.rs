//! Where weights come from: a path, the cache, the hub, a Python package.
//!
//! A [`Store`] is a folder of files named by their content. Whatever gets in has been
//! checked: what the catalogue names against its pinned checksum, what a person brings by
//! reading it. A file appears in one step or not at all.
//!
//! Invariants
//! - Nothing with another checksum than the pinned one is ever kept.
//! - Nothing is fetched unless [`Store::pull`] is called.

mod catalogue;
mod error;
mod store;
#[cfg(test)]
mod tests;
mod wheel;

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

pub use catalogue::{CATALOGUE, Hub, Weights, Wheel, named};
pub use error::WeightsError;
pub use store::{Kept, Store, examine};

/// Fetches an address of the hub. Given by the caller, who knows what may leave the
/// machine; this crate opens no connection.
pub trait Fetch {
    /// Writes what is there to `to` and reports the bytes so far; the error is in words.
    fn fetch(&self, url: &str, to: &mut dyn Write, sofar: &mut dyn FnMut(u64)) -> Result<(), String>;
}

/// The Python whose `pip` is asked. Found by the caller, who knows where no agent can have
/// put one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Python {
    /// The program.
    pub program: PathBuf,
    /// Where it looks for other programs.
    pub path: OsString,
}

/// The ways to weights.
#[derive(Clone, Copy)]
pub struct Ways<'a> {
    /// To the hub; `None`: there is none.
    pub hub: Option<&'a dyn Fetch>,
    /// To the Python package index; the error says why there is none.
    pub python: Result<&'a Python, &'a str>,
}

/// What happens while weights are fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The hub is asked.
    Hub,
    /// The Python package index is asked, by `pip`.
    Wheel,
    /// So many bytes of so many are there.
    Bytes {
        /// There.
        got: u64,
        /// In all.
        of: u64,
    },
    /// The checksum is compared.
    Checking,
}
