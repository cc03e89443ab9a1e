//! Vertices and what comes before what: the plain graph that plans are measured on.
//!
//! A vertex is a number; smaller numbers come first where the edges leave a choice.
//! Nothing here knows what a vertex stands for, and nothing here is recursive, so
//! that a long chain costs no stack.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A directed graph whose edges are kept in both directions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    forward: Neighbours,
    backward: Neighbours,
}

/// Vertices that wait for each other: those on or behind a cycle, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Circular(pub(crate) Vec<usize>);

/// The neighbours of all vertices, one vertex after the other.
#[derive(Clone, Debug, Default)]
struct Neighbours {
    starts: Vec<usize>,
    all: Vec<usize>,
}

impl Graph {
    /// So many vertices, and pairs of which the first comes before the second.
    pub(crate) fn new(count: usize, edges: &[(usize, usize)]) -> Self {
        Self {
            forward: Neighbours::new(count, edges.iter().copied()),
            backward: Neighbours::new(count, edges.iter().map(|&(from, to)| (to, from))),
        }
    }

    /// How many vertices there are.
    pub(crate) fn len(&self) -> usize {
        self.forward.starts.len().saturating_sub(1)
    }

    /// What waits for this vertex.
    pub(crate) fn after(&self, vertex: usize) -> &[usize] {
        self.forward.of(vertex)
    }

    /// What this vertex waits for.
    pub(crate) fn before(&self, vertex: usize) -> &[usize] {
        self.backward.of(vertex)
    }

    /// The vertices in an order that follows every edge, the smallest number first
    /// where there is a choice.
    pub(crate) fn order(&self) -> Result<Vec<usize>, Circular> {
        let mut missing: Vec<usize> = (0..self.len()).map(|vertex| self.before(vertex).len()).collect();
        let mut free: BinaryHeap<Reverse<usize>> =
            (0..self.len()).filter(|&vertex| at(&missing, vertex) == 0).map(Reverse).collect();
        let mut ordered = Vec::with_capacity(self.len());
        while let Some(Reverse(vertex)) = free.pop() {
            ordered.push(vertex);
            for &next in self.after(vertex) {
                if let Some(missing) = missing.get_mut(next) {
                    *missing -= 1;
                    if *missing == 0 {
                        free.push(Reverse(next));
                    }
                }
            }
        }
        if ordered.len() == self.len() {
            return Ok(ordered);
        }
        Err(Circular((0..self.len()).filter(|&vertex| at(&missing, vertex) > 0).collect()))
    }

    /// How many of the counted vertices come after each, exactly. `order` is a result
    /// of [`Graph::order`].
    ///
    /// Sweeps the graph once for every [`Reach::BLOCK`] counted vertices, so that the
    /// memory it needs does not grow with the square of the graph.
    pub(crate) fn downstream(&self, order: &[usize], counted: &[usize]) -> Vec<usize> {
        let mut counts = vec![0; self.len()];
        for block in counted.chunks(Reach::BLOCK) {
            let reach = Reach::of(self, order, block);
            for (count, row) in counts.iter_mut().zip(&reach.rows) {
                *count += row.iter().map(|word| word.count_ones() as usize).sum::<usize>();
            }
        }
        counts
    }
}

/// Which of a block of vertices come after each vertex.
pub(crate) struct Reach {
    /// One row a vertex, one bit a vertex of the block.
    pub(crate) rows: Vec<[u64; Self::WORDS]>,
}

impl Reach {
    const WORDS: usize = 8;
    /// Most vertices of a block.
    pub(crate) const BLOCK: usize = Self::WORDS * 64;

    /// Sweeps the graph backwards once.
    pub(crate) fn of(graph: &Graph, order: &[usize], block: &[usize]) -> Self {
        let mut own = vec![usize::MAX; graph.len()];
        for (bit, &vertex) in block.iter().enumerate() {
            set(&mut own, vertex, bit);
        }
        let mut rows = vec![[0_u64; Self::WORDS]; graph.len()];
        for &vertex in order.iter().rev() {
            let mut row = [0; Self::WORDS];
            for &next in graph.after(vertex) {
                let theirs = at(&rows, next);
                row.iter_mut().zip(theirs).for_each(|(word, more)| *word |= more);
                let bit = at(&own, next);
                if let Some(word) = row.get_mut(bit / 64) {
                    *word |= 1 << (bit % 64);
                }
            }
            set(&mut rows, vertex, row);
        }
        Self { rows }
    }
}

impl Neighbours {
    fn new(count: usize, edges: impl Iterator<Item = (usize, usize)> + Clone) -> Self {
        let inside = |&(from, to): &(usize, usize)| from < count && to < count;
        let mut starts = vec![0; count + 1];
        for (from, _) in edges.clone().filter(inside) {
            if let Some(start) = starts.get_mut(from + 1) {
                *start += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut all = vec![0; sum];
        let mut free = starts.clone();
        for (from, to) in edges.filter(inside) {
            if let Some(place) = free.get_mut(from) {
                set(&mut all, *place, to);
                *place += 1;
            }
        }
        Self { starts, all }
    }

    fn of(&self, vertex: usize) -> &[usize] {
        let (from, to) = (at(&self.starts, vertex), at(&self.starts, vertex + 1));
        self.all.get(from..to).unwrap_or_default()
    }
}

/// The value at that place; the default where there is none.
pub(crate) fn at<T: Copy + Default>(values: &[T], place: usize) -> T {
    values.get(place).copied().unwrap_or_default()
}

/// Puts a value at that place, if there is such a place.
pub(crate) fn set<T>(values: &mut [T], place: usize, value: T) {
    if let Some(there) = values.get_mut(place) {
        *there = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_come_first_where_edges_leave_a_choice() {
        let graph = Graph::new(4, &[(3, 0), (1, 0)]);
        assert_eq!(graph.order().unwrap(), [1, 2, 3, 0]);
    }

    #[test]
    fn those_on_or_behind_a_cycle_are_named() {
        let graph = Graph::new(5, &[(0, 1), (1, 2), (2, 1), (2, 3)]);
        assert_eq!(graph.order(), Err(Circular(vec![1, 2, 3])));
    }

    #[test]
    fn what_comes_after_is_counted_once_however_many_ways_lead_there() {
        let graph = Graph::new(5, &[(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]);
        let order = graph.order().unwrap();
        assert_eq!(graph.downstream(&order, &[0, 1, 2, 3, 4]), [4, 2, 2, 1, 0]);
        assert_eq!(graph.downstream(&order, &[3]), [1, 1, 1, 0, 0]);
    }

    #[test]
    fn counting_is_exact_beyond_one_block() {
        let count = 3 * Reach::BLOCK + 7;
        let edges: Vec<_> = (1..count).map(|vertex| (vertex - 1, vertex)).collect();
        let graph = Graph::new(count, &edges);
        let all: Vec<_> = (0..count).collect();
        let counts = graph.downstream(&graph.order().unwrap(), &all);
        assert_eq!(counts, (0..count).rev().collect::<Vec<_>>());
    }
}
