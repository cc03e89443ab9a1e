//! Cheap names for short strings: lists are searched by number, not by text.
//!
//! A collision makes two words look alike, which costs one wrong match in a
//! judgement that is statistical anyway; nothing else depends on it.

const SEED: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// FNV-1a over characters, one at a time, so that the hashes of all prefixes
/// come for free.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rolling(u64);

impl Rolling {
    /// Of nothing.
    pub(crate) fn new() -> Self {
        Self(SEED)
    }

    /// With one more character; returns the hash so far.
    pub(crate) fn push(&mut self, letter: char) -> u64 {
        self.0 = (self.0 ^ u64::from(u32::from(letter))).wrapping_mul(PRIME);
        self.0
    }
}

/// The hash of a whole string.
pub(crate) fn of(text: &str) -> u64 {
    let mut rolling = Rolling::new();
    text.chars().fold(SEED, |_, letter| rolling.push(letter))
}

/// The hash of a string read backwards.
pub(crate) fn of_reversed(text: &str) -> u64 {
    let mut rolling = Rolling::new();
    text.chars().rev().fold(SEED, |_, letter| rolling.push(letter))
}

/// A list ready for binary search.
pub(crate) fn sorted(hashes: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut list: Vec<u64> = hashes.collect();
    list.sort_unstable();
    list.dedup();
    list
}
