//! Reads small numbers and texts off an input, so that every input means something.

/// What is left of an input. An input that is used up gives zeros and empty texts.
pub struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    pub fn new(input: &'a [u8]) -> Self {
        Self(input)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    pub fn word(&mut self) -> u64 {
        (0..8).fold(0, |word, _| word << 8 | u64::from(self.byte()))
    }

    /// Any number there is, infinite ones and those that are none among them.
    pub fn float(&mut self) -> f64 {
        match self.byte() % 4 {
            0 => f64::from(self.byte()) / 255.0,
            1 => -f64::from(self.byte()) / 16.0,
            _ => f64::from_bits(self.word()),
        }
    }

    /// A text of up to 255 bytes.
    pub fn text(&mut self) -> String {
        let length = usize::from(self.byte()).min(self.0.len());
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        String::from_utf8_lossy(text).into_owned()
    }

    /// One of these, or a text nobody chose.
    pub fn one_of(&mut self, known: &[&str]) -> String {
        let pick = usize::from(self.byte());
        known.get(pick % (known.len() + 1)).map_or_else(|| self.text(), |word| (*word).to_owned())
    }

    /// What is left, as text.
    pub fn rest(self) -> String {
        String::from_utf8_lossy(self.0).into_owned()
    }
}
