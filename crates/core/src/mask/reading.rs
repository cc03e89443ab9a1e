//! The ways a text is read: each turns bytes into symbols and feeds them to a cursor,
//! which remembers where each was.
//!
//! What merely separates is skipped, so a secret is found though it is wrapped, spaced
//! or quoted. Each way goes through the text once.

use super::decoded::{self, Read};
use super::finder::{Cursor, Finder};

const SKIP: u8 = 254;
const BREAK: u8 = 255;

/// The bytes as they are.
pub(super) fn plain<'f>(text: &[u8], finder: &'f Finder) -> Cursor<'f> {
    let mut cursor = Cursor::new(finder);
    for (at, byte) in text.iter().enumerate() {
        cursor.push(*byte, at, at + 1);
    }
    cursor
}

/// Escapes undone, without fillers; then letters and digits alone, of whole lines and of
/// lines without the number or offset they begin with.
pub(super) struct Undone<'f> {
    pub(super) bare: Cursor<'f>,
    pub(super) core: Cursor<'f>,
    pub(super) unnumbered: Cursor<'f>,
}

pub(super) fn undone<'f>(text: &[u8], (bare, core): (&'f Finder, &'f Finder), mail: bool) -> Undone<'f> {
    let mut to = Undone { bare: Cursor::new(bare), core: Cursor::new(core), unnumbered: Cursor::new(core) };
    let (has_bare, has_core) = (!bare.is_empty(), !core.is_empty());
    let mut feed = |byte: u8, (start, end): (usize, usize), is_number: bool| {
        if has_bare {
            to.bare.push(byte, start, end);
        }
        if has_core && byte.is_ascii_alphanumeric() {
            let small = byte.to_ascii_lowercase();
            to.core.push(small, start, end);
            if !is_number {
                to.unnumbered.push(small, start, end);
            }
        }
    };
    let mut at = 0;
    let mut number_end = line_number(text, 0);
    while at < text.len() {
        let (read, len) = decoded::read(text, at, mail);
        let span = (at, at + len);
        match read {
            Read::Byte(byte) => feed(byte, span, at < number_end),
            Read::Char(c) => c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| feed(byte, span, false)),
            Read::Nothing => {}
        }
        at += len;
        if text.get(at - 1) == Some(&b'\n') {
            number_end = line_number(text, at);
        }
    }
    to
}

/// Where the number or offset of a line ends: `12:`, `  12<tab>`, `0000020 `.
fn line_number(text: &[u8], start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let blanks = rest.iter().take(8).take_while(|byte| **byte == b' ').count();
    let digits = rest.iter().skip(blanks).take(9).take_while(|byte| byte.is_ascii_hexdigit()).count();
    let is_number = rest.iter().skip(blanks).take(digits).any(u8::is_ascii_digit);
    let ends = matches!(rest.get(blanks + digits), Some(b':' | b'\t' | b' ' | b'|' | b')' | b'.'));
    if is_number && digits <= 8 && ends { start + blanks + digits } else { start }
}

/// Digits of hexadecimal, whatever stands between them.
pub(super) fn hex<'f>(text: &[u8], finder: &'f Finder) -> Cursor<'f> {
    digits(text, finder, &HEX)
}

/// Digits of Base64, both alphabets.
pub(super) fn base64<'f>(text: &[u8], finder: &'f Finder) -> Cursor<'f> {
    digits(text, finder, &BASE64)
}

/// Digits of Base32.
pub(super) fn base32<'f>(text: &[u8], finder: &'f Finder) -> Cursor<'f> {
    digits(text, finder, &BASE32)
}

fn digits<'f>(text: &[u8], finder: &'f Finder, table: &[u8; 256]) -> Cursor<'f> {
    let mut cursor = Cursor::new(finder);
    if finder.is_empty() {
        return cursor;
    }
    let is_hex = table.get(usize::from(b'g')) == Some(&BREAK);
    let mut at = 0;
    while let Some(byte) = text.get(at).copied() {
        match table.get(usize::from(byte)).copied().unwrap_or(BREAK) {
            SKIP if byte == b'\\' => {
                at += 1 + usize::from(matches!(text.get(at + 1), Some(b'n' | b'r' | b't' | b'x')));
            }
            // `%2B`, `%0a`; in hexadecimal it separates.
            SKIP if byte == b'%' && !is_hex => {
                let (read, len) = decoded::read(text, at, false);
                if let Read::Byte(byte) = read {
                    let digit = table.get(usize::from(byte)).copied().unwrap_or(BREAK);
                    if digit < SKIP {
                        cursor.push(digit, at, at + len);
                    }
                }
                at += len;
            }
            SKIP => at += 1,
            BREAK => {
                cursor.reset();
                at += 1;
            }
            0 if is_hex && matches!(text.get(at + 1), Some(b'x' | b'X')) => at += 2,
            digit => {
                cursor.push(digit, at, at + 1);
                at += 1;
            }
        }
    }
    cursor
}

static HEX: [u8; 256] = table(b"0123456789abcdef", b"0123456789ABCDEF", true);
static BASE64: [u8; 256] = table(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
    false,
);
static BASE32: [u8; 256] =
    table(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", b"abcdefghijklmnopqrstuvwxyz234567", false);

/// Letters and digits that are none of the alphabet end a row; other bytes separate.
#[expect(clippy::indexing_slicing, reason = "evaluated when compiled: out of bounds does not build")]
const fn table(one: &[u8], other: &[u8], ends: bool) -> [u8; 256] {
    let mut table = [SKIP; 256];
    let mut byte = 0_usize;
    while byte < 128 {
        if (byte as u8 as char).is_ascii_alphabetic() && ends {
            table[byte] = BREAK;
        }
        byte += 1;
    }
    let mut digit = 0;
    while digit < one.len() {
        table[one[digit] as usize] = digit as u8;
        table[other[digit] as usize] = digit as u8;
        digit += 1;
    }
    table
}
