//! How much waits behind each node, counted exactly.
//!
//! Sub-tasks are looked at 1,024 at a time: one sweep from the last node to the first
//! carries, for each node, which of those lie behind it. A plan of 10,000 nodes
//! takes ten sweeps over its edges.

use super::index::{Index, at};

const WORDS: usize = 16;
const BITS: u32 = 64;
/// Sub-tasks looked at in one sweep.
const SWEEP: u32 = 1024;

type Lane = [u64; WORDS];

/// For each node: how many sub-tasks cannot start before it is over. A branch that may
/// never be taken counts like any other.
pub(super) fn counts(index: &Index) -> Vec<u32> {
    let len = index.len();
    let mut counts = vec![0; at(len)];
    let mut start = 0;
    while start < len {
        let end = start.saturating_add(SWEEP).min(len);
        Sweep { index, start, reach: vec![[0; WORDS]; at(end)], over: vec![[0; WORDS]; at(end)] }
            .run(end, &mut counts);
        start = end;
    }
    counts
}

struct Sweep<'i> {
    index: &'i Index,
    start: u32,
    /// What cannot start before a node has started, itself included.
    reach: Vec<Lane>,
    /// What cannot start before a node is over.
    over: Vec<Lane>,
}

impl Sweep<'_> {
    fn run(&mut self, end: u32, counts: &mut [u32]) {
        for this in (0..end).rev() {
            for choice in self.closing(this) {
                self.settle(choice);
            }
            let Some(spot) = self.index.spot(this).copied() else { continue };
            let is_subtask = spot.end == this + 1;
            if is_subtask {
                self.settle(this);
                let mut reach = get(&self.over, this);
                self.mark(&mut reach, this);
                set(&mut self.reach, this, reach);
            }
            if let Some(parent) = spot.parent {
                let reach = get(&self.reach, this);
                join(&mut self.reach, parent, reach);
            }
            if let Some(count) = counts.get_mut(at(this)) {
                *count += get(&self.over, this).iter().map(|word| word.count_ones()).sum::<u32>();
            }
        }
    }

    /// The choices whose last node this is, outermost first.
    fn closing(&self, this: u32) -> Vec<u32> {
        let parent = |inner: u32| self.index.spot(inner).and_then(|spot| spot.parent);
        let closes = |choice: &u32| self.index.spot(*choice).is_some_and(|spot| spot.end == this + 1);
        let mut closing: Vec<u32> =
            std::iter::successors(parent(this), |&inner| parent(inner)).take_while(closes).collect();
        closing.reverse();
        closing
    }

    fn settle(&mut self, this: u32) {
        let mut lane = [0; WORDS];
        for &next in self.index.next(this) {
            merge(&mut lane, get(&self.reach, next));
        }
        if let Some(parent) = self.index.spot(this).and_then(|spot| spot.parent) {
            merge(&mut lane, get(&self.over, parent));
        }
        set(&mut self.over, this, lane);
    }

    fn mark(&self, lane: &mut Lane, this: u32) {
        let Some(bit) = this.checked_sub(self.start) else { return };
        if let Some(word) = lane.get_mut(at(bit / BITS)) {
            *word |= 1 << (bit % BITS);
        }
    }
}

fn get(lanes: &[Lane], this: u32) -> Lane {
    lanes.get(at(this)).copied().unwrap_or_default()
}

fn set(lanes: &mut [Lane], this: u32, lane: Lane) {
    if let Some(slot) = lanes.get_mut(at(this)) {
        *slot = lane;
    }
}

fn join(lanes: &mut [Lane], this: u32, lane: Lane) {
    if let Some(slot) = lanes.get_mut(at(this)) {
        merge(slot, lane);
    }
}

fn merge(into: &mut Lane, lane: Lane) {
    for (word, more) in into.iter_mut().zip(lane) {
        *word |= more;
    }
}
