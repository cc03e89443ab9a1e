//! Names for the nodes that methods make: the way to them, in words.

use std::collections::BTreeSet;

use crate::id::SubtaskId;
use crate::provenance::Digest;

/// Longest name of a sub-task.
const NAME_MAX: usize = 64;
/// Of a longer one so much is kept, before digits that tell it from others.
const KEPT: usize = 54;
/// So much of a method's or task's own name goes into a node's.
const WORD_MAX: usize = 24;

/// The names given so far, in the order they were given.
#[derive(Default)]
pub(super) struct Names {
    taken: BTreeSet<SubtaskId>,
    given: Vec<SubtaskId>,
}

impl Names {
    /// How many were given.
    pub(super) fn count(&self) -> usize {
        self.given.len()
    }

    /// Takes back all but the first so many.
    pub(super) fn forget(&mut self, kept: usize) {
        for name in self.given.drain(kept.min(self.given.len())..) {
            self.taken.remove(&name);
        }
    }

    /// A name nobody has: that of the step, below the way to it.
    pub(super) fn give(&mut self, way: &str, step: &str) -> SubtaskId {
        let wanted = joined(way, step);
        // Names that runs use themselves begin so.
        let is_ours = wanted == "critique"
            || ["repair-", "critique-", "plan-", "judge-"].iter().any(|it| wanted.starts_with(it));
        let wanted = if is_ours { format!("do-{wanted}") } else { wanted };
        let numbered = |number: usize| if number < 2 { wanted.clone() } else { format!("{wanted}-{number}") };
        let free = (1..).map(numbered).find_map(|raw| {
            let id = SubtaskId::parse(&fitted(&raw)).ok()?;
            (!self.taken.contains(&id)).then_some(id)
        });
        // The numbers do not run out, and a fitted name is always a name.
        let id = free.unwrap_or_else(|| SubtaskId::from_chance(&[0]));
        self.taken.insert(id.clone());
        self.given.push(id.clone());
        id
    }
}

/// A way and one more word of it.
pub(super) fn joined(way: &str, word: &str) -> String {
    if way.is_empty() { word.to_owned() } else { format!("{way}-{word}") }
}

/// The name of a task or method as a word of a name.
pub(super) fn word(raw: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let word: String = raw.chars().take(WORD_MAX).map(plain).collect();
    let word = word.trim_matches('-');
    if word.is_empty() { "task".into() } else { word.into() }
}

fn fitted(raw: &str) -> String {
    if raw.len() <= NAME_MAX {
        return raw.to_owned();
    }
    let start: String = raw.chars().take(KEPT).collect();
    let digits: String = Digest::of(raw.as_bytes()).to_string().chars().take(8).collect();
    format!("{start}-{digits}")
}
