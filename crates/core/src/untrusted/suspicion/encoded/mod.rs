//! Orders in another notation: Base64, Base32, and bytes as numbers.
//!
//! A run is decoded once at each alignment, up to a bound; what reads like text is
//! looked at, and what is encoded in it once more. Nothing is decoded a third time, so
//! the work stays linear.

mod base32;
mod base64;
mod numbers;

use std::ops::Range;

use super::{Family, Finding, Weight, speaks_strongly};

/// Shortest piece of readable text that could hold a phrase.
const PIECE_MIN: usize = 16;
/// Most bytes that are decoded of one run.
const DECODED_MAX: usize = 4096;

/// A run of another notation, and what can be read in it.
pub(in super::super) struct Decoded {
    /// Where the run is.
    pub(in super::super) span: Range<usize>,
    /// The notation.
    pub(in super::super) notation: &'static str,
    /// Pieces of text, told apart by line ends.
    pub(in super::super) text: String,
}

/// Reports every run that decodes to a suspicious text.
pub(super) fn find(text: &str, mut report: impl FnMut(Finding)) {
    each(text, PIECE_MIN, |Decoded { span, notation, text }| {
        if speaks_strongly(&text) || speaks_within(&text) {
            report(Finding { family: Family::Encoded, weight: Weight::Strong, rule: notation, span });
        }
    });
}

/// Whether a text that was itself decoded holds another one that speaks.
fn speaks_within(text: &str) -> bool {
    let mut speaks = false;
    each(text, PIECE_MIN, |inner| speaks |= speaks_strongly(&inner.text));
    speaks
}

/// Hands on every run of another notation in which pieces of text at least so long can be read.
pub(in super::super) fn each(text: &str, shortest: usize, mut take: impl FnMut(Decoded)) {
    let bytes = text.as_bytes();
    base64::runs(bytes, shortest, |span, text| take(Decoded { span, notation: "base64", text }));
    base32::runs(bytes, shortest, |span, text| take(Decoded { span, notation: "base32", text }));
    numbers::hex_runs(bytes, shortest, |span, text| take(Decoded { span, notation: "hex", text }));
    numbers::listed_runs(bytes, shortest, |span, text| take(Decoded { span, notation: "numbers", text }));
}

/// The readable pieces of what was decoded.
struct Pieces {
    shortest: usize,
    piece: Vec<u8>,
    found: String,
}

impl Pieces {
    fn new(shortest: usize) -> Self {
        Self { shortest, piece: Vec::new(), found: String::new() }
    }

    /// Takes a byte in; one that no text holds ends a piece.
    fn push(&mut self, byte: u8) {
        if matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7e | 0x80..) {
            self.piece.push(byte);
        } else {
            self.keep();
        }
    }

    /// Keeps what of the piece is text and could hold a phrase, and begins another.
    fn keep(&mut self) {
        for chunk in self.piece.utf8_chunks() {
            if chunk.valid().len() >= self.shortest && self.found.len() < DECODED_MAX {
                self.found.push_str(chunk.valid());
                self.found.push('\n');
            }
        }
        self.piece.clear();
    }

    fn finish(mut self) -> String {
        self.keep();
        self.found
    }
}
