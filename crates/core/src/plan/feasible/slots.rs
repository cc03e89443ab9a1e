//! How long a plan takes when only so many sub-tasks run at once.
//!
//! Found by doing it on paper: whenever a slot is free, the sub-task with the least
//! slack that may start takes it. Every choice takes the branch that takes longest. An
//! optimal order may be shorter, by less than half.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::plan::flat::Flat;
use crate::plan::graph::{Graph, at, set};
use crate::plan::measure::Schedule;

/// How long it takes with so many slots.
pub(super) fn seconds(flat: &Flat<'_>, schedule: &Schedule, slots: usize) -> u64 {
    let longest = longest_branches(flat, schedule);
    let (graph, done) = flat.course(|choice| at(&longest, choice));
    on_slots(&graph, &done, schedule, slots)
}

/// The fewest slots with which it takes at most so long.
pub(super) fn least(flat: &Flat<'_>, schedule: &Schedule, left: u64) -> usize {
    let longest = longest_branches(flat, schedule);
    let (graph, done) = flat.course(|choice| at(&longest, choice));
    let (mut low, mut high) = (1, done.len().max(1));
    while low < high {
        let middle = low.midpoint(high);
        if on_slots(&graph, &done, schedule, middle) <= left {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// For every choice the branch that ends last.
fn longest_branches(flat: &Flat<'_>, schedule: &Schedule) -> Vec<usize> {
    let mut longest = vec![0; flat.entries.len()];
    let mut ends = vec![0; flat.entries.len()];
    let mut last = vec![0; flat.scopes.len()];
    for entry in &flat.entries {
        let end = at(&last, entry.scope).max(schedule.end(entry.end));
        set(&mut last, entry.scope, end);
    }
    for (place, scope) in flat.scopes.iter().enumerate().skip(1) {
        if at(&last, place) > at(&ends, scope.choice) {
            set(&mut ends, scope.choice, at(&last, place));
            set(&mut longest, scope.choice, scope.branch);
        }
    }
    longest
}

fn on_slots(graph: &Graph, done: &[usize], schedule: &Schedule, slots: usize) -> u64 {
    let mut missing: Vec<usize> = (0..graph.len()).map(|vertex| graph.before(vertex).len()).collect();
    let mut is_work = vec![false; graph.len()];
    done.iter().for_each(|&vertex| set(&mut is_work, vertex, true));
    let mut open: Vec<usize> = (0..graph.len()).filter(|&vertex| at(&missing, vertex) == 0).collect();
    let mut ready: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let mut running: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let mut now = 0_u64;
    loop {
        // What only carries order takes neither time nor a slot.
        while let Some(vertex) = open.pop() {
            if at(&is_work, vertex) {
                ready.push(Reverse((schedule.slack(vertex), vertex)));
            } else {
                release(graph, vertex, &mut missing, &mut open);
            }
        }
        while running.len() < slots
            && let Some(Reverse((_, vertex))) = ready.pop()
        {
            running.push(Reverse((now.saturating_add(at(&schedule.seconds, vertex)), vertex)));
        }
        let Some(Reverse((end, vertex))) = running.pop() else { return now };
        now = end;
        release(graph, vertex, &mut missing, &mut open);
    }
}

fn release(graph: &Graph, vertex: usize, missing: &mut [usize], open: &mut Vec<usize>) {
    for &next in graph.after(vertex) {
        if let Some(missing) = missing.get_mut(next) {
            *missing = missing.saturating_sub(1);
            if *missing == 0 {
                open.push(next);
            }
        }
    }
}
