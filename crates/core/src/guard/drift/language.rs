//! Which language a text is in, as far as stemming and function words need it.
//!
//! Decided by script first and by function words second. A guess, never an
//! error: a text of another language is `Other` and is compared without stems.

use std::sync::LazyLock;

use super::fold::{self, Script};
use super::function_words as lists;
use super::hash;

/// A language whose grammar is known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// English.
    English,
    /// German.
    German,
    /// French.
    French,
    /// Spanish.
    Spanish,
    /// Japanese.
    Japanese,
    /// Chinese.
    Chinese,
    /// Another one, or too little text to say.
    Other,
}

/// How many words are looked at before deciding.
const WORDS_LOOKED_AT: usize = 400;

struct WordList {
    language: Language,
    plain: Vec<u64>,
    weak: Vec<u64>,
}

static LISTS: LazyLock<[WordList; 4]> = LazyLock::new(|| {
    let list = |language, plain: &str, weak: &str| WordList {
        language,
        plain: hash::sorted(plain.split_whitespace().map(hash::of)),
        weak: hash::sorted(
            weak.split_whitespace().map(|word| hash::of(&super::stem::stem(word.to_owned(), language))),
        ),
    };
    [
        list(Language::English, lists::ENGLISH, lists::ENGLISH_WEAK),
        list(Language::German, lists::GERMAN, lists::GERMAN_WEAK),
        list(Language::French, lists::FRENCH, lists::FRENCH_WEAK),
        list(Language::Spanish, lists::SPANISH, lists::SPANISH_WEAK),
    ]
});

static HAN: LazyLock<Vec<u64>> =
    LazyLock::new(|| hash::sorted(lists::HAN.chars().map(|han| hash::of(han.encode_utf8(&mut [0; 4])))));

static HAN_WEAK: LazyLock<Vec<u64>> =
    LazyLock::new(|| hash::sorted(lists::HAN_WEAK.split_whitespace().map(hash::of)));

impl Language {
    /// The likeliest language of a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut letters = 0_u32;
        let (mut kana, mut han) = (0_u32, 0_u32);
        for letter in text.chars().map(fold::fold_width).take(4 * WORDS_LOOKED_AT) {
            match fold::script(letter) {
                Script::Letter => letters += 1,
                Script::Han => han += 1,
                Script::Hiragana | Script::Katakana => kana += 1,
                Script::Digit | Script::Mark => {}
            }
        }
        // A Han character says about as much as three letters.
        if (han + kana) * 3 > letters {
            return if kana * 8 > han { Self::Japanese } else { Self::Chinese };
        }
        Self::by_function_words(text)
    }

    /// The languages a text may be in: more than one when its function words
    /// leave it open.
    pub(crate) fn candidates(text: &str) -> Vec<Self> {
        let likeliest = Self::of(text);
        let hits = function_word_hits(text);
        let most = hits.iter().copied().max().unwrap_or(0);
        let tied = LISTS
            .iter()
            .zip(hits)
            .filter(|(_, count)| most > 0 && *count == most)
            .map(|(list, _)| list.language);
        match likeliest {
            Self::Japanese | Self::Chinese | Self::Other => vec![likeliest],
            Self::English | Self::German | Self::French | Self::Spanish => tied.collect(),
        }
    }

    fn by_function_words(text: &str) -> Self {
        let hits = function_word_hits(text);
        let best = hits.iter().zip(LISTS.iter()).rev().max_by_key(|(count, _)| **count);
        best.filter(|(count, _)| **count > 0).map_or(Self::Other, |(_, list)| list.language)
    }
}

/// How many words of a text are function words of each language.
fn function_word_hits(text: &str) -> [u32; 4] {
    let mut hits = [0_u32; 4];
    let words = text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    for word in words.take(WORDS_LOOKED_AT) {
        let key = hash::of(&fold::folded(word));
        for (count, list) in hits.iter_mut().zip(LISTS.iter()) {
            *count += u32::from(list.plain.binary_search(&key).is_ok());
        }
    }
    hits
}

/// True when a folded word carries grammar only.
pub(super) fn is_function_word(word: &str, language: Language) -> bool {
    let key = hash::of(word);
    let known = LISTS.iter().find(|list| list.language == language);
    match known {
        Some(list) => list.plain.binary_search(&key).is_ok(),
        // English words turn up in every technical text.
        None => LISTS.iter().any(|list| list.plain.binary_search(&key).is_ok()),
    }
}

/// True when a stem belongs to any subject.
pub(super) fn is_weak(stem: &str, language: Language) -> bool {
    let key = hash::of(stem);
    LISTS.iter().any(|list| list.language == language && list.weak.binary_search(&key).is_ok())
}

/// True when a Han character says nothing of a subject.
pub(super) fn is_plain_han(han: char) -> bool {
    HAN.binary_search(&hash::of(han.encode_utf8(&mut [0; 4]))).is_ok()
}

/// True when a pair of Han characters belongs to any subject.
pub(super) fn is_weak_han(pair: &str) -> bool {
    HAN_WEAK.binary_search(&hash::of(pair)).is_ok()
}
