//! Escapes that stand for a character: HTML entities, percent signs, backslashes
//! as in JSON and source code, and terminal sequences, which stand for nothing.
//!
//! Every form has a longest length and a deepest nesting, so looking at one
//! position costs a constant.

/// What an escape stands for, and how many bytes it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decoded {
    pub(super) stands_for: Option<char>,
    pub(super) len: usize,
}

/// How often an escape may be escaped again.
const NESTED_MAX: usize = 3;
/// Longest terminal sequence that is skipped as a whole.
const TERMINAL_MAX: usize = 32;

/// Reads the escape at the start of `bytes`, if there is one.
pub(super) fn decode(bytes: &[u8]) -> Option<Decoded> {
    match bytes.first()? {
        b'&' => entity(bytes),
        b'%' => percent(bytes),
        b'\\' => backslash(bytes),
        0x1b => terminal(bytes),
        _ => None,
    }
}

fn decoded(code: u32, len: usize) -> Option<Decoded> {
    Some(Decoded { stands_for: Some(char::from_u32(code)?), len })
}

/// `&lt;`, `&#60;`, `&#x3c;`, also as `&amp;lt;`.
fn entity(bytes: &[u8]) -> Option<Decoded> {
    let mut at = 1;
    for _ in 0..NESTED_MAX {
        if bytes.get(at..)?.starts_with(b"amp;") {
            at += 4;
        }
    }
    let rest = bytes.get(at..)?;
    if rest.first() == Some(&b'#') {
        let hex = matches!(rest.get(1), Some(b'x' | b'X'));
        let from = if hex { 2 } else { 1 };
        let (code, digits) = number(rest.get(from..)?, if hex { 16 } else { 10 }, 7);
        let closed = usize::from(rest.get(from + digits) == Some(&b';'));
        return if digits == 0 { None } else { decoded(code, at + from + digits + closed) };
    }
    let (name, c) = ENTITIES.iter().find(|(name, _)| rest.starts_with(name.as_bytes()))?;
    Some(Decoded { stands_for: Some(*c), len: at + name.len() })
}

/// Names of the characters that markers are made of.
const ENTITIES: [(&str, char); 23] = [
    ("lt;", '<'),
    ("LT;", '<'),
    ("gt;", '>'),
    ("GT;", '>'),
    ("quot;", '"'),
    ("apos;", '\''),
    ("nbsp;", ' '),
    ("vert;", '|'),
    ("verbar;", '|'),
    ("VerticalLine;", '|'),
    ("lbrack;", '['),
    ("lsqb;", '['),
    ("rbrack;", ']'),
    ("rsqb;", ']'),
    ("lowbar;", '_'),
    ("sol;", '/'),
    ("colon;", ':'),
    ("num;", '#'),
    ("Tab;", '\t'),
    ("NewLine;", '\n'),
    ("shy;", '\u{ad}'),
    ("zwj;", '\u{200d}'),
    ("zwnj;", '\u{200c}'),
];

/// `%3C`, also as `%253C`; printable ASCII only, so that ordinary percentages
/// and encoded foreign text are left alone.
fn percent(bytes: &[u8]) -> Option<Decoded> {
    let mut at = 1;
    for _ in 0..NESTED_MAX {
        if bytes.get(at..)?.starts_with(b"25") {
            at += 2;
        }
    }
    let (code, digits) = number(bytes.get(at..)?, 16, 2);
    let fits = digits == 2 && matches!(code, 0x0a | 0x20..=0x7e);
    if fits { decoded(code, at + 2) } else { None }
}

/// `\n`, `\u003c`, `\u{3c}`, `\U0000003c`, `\x3c`, `\074`.
fn backslash(bytes: &[u8]) -> Option<Decoded> {
    match bytes.get(1)? {
        b'n' | b'r' => decoded(0x0a, 2),
        b't' => decoded(0x09, 2),
        b'x' => exactly(bytes, 2, 2),
        b'U' => exactly(bytes, 2, 8),
        b'u' if bytes.get(2) == Some(&b'{') => {
            let (code, digits) = number(bytes.get(3..)?, 16, 6);
            let closed = digits > 0 && bytes.get(3 + digits) == Some(&b'}');
            if closed { decoded(code, 4 + digits) } else { None }
        }
        b'u' => exactly(bytes, 2, 4).or_else(|| surrogates(bytes)),
        b'0'..=b'3' => {
            let (code, digits) = number(bytes.get(1..)?, 8, 3);
            if digits == 3 { decoded(code, 4) } else { None }
        }
        _ => None,
    }
}

fn exactly(bytes: &[u8], from: usize, digits: usize) -> Option<Decoded> {
    let (code, found) = number(bytes.get(from..)?, 16, digits);
    if found == digits { decoded(code, from + digits) } else { None }
}

/// A character beyond U+FFFF, as JSON writes it: `\ud83d\udc68`.
fn surrogates(bytes: &[u8]) -> Option<Decoded> {
    let (high, found) = number(bytes.get(2..)?, 16, 4);
    let second = bytes.get(6..)?.strip_prefix(b"\\u")?;
    let (low, also) = number(second, 16, 4);
    let pair = found == 4 && also == 4 && (0xd800..0xdc00).contains(&high) && (0xdc00..0xe000).contains(&low);
    if pair { decoded(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), 12) } else { None }
}

/// Colours and cursor movements: a sequence that ends with a letter.
fn terminal(bytes: &[u8]) -> Option<Decoded> {
    if bytes.get(1) != Some(&b'[') {
        return None;
    }
    let ends = bytes.iter().take(TERMINAL_MAX).skip(2).position(|byte| (0x40..0x7f).contains(byte))?;
    let plain = bytes.get(2..2 + ends)?.iter().all(|byte| (0x20..0x40).contains(byte));
    plain.then_some(Decoded { stands_for: None, len: 3 + ends })
}

/// At most `max` digits: their value and their number.
fn number(bytes: &[u8], radix: u32, max: usize) -> (u32, usize) {
    let mut value = 0_u32;
    let mut digits = 0;
    for byte in bytes.iter().take(max) {
        let Some(digit) = char::from(*byte).to_digit(radix) else { break };
        value = value.saturating_mul(radix).saturating_add(digit);
        digits += 1;
    }
    (value, digits)
}
