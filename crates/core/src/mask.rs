//! Secrets by value: what must not be written down, found and replaced wherever it
//! would be.
//!
//! A text is read in several ways (`reading`, `dump`): as it is; with its escapes
//! undone and without what separates; as hexadecimal, Base64, Base32; as lines that list
//! bytes. In each a secret is looked for as it looks there (`needle`), and what is
//! found is a span of the text. Every way is one pass at constant cost a byte.
//!
//! Not found: what is compressed, encrypted, encoded twice, or in a notation of its own.
//! Nothing here prints or stores a value.

mod decoded;
mod dump;
mod finder;
mod needle;
mod reading;
mod stream;
#[cfg(test)]
mod tests;

use std::fmt;

use finder::{Cursor, Finder, Found};
use needle::Value;
pub use stream::MaskedStream;

use crate::untrusted::outgoing::SECRET_MIN;

/// Fewest symbols that are looked for in each way to read a text: about 60 bits.
const HEX_MIN: usize = 16;
const BASE64_MIN: usize = 10;
const BASE32_MIN: usize = 12;
const CORE_MIN: usize = 12;
/// Most bytes without a letter or digit between two parts of a secret that are one.
const SEAM_MAX: usize = 8;

/// Replaces secrets in texts.
#[derive(Clone, Default)]
pub struct Mask {
    names: Vec<String>,
    plain: Finder,
    bare: Finder,
    core: Finder,
    hex: Finder,
    base64: Finder,
    base32: Finder,
    /// The bytes alone, where a text lists them.
    listed: Finder,
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(&self.names).finish()
    }
}

/// A text without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Masked {
    /// What may be written down.
    pub text: String,
    /// The secrets that were in it, by name, each once.
    pub names: Vec<String>,
}

impl Mask {
    /// For secrets with these names and values. A value shorter than eight bytes
    /// would be found everywhere and is not looked for; whoever reads secrets
    /// refuses it.
    pub fn new<'a>(secrets: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut names: Vec<String> = Vec::new();
        let mut values: Vec<Value<'_>> = Vec::new();
        for (name, text) in secrets.into_iter().filter(|(_, value)| value.len() >= SECRET_MIN) {
            let secret = names.len();
            names.push(name.to_owned());
            values.push(Value { text, secret, is_part: false });
            // One of many lines is shown line by line.
            let lines = text.lines().map(str::trim).filter(|line| line.len() >= SECRET_MIN && *line != text);
            values.extend(lines.map(|text| Value { text, secret, is_part: true }));
        }
        Self {
            plain: finder(&values, SECRET_MIN, Value::plain),
            bare: finder(&values, SECRET_MIN, Value::bare),
            core: finder(&values, CORE_MIN, Value::core),
            hex: finder(&values, HEX_MIN, Value::hex),
            base64: finder(&values, BASE64_MIN, |value, to| value.digits(6, to)),
            base32: finder(&values, BASE32_MIN, |value, to| value.digits(5, to)),
            listed: finder(&values, SECRET_MIN, Value::listed),
            names,
        }
    }

    /// Whether there is anything to look for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The text, each secret replaced by its name.
    #[must_use]
    pub fn hide(&self, text: String) -> Masked {
        let mut found = self.find(text.as_bytes());
        if found.is_empty() {
            return Masked { text, names: Vec::new() };
        }
        for found in &mut found {
            while !text.is_char_boundary(found.start) {
                found.start -= 1;
            }
            while !text.is_char_boundary(found.end) {
                found.end += 1;
            }
        }
        let names = self.named(&found);
        let bytes = self.replaced(text.as_bytes(), &found);
        Masked { text: String::from_utf8_lossy(&bytes).into_owned(), names }
    }

    /// The same for bytes, which need not be text; the others stay as they are.
    #[must_use]
    pub fn hide_bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        let found = self.find(&bytes);
        if found.is_empty() { bytes } else { self.replaced(&bytes, &found) }
    }

    /// The names of the secrets in a text, each once.
    #[must_use]
    pub fn names_in(&self, text: &str) -> Vec<String> {
        self.named(&self.find(text.as_bytes()))
    }

    fn named(&self, found: &[Found]) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in found.iter().filter_map(|found| self.names.get(found.secret)) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    fn replaced(&self, bytes: &[u8], found: &[Found]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        let mut at = 0;
        for found in found {
            out.extend_from_slice(bytes.get(at..found.start).unwrap_or_default());
            let name = self.names.get(found.secret).map_or("", String::as_str);
            out.extend_from_slice(format!("[secret {name}]").as_bytes());
            at = found.end;
        }
        out.extend_from_slice(bytes.get(at..).unwrap_or_default());
        out
    }

    /// The places of secrets, in order, none of them touching another.
    fn find(&self, text: &[u8]) -> Vec<Found> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut all: Vec<Found> = Vec::new();
        self.read(text, |cursor, _| all.append(&mut cursor.found));
        joined(text, all)
    }

    /// Reads a text in every way, and hands over the cursor of each, and whether it is
    /// one that needs whole lines.
    fn read<'m>(&'m self, text: &[u8], mut take: impl FnMut(&mut Cursor<'m>, bool)) {
        take(&mut reading::plain(text, &self.plain), false);
        // Mail writes `=3D`, which elsewhere is a sign and a value.
        let ways: &[bool] = if has_mail_escape(text) { &[false, true] } else { &[false] };
        for mail in ways {
            let mut undone = reading::undone(text, (&self.bare, &self.core), *mail);
            take(&mut undone.bare, false);
            take(&mut undone.core, false);
            take(&mut undone.unnumbered, true);
        }
        take(&mut reading::hex(text, &self.hex), false);
        for (mut cursor, pad) in
            [(reading::base64(text, &self.base64), 2), (reading::base32(text, &self.base32), 6)]
        {
            cursor.found.iter_mut().for_each(|found| found.end += padding(text, found.end, pad));
            take(&mut cursor, false);
        }
        dump::hex(text, &self.listed).iter_mut().for_each(|cursor| take(cursor, true));
        dump::numbers(text, &self.listed).iter_mut().for_each(|cursor| take(cursor, true));
    }
}

