//! Sentences, their words and their numbers.

use std::collections::BTreeSet;

/// Most sentences of one text that are looked at.
pub const SENTENCES_MAX: usize = 200;

const EMPTY_WORDS: [&str; 34] = [
    "the", "and", "was", "were", "are", "for", "that", "this", "with", "from", "has", "have", "had", "will",
    "its", "when", "which", "who", "all", "not", "but", "there", "they", "their", "been", "into", "than",
    "then", "about", "each", "out", "our", "you", "your",
];

/// One sentence, taken apart.
pub(super) struct Sentence<'a> {
    pub(super) text: &'a str,
    pub(super) words: BTreeSet<String>,
    pub(super) numbers: Vec<Number>,
}

/// A number and the word behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Number {
    /// Without separators and needless zeros.
    pub(super) value: String,
    pub(super) unit: String,
}

impl Number {
    /// Years are of one kind, everything else of another.
    pub(super) fn is_year(&self) -> bool {
        self.value.len() == 4 && self.value.starts_with(['1', '2']) && self.unit.is_empty()
    }
}

/// The sentences of a text, without its citations.
pub(super) fn sentences(text: &str) -> Vec<Sentence<'_>> {
    let mut found = Vec::new();
    let mut start = 0;
    let ends = |at: usize, letter: char| {
        let next = text.get(at + letter.len_utf8()..).and_then(|rest| rest.chars().next());
        letter == '\n' || (".!?".contains(letter) && next.is_none_or(char::is_whitespace))
    };
    for (at, letter) in text.char_indices().filter(|(at, letter)| ends(*at, *letter)) {
        let end = at + letter.len_utf8();
        found.extend(text.get(start..end).and_then(sentence));
        start = end;
        if found.len() >= SENTENCES_MAX {
            return found;
        }
    }
    found.extend(text.get(start..).and_then(sentence));
    found
}

fn sentence(text: &str) -> Option<Sentence<'_>> {
    let (mut words, mut numbers) = (BTreeSet::new(), Vec::new());
    let tokens: Vec<&str> = text.split_whitespace().filter(|token| citation(token).is_none()).collect();
    for (at, token) in tokens.iter().enumerate() {
        if let Some(value) = number(token) {
            let ended = token.ends_with(['.', ',', ';', ':', ')']);
            let next = tokens.get(at + 1).filter(|_| !ended).map_or("", |next| next);
            let unit = if next.chars().all(char::is_alphabetic) { word(next) } else { None };
            let unit = unit.filter(|unit| !EMPTY_WORDS.contains(&unit.as_str())).unwrap_or_default();
            numbers.push(Number { value, unit });
        } else {
            words.extend(word(token));
        }
    }
    (!words.is_empty() || !numbers.is_empty()).then_some(Sentence { text: text.trim(), words, numbers })
}

/// A word that means something, in small letters.
pub(super) fn word(token: &str) -> Option<String> {
    let plain = token.trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase();
    let counts = plain.chars().count() >= 3 && plain.chars().any(char::is_alphabetic);
    (counts && !EMPTY_WORDS.contains(&plain.as_str())).then_some(plain)
}

/// A number without separators of thousands and needless zeros.
pub(super) fn number(token: &str) -> Option<String> {
    let plain = token.trim_matches(|letter: char| !letter.is_ascii_digit());
    let inside = token.trim_end_matches(|letter: char| !letter.is_alphanumeric());
    let inside = inside.trim_start_matches(['(', '$', '€', '£', '~', '"']);
    if plain.is_empty() || plain != inside.trim_end_matches('%') {
        return None;
    }
    let plain = plain.replace(',', "");
    let mut dots = plain.matches('.').count();
    if !plain.chars().all(|letter| letter.is_ascii_digit() || letter == '.') || dots > 1 {
        return None;
    }
    let mut value = plain;
    if dots == 1 {
        value = value.trim_end_matches('0').to_owned();
        dots = usize::from(!value.ends_with('.'));
    }
    if dots == 0 {
        value = value.trim_end_matches('.').to_owned();
    }
    Some(value)
}

/// The id in `[s4]` or `[12]`.
pub(super) fn citation(token: &str) -> Option<&str> {
    let inside = token.trim_end_matches(['.', ',', ';', ')']).trim_start_matches('(');
    let id = inside.strip_prefix('[')?.strip_suffix(']')?;
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    (!id.is_empty() && id.len() <= 24 && id.chars().all(fits) && id.contains(|c: char| c.is_ascii_digit()))
        .then_some(id)
}

/// A line that only stands for what is to come.
pub(super) fn is_placeholder(line: &str) -> bool {
    let line = line.trim().trim_matches(|letter: char| "*_-[](){}<>. :".contains(letter)).to_lowercase();
    ["todo", "tbd", "fixme", "to be done", "to be written", "to be determined", "placeholder"]
        .contains(&line.as_str())
        || line.starts_with("lorem ipsum")
}
