//! Orders in another notation: Base64 and bytes in hexadecimal.
//!
//! A run is decoded once, up to a bound, and only as long as it reads like text;
//! what comes out is looked at once and never decoded again.

use std::ops::Range;

use super::{Family, Finding, Weight, speaks_strongly};

/// Shortest run of Base64 that could hold a phrase.
const BASE64_MIN: usize = 24;
/// Fewest bytes in hexadecimal that could.
const HEX_MIN: usize = 16;
/// What may stand between two bytes, the longest first.
const HEX_GAPS: [&[u8]; 8] = [b", 0x", b" 0x", b",0x", b"\\x", b", ", b" ", b",", b":"];
/// Most bytes that are decoded of one run.
const DECODED_MAX: usize = 4096;

/// Reports every run that decodes to a suspicious text.
pub(super) fn find(text: &str, mut report: impl FnMut(Finding)) {
    for (span, decoded) in base64_runs(text.as_bytes()) {
        if speaks_strongly(&decoded) {
            report(Finding { family: Family::Encoded, weight: Weight::Strong, rule: "base64", span });
        }
    }
    for (span, decoded) in hex_runs(text.as_bytes()) {
        if speaks_strongly(&decoded) {
            report(Finding { family: Family::Encoded, weight: Weight::Strong, rule: "hex", span });
        }
    }
}

fn base64_runs(bytes: &[u8]) -> impl Iterator<Item = (Range<usize>, String)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + bytes.get(at..)?.iter().position(|byte| sextet(*byte).is_some())?;
            let len = bytes.get(start..)?.iter().take_while(|byte| sextet(**byte).is_some()).count();
            at = start + len;
            if len < BASE64_MIN {
                continue;
            }
            if let Some(text) = bytes.get(start..at).and_then(base64) {
                return Some((start..at, text));
            }
        }
    })
}

fn base64(run: &[u8]) -> Option<String> {
    let mut text = String::new();
    let (mut bits, mut held) = (0_u32, 0_u32);
    for byte in run {
        held = held << 6 | u32::from(sextet(*byte)?);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            let byte = u8::try_from(held >> bits & 0xff).ok()?;
            push(&mut text, byte)?;
        }
        if text.len() >= DECODED_MAX {
            break;
        }
    }
    Some(text)
}

fn sextet(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

/// Only text goes on: the first byte that is none ends the attempt.
fn push(text: &mut String, byte: u8) -> Option<()> {
    let readable = matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7e);
    readable.then(|| text.push(char::from(byte)))
}

/// Pairs of digits, alone or after `0x`, `\x`, a space, a comma or a colon.
fn hex_runs(bytes: &[u8]) -> impl Iterator<Item = (Range<usize>, String)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + bytes.get(at..)?.iter().position(u8::is_ascii_hexdigit)?;
            let (end, text) = hex(bytes, start);
            at = end.max(start + 1);
            if text.len() >= HEX_MIN {
                return Some((start..at, text));
            }
        }
    })
}

/// Where the run ends, and what it says; reading stops at the first byte that
/// is no text, so a run is never longer than what was read of it.
fn hex(bytes: &[u8], start: usize) -> (usize, String) {
    let mut text = String::new();
    let mut at = start;
    while let Some([high, low]) = bytes.get(at..at + 2).and_then(|pair| <[u8; 2]>::try_from(pair).ok()) {
        let (Some(high), Some(low)) = (char::from(high).to_digit(16), char::from(low).to_digit(16)) else {
            break;
        };
        let readable = u8::try_from(high << 4 | low).ok().and_then(|byte| push(&mut text, byte));
        if readable.is_none() || text.len() >= DECODED_MAX {
            break;
        }
        at += 2;
        let rest = bytes.get(at..).unwrap_or_default();
        at += HEX_GAPS.iter().find(|gap| rest.starts_with(gap)).map_or(0, |gap| gap.len());
    }
    (at, text)
}
