//! Metadata values of a GGUF file.

/// One metadata value. Numbers keep their sign and size only as far as anything asks.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Any unsigned number.
    Unsigned(u64),
    /// Any signed number.
    Signed(i64),
    /// Any floating-point number.
    Float(f64),
    /// True or false.
    Flag(bool),
    /// A text.
    Text(String),
    /// Texts.
    Texts(Vec<String>),
    /// Whole numbers.
    Integers(Vec<i64>),
    /// Floating-point numbers or flags, which nothing here asks for; their count.
    Others(u64),
}

impl Value {
    /// As a text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// As texts.
    #[must_use]
    pub fn as_texts(&self) -> Option<&[String]> {
        if let Self::Texts(texts) = self { Some(texts) } else { None }
    }

    /// As whole numbers.
    #[must_use]
    pub fn as_integers(&self) -> Option<&[i64]> {
        if let Self::Integers(integers) = self { Some(integers) } else { None }
    }

    /// As a count.
    #[must_use]
    pub fn as_count(&self) -> Option<usize> {
        match self {
            Self::Unsigned(number) => usize::try_from(*number).ok(),
            Self::Signed(number) => usize::try_from(*number).ok(),
            _ => None,
        }
    }

    /// As a finite number.
    #[must_use]
    pub fn as_number(&self) -> Option<f32> {
        match self {
            Self::Float(number) => {
                // Every reader works in single precision; the file's own doubles are rare.
                let number = *number as f32;
                number.is_finite().then_some(number)
            }
            _ => None,
        }
    }

    /// As a flag.
    #[must_use]
    pub fn as_flag(&self) -> Option<bool> {
        if let Self::Flag(flag) = self { Some(*flag) } else { None }
    }
}
