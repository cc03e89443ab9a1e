//! Content hashes and canonical JSON: how bytes get names that prove them.
//!
//! A [`Digest`] names bytes; [`canonical`] makes sure that one JSON value has one
//! text to be named by. Nothing here is keyed: a digest proves that bytes are the
//! same, not who wrote them.

mod canonical;
mod number;
mod reader;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

pub use canonical::{Flaw, NESTING_MAX, NotJson, args_digest, canonical, canonical_value};
pub(crate) use number::{Decimal, NotWhole};

/// A SHA-256 hash. Hexadecimal in JSON.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// What a journal's first record follows.
    pub const ZERO: Self = Self([0; 32]);

    /// The hash of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The hash of these parts. Each part is prefixed by its length, so no two
    /// lists of parts share an encoding.
    #[must_use]
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }

    /// Reads 64 hexadecimal digits as [`Display`](fmt::Display) writes them:
    /// lower case only, so that one hash has one name.
    #[must_use]
    pub fn parse(raw: &str) -> Option<Self> {
        let raw = raw.as_bytes();
        if raw.len() != 64 {
            return None;
        }
        let mut bytes = [0_u8; 32];
        for (byte, pair) in bytes.iter_mut().zip(raw.chunks_exact(2)) {
            let &[high, low] = pair else { return None };
            *byte = nibble(high)? << 4 | nibble(low)?;
        }
        Some(Self(bytes))
    }

    /// The first digits, for people.
    #[must_use]
    pub fn short(&self) -> String {
        self.to_string().chars().take(12).collect()
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0_u8; 64];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            if let [high, low] = pair {
                *high = HEX.get(usize::from(byte >> 4)).copied().unwrap_or(b'0');
                *low = HEX.get(usize::from(byte & 15)).copied().unwrap_or(b'0');
            }
        }
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = <std::borrow::Cow<'_, str>>::deserialize(from)?;
        Self::parse(&raw)
            .ok_or_else(|| serde::de::Error::custom("a SHA-256 hash has 64 lower-case hexadecimal digits"))
    }
}
