//! Which of a few vertices come before which, kept up to date while order is added.
//!
//! Only the vertices that facts are about take part; each has rows of bits. There are
//! two orders. One vertex *leads to* another if any path joins them; putting order
//! against that would make a circle. One is *surely before* another if it is so
//! whatever branches are taken: a path through a branch that neither is in counts for
//! nothing, because the branch may not be taken.

use crate::plan::flat::Flat;
use crate::plan::graph::{Graph, Reach, at, set};

/// The order among some vertices of a graph.
#[derive(Clone, Debug, Default)]
pub(super) struct Closure {
    /// The vertices, ascending.
    vertices: Vec<usize>,
    /// Which row is a vertex's; `usize::MAX`: none.
    place: Vec<usize>,
    /// For each vertex, what it leads to.
    leads: Vec<Vec<u64>>,
    /// For each vertex, what is surely before it.
    sure: Vec<Vec<u64>>,
    /// Words looked at so far while order was added.
    pub(super) work: usize,
}

impl Closure {
    /// The order of these vertices, which are named once each and ascend.
    pub(super) fn new(flat: &Flat<'_>, graph: &Graph, order: &[usize], vertices: &[usize]) -> Self {
        let words = vertices.len().div_ceil(64);
        let mut place = vec![usize::MAX; graph.len()];
        for (row, &vertex) in vertices.iter().enumerate() {
            set(&mut place, vertex, row);
        }
        let mut leads = vec![Vec::with_capacity(words); vertices.len()];
        let mut sure = leads.clone();
        for block in vertices.chunks(Reach::BLOCK) {
            let reach = Reach::of(graph, order, block);
            let before = surely_before(flat, graph, order, block);
            for ((leads, sure), &vertex) in leads.iter_mut().zip(&mut sure).zip(vertices) {
                leads.extend_from_slice(reach.rows.get(vertex).map(<[_; _]>::as_slice).unwrap_or_default());
                sure.extend_from_slice(before.get(vertex).map(<[_; _]>::as_slice).unwrap_or_default());
            }
        }
        Self { vertices: vertices.to_vec(), place, leads, sure, work: 0 }
    }

    /// Whether a path leads from one to the other.
    pub(super) fn leads(&self, from: usize, to: usize) -> bool {
        self.leads.get(at(&self.place, from)).is_some_and(|row| has(row, at(&self.place, to)))
    }

    /// Whether one is before the other whenever both are done.
    pub(super) fn is_before(&self, first: usize, then: usize) -> bool {
        self.sure.get(at(&self.place, then)).is_some_and(|row| has(row, at(&self.place, first)))
    }

    /// Puts one before the other, which has been made sure not to lead to it. The span
    /// is that of the list the other is in, and the first is beside it or around it.
    pub(super) fn put(&mut self, first: usize, then: usize, span: (usize, usize)) {
        let (from, to) = (at(&self.place, first), at(&self.place, then));
        let (Some(mut onwards), Some(mut earlier)) =
            (self.leads.get(to).cloned(), self.sure.get(from).cloned())
        else {
            return;
        };
        mark(&mut onwards, to);
        mark(&mut earlier, from);
        for (place, row) in self.leads.iter_mut().enumerate() {
            if place == from || has(row, from) {
                join(row, &onwards);
                self.work += onwards.len();
            }
        }
        // Who is not in that list may be done without `then` being done; it only learns
        // of what is not done without it either.
        let inside = |vertex: usize| (span.0..=span.1).contains(&vertex);
        let within: Vec<u64> = masked(&earlier, &self.vertices, span);
        for (place, row) in self.sure.iter_mut().enumerate() {
            if place == to || has(row, to) {
                join(row, if inside(at(&self.vertices, place)) { &earlier } else { &within });
                self.work += earlier.len();
            }
        }
        self.work += self.leads.len();
    }
}

type Row = [u64; Reach::BLOCK / 64];

/// For every vertex, which of the block are surely before it.
fn surely_before(flat: &Flat<'_>, graph: &Graph, order: &[usize], block: &[usize]) -> Vec<Row> {
    let mut own = vec![usize::MAX; graph.len()];
    for (bit, &vertex) in block.iter().enumerate() {
        set(&mut own, vertex, bit);
    }
    let mut rows: Vec<Row> = vec![[0; Reach::BLOCK / 64]; graph.len()];
    for &vertex in order {
        let mut row: Row = [0; Reach::BLOCK / 64];
        for &first in graph.before(vertex) {
            join(&mut row, &at(&rows, first));
            mark(&mut row, at(&own, first));
        }
        if let Some(choice) =
            flat.owner_of(vertex).filter(|entry| entry.end == vertex && entry.start < vertex)
        {
            let mut inside: Row = [0; Reach::BLOCK / 64];
            inside.copy_from_slice(&masked(&row, block, (choice.start + 1, vertex)));
            join(&mut inside, &at(&rows, choice.start));
            mark(&mut inside, at(&own, choice.start));
            row = inside;
        }
        set(&mut rows, vertex, row);
    }
    rows
}

/// The row with only the bits of vertices from one to another, both included.
fn masked(row: &[u64], vertices: &[usize], (from, to): (usize, usize)) -> Vec<u64> {
    let first = vertices.partition_point(|&vertex| vertex < from);
    let end = vertices.partition_point(|&vertex| vertex <= to);
    let kept = |(place, word): (usize, &u64)| {
        let low = first.saturating_sub(place * 64);
        let high = end.saturating_sub(place * 64);
        word & below(high) & !below(low)
    };
    row.iter().enumerate().map(kept).collect()
}

/// The lowest so many bits.
fn below(bits: usize) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

fn has(row: &[u64], bit: usize) -> bool {
    row.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
}

fn mark(row: &mut [u64], bit: usize) {
    if let Some(word) = row.get_mut(bit / 64) {
        *word |= 1 << (bit % 64);
    }
}

fn join(row: &mut [u64], more: &[u64]) {
    row.iter_mut().zip(more).for_each(|(word, more)| *word |= more);
}
