//! Secrets by value: what must not be written down, found and replaced wherever it
//! would be.
//!
//! A secret is recognised as it is and in the notations that turn up by accident:
//! inside JSON, in a URL, in hexadecimal, in Base64. What a model makes of it on
//! purpose is not; [`crate::untrusted::outgoing`] looks closer at what leaves.
//! Nothing here prints or stores a value.

mod stream;

use std::fmt;

pub use stream::MaskedStream;

use crate::untrusted::outgoing::{SECRET_MIN, notations};

/// Replaces secrets in texts.
#[derive(Clone, Default)]
pub struct Mask {
    /// What is looked for, the longest first, and the name of the secret it is.
    needles: Vec<(String, String)>,
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.needles.iter().map(|(_, name)| name)).finish()
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
        let mut needles: Vec<(String, String)> = Vec::new();
        for (name, value) in secrets.into_iter().filter(|(_, value)| value.len() >= SECRET_MIN) {
            // One of many lines is shown line by line.
            let lines = value.lines().map(str::trim).filter(|line| line.len() >= SECRET_MIN);
            for needle in std::iter::once(value).chain(lines).flat_map(notations) {
                if needles.iter().all(|(known, _)| *known != needle) {
                    needles.push((needle, name.to_owned()));
                }
            }
        }
        needles.sort_by_key(|(needle, _)| std::cmp::Reverse(needle.len()));
        Self { needles }
    }

    /// Whether there is anything to look for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.needles.is_empty()
    }

    /// The longest text that is looked for, in bytes.
    #[must_use]
    pub fn longest(&self) -> usize {
        self.needles.first().map_or(0, |(needle, _)| needle.len())
    }

    /// The text, each secret replaced by its name.
    #[must_use]
    pub fn hide(&self, mut text: String) -> Masked {
        let mut names: Vec<String> = Vec::new();
        for (needle, name) in &self.needles {
            if text.contains(needle.as_str()) {
                text = text.replace(needle.as_str(), &format!("[secret {name}]"));
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
        }
        Masked { text, names }
    }

    /// The same for bytes; those that are no text are looked at as they are.
    #[must_use]
    pub fn hide_bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        if self.is_empty() {
            return bytes;
        }
        match String::from_utf8(bytes) {
            Ok(text) => self.hide(text).text.into_bytes(),
            Err(not_text) => {
                let bytes = not_text.into_bytes();
                let holds = |needle: &str| bytes.windows(needle.len()).any(|part| part == needle.as_bytes());
                if self.needles.iter().any(|(needle, _)| holds(needle)) {
                    return self.hide(String::from_utf8_lossy(&bytes).into_owned()).text.into_bytes();
                }
                bytes
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUE: &str = "s3cr3t/\"value\"+x";

    fn mask() -> Mask {
        Mask::new([("TOKEN", VALUE), ("PIN", "1234")])
    }

    #[test]
    fn a_secret_is_replaced_in_every_notation_it_turns_up_in_by_accident() {
        for written in [
            VALUE.to_owned(),
            r#"{"a":"s3cr3t/\"value\"+x"}"#.to_owned(),
            "q=s3cr3t%2F%22value%22%2Bx&b=1".to_owned(),
            "7333637233742f2276616c7565222b78".to_owned(),
            "czNjcjN0LyJ2YWx1ZSIreA==".to_owned(),
        ] {
            let masked = mask().hide(format!("before {written} after"));
            assert!(masked.text.contains("[secret TOKEN]"), "{written} stays in {}", masked.text);
            assert!(masked.text.starts_with("before ") && masked.text.ends_with(" after"));
            assert_eq!(masked.names, ["TOKEN"]);
        }
    }

    #[test]
    fn a_text_without_a_secret_stays_as_it_is_and_a_short_value_is_not_looked_for() {
        let text = "nothing here but 1234".to_owned();
        assert_eq!(mask().hide(text.clone()), Masked { text, names: Vec::new() });
        assert!(Mask::new([("PIN", "1234")]).is_empty());
    }

    #[test]
    fn bytes_that_are_no_text_are_looked_at_too() {
        let mut bytes = b"\xff\xfe ".to_vec();
        assert_eq!(mask().hide_bytes(bytes.clone()), bytes);
        bytes.extend_from_slice(VALUE.as_bytes());
        let hidden = mask().hide_bytes(bytes);
        assert!(String::from_utf8_lossy(&hidden).contains("[secret TOKEN]"));
        assert!(!String::from_utf8_lossy(&hidden).contains("s3cr3t"));
    }

    #[test]
    fn a_secret_within_another_is_part_of_the_longer_one() {
        let mask = Mask::new([("SHORT", "abcdefgh"), ("LONG", "abcdefghijkl")]);
        assert_eq!(mask.hide("x abcdefghijkl y abcdefgh".into()).text, "x [secret LONG] y [secret SHORT]");
        assert_eq!(mask.longest(), 24, "twelve bytes in hexadecimal");
    }

    #[test]
    fn a_secret_of_many_lines_is_hidden_line_by_line() {
        let mask = Mask::new([("KEY", "-----BEGIN-----\nabcdefghijkl\n-----END-------\n")]);
        assert_eq!(mask.hide("3: abcdefghijkl".into()).text, "3: [secret KEY]");
    }

    #[test]
    fn nobody_sees_a_value_by_printing_a_mask() {
        assert!(!format!("{:?}", mask()).contains("s3cr3t"));
    }
}
