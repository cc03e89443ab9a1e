//! What a secret looks like in each way to read a text.

use super::decoded;
use super::finder::Needle;

/// Fewest letters and digits of a secret that is looked for among any other signs.
const CORE_MIN: usize = 12;
/// Fewest of them where all are digits: shorter rows of numbers are in many texts.
const NUMERIC_MIN: usize = 20;

/// A secret, or a line of one.
pub(super) struct Value<'v> {
    pub(super) text: &'v str,
    pub(super) secret: usize,
    pub(super) is_part: bool,
}

impl Value<'_> {
    fn needle(&self, symbols: Vec<u8>) -> Needle {
        Needle { symbols, secret: self.secret, before: false, after: false, is_part: self.is_part }
    }

    /// As it is, as JSON writes it, and backwards.
    pub(super) fn plain(&self, to: &mut Vec<Needle>) {
        let json = serde_json::Value::from(self.text).to_string();
        let json = json.get(1..json.len().saturating_sub(1)).unwrap_or_default();
        to.push(self.needle(self.text.into()));
        to.push(self.needle(json.into()));
        to.push(self.needle(self.backwards().into_bytes()));
    }

    /// Its bytes alone.
    pub(super) fn listed(&self, to: &mut Vec<Needle>) {
        to.push(self.needle(self.text.into()));
    }

    fn backwards(&self) -> String {
        self.text.chars().rev().collect()
    }

    /// Without white space and quotes, its own escapes undone or not, a space also as
    /// the plus of a form.
    pub(super) fn bare(&self, to: &mut Vec<Needle>) {
        let plus = self.text.replace(' ', "+");
        for text in [self.text, plus.as_str(), self.backwards().as_str()] {
            for symbols in [decoded::bare(text.as_bytes()), decoded::undone(text.as_bytes())] {
                let is_numeric = symbols.iter().all(u8::is_ascii_digit);
                if !is_numeric || symbols.len() >= NUMERIC_MIN {
                    to.push(Needle { is_part: true, ..self.needle(symbols) });
                }
            }
        }
    }

    /// Its letters and digits alone, in lower case.
    pub(super) fn core(&self, to: &mut Vec<Needle>) {
        for text in [self.text, self.backwards().as_str()] {
            let symbols: Vec<u8> =
                text.bytes().filter(u8::is_ascii_alphanumeric).map(|b| b.to_ascii_lowercase()).collect();
            let least = if symbols.iter().all(u8::is_ascii_digit) { NUMERIC_MIN } else { CORE_MIN };
            if symbols.len() >= least {
                to.push(Needle { is_part: true, ..self.needle(symbols) });
            }
        }
    }

    /// Its bytes, and those of UTF-16 in both orders.
    fn bytes(&self) -> [Vec<u8>; 3] {
        let wide = |order: fn(u16) -> [u8; 2]| self.text.encode_utf16().flat_map(order).collect();
        [self.text.into(), wide(u16::to_le_bytes), wide(u16::to_be_bytes)]
    }

    /// In hexadecimal, a symbol each digit.
    pub(super) fn hex(&self, to: &mut Vec<Needle>) {
        for bytes in self.bytes() {
            to.push(self.needle(bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).collect()));
        }
    }

    /// In digits of so many bits, wherever in a text it begins.
    pub(super) fn digits(&self, bits: usize, to: &mut Vec<Needle>) {
        for bytes in self.bytes() {
            // Eight digits of five bits are five bytes, four of six are three.
            let offsets = if bits == 5 { 5 } else { 3 };
            for offset in 0..offsets {
                to.push(self.aligned(&bytes, (bits, offset)));
            }
        }
    }

    /// The digits that depend on these bytes alone when so many others stand before.
    fn aligned(&self, bytes: &[u8], (bits, offset): (usize, usize)) -> Needle {
        let first = (offset * 8).div_ceil(bits);
        let end = (offset + bytes.len()) * 8;
        let bit = |at: usize| {
            let byte = bytes.get((at / 8).wrapping_sub(offset)).copied().unwrap_or(0);
            byte >> (7 - at % 8) & 1
        };
        let digit = |index: usize| (0..bits).fold(0, |digit, at| digit << 1 | bit(index * bits + at));
        Needle {
            before: !(offset * 8).is_multiple_of(bits),
            after: !end.is_multiple_of(bits),
            ..self.needle((first..end / bits).map(digit).collect())
        }
    }
}
