//! Base64, wherever in a run of its digits a text begins, folded, in groups or backwards.

use std::ops::Range;

use super::{DECODED_MAX, Pieces};

/// Shortest line of a folded run that another may follow, and the longest gap between two.
const FOLDED_MIN: usize = 40;
const GAP_MAX: usize = 4;
/// Shortest group of a run that is written in groups of one length.
const GROUP_MIN: usize = 4;
/// Most digits that are decoded of one run.
const DIGITS_MAX: usize = DECODED_MAX / 3 * 4;

/// Runs of Base64 digits with text in them; a line break inside one does not end it.
pub(super) fn runs(bytes: &[u8], shortest: usize, mut take: impl FnMut(Range<usize>, String)) {
    let digits_min = shortest.div_ceil(2) * 3;
    let mut at = 0;
    while let Some(offset) = bytes.get(at..).and_then(|rest| rest.iter().position(|b| sextet(*b).is_some())) {
        let start = at + offset;
        at = run_end(bytes, start);
        let run = bytes.get(start..at).unwrap_or_default();
        if run.len() < digits_min {
            continue;
        }
        let mut digits: Vec<u8> = run.iter().filter_map(|byte| sextet(*byte)).take(DIGITS_MAX).collect();
        let mut text = decoded_everywhere(&digits, shortest);
        digits.reverse();
        text.push_str(&decoded_everywhere(&digits, shortest));
        if !text.is_empty() {
            take(start..at, text);
        }
    }
}

/// Where a run ends: lines of a folded text belong together while they are long, groups
/// while they are of one length.
fn run_end(bytes: &[u8], start: usize) -> usize {
    let digits = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| sextet(**byte).is_some()).count()
    };
    let group = digits(start);
    let mut len = group;
    let mut end = start + len;
    while len >= FOLDED_MIN || (len >= GROUP_MIN && len == group) {
        let rest = bytes.get(end..).unwrap_or_default();
        let gap = rest.iter().take(GAP_MAX).take_while(|byte| byte.is_ascii_whitespace()).count();
        len = digits(end + gap);
        let belongs = len >= FOLDED_MIN || group >= FOLDED_MIN || (1..=group).contains(&len);
        if gap == 0 || len == 0 || !belongs {
            break;
        }
        end += gap + len;
    }
    end
}

/// What can be read in a run, wherever in it a text begins: the digits before may be
/// anything, and so may those behind.
fn decoded_everywhere(digits: &[u8], shortest: usize) -> String {
    let mut found = String::new();
    for offset in 0..4 {
        let mut pieces = Pieces::new(shortest);
        for quad in digits.get(offset..).unwrap_or_default().chunks(4) {
            decoded(quad).for_each(|byte| pieces.push(byte));
        }
        found.push_str(&pieces.finish());
    }
    found
}

/// The bytes of up to four digits.
fn decoded(quad: &[u8]) -> impl Iterator<Item = u8> {
    let held = (0..4).fold(0_u32, |held, at| held << 6 | u32::from(quad.get(at).copied().unwrap_or(0)));
    let [_, first, second, third] = held.to_be_bytes();
    [first, second, third].into_iter().take(quad.len().saturating_sub(1))
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
