//! Sequences of words that make a phrase.
//!
//! For each step of each rule only the latest way to have come so far is kept:
//! it is the one with the shortest gap to what follows, so nothing else could
//! complete the phrase when it cannot.

use std::ops::Range;
use std::sync::LazyLock;

use super::Seen;
use super::lexicon::{RULES, Reach, SLOTS};

/// Most steps of a rule.
const STEPS: usize = 3;

/// Where a slot is used: rule and step.
static USES: LazyLock<Vec<Vec<(usize, usize)>>> = LazyLock::new(|| {
    let mut uses = vec![Vec::new(); SLOTS];
    for (rule, steps) in RULES.iter().map(|rule| rule.steps).enumerate() {
        for (step, slot) in steps.iter().enumerate() {
            if let Some(of_slot) = uses.get_mut(*slot as usize) {
                of_slot.push((rule, step));
            }
        }
    }
    // Later steps first: one word must not count as two steps of a phrase.
    for of_slot in &mut uses {
        of_slot.sort_by_key(|(_, step)| std::cmp::Reverse(*step));
    }
    uses
});

/// How far a phrase has come.
#[derive(Clone, Copy, Debug)]
struct Partial {
    start: usize,
    place: u32,
    stops: u32,
}

/// All phrases of a text, as far as they have come.
pub(super) struct Phrases {
    reached: Vec<[Option<Partial>; STEPS]>,
}

impl Phrases {
    pub(super) fn new() -> Self {
        Self { reached: vec![[None; STEPS]; RULES.len()] }
    }

    /// Takes in a word and reports the rules it completes.
    pub(super) fn word(
        &mut self,
        slots: u128,
        first: Seen,
        last: Seen,
        mut complete: impl FnMut(usize, Range<usize>),
    ) {
        let mut left = slots;
        while left != 0 {
            let slot = left.trailing_zeros() as usize;
            left &= left - 1;
            for &(rule, step) in USES.get(slot).map_or(&[][..], Vec::as_slice) {
                if let Some(start) = self.advance(rule, step, first, last) {
                    complete(rule, start..last.end);
                }
            }
        }
    }

    /// The start of the phrase, when this step was its last.
    fn advance(&mut self, rule: usize, step: usize, first: Seen, last: Seen) -> Option<usize> {
        let known = RULES.get(rule)?;
        let reached = self.reached.get_mut(rule)?;
        let start = match step.checked_sub(1) {
            None => first.start,
            Some(before) => {
                let before = (*reached.get(before)?)?;
                let apart = first.place.wrapping_sub(before.place);
                let near = (1..=known.gap + 1).contains(&apart);
                let within = match known.reach {
                    Reach::Sentence => before.stops == first.stops,
                    Reach::Text => true,
                };
                if !(near && within) {
                    return None;
                }
                before.start
            }
        };
        *reached.get_mut(step)? = Some(Partial { start, place: last.place, stops: last.stops });
        (step + 1 == known.steps.len()).then_some(start)
    }
}
