//! A text with its escapes undone and without what only separates: percent signs,
//! backslashes of JSON and source code, entities of HTML, soft line ends of mail,
//! colours of a terminal.
//!
//! Every escape has a longest length, so looking at one place costs a constant.

/// Longest escape; of what ends a piece of a text, so much may be the half of one.
pub(super) const ESCAPE_MAX: usize = 34;
/// How often an escape may be escaped again.
const NESTED_MAX: usize = 3;
/// Longest colour or movement of a terminal.
const TERMINAL_MAX: usize = 32;

/// What stands at a place of a text.
pub(super) enum Read {
    /// A byte.
    Byte(u8),
    /// A character that was escaped.
    Char(char),
    /// Nothing that counts.
    Nothing,
}

/// Reads what begins at `at`, and how many bytes it takes.
#[inline]
pub(super) fn read(text: &[u8], at: usize, mail: bool) -> (Read, usize) {
    let Some(byte) = text.get(at).copied() else { return (Read::Nothing, 1) };
    let escape = match byte {
        b'%' | b'\\' | b'&' | b'=' | 0x1b | 0xc2 | 0xe2 | 0xef => escape(text, at, mail),
        _ => None,
    };
    match escape {
        Some(found) => found,
        None if is_filler(byte) => (Read::Nothing, 1),
        None => (Read::Byte(byte), 1),
    }
}

/// White space, control characters, and what quotes and separates single characters.
pub(super) fn is_filler(byte: u8) -> bool {
    byte <= b' ' || matches!(byte, 0x7f | b'"' | b'\'' | b',' | b'`')
}

/// A value without fillers.
pub(super) fn bare(value: &[u8]) -> Vec<u8> {
    value.iter().copied().filter(|byte| !is_filler(*byte)).collect()
}

/// A value as it is read where it stands in a text.
pub(super) fn undone(value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut at = 0;
    while at < value.len() {
        let (read, len) = read(value, at, false);
        match read {
            Read::Byte(byte) => bytes.push(byte),
            Read::Char(c) => {
                bytes.extend(c.encode_utf8(&mut [0; 4]).bytes().filter(|byte| !is_filler(*byte)))
            }
            Read::Nothing => {}
        }
        at += len;
    }
    bytes
}

#[inline(never)]
fn escape(text: &[u8], at: usize, mail: bool) -> Option<(Read, usize)> {
    let rest = text.get(at..).unwrap_or_default();
    match rest.first()? {
        b'%' => percent(rest),
        b'\\' => backslash(rest),
        b'&' => entity(rest),
        b'=' => match rest.get(1..)? {
            [b'\n', ..] => Some((Read::Nothing, 2)),
            [b'\r', b'\n', ..] => Some((Read::Nothing, 3)),
            _ if mail => Some((Read::Byte(byte(rest, 1)?), 3)),
            _ => None,
        },
        0x1b => terminal(rest).map(|len| (Read::Nothing, len)),
        // What nobody sees, and what stands for a byte that was no text.
        0xc2 => matches!(rest.get(1)?, 0xa0 | 0xad).then_some((Read::Nothing, 2)),
        0xe2 => {
            let is_unseen =
                matches!(rest.get(1..3)?, [0x80, 0x8b..=0x8f | 0xa8..=0xae] | [0x81, 0xa0..=0xaf]);
            is_unseen.then_some((Read::Nothing, 3))
        }
        0xef => matches!(rest.get(1..3)?, [0xbb, 0xbf] | [0xbf, 0xbd]).then_some((Read::Nothing, 3)),
        _ => None,
    }
}

/// `%2F`, also as `%252F`, and `%u002F`.
fn percent(rest: &[u8]) -> Option<(Read, usize)> {
    if matches!(rest.get(1), Some(b'u' | b'U')) {
        return character(rest, 2, (4, 4));
    }
    let mut at = 1;
    for _ in 0..NESTED_MAX {
        let is_nested = rest.get(at..at + 2) == Some(b"25") && byte(rest, at + 2).is_some();
        at += if is_nested { 2 } else { 0 };
    }
    Some((Read::Byte(byte(rest, at)?), at + 2))
}

/// `\n`, `\/`, `\x2f`, `\u002f`, `\u{2f}`, `\U0000002f`, `\057`, a line that goes on.
fn backslash(rest: &[u8]) -> Option<(Read, usize)> {
    let mut at = 1;
    // `\\n` inside of JSON inside of JSON.
    while at <= NESTED_MAX && rest.get(at) == Some(&b'\\') && rest.get(at + 1).is_some_and(|b| is_named(*b)) {
        at += 1;
    }
    match *rest.get(at)? {
        b'n' | b'r' | b't' | b'f' | b'b' | b'\n' | b'a' | b'v' => Some((Read::Nothing, at + 1)),
        b'\r' => Some((Read::Nothing, at + 1 + usize::from(rest.get(at + 1) == Some(&b'\n')))),
        b'x' => character(rest, at + 1, (2, 2)).map(|(read, len)| (as_byte(read), len)),
        b'U' => character(rest, at + 1, (8, 8)),
        b'u' if rest.get(at + 1) == Some(&b'{') => {
            let (read, len) = character(rest, at + 2, (1, 6))?;
            (rest.get(len) == Some(&b'}')).then_some((read, len + 1))
        }
        b'u' => character(rest, at + 1, (4, 4)).or_else(|| surrogates(rest, at + 1)),
        b'0'..=b'3' => {
            let digits = rest.get(at..at + 3)?;
            let value = digits.iter().try_fold(0_u32, |value, digit| {
                char::from(*digit).to_digit(8).map(|digit| value << 3 | digit)
            })?;
            Some((Read::Byte(u8::try_from(value).ok()?), at + 3))
        }
        named if is_filler(named) => Some((Read::Nothing, at + 1)),
        named if named.is_ascii_punctuation() => Some((Read::Byte(named), at + 1)),
        _ => None,
    }
}