fn finder<'v>(values: &[Value<'v>], window: usize, add: fn(&Value<'v>, &mut Vec<finder::Needle>)) -> Finder {
    let mut needles = Vec::new();
    values.iter().for_each(|value| add(value, &mut needles));
    Finder::new(window, needles)
}

fn padding(text: &[u8], at: usize, most: usize) -> usize {
    text.get(at..).unwrap_or_default().iter().take(most).take_while(|byte| **byte == b'=').count()
}

fn has_mail_escape(text: &[u8]) -> bool {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'A'..=b'F');
    text.windows(3).any(|part| matches!(part, [b'=', high, low] if is_digit(high) && is_digit(low)))
}

/// Joins what overlaps, and parts of one secret with nothing between them. The longest
/// gives its name.
fn joined(text: &[u8], mut all: Vec<Found>) -> Vec<Found> {
    all.sort_by_key(|found| (found.start, std::cmp::Reverse(found.end), found.secret));
    let mut joined: Vec<(Found, usize)> = Vec::new();
    for found in all {
        let len = found.end - found.start;
        match joined.last_mut() {
            Some((last, longest)) if belongs(text, last, &found) => {
                last.end = last.end.max(found.end);
                if len > *longest {
                    (last.secret, *longest) = (found.secret, len);
                }
            }
            _ => joined.push((found, len)),
        }
    }
    joined.into_iter().map(|(found, _)| found).collect()
}

fn belongs(text: &[u8], last: &Found, next: &Found) -> bool {
    if next.start < last.end {
        return true;
    }
    let seam = text.get(last.end..next.start).unwrap_or_default();
    let is_seam = seam.len() <= SEAM_MAX && !seam.iter().any(u8::is_ascii_alphanumeric);
    last.secret == next.secret && is_seam
}
