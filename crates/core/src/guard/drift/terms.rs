//! Text cut into the terms that carry its subject.
//!
//! Words are folded and stemmed, identifiers are cut at case and underscore,
//! Chinese and Japanese become pairs of characters. Grammar words fall away.
//! Nothing here compares texts.

use std::borrow::Cow;

use super::fold::{self, Script};
use super::hash;
use super::language::{self, Language};
use super::stem;

/// What a term is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An ordinary word.
    Word,
    /// A word that belongs to any subject.
    Weak,
    /// A word written like a name in the middle of a sentence.
    Name,
    /// Part of an identifier: code, a path, an address.
    Code,
    /// A number, date or version.
    Number,
    /// Two Han characters.
    Pair,
    /// One Han character on its own.
    Single,
}

/// One term of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Term<'a> {
    /// What it is compared by.
    pub(crate) stem: Cow<'a, str>,
    /// The stem's hash.
    pub(crate) key: u64,
    /// As it stands in the text.
    pub(crate) surface: &'a str,
    /// What it is made of.
    pub(crate) kind: Kind,
    /// Its place among the terms of the text.
    pub(crate) place: usize,
}

impl Term<'_> {
    /// How much subject it carries.
    pub(crate) fn weight(&self) -> f64 {
        match self.kind {
            Kind::Word | Kind::Name | Kind::Code => 1.0,
            Kind::Pair => 0.6,
            Kind::Single => 0.4,
            Kind::Weak => 0.35,
            Kind::Number => 0.3,
        }
    }
}

/// The longest word that is looked at; longer ones are cut.
const WORD_CHARS_MAX: usize = 48;

/// The terms of a text, in order.
pub(crate) fn terms(text: &str, language: Language) -> Vec<Term<'_>> {
    let mut cutter = Cutter { language, found: Vec::new(), opens: true };
    let mut start = 0;
    let mut kind = Script::Mark;
    for (at, raw) in text.char_indices() {
        let letter = fold::fold_width(raw);
        let script = fold::script(letter);
        if joins(kind, script, letter) {
            continue;
        }
        cutter.take(text.get(start..at).unwrap_or_default(), kind);
        if ends_sentence(letter) {
            cutter.opens = true;
        }
        (start, kind) = (at, script);
    }
    cutter.take(text.get(start..).unwrap_or_default(), kind);
    cutter.found
}

fn ends_sentence(letter: char) -> bool {
    matches!(letter, '.' | '!' | '?' | ':' | '\n' | '|' | '。')
}

/// May `next` continue a run of `kind`?
fn joins(kind: Script, next: Script, letter: char) -> bool {
    match kind {
        Script::Letter => matches!(next, Script::Letter | Script::Digit) || letter == '_',
        Script::Digit => {
            matches!(next, Script::Letter | Script::Digit) || matches!(letter, '.' | ',' | ':' | '-' | '_')
        }
        Script::Han | Script::Hiragana | Script::Katakana => next == kind,
        Script::Mark => false,
    }
}

struct Cutter<'a> {
    language: Language,
    found: Vec<Term<'a>>,
    /// The next word opens a sentence, so its capital means nothing.
    opens: bool,
}

impl<'a> Cutter<'a> {
    fn take(&mut self, run: &'a str, kind: Script) {
        match kind {
            Script::Letter => self.take_word(run),
            Script::Digit => self.take_number(run),
            Script::Han => self.take_han(run),
            Script::Katakana => self.push(Cow::Borrowed(run), run, Kind::Word),
            // Japanese syllables of grammar, and marks.
            Script::Hiragana | Script::Mark => return,
        }
        self.opens = false;
    }

    fn take_word(&mut self, run: &'a str) {
        let parts = identifier_parts(run);
        let is_code = parts.len() > 1 || run.bytes().any(|byte| byte == b'_' || byte.is_ascii_digit());
        let capital = run.chars().next().is_some_and(char::is_uppercase);
        let named = capital && !self.opens && self.language != Language::German;
        for part in parts {
            let word = shortened(fold::folded(part));
            if word.chars().nth(1).is_none() || language::is_function_word(&word, self.language) {
                continue;
            }
            let stem = stem::stem(word, self.language);
            let kind = if is_code {
                Kind::Code
            } else if named {
                Kind::Name
            } else if language::is_weak(&stem, self.language) {
                Kind::Weak
            } else {
                Kind::Word
            };
            self.push(Cow::Owned(stem), part, kind);
        }
    }

    fn take_number(&mut self, run: &'a str) {
        let number = run.trim_end_matches(['.', ',', ':', '-', '_']);
        let stem = shortened(fold::folded(number)).replace(',', "");
        self.push(Cow::Owned(stem), number, Kind::Number);
    }

    fn take_han(&mut self, run: &'a str) {
        let mut letters = run.char_indices();
        let Some((mut start, mut first)) = letters.next() else { return };
        let single = run.len() == first.len_utf8();
        if single && !language::is_plain_han(first) {
            self.push(Cow::Borrowed(run), run, Kind::Single);
        }
        for (at, second) in letters {
            let pair = run.get(start..at + second.len_utf8()).unwrap_or_default();
            let plain = [first, second].iter().filter(|han| language::is_plain_han(**han)).count();
            (start, first) = (at, second);
            let kind = match plain {
                0 if !language::is_weak_han(pair) => Kind::Pair,
                0 | 1 => Kind::Weak,
                _ => continue,
            };
            self.push(Cow::Borrowed(pair), pair, kind);
        }
    }

    fn push(&mut self, stem: Cow<'a, str>, surface: &'a str, kind: Kind) {
        let key = hash::of(&stem);
        let place = self.found.len();
        self.found.push(Term { stem, key, surface, kind, place });
    }
}

/// `parseHTTPDate_v2` is `parse`, `HTTP`, `Date`, `v2`.
fn identifier_parts(run: &str) -> Vec<&str> {
    if run.chars().skip(1).all(char::is_lowercase) {
        return vec![run];
    }
    let letters: Vec<(usize, char)> = run.char_indices().collect();
    let letter = |at: usize| letters.get(at).map(|(_, letter)| *letter);
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, (offset, this)) in letters.iter().enumerate() {
        let before = at.checked_sub(1).and_then(letter);
        let after_lower = before.is_some_and(char::is_lowercase);
        let after_upper = before.is_some_and(char::is_uppercase);
        let hump = this.is_uppercase()
            && (after_lower || (after_upper && starts_word(letter(at + 1), letter(at + 2))));
        if hump || *this == '_' {
            parts.extend(run.get(start..*offset));
            start = if *this == '_' { offset + 1 } else { *offset };
        }
    }
    parts.extend(run.get(start..));
    parts.retain(|part| !part.is_empty());
    parts
}

/// After a capital: does a lower-case word begin? The `s` of `PDFs` is none.
fn starts_word(after: Option<char>, next: Option<char>) -> bool {
    after.is_some_and(char::is_lowercase) && (after != Some('s') || next.is_some_and(char::is_lowercase))
}

fn shortened(mut word: String) -> String {
    if let Some((end, _)) = word.char_indices().nth(WORD_CHARS_MAX) {
        word.truncate(end);
    }
    word
}
