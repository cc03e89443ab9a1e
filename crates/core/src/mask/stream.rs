//! A text that comes in pieces, without its secrets.
//!
//! A secret may come in two pieces, so what could be the beginning of one is kept
//! back until the next piece shows whether it is; so is what could be half an escape.
//! Everything else is let through at once: without secrets nothing waits.

use super::Mask;
use super::decoded::ESCAPE_MAX;
use super::dump;

/// Most that is kept back: who spreads a secret over more of nothing gets it shown.
const KEPT_MAX: usize = 64 * 1024;
/// What is kept back is read again when so much more of it has come, a fraction.
const AGAIN: usize = 8;
/// Most digits of a number that may go on.
const NUMBER_MAX: usize = 6;

/// What is kept of a text that comes in pieces.
#[derive(Clone, Debug)]
pub struct MaskedStream<'m> {
    mask: &'m Mask,
    kept: String,
    /// Bytes of it that were read already, to no end.
    read: usize,
}

impl<'m> MaskedStream<'m> {
    /// Nothing has come yet.
    #[must_use]
    pub fn new(mask: &'m Mask) -> Self {
        Self { mask, kept: String::new(), read: 0 }
    }

    /// The next piece; gives back what may be shown now.
    #[must_use]
    pub fn piece(&mut self, piece: &str) -> String {
        if self.mask.is_empty() {
            return piece.to_owned();
        }
        self.kept.push_str(piece);
        // Reading all of it for every letter that is added would take the square of its length.
        if self.kept.len() - self.read < self.read.saturating_sub(ESCAPE_MAX) / AGAIN {
            return String::new();
        }
        let cut = if self.kept.len() > KEPT_MAX { self.kept.len() } else { self.cut() };
        let rest = self.kept.split_off(cut);
        let shown = std::mem::replace(&mut self.kept, rest);
        self.read = self.kept.len();
        self.mask.hide(shown).text
    }

    /// There is no more; gives back what was kept.
    #[must_use]
    pub fn rest(&mut self) -> String {
        self.read = 0;
        self.mask.hide(std::mem::take(&mut self.kept)).text
    }

    /// From where on the text could belong to a secret that is not here whole. A secret
    /// that reaches that place may have more, and goes with what is kept.
    fn cut(&self) -> usize {
        let text = self.kept.as_bytes();
        let whole = open_end(text);
        let known = text.get(..whole).unwrap_or_default();
        let mut cut = whole;
        self.mask.read(known, |cursor, by_line| {
            let begun = cursor.begun();
            cut = cut.min(if by_line { begun.map(|at| line_start(text, at)) } else { begun }.unwrap_or(cut));
        });
        for found in self.mask.find(text).iter().rev() {
            if found.start < cut && found.end >= cut {
                cut = line_start(text, found.start);
            }
        }
        while !self.kept.is_char_boundary(cut) {
            cut -= 1;
        }
        cut
    }
}

fn line_start(text: &[u8], at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)
}

/// Where something begins whose end may not be here yet: an escape, a number, a line
/// that may go on to list bytes.
fn open_end(text: &[u8]) -> usize {
    let line = line_start(text, text.len());
    let is_list = dump::could_list(text.get(line..).unwrap_or_default());
    let whole = open_escape(text);
    if is_list { whole.min(line) } else { whole }
}

fn open_escape(text: &[u8]) -> usize {
    // A number may have more digits.
    let digits = text.iter().rev().take(NUMBER_MAX).take_while(|byte| byte.is_ascii_digit()).count();
    let from = text.len().saturating_sub(ESCAPE_MAX);
    let tail = text.get(from..).unwrap_or_default();
    let near = |byte: &u8, at: usize| match byte {
        0x1b => true,
        b'%' | b'\\' | b'&' => at + 14 > text.len(),
        b'=' => at + 3 > text.len(),
        _ => at + digits == text.len(),
    };
    tail.iter().zip(from..).find(|(byte, at)| near(byte, *at)).map_or(text.len(), |(_, at)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(mask: &Mask, pieces: &[&str]) -> (Vec<String>, String) {
        let mut stream = MaskedStream::new(mask);
        let mut shown: Vec<String> = pieces.iter().map(|piece| stream.piece(piece)).collect();
        shown.push(stream.rest());
        let all = shown.concat();
        (shown, all)
    }

    #[test]
    fn what_cannot_be_a_secret_is_shown_at_once() {
        let mask = Mask::new([("KEY", "sk-abcdefgh")]);
        assert_eq!(shown(&mask, &["Hi, ", "you!"]).0, ["Hi, ", "you!", ""]);
        assert_eq!(shown(&Mask::default(), &["a", "b"]).0, ["a", "b", ""]);
    }

    #[test]
    fn a_secret_in_pieces_is_never_shown_however_it_is_cut() {
        let text = "the key is sk-abcdefgh, not sk-abcdefg or s";
        let mask = Mask::new([("KEY", "sk-abcdefgh")]);
        let want = mask.hide(text.to_owned()).text;
        for size in 1..=text.len() {
            let pieces: Vec<&str> =
                text.as_bytes().chunks(size).map(|part| std::str::from_utf8(part).unwrap()).collect();
            assert_eq!(shown(&mask, &pieces).1, want, "in pieces of {size}");
        }
    }

    #[test]
    fn secrets_that_overlap_are_hidden_as_in_one_piece() {
        let mask = Mask::new([("A", "xxabcdefgh"), ("B", "abcdefghijkl"), ("C", "abcdefgh")]);
        for text in ["xxabcdefgh!", "xabcdefgh ijkl", "abcdefghijkl", "xxabcdefghijkl"] {
            for size in 1..=text.len() {
                let pieces: Vec<&str> =
                    text.as_bytes().chunks(size).map(|part| std::str::from_utf8(part).unwrap()).collect();
                let (_, all) = shown(&mask, &pieces);
                assert!(!all.contains("abcdefgh"), "{text} in pieces of {size}: {all}");
            }
        }
    }
}
