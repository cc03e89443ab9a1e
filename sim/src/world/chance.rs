//! Chance that can be repeated: everything random comes from the seed.
//!
//! [`Draw`] is a stream; [`keyed`] starts one from what it is about, so that the
//! same question gets the same answer whatever was asked before it.

use std::sync::{Mutex, PoisonError};

use bowline::Chance;
use bowline_core::provenance::Digest;

/// A stream of draws (SplitMix64).
#[derive(Clone, Debug)]
pub(super) struct Draw(u64);

impl Draw {
    /// The stream of this seed.
    #[must_use]
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; zero if `end` is.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// A number from `low` to `high`, both included.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True in so many of a thousand cases.
    pub(super) fn happens(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }

    /// One of these.
    pub(super) fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let place = usize::try_from(self.below(items.len() as u64)).unwrap_or(0);
        items.get(place)
    }
}

/// The stream of this seed that belongs to these parts.
#[must_use]
pub(super) fn keyed(seed: u64, parts: &[&[u8]]) -> Draw {
    let seed = seed.to_be_bytes();
    let mut all: Vec<&[u8]> = vec![&seed];
    all.extend_from_slice(parts);
    let digest = Digest::of_parts(&all);
    Draw(digest.0.iter().take(8).fold(0, |sum, byte| (sum << 8) | u64::from(*byte)))
}

/// The engine's chance, from the seed.
pub(super) struct SeededChance(Mutex<Draw>);

impl SeededChance {
    pub(super) fn new(draw: Draw) -> Self {
        Self(Mutex::new(draw))
    }
}

impl Chance for SeededChance {
    fn draw(&self) -> [u8; 8] {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).next().to_be_bytes()
    }
}
