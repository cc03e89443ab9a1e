//! A bounded table of what was seen lately.
//!
//! A list that is searched from end to end: at a few hundred entries that is
//! faster than it sounds (the first bytes of two hashes almost always differ),
//! it costs the same for the millionth call as for the thousandth, and its order
//! is its own serialised form. The entry not touched for longest makes room.

use serde::{Deserialize, Serialize};

use crate::provenance::Digest;

/// At most `cap` entries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Recent<T> {
    cap: usize,
    touches: u64,
    entries: Vec<Entry<T>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry<T> {
    name: Digest,
    touched: u64,
    value: T,
}

impl<T> Recent<T> {
    pub(super) fn with_cap(cap: usize) -> Self {
        Self { cap, touches: 0, entries: Vec::new() }
    }

    pub(super) fn get(&self, name: &Digest) -> Option<&T> {
        self.entries.iter().find(|entry| &entry.name == name).map(|entry| &entry.value)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().map(|entry| &entry.value)
    }

    pub(super) fn is_full(&self) -> bool {
        self.entries.len() >= self.cap
    }

    /// The entry of this name, made if it is not there; touching it keeps it.
    /// `None` only for a table without room for anything.
    pub(super) fn touch(&mut self, name: &Digest, make: impl FnOnce() -> T) -> Option<&mut T> {
        self.touches += 1;
        let touches = self.touches;
        let at = match self.entries.iter().position(|entry| &entry.name == name) {
            Some(at) => at,
            None if self.entries.len() < self.cap => {
                self.entries.push(Entry { name: *name, touched: touches, value: make() });
                self.entries.len() - 1
            }
            None => {
                let (at, oldest) =
                    self.entries.iter_mut().enumerate().min_by_key(|(_, entry)| entry.touched)?;
                *oldest = Entry { name: *name, touched: touches, value: make() };
                at
            }
        };
        let entry = self.entries.get_mut(at)?;
        entry.touched = touches;
        Some(&mut entry.value)
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry<T>>()
    }
}
