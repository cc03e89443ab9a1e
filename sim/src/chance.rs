//! Chance that can be repeated: everything random comes from a seed, and the
//! same seed gives the same plan on every machine.
//!
//! [`Draw`] is a stream; [`Draw::part`] and [`keyed`] start one from what it is
//! about, so that the same question gets the same answer whatever was asked
//! before it. Nothing here asks the machine.

use std::sync::{Mutex, PoisonError};

use bowline::Chance;
use bowline_core::provenance::Digest;

/// A stream of draws (SplitMix64).
#[derive(Clone, Debug)]
pub struct Draw(u64);

impl Draw {
    /// The stream of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A stream of its own for one part of the work, whatever the others draw.
    #[must_use]
    pub fn part(seed: u64, part: u64) -> Self {
        let mut whole = Self(seed ^ part.wrapping_mul(0xd1b5_4a32_d192_ed03));
        Self(whole.draw())
    }

    /// The next 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; zero if `end` is.
    pub fn below(&mut self, end: u64) -> u64 {
        self.draw() % end.max(1)
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True in so many of a thousand cases.
    pub fn happens(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let place = usize::try_from(self.below(items.len() as u64)).unwrap_or(0);
        items.get(place)
    }

    /// Puts the items in another order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            let other = self.below(end as u64 + 1);
            items.swap(end, usize::try_from(other).unwrap_or(end));
        }
    }
}

/// The stream of this seed that belongs to these parts.
#[must_use]
pub fn keyed(seed: u64, parts: &[&[u8]]) -> Draw {
    let seed = seed.to_be_bytes();
    let mut all: Vec<&[u8]> = vec![&seed];
    all.extend_from_slice(parts);
    let digest = Digest::of_parts(&all);
    Draw(digest.0.iter().take(8).fold(0, |sum, byte| (sum << 8) | u64::from(*byte)))
}

/// The engine's chance, from a seed.
pub struct SeededChance(Mutex<Draw>);

impl SeededChance {
    /// Chance that comes from this stream.
    #[must_use]
    pub fn new(draw: Draw) -> Self {
        Self(Mutex::new(draw))
    }
}

impl Chance for SeededChance {
    fn draw(&self) -> [u8; 8] {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).draw().to_be_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_plan_and_its_parts_do_not_disturb_each_other() {
        let first = |mut stream: Draw| [stream.draw(), stream.draw()];
        // Written down: a plan that is named by its seed must be the same next year.
        assert_eq!(first(Draw::new(1)), [0x910a_2dec_8902_5cc1, 0xbeeb_8da1_658e_ec67]);
        assert_ne!(first(Draw::part(1, 0)), first(Draw::part(1, 1)));
        assert_eq!(first(keyed(1, &[b"a", b"b"])), first(keyed(1, &[b"a", b"b"])));
        assert_ne!(first(keyed(1, &[b"a", b"b"])), first(keyed(1, &[b"ab"])));
    }

    #[test]
    fn a_shuffle_keeps_every_item_and_a_range_its_ends() {
        let mut items: Vec<u64> = (0..50).collect();
        let mut stream = Draw::new(7);
        stream.shuffle(&mut items);
        assert_ne!(items, (0..50).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..50).collect::<Vec<_>>());
        assert!((0..100).map(|_| stream.between(3, 5)).all(|drawn| (3..=5).contains(&drawn)));
        assert_eq!((stream.below(0), stream.pick::<u8>(&[])), (0, None));
    }
}
