//! A text that comes in pieces, without its secrets.
//!
//! A secret may come in two pieces, so what could be the beginning of one is kept
//! back until the next piece shows whether it is. Everything else is let through at
//! once: without secrets nothing waits.

use super::Mask;

/// What is kept of a text that comes in pieces.
#[derive(Clone, Debug)]
pub struct MaskedStream<'m> {
    mask: &'m Mask,
    kept: String,
}

impl<'m> MaskedStream<'m> {
    /// Nothing has come yet.
    #[must_use]
    pub fn new(mask: &'m Mask) -> Self {
        Self { mask, kept: String::new() }
    }

    /// The next piece; gives back what may be shown now.
    #[must_use]
    pub fn piece(&mut self, piece: &str) -> String {
        if self.mask.is_empty() {
            return piece.to_owned();
        }
        self.kept.push_str(piece);
        let rest = self.kept.split_off(self.cut());
        let shown = std::mem::replace(&mut self.kept, rest);
        self.mask.hide(shown).text
    }

    /// There is no more; gives back what was kept.
    #[must_use]
    pub fn rest(&mut self) -> String {
        self.mask.hide(std::mem::take(&mut self.kept)).text
    }

    /// From where on the text could belong to a secret that is not here whole. A secret
    /// that lies across that place goes with what is kept.
    fn cut(&self) -> usize {
        let mut cut = self.kept.len();
        for (needle, _) in &self.mask.needles {
            cut = cut.min(self.kept.len() - begun(&self.kept, needle));
        }
        loop {
            let across = self.mask.needles.iter().filter_map(|(needle, _)| {
                let found = self.kept.match_indices(needle.as_str()).map(|(at, _)| at);
                found.filter(|at| *at < cut && at + needle.len() > cut).min()
            });
            match across.min() {
                Some(earlier) => cut = earlier,
                None => return cut,
            }
        }
    }
}

/// How many bytes at the end of a text are the beginning of a needle, not all of it.
fn begun(text: &str, needle: &str) -> usize {
    let most = needle.len().saturating_sub(1).min(text.len());
    let is_start = |len: &usize| {
        needle.is_char_boundary(*len) && needle.get(..*len).is_some_and(|start| text.ends_with(start))
    };
    (1..=most).rev().find(is_start).unwrap_or(0)
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
        assert_eq!(shown(&mask, &["Hello ", "world"]).0, ["Hello ", "world", ""]);
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
