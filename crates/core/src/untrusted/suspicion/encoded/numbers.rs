//! Bytes as numbers: in hexadecimal, and as lists of decimal, octal or binary ones.

use std::ops::Range;

use super::{DECODED_MAX, Pieces};

/// What may stand between two bytes in hexadecimal, the longest first.
const HEX_GAPS: [&[u8]; 8] = [b", 0x", b" 0x", b",0x", b"\\x", b", ", b" ", b",", b":"];
/// What may stand between two numbers of a list.
const LIST_GAPS: &[u8] = b" ,;\t\n\r\\-_/|[]()&#";
/// Longest gap between two numbers.
const GAP_MAX: usize = 4;

/// Pairs of hexadecimal digits, alone or after `0x`, `\x`, a space, a comma or a colon.
pub(super) fn hex_runs(bytes: &[u8], shortest: usize, mut take: impl FnMut(Range<usize>, String)) {
    let mut at = 0;
    while let Some(offset) = bytes.get(at..).and_then(|rest| rest.iter().position(u8::is_ascii_hexdigit)) {
        let start = at + offset;
        let (end, text) = hex(bytes, start, shortest);
        at = end.max(start + 1);
        if !text.is_empty() {
            take(start..at, text);
        }
    }
}

/// Where the run ends, and what it says; reading stops at the first byte that
/// no text holds, so a run is never longer than what was read of it.
fn hex(bytes: &[u8], start: usize, shortest: usize) -> (usize, String) {
    let mut pieces = Pieces::new(shortest);
    let mut at = start;
    while let Some([high, low]) = bytes.get(at..at + 2).and_then(|pair| <[u8; 2]>::try_from(pair).ok()) {
        let (Some(high), Some(low)) = (char::from(high).to_digit(16), char::from(low).to_digit(16)) else {
            break;
        };
        let byte = u8::try_from(high << 4 | low).unwrap_or(0);
        if !matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7e | 0x80..) || at - start >= DECODED_MAX * 2 {
            break;
        }
        pieces.push(byte);
        at += 2;
        let rest = bytes.get(at..).unwrap_or_default();
        at += HEX_GAPS.iter().find(|gap| rest.starts_with(gap)).map_or(0, |gap| gap.len());
    }
    (at, pieces.finish())
}

/// Lists of numbers that are bytes of a text, each in decimal, octal or binary digits.
pub(super) fn listed_runs(bytes: &[u8], shortest: usize, mut take: impl FnMut(Range<usize>, String)) {
    let mut at = 0;
    while let Some(offset) = bytes.get(at..).and_then(|rest| rest.iter().position(u8::is_ascii_digit)) {
        let start = at + offset;
        let (end, numbers) = list(bytes, start);
        at = end;
        if numbers.len() < shortest {
            continue;
        }
        for radix in [10, 8, 2] {
            let mut pieces = Pieces::new(shortest);
            for number in &numbers {
                let is_written_so = radix != 2 || number.len() >= 7;
                let byte = u8::from_str_radix(number, radix).ok().filter(|_| is_written_so);
                pieces.push(byte.unwrap_or(0));
            }
            let text = pieces.finish();
            if !text.is_empty() {
                take(start..end, text);
            }
        }
    }
}

/// Where a list of numbers ends, and its numbers as they are written.
fn list(bytes: &[u8], start: usize) -> (usize, Vec<&str>) {
    let mut numbers = Vec::new();
    let (mut at, mut end) = (start, start);
    while let Some(rest) = bytes.get(at..) {
        let len = rest.iter().take(9).take_while(|byte| byte.is_ascii_digit()).count();
        if len == 0 {
            break;
        }
        end = at + len;
        let number = rest.get(..len).and_then(|digits| std::str::from_utf8(digits).ok());
        numbers.extend(number.filter(|_| numbers.len() < DECODED_MAX));
        let gap = rest.iter().skip(len).take(GAP_MAX).take_while(|byte| LIST_GAPS.contains(byte)).count();
        if gap == 0 {
            break;
        }
        at = end + gap;
    }
    (end, numbers)
}
