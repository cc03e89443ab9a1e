//! How many tokens a text has at the very least, whichever tokeniser counts them.
//!
//! Counted in parts of a token: a character is a sixteenth, and one that only goes on
//! with a run (the same again, or white space after white space) a 128th. Why these
//! numbers are below what any tokeniser counts: ADR 0031. Pieces may be cut anywhere.

/// Parts of a token.
const TOKEN: u64 = 128;
/// What a character counts for: sixteen of them are a token at the least.
const CHARACTER: u64 = 8;
/// What a character counts for that only goes on with a run.
const RUN: u64 = 1;

/// A text while it is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Least {
    parts: u64,
    last: Option<char>,
}

impl Least {
    /// Of one text.
    pub(crate) fn of(text: &str) -> Self {
        let mut least = Self::default();
        least.read(text);
        least
    }

    /// Counts more of it.
    pub(crate) fn read(&mut self, text: &str) {
        for character in text.chars() {
            let goes_on = self
                .last
                .is_some_and(|last| last == character || (last.is_whitespace() && character.is_whitespace()));
            self.parts = self.parts.saturating_add(if goes_on { RUN } else { CHARACTER });
            self.last = Some(character);
        }
    }

    /// Counts so many bytes that nobody kept.
    pub(crate) fn skip(&mut self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.parts = self.parts.saturating_add(bytes.saturating_mul(RUN));
    }

    /// So many tokens at the least.
    pub(crate) fn tokens(self) -> u64 {
        self.parts / TOKEN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> u64 {
        Least::of(text).tokens()
    }

    #[test]
    fn it_is_below_what_tokenisers_count() {
        // Counts of cl100k or o200k, whichever is smaller, from their published vocabularies:
        // one token for each word here, one for a run of 128 spaces, three digits a token.
        for (text, real) in [
            (" responsibilities".repeat(100), 100),
            (" ".repeat(128 * 50), 50),
            ("\n\n    ".repeat(100), 100),
            ("=".repeat(64 * 100), 100),
            ("123".repeat(100), 100),
            ("done".to_owned(), 1),
            ("\u{1f600}".repeat(100), 100),
        ] {
            assert!(tokens(&text) <= real + real / 10, "{} of {real} for {text:.20?}", tokens(&text));
        }
    }

    #[test]
    fn it_is_a_good_part_of_what_tokenisers_count() {
        let prose = "It was the best of times, it was the worst of times, it was the age of wisdom. ";
        // Nineteen words and four commas or stops: 23 tokens.
        assert!(tokens(&prose.repeat(100)) > 2300 / 5, "{}", tokens(&prose.repeat(100)));
        assert!(tokens(&"中文的句子".repeat(100)) >= 31);
        assert!(tokens(&"aGVsbG8gd29ybGQhIQ".repeat(100)) >= 100);
        assert!(tokens(&"x".repeat(1 << 20)) >= 8000, "a run is not nothing");
    }

    #[test]
    fn where_a_text_is_cut_makes_no_difference() {
        let text = "a  bb\n\n ccc".repeat(50);
        let mut least = Least::default();
        text.chars().for_each(|character| least.read(&character.to_string()));
        assert_eq!(least, Least::of(&text));
    }
}
