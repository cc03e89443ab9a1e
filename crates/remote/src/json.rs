//! Pieces of JSON as they were written.
//!
//! What a model wrote is handed on verbatim, so replies are read into raw pieces and
//! only what is needed is decoded. Nothing here recurses into what it does not know.

use serde::Deserialize;
use serde_json::value::RawValue;

/// A piece that may be absent or `null`.
pub(crate) type Raw<'a> = Option<&'a RawValue>;

/// Reads one JSON value that fills the whole text; the error is a stranger's no more.
pub(crate) fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| {
        if text.trim().is_empty() {
            "it is empty".to_owned()
        } else {
            format!("it is not the JSON expected: {error}")
        }
    })
}

/// Reads a piece as something smaller; `None` where it is something else.
pub(crate) fn part<'a, T: Deserialize<'a>>(raw: Raw<'a>) -> Option<T> {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
}

/// What becomes of half a surrogate pair, which is no character.
#[derive(Clone, Copy)]
pub(crate) enum Lone {
    /// It is replaced, as in a text for people.
    Replaced,
    /// It stays written as an escape, for whoever reads the arguments to object to.
    Escaped,
}

/// A string, decoded; `None` where the piece is no string.
pub(crate) fn string(raw: Raw<'_>, lone: Lone) -> Option<String> {
    let written = raw?.get().trim();
    let inner = written.strip_prefix('"')?.strip_suffix('"')?;
    if !inner.contains('\\') {
        return Some(inner.to_owned());
    }
    // The usual case; only what the strict reader refuses is read here.
    serde_json::from_str(written).ok().or_else(|| Some(decode(inner, lone)))
}

/// A text for people and prompts.
pub(crate) fn text(raw: Raw<'_>) -> Option<String> {
    string(raw, Lone::Replaced)
}

fn decode(inner: &str, lone: Lone) -> String {
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('u') => unit(&mut chars, lone, &mut out),
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}

/// A code unit, and the one after it where they are a pair.
fn unit(chars: &mut std::str::Chars<'_>, lone: Lone, out: &mut String) {
    let Some(first) = hex(chars) else { return };
    if let Some(plain) = char::from_u32(first) {
        out.push(plain);
        return;
    }
    let mut ahead = chars.clone();
    let follows = (ahead.next(), ahead.next()) == (Some('\\'), Some('u'));
    let second = if follows { hex(&mut ahead) } else { None };
    let pair = second.and_then(|second| {
        let both = [u16::try_from(first).ok()?, u16::try_from(second).ok()?];
        char::decode_utf16(both).next()?.ok()
    });
    match (pair, lone) {
        (Some(pair), _) => {
            *chars = ahead;
            out.push(pair);
        }
        (None, Lone::Replaced) => out.push(char::REPLACEMENT_CHARACTER),
        (None, Lone::Escaped) => out.push_str(&format!("\\u{first:04x}")),
    }
}

fn hex(chars: &mut std::str::Chars<'_>) -> Option<u32> {
    let digits: String = chars.by_ref().take(4).collect();
    u32::from_str_radix(&digits, 16).ok()
}

/// A count of tokens: what is larger than any number counts as the largest, and what is
/// none, or below nothing, as not told.
pub(crate) fn count(raw: Raw<'_>) -> Option<u64> {
    let written = raw?.get().trim();
    if !written.is_empty() && written.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(written.parse().unwrap_or(u64::MAX));
    }
    let number: f64 = written.parse().ok()?;
    if number.is_nan() || number < 0.0 {
        return None;
    }
    // Beyond the integers a float still stands for at least so many.
    format!("{:.0}", number.ceil()).parse().ok().or(Some(u64::MAX))
}

/// A number, as large or small as it was written; `None` where the piece is no number.
pub(crate) fn number(raw: Raw<'_>) -> Option<f64> {
    raw?.get().trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn half_a_pair_is_replaced_in_a_text_and_stays_an_escape_in_arguments() {
        let odd = raw(r#""a\ud800b\n\ud83d\ude00""#);
        assert_eq!(string(Some(&odd), Lone::Replaced).unwrap(), "a\u{fffd}b\n😀");
        assert_eq!(string(Some(&odd), Lone::Escaped).unwrap(), "a\\ud800b\n😀");
        let end = raw(r#""x\udc00""#);
        assert_eq!(string(Some(&end), Lone::Escaped).unwrap(), "x\\udc00");
    }

    #[test]
    fn a_count_never_wraps_and_is_never_negative() {
        for (written, want) in [
            ("7", Some(7)),
            ("18446744073709551615", Some(u64::MAX)),
            ("99999999999999999999999", Some(u64::MAX)),
            ("1e300", Some(u64::MAX)),
            ("12.5", Some(13)),
            ("-1", None),
            ("\"7\"", None),
            ("null", None),
        ] {
            assert_eq!(count(Some(&raw(written))), want, "{written}");
        }
    }

    #[test]
    fn deep_nesting_in_a_piece_is_no_trouble_for_the_reader() {
        #[derive(Deserialize)]
        struct Outer<'a> {
            #[serde(borrow)]
            args: Raw<'a>,
        }
        let deep =
            format!("{{\"other\": {0}{1}, \"args\": {0}{1}}}", "[".repeat(100_000), "]".repeat(100_000));
        let outer: Outer<'_> = read(&deep).unwrap();
        assert_eq!(outer.args.unwrap().get().len(), 200_000);
    }
}
