//! A list that grows and is cheap to clone; an item of it is changed only on a copy of its chunk.
//!
//! `decide` works on a draft of the run's state. Conversations are by far the
//! largest part of it, so they are kept in frozen chunks shared between the
//! state and its drafts: a clone copies one pointer per chunk and at most one
//! chunk of items.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

const CHUNK: usize = 32;

/// See the module's page.
#[derive(Clone, PartialEq, Eq)]
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

    /// The last item.
    #[must_use]
    pub fn last(&self) -> Option<&T> {
        self.iter().next_back()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.frozen.iter().map(|chunk| chunk.len()).sum::<usize>() + self.tail.len()
    }

    /// The chunks that change no more, and the items after them. With
    /// [`Self::from_chunks`], what is derived from a chunk need be derived once.
    #[must_use]
    pub fn chunks(&self) -> (&[Arc<[T]>], &[T]) {
        (&self.frozen, &self.tail)
    }

    /// A list of these chunks, and the items after them.
    #[must_use]
    pub fn from_chunks(frozen: Vec<Arc<[T]>>, tail: Vec<T>) -> Self {
        Self { frozen, tail }
    }

    /// Changes an item, if it is there; the other chunks stay shared.
    pub fn change(&mut self, at: usize, change: impl FnOnce(&mut T))
    where
        T: Clone,
    {
        let mut left = at;
        for chunk in &mut self.frozen {
            if left < chunk.len() {
                if let Some(item) = Arc::make_mut(chunk).get_mut(left) {
                    change(item);
                }
                return;
            }
            left -= chunk.len();
        }
        if let Some(item) = self.tail.get_mut(left) {
            change(item);
        }
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

impl<T: fmt::Debug> fmt::Debug for AppendList<T> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_list().entries(self.iter()).finish()
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

    #[test]
    fn an_item_that_is_changed_is_changed_in_this_list_alone() {
        let mut list: AppendList<usize> = (0..70).collect();
        let before = list.clone();
        for at in [0, 40, 69, 70] {
            list.change(at, |item| *item += 1000);
        }
        assert_eq!(before, (0..70).collect());
        let changed: Vec<usize> = list.iter().copied().filter(|item| *item >= 1000).collect();
        assert_eq!(changed, [1000, 1040, 1069]);
        let mut other = list.clone();
        other.change(0, |item| *item = 1);
        assert!(!Arc::ptr_eq(&list.chunks().0[0], &other.chunks().0[0]));
        assert!(Arc::ptr_eq(&list.chunks().0[1], &other.chunks().0[1]));
    }

    #[test]
    fn a_list_made_of_another_ones_chunks_shares_them() {
        let list: AppendList<usize> = (0..70).collect();
        let (frozen, tail) = list.chunks();
        let same = AppendList::from_chunks(frozen.to_vec(), tail.to_vec());
        assert_eq!((same.len(), same.last()), (70, Some(&69)));
        assert!(list.chunks().0.iter().zip(same.chunks().0).all(|(one, other)| Arc::ptr_eq(one, other)));
    }
}
