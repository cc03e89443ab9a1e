//! Terminal colours and other escape sequences, taken out.

use std::borrow::Cow;

/// The text without ANSI escape sequences: CSI, OSC, and the two-character ones.
pub(super) fn without_colour(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut parts = text.split('\u{1b}');
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        plain.push_str(after_sequence(part));
    }
    Cow::Owned(plain)
}

/// What follows the sequence whose escape character was just before this text.
fn after_sequence(text: &str) -> &str {
    if let Some(rest) = text.strip_prefix('[') {
        let end = rest.find(|letter: char| !matches!(letter, '0'..='?' | ' '..='/'));
        let ended = end.map(|end| rest.split_at(end).1);
        let mut letters = ended.unwrap_or_default().chars();
        // The final byte of a sequence belongs to it; anything else, such as a line's end, does not.
        return match letters.next() {
            Some('@'..='~') => letters.as_str(),
            Some(_) | None => ended.unwrap_or_default(),
        };
    }
    if let Some(rest) = text.strip_prefix(']') {
        return rest.split_once('\u{7}').map_or("", |(_, rest)| rest);
    }
    let mut letters = text.chars();
    match letters.next() {
        Some('\\' | '(' | ')' | '=' | '>' | '7' | '8' | 'c' | 'M') => letters.as_str(),
        Some(_) | None => text,
    }
}
