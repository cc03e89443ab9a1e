//! A list that only grows and is cheap to clone.
//!
//! `decide` works on a draft of the run's state. Conversations are by far the
//! largest part of it, so they are kept in frozen chunks shared between the
//! state and its drafts: a clone copies one pointer per chunk and at most one
//! chunk of items.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

const CHUNK: usize = 32;

/// See the module's page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppendList<T> {
    frozen: Vec<Arc<[T]>>,
    tail: Vec<T>,
}

impl<T> Default for AppendList<T> {
    fn default() -> Self {
        Self { frozen: Vec::new(), tail: Vec::new() }
    }
}

impl<T> AppendList<T> {
    /// Adds an item at the end.
    pub fn push(&mut self, item: T) {
        self.tail.push(item);
        if self.tail.len() == CHUNK {
            self.frozen.push(std::mem::take(&mut self.tail).into());
        }
    }

    /// The items, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.frozen.iter().flat_map(|chunk| chunk.iter()).chain(&self.tail)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.frozen.len() * CHUNK + self.tail.len()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> FromIterator<T> for AppendList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut list = Self::default();
        items.into_iter().for_each(|item| list.push(item));
        list
    }
}

impl<T: Serialize> Serialize for AppendList<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for AppendList<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Vec::deserialize(from).map(Self::from_iter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_order_over_chunks_and_clones_do_not_see_later_items() {
        let mut list: AppendList<usize> = (0..100).collect();
        let before = list.clone();
        list.push(100);
        assert_eq!(before.len(), 100);
        assert_eq!(list.iter().copied().collect::<Vec<_>>(), (0..=100).collect::<Vec<_>>());
        assert_eq!(list.iter().next_back(), Some(&100));
        let text = serde_json::to_string(&list).unwrap();
        assert_eq!(serde_json::from_str::<AppendList<usize>>(&text).unwrap(), list);
    }
}
