//! The arguments of a call, taken apart into what could have come from somewhere.

use serde_json::Value;

use super::hash;
use super::word::{Word, words};

/// Longest text, in words, that is looked up as a whole.
const PHRASE_MAX: usize = 12;
/// Words that say nothing about where a text comes from.
#[rustfmt::skip]
const COMMON: &[&str] = &[
    "a", "an", "and", "as", "at", "be", "by", "dear", "for", "from", "he", "hello", "hi", "i", "in", "is", "it",
    "me", "my", "of", "on",
    "or", "our", "she", "that", "the", "they", "this", "to", "we", "with", "you", "your",
];

/// A string or a number among the arguments.
pub(super) struct Scalar<'a> {
    path: &'a [Step<'a>],
    text: &'a str,
}

/// One step of a path into the arguments.
#[derive(Clone, Copy)]
enum Step<'a> {
    Key(&'a str),
    Place(usize),
}

/// A part of a scalar that is looked up for itself.
pub(super) struct Part<'a> {
    pub(super) written: &'a str,
    pub(super) words: Hashes,
    /// Says enough to be asked about wherever it comes from.
    pub(super) is_telling: bool,
    /// An address, a number, a name: something that points somewhere.
    pub(super) is_identifier: bool,
}

/// The hashes of a word, or of the pairs of a phrase.
pub(super) struct Hashes(Vec<(u64, u64)>);

impl Hashes {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Of what is written.
    pub(super) fn raw(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|(raw, _)| *raw)
    }

    /// Of what it looks like.
    pub(super) fn plain(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|(_, plain)| *plain)
    }

    fn of(words: &[Word<'_>]) -> Self {
        let forms: Vec<(String, String)> = words.iter().map(|word| (word.raw(), word.plain())).collect();
        let hashes = match forms.as_slice() {
            [(raw, plain)] => vec![(hash(&[raw]), hash(&[plain]))],
            several => several
                .iter()
                .zip(several.iter().skip(1))
                .map(|(before, after)| (hash(&[&before.0, &after.0]), hash(&[&before.1, &after.1])))
                .collect(),
        };
        Self(hashes)
    }
}

/// Hands every string and number of the arguments on; arguments that are no JSON
/// are one string.
pub(super) fn each(args: &str, mut take: impl FnMut(&Scalar<'_>)) {
    match serde_json::from_str::<Value>(args) {
        Ok(value) => walk(&value, &mut Vec::new(), &mut take),
        Err(_) => take(&Scalar { path: &[], text: args }),
    }
}

/// Not deeper than the parser went.
fn walk<'a>(value: &'a Value, path: &mut Vec<Step<'a>>, take: &mut impl FnMut(&Scalar<'_>)) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => take(&Scalar { path, text: &number.to_string() }),
        Value::String(text) => take(&Scalar { path, text }),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                path.push(Step::Place(at));
                walk(item, path, take);
                path.pop();
            }
        }
        Value::Object(members) => {
            for (key, item) in members {
                path.push(Step::Key(key));
                // Names of members are the tool's; an address among them is somebody's choice.
                if is_identifier(key) {
                    take(&Scalar { path, text: key });
                }
                walk(item, path, take);
                path.pop();
            }
        }
    }
}

impl Scalar<'_> {
    /// Where it stands (RFC 6901).
    pub(super) fn pointer(&self) -> String {
        let mut pointer = String::new();
        for step in self.path {
            pointer.push('/');
            match step {
                Step::Key(key) => pointer.push_str(&key.replace('~', "~0").replace('/', "~1")),
                Step::Place(at) => pointer.push_str(&at.to_string()),
            }
        }
        pointer
    }

    /// The whole, when it is short; every word of it otherwise.
    pub(super) fn parts(&self) -> Vec<Part<'_>> {
        let words: Vec<Word<'_>> = words(self.text).collect();
        let mut parts = Vec::new();
        if (1..=PHRASE_MAX).contains(&words.len()) {
            let is_telling = words.iter().any(|word| says_something(word.written));
            let is_identifier = words.len() == 1 && is_identifier(self.text);
            parts.push(Part { written: self.text, words: Hashes::of(&words), is_telling, is_identifier });
        }
        for word in words.iter().filter(|word| !COMMON.contains(&word.written)) {
            let rest = word.unlabelled().filter(|rest| is_identifier(rest.written));
            for form in std::iter::once(*word).chain(rest) {
                let is_identifier = is_identifier(form.written);
                let words = Hashes::of(std::slice::from_ref(&form));
                parts.push(Part { written: form.written, words, is_telling: is_identifier, is_identifier });
            }
        }
        parts
    }
}

fn says_something(word: &str) -> bool {
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit() || b".:-".contains(&byte));
    !is_number && word.chars().nth(2).is_some() && !COMMON.contains(&word.to_ascii_lowercase().as_str())
}

/// An address, a link, a path, a file name, an account or another long number.
pub(super) fn is_identifier(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let letters = word.chars().filter(|c| c.is_alphabetic()).count();
    let inside = |mark: char| word.trim_matches(mark).contains(mark);
    let address = inside('@') && letters > 0;
    let dotted = letters >= 3 && word.len() >= 5 && (inside('.') || inside('/'));
    let numbered = word.len() >= 8 && digits >= 4 && (letters > 0 || digits == word.len());
    address || dotted || numbered
}
