//! A home in one file: what a backup is made of.
//!
//! A first line says what it is. Then, for each thing in the home, a line of JSON: a folder, a
//! file with its content behind it in blocks, or a link; folders before what is in them, links
//! last. The last line counts them and seals all that is before: every line and block is hashed
//! with the hash of the one before it.
//!
//! Nothing is compressed, nothing refers to anything outside, and whatever is not one of these
//! is refused, so there is nothing to escape with.

mod name;
pub(crate) mod read;
pub(crate) mod write;

use bowline_core::id::Millis;
use bowline_core::provenance::Digest;
use serde::{Deserialize, Serialize};

/// The version of this format.
pub(crate) const FORMAT: u32 = 1;
/// Longest line, in bytes.
const LINE_MAX: usize = 64 << 10;
/// Longest block of content, in bytes.
const BLOCK_MAX: usize = 256 << 10;
/// Most things in a home.
const ITEMS_MAX: u64 = 2_000_000;

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    /// [`FORMAT`]
    pub(crate) bowline_backup: u32,
    /// When the store was as it is in here.
    pub(crate) made_at: Millis,
    /// The version of the store.
    pub(crate) store: u32,
}

/// Every other line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Item {
    /// A folder.
    Folder {
        /// Where, from the home on.
        path: String,
        /// Who may do what with it.
        mode: u32,
    },
    /// A file; its content follows.
    File {
        /// Where.
        path: String,
        /// Who may do what with it.
        mode: u32,
    },
    /// A link inside the copy of a workspace.
    Link {
        /// Where.
        path: String,
        /// What it leads to.
        to: String,
    },
    /// The end.
    End {
        /// How many things came before.
        items: u64,
        /// How many bytes of content they have.
        bytes: u64,
        /// The hash over everything before.
        seal: Digest,
    },
}

/// The hash over everything so far.
struct Seal(Digest);

impl Seal {
    fn new() -> Self {
        Self(Digest::ZERO)
    }

    fn over(&mut self, bytes: &[u8]) {
        self.0 = Digest::of_parts(&[&self.0.0, bytes]);
    }
}

#[cfg(test)]
mod tests;
