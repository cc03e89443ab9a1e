//! Characters made comparable: case, width and accents fall away.
//!
//! Folding is per character and never fails; a character it has no opinion on
//! stays as it is.

/// The script family a character belongs to, as far as splitting text cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    /// Letters that form words between spaces.
    Letter,
    /// Decimal digits.
    Digit,
    /// Chinese characters, which form words without spaces.
    Han,
    /// Japanese syllables that mostly carry grammar.
    Hiragana,
    /// Japanese syllables that mostly spell names and loan words.
    Katakana,
    /// Everything else.
    Mark,
}

/// The family of a character (after [`fold_width`]).
pub(crate) fn script(letter: char) -> Script {
    match letter {
        '0'..='9' => Script::Digit,
        '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{20000}'..='\u{3134f}' | '々' => Script::Han,
        '\u{3041}'..='\u{309f}' => Script::Hiragana,
        '\u{30a1}'..='\u{30fa}' | 'ー' => Script::Katakana,
        // Combining accents belong to the letter before them and fold away.
        '\u{300}'..='\u{36f}' => Script::Letter,
        other if other.is_alphabetic() => Script::Letter,
        other if other.is_numeric() => Script::Digit,
        _ => Script::Mark,
    }
}

/// Full-width forms of ASCII as ASCII, typographic apostrophes and hyphens as plain ones.
pub(crate) fn fold_width(letter: char) -> char {
    match letter {
        '\u{ff01}'..='\u{ff5e}' => {
            u32::from(letter).checked_sub(0xfee0).and_then(char::from_u32).unwrap_or(letter)
        }
        '\u{2018}' | '\u{2019}' | '\u{2bc}' => '\'',
        '\u{2010}' | '\u{2011}' => '-',
        '\u{3000}' | '\u{a0}' => ' ',
        other => other,
    }
}

/// Appends a letter in lower case and without its accent.
pub(crate) fn push_folded(into: &mut String, letter: char) {
    if letter.is_ascii() {
        into.push(letter.to_ascii_lowercase());
        return;
    }
    for lower in letter.to_lowercase() {
        match base(lower) {
            Base::One(plain) => into.push(plain),
            Base::Two(pair) => into.push_str(pair),
            Base::Nothing => {}
        }
    }
}

/// A whole text folded.
pub(crate) fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().map(fold_width).for_each(|letter| push_folded(&mut out, letter));
    out
}

enum Base {
    One(char),
    Two(&'static str),
    Nothing,
}

fn base(lower: char) -> Base {
    Base::One(match lower {
        'à' | 'á' | 'â' | 'ã' | 'ä' | 'å' | 'ā' | 'ă' | 'ą' => 'a',
        'ç' | 'ć' | 'č' => 'c',
        'ď' => 'd',
        'è' | 'é' | 'ê' | 'ë' | 'ē' | 'ę' | 'ě' => 'e',
        'ğ' => 'g',
        'ì' | 'í' | 'î' | 'ï' | 'ī' | 'ı' => 'i',
        'ł' => 'l',
        'ñ' | 'ń' | 'ň' => 'n',
        'ò' | 'ó' | 'ô' | 'õ' | 'ö' | 'ø' | 'ō' | 'ő' => 'o',
        'ř' => 'r',
        'ś' | 'š' | 'ş' => 's',
        'ť' => 't',
        'ù' | 'ú' | 'û' | 'ü' | 'ū' | 'ů' | 'ű' => 'u',
        'ý' | 'ÿ' => 'y',
        'ź' | 'ż' | 'ž' => 'z',
        'ß' => return Base::Two("ss"),
        'œ' => return Base::Two("oe"),
        'æ' => return Base::Two("ae"),
        '\u{300}'..='\u{36f}' => return Base::Nothing,
        other => other,
    })
}
