//! Many patterns, one pass: an Aho–Corasick automaton with every transition
//! worked out, so a symbol costs one table look-up whatever the text is.
//!
//! Nothing here knows what a pattern means.

/// Where the walk over a text stands.
pub(super) type State = u16;

/// Set in a transition when a pattern ends in the state it leads to.
const ENDS: u16 = 0x8000;

/// The table, and what ends where.
#[derive(Debug)]
pub(super) struct Automaton {
    classes: usize,
    next: Vec<u16>,
    ends: Vec<Box<[u16]>>,
}

impl Automaton {
    /// Builds it from patterns of symbol classes; the patterns are known by
    /// their place in the list.
    pub(super) fn new(classes: usize, patterns: &[Vec<u8>]) -> Self {
        let mut trie = Trie::new(classes);
        for (id, pattern) in (0_u16..).zip(patterns) {
            trie.add(pattern, id);
        }
        trie.finish()
    }

    /// The state after this symbol, and whether a pattern ended with it.
    #[inline]
    pub(super) fn step(&self, state: State, class: u8) -> (State, bool) {
        let at = usize::from(state) * self.classes + usize::from(class);
        let to = self.next.get(at).copied().unwrap_or(0);
        (to & !ENDS, to & ENDS != 0)
    }

    /// The patterns that end in this state, the longest first.
    pub(super) fn ending(&self, state: State) -> &[u16] {
        self.ends.get(usize::from(state)).map_or(&[], AsRef::as_ref)
    }
}

/// The automaton while it is built: plain children, no failure links yet.
struct Trie {
    classes: usize,
    children: Vec<Vec<u16>>,
    ends: Vec<Vec<u16>>,
}

impl Trie {
    fn new(classes: usize) -> Self {
        Self { classes, children: vec![vec![0; classes]], ends: vec![Vec::new()] }
    }

    fn child(&self, node: u16, class: usize) -> u16 {
        self.children.get(usize::from(node)).and_then(|row| row.get(class)).copied().unwrap_or(0)
    }

    fn set(&mut self, node: u16, class: usize, to: u16) {
        if let Some(slot) = self.children.get_mut(usize::from(node)).and_then(|row| row.get_mut(class)) {
            *slot = to;
        }
    }

    fn add(&mut self, pattern: &[u8], id: u16) {
        let mut node = 0;
        for &class in pattern {
            let known = self.child(node, class.into());
            node = if known == 0 { self.grow(node, class.into()) } else { known };
        }
        if let Some(ends) = self.ends.get_mut(usize::from(node)) {
            ends.push(id);
        }
    }

    fn grow(&mut self, node: u16, class: usize) -> u16 {
        // A vocabulary that outgrew the numbering would lose its last words; a
        // test holds it well below.
        let Some(new) = u16::try_from(self.children.len()).ok().filter(|new| *new < ENDS) else { return 0 };
        self.children.push(vec![0; self.classes]);
        self.ends.push(Vec::new());
        self.set(node, class, new);
        new
    }

    /// Breadth first: a node's failure target is shallower, so it is complete.
    fn finish(mut self) -> Automaton {
        let mut fail = vec![0_u16; self.children.len()];
        let mut queue: Vec<u16> =
            (0..self.classes).map(|class| self.child(0, class)).filter(|n| *n != 0).collect();
        let mut at = 0;
        while let Some(&node) = queue.get(at) {
            at += 1;
            let back = fail.get(usize::from(node)).copied().unwrap_or(0);
            for class in 0..self.classes {
                let (own, theirs) = (self.child(node, class), self.child(back, class));
                if own == 0 {
                    self.set(node, class, theirs);
                } else {
                    if let Some(target) = fail.get_mut(usize::from(own)) {
                        *target = theirs;
                    }
                    queue.push(own);
                }
            }
            let shorter = self.ends.get(usize::from(back)).cloned().unwrap_or_default();
            if let Some(ends) = self.ends.get_mut(usize::from(node)) {
                ends.extend(shorter);
            }
        }
        self.table(&queue)
    }

    /// States are numbered breadth first: text is mostly near the start, and what
    /// is near the start should lie together in memory.
    fn table(mut self, deeper: &[u16]) -> Automaton {
        let order: Vec<u16> = std::iter::once(0).chain(deeper.iter().copied()).collect();
        let mut renamed = vec![0_u16; order.len()];
        for (new, old) in (0_u16..).zip(&order) {
            if let Some(name) = renamed.get_mut(usize::from(*old)) {
                *name = new;
            }
        }
        let ends_there = |to: u16| self.ends.get(usize::from(to)).is_some_and(|ids| !ids.is_empty());
        let named = |to: u16| {
            let name = renamed.get(usize::from(to)).copied().unwrap_or(0);
            if ends_there(to) { name | ENDS } else { name }
        };
        let rows = order.iter().filter_map(|old| self.children.get(usize::from(*old)));
        let next = rows.flatten().map(|to| named(*to)).collect();
        let mut ends =
            |old: &u16| self.ends.get_mut(usize::from(*old)).map(std::mem::take).unwrap_or_default();
        let ends = order.iter().map(|old| ends(old).into_boxed_slice()).collect();
        Automaton { classes: self.classes, next, ends }
    }
}

#[cfg(test)]
impl Automaton {
    pub(super) fn states(&self) -> usize {
        self.ends.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(patterns: &[&str], text: &str) -> Vec<(usize, u16)> {
        let class = |byte: u8| byte - b'a';
        let patterns: Vec<Vec<u8>> = patterns.iter().map(|p| p.bytes().map(class).collect()).collect();
        let automaton = Automaton::new(26, &patterns);
        let mut state = 0;
        let mut found = Vec::new();
        for (at, byte) in text.bytes().enumerate() {
            let (to, ends) = automaton.step(state, class(byte));
            state = to;
            if ends {
                found.extend(automaton.ending(state).iter().map(|id| (at + 1, *id)));
            }
        }
        found
    }

    #[test]
    fn every_pattern_is_found_where_it_ends_the_longest_first() {
        assert_eq!(found(&["he", "she", "his", "hers"], "ushers"), [(4, 1), (4, 0), (6, 3)]);
        assert_eq!(found(&["aa"], "aaaa"), [(2, 0), (3, 0), (4, 0)]);
        assert_eq!(found(&["abcd", "bc"], "abce"), [(3, 1)]);
    }
}
