//! Byte-pair encoding: joining neighbours in the order the vocabulary was made.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::letters;

/// Which two tokens join to which third, and when.
#[derive(Debug)]
pub(super) struct Merges {
    singles: Vec<Option<u32>>,
    pairs: HashMap<(u32, u32), (u32, u32)>,
}

/// A token of the piece under work, linked to its neighbours.
#[derive(Clone, Copy)]
struct Link {
    id: Option<u32>,
    before: usize,
    after: usize,
}

impl Merges {
    /// Reads the list of a file: two texts a line, best first. Lines about tokens that do
    /// not exist are left out.
    pub(super) fn read(lines: &[String], ids: &HashMap<Vec<u8>, u32>) -> Self {
        let singles = (0..=u8::MAX).map(|byte| ids.get([byte].as_slice()).copied()).collect();
        let pair = |(rank, line): (u32, &String)| {
            let (left, right) = line.split_once(' ')?;
            let (left, right) = (letters::to_bytes(left)?, letters::to_bytes(right)?);
            let joined = [left.as_slice(), right.as_slice()].concat();
            Some(((*ids.get(&left)?, *ids.get(&right)?), (rank, *ids.get(&joined)?)))
        };
        Self { singles, pairs: (0..).zip(lines).filter_map(pair).collect() }
    }

    /// Encodes one piece; bytes the vocabulary does not have are left out.
    pub(super) fn encode(&self, piece: &[u8], into: &mut Vec<u32>) {
        let ids = piece.iter().filter_map(|byte| self.singles.get(usize::from(*byte)).copied().flatten());
        let mut links: Vec<Link> = ids
            .enumerate()
            .map(|(at, id)| Link { id: Some(id), before: at.wrapping_sub(1), after: at + 1 })
            .collect();
        let mut due = BinaryHeap::new();
        for at in 1..links.len() {
            self.offer(&links, at - 1, at, &mut due);
        }
        while let Some(Reverse((_, at, next, left, right, joined))) = due.pop() {
            let is_current = |at: usize, id: u32| links.get(at).is_some_and(|link| link.id == Some(id));
            if !is_current(at, left) || !is_current(next, right) {
                continue;
            }
            if links.get(at).is_none_or(|link| link.after != next) {
                continue;
            }
            let after = links.get(next).map_or(usize::MAX, |link| link.after);
            if let Some(link) = links.get_mut(next) {
                link.id = None;
            }
            if let Some(link) = links.get_mut(after) {
                link.before = at;
            }
            if let Some(link) = links.get_mut(at) {
                link.id = Some(joined);
                link.after = after;
            }
            let before = links.get(at).map_or(usize::MAX, |link| link.before);
            self.offer(&links, before, at, &mut due);
            self.offer(&links, at, after, &mut due);
        }
        into.extend(links.iter().filter_map(|link| link.id));
    }

    /// Puts a pair of neighbours on the heap, if it joins. Of equal ranks the first in the
    /// text goes first.
    fn offer(&self, links: &[Link], at: usize, next: usize, due: &mut BinaryHeap<Reverse<Offer>>) {
        let id = |at: usize| links.get(at).and_then(|link| link.id);
        let (Some(left), Some(right)) = (id(at), id(next)) else { return };
        if let Some((rank, joined)) = self.pairs.get(&(left, right)) {
            due.push(Reverse((*rank, at, next, left, right, *joined)));
        }
    }
}

type Offer = (u32, usize, usize, u32, u32, u32);
