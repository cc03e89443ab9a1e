//! Takes out of an output what differs from run to run and means nothing:
//! times, durations, process numbers, temporary paths, addresses.
//!
//! One pass over the bytes, linear, without a copy of the text: unchanged
//! stretches go to the sink as they are. Only digits and slashes can start
//! something volatile, so everything else is skipped by a table.

use sha2::{Digest as _, Sha256};

use crate::provenance::Digest;

/// The text without its volatile tokens.
#[must_use]
pub fn normalised(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    each_stretch(text.as_bytes(), |stretch| out.extend_from_slice(stretch));
    String::from_utf8(out).unwrap_or_default()
}

/// Hash of the text without its volatile tokens.
pub(super) fn digest(text: &str) -> Digest {
    let mut hasher = Sha256::new();
    each_stretch(text.as_bytes(), |stretch| hasher.update(stretch));
    Digest(hasher.finalize().into())
}

/// Whether an output says nothing: blank, an empty value, or only the wrapping
/// that a harness puts around every output.
pub(super) fn is_blank(text: &str) -> bool {
    /// Wrapping is short; a longer text says something.
    const WRAPPING_MAX: usize = 512;
    let text = text.trim();
    text.len() <= WRAPPING_MAX && text.lines().all(|line| is_wrapping(line.trim()))
}

fn is_wrapping(line: &str) -> bool {
    let bracketed = line.starts_with('[') && line.ends_with(']');
    let empty_value = matches!(line, "" | "[]" | "{}" | "null" | "None" | "\"\"" | "''" | "()");
    empty_value
        || (bracketed
            && (line.contains("exit code")
                || line.contains("no output")
                || line.starts_with("[Python Interpreter:")))
        || (line.starts_with('<')
            && line.ends_with('>')
            && without_tags(line).bytes().all(|byte| byte.is_ascii_digit()))
        || matches!(line, "(no output)" | "No output" | "no output")
        || line.ends_with("did not produce any output.")
}

fn without_tags(line: &str) -> String {
    let mut inside = false;
    line.chars()
        .filter(|&next| {
            let kept = !inside && next != '<';
            inside = next == '<' || (inside && next != '>');
            kept
        })
        .collect()
}

/// Calls the sink with every stretch of the normalised text, in order.
fn each_stretch(bytes: &[u8], mut sink: impl FnMut(&[u8])) {
    let mut from = 0;
    let mut at = 0;
    while let Some(skip) = bytes.get(at..).and_then(|rest| rest.iter().position(|&byte| starts(byte))) {
        at += skip;
        let (length, mark) = token(bytes, at);
        if let Some(mark) = mark {
            sink(bytes.get(from..at).unwrap_or_default());
            sink(mark);
            from = at + length;
        }
        at += length;
    }
    sink(bytes.get(from..).unwrap_or_default());
}

/// Only digits and slashes can start something volatile.
fn starts(byte: u8) -> bool {
    // `/` stands right before `0`, so one comparison is enough.
    byte.wrapping_sub(b'/') <= 10
}

