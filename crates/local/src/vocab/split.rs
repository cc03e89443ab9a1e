//! Cutting text into pieces that are encoded by themselves.
//!
//! Files name one of a few known patterns. The originals end in "white space not followed
//! by anything else", which a regular expression without look-ahead cannot say; the last
//! white space of a run is given back by hand instead, and matching stays linear.

use regex::Regex;

const CONTRACTIONS: &str = r"'s|'t|'re|'ve|'m|'ll|'d";
const WORDS: &str = r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+";
const LATER: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}DIGITS| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+";

/// How a vocabulary cuts text.
#[derive(Debug)]
pub(super) struct Split {
    pieces: Regex,
    /// Whether every digit is cut off before anything else is looked at.
    digits_alone: bool,
    /// Whether line ends stay with the white space before them.
    keeps_lines: bool,
}

impl Split {
    /// By the name in the file; `None` for one that is not known.
    pub(super) fn named(name: &str) -> Option<Self> {
        let first = || format!("{CONTRACTIONS}|{WORDS}");
        let (pattern, digits_alone, keeps_lines) = match name {
            "default" | "gpt-2" | "gpt2" => (first(), false, false),
            "smollm" | "starcoder" | "refact" | "command-r" | "codeshell" => (first(), true, false),
            "qwen2" | "deepseek-r1-qwen" => (LATER.replace("DIGITS", ""), false, true),
            "llama-bpe" | "llama3" | "llama-v3" => (LATER.replace("DIGITS", "{1,3}"), false, true),
            _ => return None,
        };
        Regex::new(&pattern).ok().map(|pieces| Self { pieces, digits_alone, keeps_lines })
    }

    /// Calls `see` with every piece, in order; together they are the text.
    pub(super) fn each(&self, text: &str, mut see: impl FnMut(&str)) {
        if !self.digits_alone {
            return self.words(text, &mut see);
        }
        let mut rest = text;
        while let Some(at) = rest.find(char::is_numeric) {
            let (before, from) = rest.split_at(at);
            self.words(before, &mut see);
            let len = from.chars().next().map_or(0, char::len_utf8);
            let (digit, after) = from.split_at(len);
            see(digit);
            rest = after;
        }
        self.words(rest, &mut see);
    }

    fn words(&self, text: &str, see: &mut impl FnMut(&str)) {
        let mut at = 0;
        while let Some(found) = self.pieces.find_at(text, at) {
            if let Some(between) = text.get(at..found.start()).filter(|between| !between.is_empty()) {
                see(between);
            }
            let piece = self.given_back(found.as_str(), found.end() == text.len());
            see(piece);
            at = found.start() + piece.len();
        }
        if let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            see(rest);
        }
    }

    /// A run of white space without its last one, when something follows.
    fn given_back<'a>(&self, piece: &'a str, is_last: bool) -> &'a str {
        let ends_line = self.keeps_lines && piece.ends_with(['\r', '\n']);
        if is_last || ends_line || !piece.chars().all(char::is_whitespace) {
            return piece;
        }
        match piece.char_indices().next_back() {
            Some((at, _)) if at > 0 => piece.get(..at).unwrap_or(piece),
            _ => piece,
        }
    }
}
