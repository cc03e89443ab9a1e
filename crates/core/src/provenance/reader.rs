//! Reads a JSON text into pieces that are canonical already.
//!
//! Nothing is rounded and nothing is guessed: the grammar is that of RFC 8259, and
//! what two readers could understand differently is refused.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::canonical::{Flaw, NESTING_MAX, NotJson, write_string};
use super::number;

/// A value whose pieces are in canonical form and whose keys are sorted.
pub(super) enum Node<'a> {
    /// A string, number or word, ready to be written.
    Scalar(Cow<'a, str>),
    /// In its order.
    Array(Vec<Node<'a>>),
    /// In the order of the keys.
    Object(Vec<Member<'a>>),
}

/// One key of an object and its value.
pub(super) struct Member<'a> {
    /// Decoded: the order of keys is that of their characters, not their escapes.
    pub(super) key: Cow<'a, str>,
    at: usize,
    pub(super) value: Node<'a>,
}

/// Reads the one value a text holds.
pub(super) fn read(text: &str) -> Result<Node<'_>, NotJson> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let node = reader.value()?;
    reader.skip_space();
    if reader.at < text.len() {
        return Err(reader.flaw(Flaw::Trailing));
    }
    Ok(node)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn value(&mut self) -> Result<Node<'a>, NotJson> {
        self.skip_space();
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => self.string_token().map(Node::Scalar),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            Some(_) => Err(self.flaw(Flaw::Expected("a value"))),
            None => Err(self.flaw(Flaw::Ended)),
        }
    }

    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Node<'a>, NotJson>,
    ) -> Result<Node<'a>, NotJson> {
        if self.depth == NESTING_MAX {
            return Err(self.flaw(Flaw::TooDeep));
        }
        self.depth += 1;
        self.at += 1;
        let node = read(self)?;
        self.depth -= 1;
        Ok(node)
    }

    fn array(&mut self) -> Result<Node<'a>, NotJson> {
        let mut items = Vec::new();
        if self.takes(b']') {
            return Ok(Node::Array(items));
        }
        loop {
            items.push(self.value()?);
            if self.takes(b']') {
                return Ok(Node::Array(items));
            }
            self.expect(b',', "`,` or `]`")?;
        }
    }

    fn object(&mut self) -> Result<Node<'a>, NotJson> {
        let mut members = Vec::new();
        if self.takes(b'}') {
            return Ok(Node::Object(members));
        }
        loop {
            self.skip_space();
            let at = self.at;
            self.expect(b'"', "a key in quotes")?;
            let key = self.string()?;
            self.expect(b':', "`:`")?;
            members.push(Member { key, at, value: self.value()? });
            if self.takes(b'}') {
                return sorted(members).map(Node::Object);
            }
            self.expect(b',', "`,` or `}`")?;
        }
    }

    /// A string as it will be written, quotes included.
    fn string_token(&mut self) -> Result<Cow<'a, str>, NotJson> {
        let start = self.at;
        self.at += 1;
        Ok(match self.string()? {
            // Without escapes the source is canonical: what would need one is refused raw.
            Cow::Borrowed(_) => Cow::Borrowed(self.since(start)),
            Cow::Owned(decoded) => {
                let mut token = String::with_capacity(decoded.len() + 2);
                write_string(&mut token, &decoded);
                Cow::Owned(token)
            }
        })
    }

    /// The characters of a string whose opening quote is behind us. Borrowed
    /// exactly when the source has no escape.
    fn string(&mut self) -> Result<Cow<'a, str>, NotJson> {
        let mut decoded: Option<String> = None;
        loop {
            let start = self.at;
            self.at += plain_prefix(self.rest());
            let plain = self.since(start);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(match decoded {
                        None => Cow::Borrowed(plain),
                        Some(text) => Cow::Owned(text + plain),
                    });
                }
                Some(b'\\') => {
                    let text = decoded.get_or_insert_default();
                    text.push_str(plain);
                    text.push(self.escape()?);
                }
                Some(_) => return Err(self.flaw(Flaw::Control)),
                None => return Err(self.flaw(Flaw::Ended)),
            }
        }
    }

    fn escape(&mut self) -> Result<char, NotJson> {
        let start = self.at;
        self.at += 1;
        let escape = self.peek().ok_or_else(|| self.flaw(Flaw::Ended))?;
        self.at += 1;
        Ok(match escape {
            b'"' | b'\\' | b'/' => char::from(escape),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(start),
            _ => return Err(NotJson { at: start, flaw: Flaw::Escape }),
        })
    }

    fn unicode(&mut self, start: usize) -> Result<char, NotJson> {
        let lone = NotJson { at: start, flaw: Flaw::LoneSurrogate };
        let first = self.code_unit(start)?;
        if !(0xD800..0xE000).contains(&first) {
            return char::from_u32(u32::from(first)).ok_or(lone);
        }
        if !self.rest().starts_with("\\u") {
            return Err(lone);
        }
        self.at += 2;
        let second = self.code_unit(start)?;
        char::decode_utf16([first, second]).next().and_then(Result::ok).ok_or(lone)
    }

    fn code_unit(&mut self, start: usize) -> Result<u16, NotJson> {
        let digits = self.rest().get(..4).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
        self.at += 4;
        unit.ok_or(NotJson { at: start, flaw: Flaw::Escape })
    }

    fn number(&mut self) -> Result<Node<'a>, NotJson> {
        let start = self.at;
        let belongs = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        self.at += self.rest().bytes().take_while(belongs).count();
        number::canonical(self.since(start))
            .map(Node::Scalar)
            .ok_or(NotJson { at: start, flaw: Flaw::Number })
    }

    fn word(&mut self, word: &'static str) -> Result<Node<'a>, NotJson> {
        if !self.rest().starts_with(word) {
            return Err(self.flaw(Flaw::Expected("a value")));
        }
        self.at += word.len();
        Ok(Node::Scalar(Cow::Borrowed(word)))
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// Moves over this byte if it is the next one after white space.
    fn takes(&mut self, byte: u8) -> bool {
        self.skip_space();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), NotJson> {
        if self.takes(byte) {
            return Ok(());
        }
        Err(self.flaw(if self.peek().is_some() { Flaw::Expected(what) } else { Flaw::Ended }))
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn flaw(&self, flaw: Flaw) -> NotJson {
        NotJson { at: self.at, flaw }
    }
}

fn sorted(mut members: Vec<Member<'_>>) -> Result<Vec<Member<'_>>, NotJson> {
    members.sort_by(|a, b| by_utf16(&a.key, &b.key));
    let twice = members.array_windows().find(|[a, b]| a.key == b.key);
    if let Some([_, second]) = twice {
        return Err(NotJson { at: second.at, flaw: Flaw::Twice { key: second.key.clone().into_owned() } });
    }
    Ok(members)
}

/// The order of UTF-16 code units, without making any: it is that of the bytes,
/// but for U+E000 to U+FFFF, which come after the surrogates of all that is beyond.
pub(super) fn by_utf16(a: &str, b: &str) -> Ordering {
    let rank = |byte: u8| (matches!(byte, 0xEE | 0xEF), byte);
    let differs = a.bytes().zip(b.bytes()).find(|(a, b)| a != b);
    differs.map_or_else(|| a.len().cmp(&b.len()), |(a, b)| rank(a).cmp(&rank(b)))
}

/// How many bytes stand before the first one that a string cannot hold as it is.
pub(super) fn plain_prefix(text: &str) -> usize {
    let special = |byte: u8| (byte < 0x20) | (byte == b'"') | (byte == b'\\');
    // Sixteen at a time, without an early exit inside, becomes vector instructions.
    let (blocks, _) = text.as_bytes().as_chunks::<16>();
    let is_plain = |block: &&[u8; 16]| !block.iter().fold(false, |found, &byte| found | special(byte));
    let sure = blocks.iter().take_while(is_plain).count() * 16;
    let rest = text.as_bytes().get(sure..).unwrap_or_default();
    sure + rest.iter().position(|&byte| special(byte)).unwrap_or(rest.len())
}