/// The token at an offset: how long it is, and what stands for it if it is volatile.
fn token(bytes: &[u8], at: usize) -> (usize, Option<&'static [u8]>) {
    let rest = bytes.get(at..).unwrap_or_default();
    if rest.first() == Some(&b'/') {
        return temporary_path(rest).map_or((1, None), |length| (length, Some(b"/tmp/x")));
    }
    let digits = run(rest, u8::is_ascii_digit);
    let before = bytes.get(..at).unwrap_or_default();
    if before.last().is_some_and(|&byte| is_word(byte)) {
        return (digits, None);
    }
    // What follows the digits says what they can be; most numbers end here.
    let volatile: Option<(usize, &'static [u8])> = match rest.get(digits) {
        Some(b'x') => address(rest).map(|length| (length, b"0x".as_slice())),
        Some(b'-') => timestamp(rest, digits).map(|length| (length, b"<ts>".as_slice())),
        Some(b':') => clock(rest).map(|length| (length, b"<t>".as_slice())),
        Some(b'.' | b',' | b' ' | b's' | b'm' | b'u' | b'n' | 0xc2) => {
            duration(rest, digits).map(|length| (length, b"<dur>".as_slice()))
        }
        Some(_) | None => None,
    };
    match volatile {
        Some((length, mark)) => (length, Some(mark)),
        None if follows_pid(before) => (digits, Some(b"<pid>")),
        None => (digits, None),
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn run(bytes: &[u8], holds: impl Fn(&u8) -> bool) -> usize {
    bytes.iter().position(|byte| !holds(byte)).unwrap_or(bytes.len())
}

fn temporary_path(rest: &[u8]) -> Option<usize> {
    const ROOTS: [&[u8]; 3] = [b"/tmp/", b"/var/folders/", b"/var/tmp/"];
    let root = ROOTS.into_iter().find(|root| rest.starts_with(root))?;
    let name = run(rest.get(root.len()..)?, |&byte| is_word(byte) || b"/.-+@%~".contains(&byte));
    Some(root.len() + name)
}

/// `0x` and hexadecimal digits.
fn address(rest: &[u8]) -> Option<usize> {
    let hex = run(rest.strip_prefix(b"0x")?, u8::is_ascii_hexdigit);
    (hex > 0).then_some(2 + hex)
}

/// `YYYY-MM-DD HH:MM:SS`, or with a `T`, a fraction and a zone.
fn timestamp(rest: &[u8], digits: usize) -> Option<usize> {
    const DATE: usize = 10;
    if digits != 4 || !fits(rest, b"dddd-dd-dd") || !matches!(rest.get(DATE), Some(b' ' | b'T')) {
        return None;
    }
    let time = clock(rest.get(DATE + 1..)?)?;
    let zone = rest.get(DATE + 1 + time..).unwrap_or_default();
    let zone = match zone.first() {
        Some(b'Z') => 1,
        Some(b'+' | b'-') if fits(zone.get(1..)?, b"dd:dd") => 6,
        Some(b'+' | b'-') if fits(zone.get(1..)?, b"dddd") => 5,
        _ => 0,
    };
    Some(DATE + 1 + time + zone)
}

/// `HH:MM:SS` or `H:MM:SS`, with an optional fraction.
fn clock(rest: &[u8]) -> Option<usize> {
    let length = if fits(rest, b"dd:dd:dd") {
        8
    } else if fits(rest, b"d:dd:dd") {
        7
    } else {
        return None;
    };
    Some(length + fraction(rest.get(length..).unwrap_or_default()))
}

/// `.123` or `,123`.
fn fraction(rest: &[u8]) -> usize {
    match rest {
        [b'.' | b',', digits @ ..] => match run(digits, u8::is_ascii_digit) {
            0 => 0,
            length => length + 1,
        },
        _ => 0,
    }
}

/// A number and a unit of time.
fn duration(rest: &[u8], digits: usize) -> Option<usize> {
    const UNITS: [&[u8]; 12] = [
        b"s",
        b"ms",
        b"us",
        b"ns",
        b"sec",
        b"secs",
        b"second",
        b"seconds",
        b"minute",
        b"minutes",
        b"milliseconds",
        b"\xc2\xb5s",
    ];
    let number = digits + fraction(rest.get(digits..).unwrap_or_default());
    let after = rest.get(number..)?;
    let space = usize::from(after.first() == Some(&b' '));
    let unit = after.get(space..)?;
    if !matches!(unit.first(), Some(b's' | b'm' | b'u' | b'n' | 0xc2)) {
        return None;
    }
    let name = UNITS.into_iter().find(|name| {
        unit.strip_prefix(*name).is_some_and(|after| !after.first().is_some_and(|&byte| is_word(byte)))
    })?;
    Some(number + space + name.len())
}

/// Whether `pid`, in any case, and one to four separators stand right before.
fn follows_pid(before: &[u8]) -> bool {
    let separates = |byte: u8| matches!(byte, b' ' | b':' | b'=' | b'#' | b'[' | b'(');
    let mut rest = before;
    for _ in 0..4 {
        let [earlier @ .., last] = rest else { return false };
        if !separates(*last) {
            break;
        }
        rest = earlier;
    }
    // The last letter is looked at first: it is almost never there.
    rest.len() < before.len() && matches!(rest, [.., b'p' | b'P', b'i' | b'I', b'd' | b'D'])
}

/// `d` stands for a digit, anything else for itself.
fn fits(bytes: &[u8], pattern: &[u8]) -> bool {
    bytes.len() >= pattern.len()
        && pattern
            .iter()
            .zip(bytes)
            .all(|(&want, &byte)| if want == b'd' { byte.is_ascii_digit() } else { want == byte })
}
