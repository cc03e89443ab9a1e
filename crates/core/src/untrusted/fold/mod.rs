//! The canonical copy on which untrusted text is judged, as a stream.
//!
//! [`Reader`] walks a text once and tells for each piece what a reader who means
//! well would take it for (lower case, plain width, look-alikes as what they look
//! like, escapes decoded, what cannot be seen left out), and which bytes of the
//! original it stands for. The copy is never kept, so the offset map cannot drift.
//!
//! Invariants
//! - The pieces cover the text without gap or overlap, in order; several symbols
//!   may share a piece (a ligature), no byte is in two pieces.
//! - One piece costs a bounded look ahead, so a pass is linear.

mod escape;
mod glyph;
#[cfg(test)]
mod tests;

pub(super) use glyph::{Ligature, is_combining, is_invisible, is_tag, is_variation};

/// What a piece of text is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A character with a meaning, in its plainest form.
    Symbol(char),
    /// Several characters written as one.
    Ligature(Ligature),
    /// White space within a line.
    Space,
    /// The end of a line.
    Break,
    /// Decoration between words: `*`, a back-tick, a backslash.
    Soft,
    /// An underscore: decoration around words, glue inside a name.
    Glue,
    /// Nothing to see.
    Nothing,
}

/// A piece and the bytes of the original it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Walks a text piece by piece.
#[derive(Clone, Debug)]
pub(super) struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// The byte that comes next, and where it is.
    #[inline]
    pub(super) fn peek(&self) -> Option<(u8, usize)> {
        self.text.as_bytes().get(self.at).map(|byte| (*byte, self.at))
    }

    /// Steps over a byte that is a piece by itself; see [`plain_symbol`].
    #[inline]
    pub(super) fn skip_plain(&mut self) {
        self.at += 1;
    }
}

impl Iterator for Reader<'_> {
    type Item = Piece;

    #[inline]
    fn next(&mut self) -> Option<Piece> {
        let start = self.at;
        let &byte = self.text.as_bytes().get(start)?;
        let (kind, len) = match byte {
            b'\\' | b'&' | b'%' | 0x1b => escaped(self.text, start),
            // Two bytes, one end of a line.
            b'\r' if self.text.as_bytes().get(start + 1) == Some(&b'\n') => (Kind::Break, 2),
            0..0x80 => (plain(byte), 1),
            0x80.. => wide(self.text, start),
        };
        self.at = start + len;
        Some(Piece { kind, start, end: self.at })
    }
}

/// The symbol of a byte that is a piece by itself, whatever surrounds it.
pub(super) fn plain_symbol(byte: u8) -> Option<char> {
    match plain(byte) {
        Kind::Symbol(c) if byte < 0x80 && !matches!(byte, b'\\' | b'&' | b'%') => Some(c),
        Kind::Symbol(_)
        | Kind::Ligature(_)
        | Kind::Space
        | Kind::Break
        | Kind::Soft
        | Kind::Glue
        | Kind::Nothing => None,
    }
}

/// How a single character is taken, wherever it stands.
pub(super) fn kind_of(c: char) -> Kind {
    match u8::try_from(c) {
        Ok(byte) if byte < 0x80 => plain(byte),
        Ok(_) | Err(_) => glyph::kind_of(c),
    }
}

fn escaped(text: &str, at: usize) -> (Kind, usize) {
    match escape::decode(text.as_bytes().get(at..).unwrap_or_default()) {
        Some(escape::Decoded { stands_for: Some(c), len }) => (kind_of(c), len),
        Some(escape::Decoded { stands_for: None, len }) => (Kind::Nothing, len),
        None => (text.as_bytes().get(at).map_or(Kind::Nothing, |byte| plain(*byte)), 1),
    }
}

fn wide(text: &str, at: usize) -> (Kind, usize) {
    // A reader only ever stands on a boundary, so there is a character.
    match text.get(at..).and_then(|rest| rest.chars().next()) {
        Some(c) => (glyph::kind_of(c), c.len_utf8()),
        None => (Kind::Nothing, 1),
    }
}

/// ASCII: one look-up, because nearly all text is.
#[inline]
fn plain(byte: u8) -> Kind {
    PLAIN.get(usize::from(byte)).copied().unwrap_or(Kind::Nothing)
}

static PLAIN: [Kind; 128] = plain_table();

#[expect(clippy::indexing_slicing, reason = "evaluated when compiled: out of bounds does not build")]
const fn plain_table() -> [Kind; 128] {
    let mut table = [Kind::Nothing; 128];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = match byte {
            b' ' | b'\t' | 0x0b | 0x0c => Kind::Space,
            b'\n' | b'\r' => Kind::Break,
            b'*' | b'`' | b'~' | b'\\' | b'-' => Kind::Soft,
            b'_' => Kind::Glue,
            0..0x20 | 0x7f => Kind::Nothing,
            // Digits that stand for letters in words written to slip through.
            b'0' => Kind::Symbol('o'),
            b'1' => Kind::Symbol('i'),
            b'3' => Kind::Symbol('e'),
            b'4' => Kind::Symbol('a'),
            b'5' => Kind::Symbol('s'),
            b'7' => Kind::Symbol('t'),
            0x20..=0x7e => Kind::Symbol(byte.to_ascii_lowercase() as char),
            0x80.. => Kind::Nothing,
        };
        byte += 1;
    }
    table
}
