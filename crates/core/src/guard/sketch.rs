//! Sketches: enough of a text to say how similar another one is, in a fixed
//! number of bytes.
//!
//! MinHash over shingles of three words. The share of equal cells estimates the
//! Jaccard similarity of the shingle sets; with [`CELLS`] cells its standard
//! error at 0.9 is below 0.04. No text is kept.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Cells of a sketch.
const CELLS: usize = 64;
const SHINGLE: usize = 3;

/// The letters of a cell in JSON: six bits of it are kept.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// What is remembered of a text for comparing it. In JSON a letter for each cell:
/// journals hold one of every long reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch(Box<[u8; CELLS]>);

impl Sketch {
    /// Bytes one takes beside its pointer.
    pub(super) const BYTES: usize = size_of::<[u8; CELLS]>();

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
        Self(Box::new(cells.map(letter)))
    }

    /// How similar two texts are, in percent. Two empty texts are the same.
    #[must_use]
    pub fn similar_percent(&self, other: &Self) -> u32 {
        let equal = self.0.iter().zip(other.0.iter()).filter(|(one, two)| one == two).count();
        // Cells that differ share a letter once in 64 times. That much is chance.
        let by_chance = (CELLS - equal) / (LETTERS.len() - 1);
        u32::try_from((equal - by_chance.min(equal)) * 100 / CELLS).unwrap_or(0)
    }
}

fn letter(cell: u32) -> u8 {
    let [.., low] = cell.to_be_bytes();
    LETTERS.get(usize::from(low & 0x3f)).copied().unwrap_or_default()
}

impl Serialize for Sketch {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&self.0.escape_ascii())
    }
}

impl<'de> Deserialize<'de> for Sketch {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'_, str>>::deserialize(from)?;
        parse(&text).ok_or_else(|| serde::de::Error::custom("a sketch has 64 letters, digits, - or _"))
    }
}

fn parse(text: &str) -> Option<Sketch> {
    let cells: [u8; CELLS] = text.as_bytes().try_into().ok()?;
    cells.iter().all(|cell| LETTERS.contains(cell)).then(|| Sketch(Box::new(cells)))
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