fn is_named(byte: u8) -> bool {
    matches!(byte, b'n' | b'r' | b't' | b'u' | b'x' | b'/' | b'"' | b'\\')
}

/// A byte that was written as a character of the same number.
fn as_byte(read: Read) -> Read {
    match read {
        Read::Char(c) => u8::try_from(u32::from(c)).map_or(read, Read::Byte),
        Read::Byte(_) | Read::Nothing => read,
    }
}

/// The character whose number is written in hexadecimal from `at`, and where it ends.
fn character(rest: &[u8], at: usize, (least, most): (usize, usize)) -> Option<(Read, usize)> {
    let (code, digits) = number(rest.get(at..)?, 16, most);
    if digits < least {
        return None;
    }
    char::from_u32(code).map(|c| (shown(c), at + digits))
}

fn shown(c: char) -> Read {
    if u8::try_from(u32::from(c)).is_ok_and(is_filler) { Read::Nothing } else { Read::Char(c) }
}

/// A character beyond U+FFFF, as JSON writes it: `\ud83d\udc68`.
fn surrogates(rest: &[u8], at: usize) -> Option<(Read, usize)> {
    let (high, found) = number(rest.get(at..)?, 16, 4);
    let second = rest.get(at + 4..)?.strip_prefix(b"\\u")?;
    let (low, also) = number(second, 16, 4);
    let is_pair =
        found == 4 && also == 4 && (0xd800..0xdc00).contains(&high) && (0xdc00..0xe000).contains(&low);
    let c = is_pair.then(|| char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)))??;
    Some((Read::Char(c), at + 10))
}

/// `&#47;`, `&#x2f;`, `&amp;`, also as `&amp;#47;`.
fn entity(rest: &[u8]) -> Option<(Read, usize)> {
    let mut at = 1;
    for _ in 0..NESTED_MAX {
        if rest.get(at..)?.starts_with(b"amp;")
            && matches!(rest.get(at + 4), Some(b'#' | b'a' | b'l' | b'g' | b'q'))
        {
            at += 4;
        }
    }
    let name = rest.get(at..)?;
    if name.first() == Some(&b'#') {
        let is_hex = matches!(name.get(1), Some(b'x' | b'X'));
        let from = if is_hex { 2 } else { 1 };
        let (code, digits) = number(name.get(from..)?, if is_hex { 16 } else { 10 }, 7);
        let closed = usize::from(name.get(from + digits) == Some(&b';'));
        let c = if digits == 0 { None } else { char::from_u32(code) };
        return c.map(|c| (shown(c), at + from + digits + closed));
    }
    let (known, c) = ENTITIES.iter().find(|(known, _)| name.starts_with(known.as_bytes()))?;
    Some((shown(*c), at + known.len()))
}

const ENTITIES: [(&str, char); 13] = [
    ("amp;", '&'),
    ("lt;", '<'),
    ("gt;", '>'),
    ("quot;", '"'),
    ("apos;", '\''),
    ("nbsp;", ' '),
    ("plus;", '+'),
    ("sol;", '/'),
    ("equals;", '='),
    ("lowbar;", '_'),
    ("colon;", ':'),
    ("NewLine;", '\n'),
    ("Tab;", '\t'),
];

fn terminal(rest: &[u8]) -> Option<usize> {
    if rest.get(1) != Some(&b'[') {
        return None;
    }
    let end = rest.iter().take(TERMINAL_MAX).skip(2).position(|byte| (0x40..0x7f).contains(byte))?;
    let is_plain = rest.get(2..2 + end)?.iter().all(|byte| (0x20..0x40).contains(byte));
    is_plain.then_some(3 + end)
}

/// The byte whose two digits stand at `at`.
fn byte(rest: &[u8], at: usize) -> Option<u8> {
    let (value, digits) = number(rest.get(at..)?, 16, 2);
    if digits == 2 { u8::try_from(value).ok() } else { None }
}

/// At most `most` digits: their value and how many there are.
fn number(bytes: &[u8], radix: u32, most: usize) -> (u32, usize) {
    let mut value = 0_u32;
    let mut digits = 0;
    for byte in bytes.iter().take(most) {
        let Some(digit) = char::from(*byte).to_digit(radix) else { break };
        value = value.saturating_mul(radix).saturating_add(digit);
        digits += 1;
    }
    (value, digits)
}
