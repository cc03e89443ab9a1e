//! How many sub-tasks may run at the same time.
//!
//! The most sub-tasks none of which waits for another are as many as the fewest
//! chains that hold them all (Dilworth); the chains are found by matching. That is
//! done for at most [`EXACT_MAX`] sub-tasks. For more, two bounds are given: the most
//! on one level of the graph, and the number of chains a greedy cover needs.

use serde::Serialize;

use super::flat::Flat;
use super::graph::{Graph, Reach, at, set};
use super::{Choice, Node};

/// Widths of at most so many sub-tasks are exact.
pub const EXACT_MAX: usize = 512;

/// How many sub-tasks may run at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Width {
    /// At least so many.
    pub at_least: usize,
    /// At most so many.
    pub at_most: usize,
}

impl Width {
    /// Whether both bounds are one.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.at_least == self.at_most
    }
}

/// The width of a plan when every choice takes its widest branch.
pub(crate) fn width(flat: &Flat<'_>) -> Width {
    let widest = widest_branches(flat);
    let (graph, counted) = flat.course(|choice| at(&widest, choice));
    let order = graph.order().unwrap_or_default();
    let (at_least, at_most) = bounds(&graph, &order, &counted);
    if at_least == at_most || counted.len() > EXACT_MAX {
        return Width { at_least, at_most };
    }
    let exact = counted.len() - matched(&later(&graph, &order, &counted));
    Width { at_least: exact, at_most: exact }
}

/// For every choice the branch with the most sub-tasks that wait for nothing in it,
/// choices in it counted with theirs: what can start together.
fn widest_branches(flat: &Flat<'_>) -> Vec<usize> {
    let mut together = vec![0_usize; flat.scopes.len()];
    let mut widest = vec![0; flat.entries.len()];
    let mut starts = vec![0; flat.entries.len()];
    let mut scopes_of: Vec<Vec<usize>> = vec![Vec::new(); flat.entries.len()];
    for (place, scope) in flat.scopes.iter().enumerate().skip(1) {
        if let Some(scopes) = scopes_of.get_mut(scope.choice) {
            scopes.push(place);
        }
    }
    // Backwards, so that what is in a choice is known before the choice.
    for (place, entry) in flat.entries.iter().enumerate().rev() {
        let count = match entry.node {
            Node::Subtask(_) => 1,
            Node::Choice(Choice { .. }) => {
                let scopes = scopes_of.get(place).map(Vec::as_slice).unwrap_or_default();
                let most = scopes.iter().max_by_key(|&&it| (at(&together, it), usize::MAX - it)).copied();
                let most = most.unwrap_or_default();
                set(&mut widest, place, at(&flat.scopes, most).branch);
                at(&together, most)
            }
        };
        set(&mut starts, place, count);
        let is_first =
            entry.node.after().iter().all(|id| flat.entry(id).is_none_or(|first| first.scope != entry.scope));
        if is_first && let Some(together) = together.get_mut(entry.scope) {
            *together += count;
        }
    }
    widest
}

/// The most counted vertices on one level, and how many chains a greedy cover needs.
fn bounds(graph: &Graph, order: &[usize], counted: &[usize]) -> (usize, usize) {
    let mut is_counted = vec![false; graph.len()];
    counted.iter().for_each(|&vertex| set(&mut is_counted, vertex, true));
    let mut level = vec![0_usize; graph.len()];
    let mut on_level = vec![0_usize; counted.len() + 1];
    // The counted vertex at the end of the chain that a vertex may continue.
    let mut open = vec![usize::MAX; graph.len()];
    let mut is_continued = vec![false; graph.len()];
    let mut chains = 0;
    for &vertex in order {
        let counts = at(&is_counted, vertex);
        let below = graph.before(vertex).iter().map(|&first| at(&level, first)).max().unwrap_or(0);
        let own = below + usize::from(counts);
        set(&mut level, vertex, own);
        let mut ends = graph.before(vertex).iter().map(|&first| at(&open, first));
        let end = ends.find(|&end| end != usize::MAX && !at(&is_continued, end));
        if !counts {
            set(&mut open, vertex, end.unwrap_or(usize::MAX));
            continue;
        }
        set(&mut open, vertex, vertex);
        if let Some(many) = on_level.get_mut(own) {
            *many += 1;
        }
        match end {
            Some(end) => set(&mut is_continued, end, true),
            None => chains += 1,
        }
    }
    (on_level.into_iter().max().unwrap_or(0), chains)
}

/// For each counted vertex, which of them come later, by their place in the list.
fn later(graph: &Graph, order: &[usize], counted: &[usize]) -> Vec<Vec<usize>> {
    let mut later = vec![Vec::new(); counted.len()];
    for (number, block) in counted.chunks(Reach::BLOCK).enumerate() {
        let reach = Reach::of(graph, order, block);
        for (&vertex, later) in counted.iter().zip(&mut later) {
            let Some(row) = reach.rows.get(vertex) else { continue };
            let held = (0..block.len())
                .filter(|bit| row.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1));
            later.extend(held.map(|bit| number * Reach::BLOCK + bit));
        }
    }
    later
}

/// How many vertices can be given a follower of their own (Kuhn's augmenting paths).
fn matched(later: &[Vec<usize>]) -> usize {
    let mut leader = vec![usize::MAX; later.len()];
    (0..later.len()).filter(|&vertex| augment(later, vertex, &mut leader)).count()
}

/// Gives a vertex a follower by a breadth-first search for one that is free, or whose
/// leader can have another.
fn augment(later: &[Vec<usize>], vertex: usize, leader: &mut [usize]) -> bool {
    let mut asked_by = vec![usize::MAX; later.len()];
    let mut open = std::collections::VecDeque::from([vertex]);
    while let Some(asking) = open.pop_front() {
        for &follower in later.get(asking).into_iter().flatten() {
            if at(&asked_by, follower) != usize::MAX {
                continue;
            }
            set(&mut asked_by, follower, asking);
            let theirs = at(leader, follower);
            if theirs != usize::MAX {
                open.push_back(theirs);
                continue;
            }
            hand_over(follower, vertex, &asked_by, leader);
            return true;
        }
    }
    false
}

/// Walks back from a free follower: everybody on the way takes the one they asked for.
fn hand_over(follower: usize, vertex: usize, asked_by: &[usize], leader: &mut [usize]) {
    let mut follower = follower;
    loop {
        let asking = at(asked_by, follower);
        let before = leader.iter().position(|&theirs| theirs == asking);
        set(leader, follower, asking);
        match before {
            Some(before) if asking != vertex => follower = before,
            Some(_) | None => return,
        }
    }
}
