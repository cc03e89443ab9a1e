//! Base32, in capitals or small letters, in one piece.

use std::ops::Range;

use super::{DECODED_MAX, Pieces};

/// Runs of Base32 digits with text in them.
pub(super) fn runs(bytes: &[u8], shortest: usize, mut take: impl FnMut(Range<usize>, String)) {
    let digits_min = shortest * 8 / 5;
    let mut at = 0;
    while let Some(offset) = bytes.get(at..).and_then(|rest| rest.iter().position(|b| value(*b).is_some())) {
        let start = at + offset;
        let rest = bytes.get(start..).unwrap_or_default();
        let len = rest.iter().take_while(|byte| value(**byte).is_some()).count();
        at = start + len;
        // The first digit decides the case: words of prose mix them, or are short.
        if len < digits_min {
            continue;
        }
        let text = decoded(rest.get(..len.min(DECODED_MAX)).unwrap_or_default(), shortest);
        if !text.is_empty() {
            take(start..at, text);
        }
    }
}

fn decoded(run: &[u8], shortest: usize) -> String {
    let mut pieces = Pieces::new(shortest);
    let (mut held, mut bits) = (0_u32, 0_u32);
    for digit in run.iter().filter_map(|byte| value(*byte)) {
        held = held << 5 & 0xfff | u32::from(digit);
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            pieces.push(u8::try_from(held >> bits & 0xff).unwrap_or(0));
        }
    }
    pieces.finish()
}

fn value(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a'),
        b'2'..=b'7' => Some(byte - b'2' + 26),
        _ => None,
    }
}
