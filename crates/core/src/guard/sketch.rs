//! Sketches: enough of a text to say how similar another one is, in a fixed
//! number of bytes.
//!
//! MinHash over shingles of three words. The share of equal cells estimates the
//! Jaccard similarity of the shingle sets; with [`CELLS`] cells its standard
//! error at 0.9 is below 0.04. No text is kept.

use std::fmt::Write as _;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Cells of a sketch.
const CELLS: usize = 64;
const SHINGLE: usize = 3;

/// What is remembered of a text for comparing it. Hexadecimal in JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch(Box<[u16; CELLS]>);

impl Sketch {
    /// Bytes one takes beside its pointer.
    pub(super) const BYTES: usize = size_of::<[u16; CELLS]>();

    /// The sketch of a text by its runs of three words. Case, white space and
    /// punctuation do not count.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self::by_shingles(text, SHINGLE)
    }

    /// The sketch of a text by its words alone, in whatever order.
    #[must_use]
    pub fn of_words(text: &str) -> Self {
        Self::by_shingles(text, 1)
    }

    fn by_shingles(text: &str, length: usize) -> Self {
        let mut cells = [u32::MAX; CELLS];
        let mut words = [0_u64; SHINGLE];
        let mut seen = 0_usize;
        for word in text.split(|next: char| !next.is_alphanumeric()).filter(|word| !word.is_empty()) {
            words.rotate_left(1);
            if let Some(last) = words.last_mut() {
                *last = hash_word(word);
            }
            seen += 1;
            if seen >= length {
                note(&mut cells, words.iter().rev().take(length));
            }
        }
        if (1..length).contains(&seen) {
            note(&mut cells, words.iter());
        }
        // The low half is enough: two cells that differ agree in it once in 65,536.
        Self(Box::new(cells.map(low_half)))
    }

    /// How similar two texts are, in percent. Two empty texts are the same.
    #[must_use]
    pub fn similar_percent(&self, other: &Self) -> u32 {
        let equal = self.0.iter().zip(other.0.iter()).filter(|(one, two)| one == two).count();
        u32::try_from(equal * 100 / CELLS).unwrap_or(0)
    }
}

fn low_half(cell: u32) -> u16 {
    let [_, _, high, low] = cell.to_be_bytes();
    u16::from_be_bytes([high, low])
}

impl Serialize for Sketch {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut text = String::with_capacity(CELLS * 4);
        for cell in self.0.iter() {
            // Writing to a `String` cannot fail.
            _ = write!(text, "{cell:04x}");
        }
        to.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Sketch {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'_, str>>::deserialize(from)?;
        parse(&text).ok_or_else(|| serde::de::Error::custom("a sketch has 256 hexadecimal digits"))
    }
}

fn parse(text: &str) -> Option<Sketch> {
    let mut cells = Box::new([0; CELLS]);
    if text.len() != CELLS * 4 {
        return None;
    }
    for (cell, digits) in cells.iter_mut().zip(text.as_bytes().chunks(4)) {
        *cell = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(Sketch(cells))
}

fn note<'a>(cells: &mut [u32], words: impl Iterator<Item = &'a u64>) {
    let shingle = words.fold(0xcbf2_9ce4_8422_2325, |sum, word| mix(sum ^ word));
    let mut hash = shingle;
    for cell in cells {
        hash = mix(hash.wrapping_add(0x9e37_79b9_7f4a_7c15));
        let [a, b, c, d, ..] = hash.to_be_bytes();
        *cell = (*cell).min(u32::from_be_bytes([a, b, c, d]));
    }
}

fn hash_word(word: &str) -> u64 {
    word.chars().flat_map(char::to_lowercase).fold(0xcbf2_9ce4_8422_2325, |hash, next| {
        (hash ^ u64::from(u32::from(next))).wrapping_mul(0x0100_0000_01b3)
    })
}

fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
