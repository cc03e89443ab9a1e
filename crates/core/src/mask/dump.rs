//! Bytes as programs list them: lines of hexadecimal with an offset before and a column
//! of characters behind (`xxd`, `hexdump`, `od`), whole words in the other order, and
//! rows of decimal or octal numbers.

use std::ops::Range;

use super::finder::{Cursor, Finder};

/// Fewest digits of an offset.
const OFFSET_MIN: usize = 6;
/// Bytes after which a line may have a wider gap.
const HALF_LINE: usize = 8;
/// Longest line that lists bytes.
const LINE_MAX: usize = 256;
/// Most digits of one word.
const WORD_MAX: usize = 16;

/// Lines of hexadecimal, words read forwards and backwards. What is found reaches to the
/// end of its last line, where the same bytes stand as characters.
pub(super) fn hex<'f>(text: &[u8], finder: &'f Finder) -> [Cursor<'f>; 2] {
    let mut to = [Cursor::new(finder), Cursor::new(finder)];
    let mut start = 0;
    while start < text.len() {
        let rest = text.get(start..).unwrap_or_default();
        let end = start + rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        let known = to.each_ref().map(|cursor| cursor.found.len());
        if !hex_line(text, start..end, &mut to) {
            to.iter_mut().for_each(Cursor::reset);
        }
        for (cursor, known) in to.iter_mut().zip(known) {
            cursor.found.iter_mut().skip(known).for_each(|found| found.end = found.end.max(end));
        }
        start = end + 1;
    }
    to
}

/// Whether the beginning of a line could go on to list bytes.
pub(super) fn could_list(line: &[u8]) -> bool {
    let is_listed = |byte: &u8| byte.is_ascii_hexdigit() || matches!(byte, b' ' | b'\t' | b':');
    line.len() <= LINE_MAX && line.iter().any(u8::is_ascii_hexdigit) && line.iter().all(is_listed)
}

/// False when the line lists no bytes.
fn hex_line(text: &[u8], line: Range<usize>, to: &mut [Cursor<'_>; 2]) -> bool {
    let mut at = line.start + blanks(text, line.start);
    at = offset_end(text, at).unwrap_or(at);
    let mut bytes = 0;
    loop {
        let gap = blanks(text, at);
        if gap > 1 && bytes != 0 && bytes != HALF_LINE {
            return true;
        }
        let from = at + gap;
        let len = word(text, from);
        let ends = text.get(from + len).is_none_or(u8::is_ascii_whitespace);
        if len == 0 || !len.is_multiple_of(2) || len > WORD_MAX || !ends {
            return bytes > 0;
        }
        bytes += len / 2;
        let byte = |at: usize| digit(text, at) << 4 | digit(text, at + 1);
        let (forward, backward) = to.split_at_mut(1);
        for pair in (from..from + len).step_by(2) {
            forward.iter_mut().for_each(|cursor| cursor.push(byte(pair), pair, pair + 2));
        }
        for pair in (from..from + len).step_by(2).rev() {
            backward.iter_mut().for_each(|cursor| cursor.push(byte(pair), from, from + len));
        }
        at = from + len;
    }
}

fn blanks(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count()
}

/// Digits of the word at a place; never many more than a word has.
fn word(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    rest.iter().take(WORD_MAX + 2).take_while(|byte| byte.is_ascii_hexdigit()).count()
}

fn digit(text: &[u8], at: usize) -> u8 {
    let digit = text.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    digit.and_then(|digit| u8::try_from(digit).ok()).unwrap_or(0)
}

/// Where the offset of a line ends, if it has one: it has a colon, or it is unlike the
/// words behind it.
fn offset_end(text: &[u8], at: usize) -> Option<usize> {
    let len = word(text, at);
    let behind = at + len;
    if len >= OFFSET_MIN - 2 && text.get(behind) == Some(&b':') {
        return Some(behind + 1);
    }
    let gap = blanks(text, behind);
    let is_unlike = gap > 1 || word(text, behind + gap) != len;
    ((OFFSET_MIN..=WORD_MAX).contains(&len) && gap > 0 && is_unlike).then_some(behind)
}

/// Rows of numbers: decimal bytes, octal bytes, and octal words in the other order.
pub(super) fn numbers<'f>(text: &[u8], finder: &'f Finder) -> [Cursor<'f>; 3] {
    let mut to = [Cursor::new(finder), Cursor::new(finder), Cursor::new(finder)];
    let mut at = 0;
    let mut line = 0;
    while let Some(byte) = text.get(at).copied() {
        if byte.is_ascii_alphabetic() {
            to.iter_mut().for_each(Cursor::reset);
            at += 1;
        } else if byte.is_ascii_digit() {
            let rest = text.get(at..).unwrap_or_default();
            let len = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let is_offset = len > OFFSET_MIN && at == line;
            if !is_offset {
                number(text, at..at + len, &mut to);
            }
            at += len;
        } else {
            at += 1;
            line = if byte == b'\n' { at } else { line };
        }
    }
    to
}

fn number(text: &[u8], span: Range<usize>, [decimal, octal, words]: &mut [Cursor<'_>; 3]) {
    let (start, end) = (span.start, span.end);
    let len = end - start;
    let digits = text.get(span).unwrap_or_default();
    let value = |radix: u32| {
        let fits = len <= 6;
        let add = |sum: u32, byte: &u8| char::from(*byte).to_digit(radix).map(|digit| sum * radix + digit);
        fits.then(|| digits.iter().try_fold(0_u32, add)).flatten()
    };
    match value(10).and_then(|value| u8::try_from(value).ok()) {
        Some(byte) if len <= 3 => decimal.push(byte, start, end),
        _ => decimal.reset(),
    }
    let eight = value(8);
    match eight.and_then(|value| u8::try_from(value).ok()) {
        Some(byte) if len == 3 || len == 4 => octal.push(byte, start, end),
        _ => octal.reset(),
    }
    match eight.and_then(|value| u16::try_from(value).ok()) {
        Some(word) if len == 6 => {
            word.to_le_bytes().into_iter().for_each(|byte| words.push(byte, start, end))
        }
        _ => words.reset(),
    }
}
