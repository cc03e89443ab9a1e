//! The letters that byte-level vocabularies write bytes with.

/// The bytes a token's text stands for; `None` when it has a letter that stands for none.
pub(super) fn to_bytes(text: &str) -> Option<Vec<u8>> {
    text.chars().map(to_byte).collect()
}

/// Printable bytes stand for themselves; the others follow each other from U+0100 on.
fn to_byte(letter: char) -> Option<u8> {
    let code = u32::from(letter);
    match code {
        0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => u8::try_from(code).ok(),
        0x100..=0x120 => u8::try_from(code - 0x100).ok(),
        0x121..=0x142 => u8::try_from(code - 0x121 + 0x7f).ok(),
        0x143 => Some(0xad),
        _ => None,
    }
}
