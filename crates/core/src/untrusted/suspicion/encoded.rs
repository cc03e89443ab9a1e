//! Orders in another notation: Base64 and bytes in hexadecimal.
//!
//! A run is decoded once at each alignment, up to a bound; what reads like text is
//! looked at once and never decoded again.

use std::ops::Range;

use super::{Family, Finding, Weight, speaks_strongly};

/// Shortest run of Base64 that could hold a phrase.
const BASE64_MIN: usize = 24;
/// Shortest line of a folded run that another may follow, and the longest gap between two.
const FOLDED_MIN: usize = 40;
const GAP_MAX: usize = 4;
/// Shortest piece of readable text that could.
const PIECE_MIN: usize = 16;
/// Most digits that are decoded of one run.
const DIGITS_MAX: usize = DECODED_MAX / 3 * 4;
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

/// Runs of Base64 digits; a line break inside one does not end it.
fn base64_runs(bytes: &[u8]) -> impl Iterator<Item = (Range<usize>, String)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + bytes.get(at..)?.iter().position(|byte| sextet(*byte).is_some())?;
            at = run_end(bytes, start);
            let run = bytes.get(start..at)?;
            if run.len() < BASE64_MIN {
                continue;
            }
            let text = base64(run);
            if !text.is_empty() {
                return Some((start..at, text));
            }
        }
    })
}

/// Where a run ends: lines of a folded text belong together while they are long.
fn run_end(bytes: &[u8], start: usize) -> usize {
    let digits = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| sextet(**byte).is_some()).count()
    };
    let mut len = digits(start);
    let mut end = start + len;
    while len >= FOLDED_MIN {
        let rest = bytes.get(end..).unwrap_or_default();
        let gap = rest.iter().take(GAP_MAX).take_while(|byte| byte.is_ascii_whitespace()).count();
        len = digits(end + gap);
        if gap == 0 || len == 0 {
            break;
        }
        end += gap + len;
    }
    end
}

/// What can be read in a run, wherever in it a text begins: the digits before may be
/// anything, and so may those behind. Pieces are told apart by line ends.
fn base64(run: &[u8]) -> String {
    let digits: Vec<u8> = run.iter().filter_map(|byte| sextet(*byte)).take(DIGITS_MAX).collect();
    let mut found = String::new();
    for offset in 0..4 {
        let mut piece = String::new();
        for quad in digits.get(offset..).unwrap_or_default().chunks(4) {
            for byte in decoded(quad) {
                if push(&mut piece, byte).is_none() {
                    keep(&mut piece, &mut found);
                }
            }
        }
        keep(&mut piece, &mut found);
    }
    found
}

/// The bytes of up to four digits.
fn decoded(quad: &[u8]) -> impl Iterator<Item = u8> {
    let held = (0..4).fold(0_u32, |held, at| held << 6 | u32::from(quad.get(at).copied().unwrap_or(0)));
    let [_, first, second, third] = held.to_be_bytes();
    [first, second, third].into_iter().take(quad.len().saturating_sub(1))
}

/// Keeps a piece that could hold a phrase, and begins another.
fn keep(piece: &mut String, found: &mut String) {
    if piece.len() >= PIECE_MIN && found.len() < DECODED_MAX {
        found.push_str(piece);
        found.push('\n');
    }
    piece.clear();
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
