//! Is a message an explicit correction?
//!
//! Decided by phrases, sentence by sentence, in the language of the message.
//! A correction that uses none of them is not seen; the caller may record it.
//! The labelled messages of `fixtures/guard` (66 corrections, 49 others) come
//! out right; people have more ways to say it than those.

use super::cues::{self, Cues};
use crate::guard::drift::{Language, fold};

/// Only the head of a message is looked at: people correct first.
const CHARS_LOOKED_AT: usize = 600;

/// True when a message corrects what was done before.
#[must_use]
pub fn is_correction(message: &str) -> bool {
    let head: String = message.chars().take(CHARS_LOOKED_AT).collect();
    let folded = fold::folded(&head);
    let languages = Language::candidates(&head);
    sentences(&folded)
        .any(|sentence| languages.iter().any(|language| corrects(sentence.trim(), cues_of(*language))))
}

fn corrects(sentence: &str, cues: &Cues) -> bool {
    let contains = |phrases: &[&str]| phrases.iter().any(|phrase| sentence.contains(phrase));
    let opens = |phrases: &[&str]| phrases.iter().any(|phrase| sentence.starts_with(phrase));
    let asks = sentence.ends_with(['?', '？']) || opens(cues.asking);
    contains(cues.strong)
        || (!asks && (contains(cues.inner) || (opens(cues.opening) && !opens(cues.courtesy))))
}

/// True when a message agrees to what was just proposed: it repeats the
/// question without asking it again.
pub(super) fn is_agreement(message: &str) -> bool {
    const AGREEING: [&str; 14] = [
        "yes", "yeah", "yep", "ok", "sure", "ja", "genau", "oui", "d'accord", "si,", "vale", "はい", "是的",
        "好的",
    ];
    let head: String = message.trim_start().chars().take(12).collect();
    let folded = fold::folded(&head);
    AGREEING.iter().any(|word| {
        let rest = folded.strip_prefix(word);
        rest.is_some_and(|rest| !rest.starts_with(|letter: char| letter.is_ascii_alphanumeric()))
    })
}

/// Sentences with their closing mark.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(['.', '!', '?', '\n', '。', '？', '！'])
        .filter(|sentence| !sentence.trim().is_empty())
        .map(|sentence| sentence.trim_start_matches(['¿', '¡', ' ', '"', '\u{ab}', '-']))
}

fn cues_of(language: Language) -> &'static Cues {
    match language {
        Language::German => &cues::GERMAN,
        Language::French => &cues::FRENCH,
        Language::Spanish => &cues::SPANISH,
        Language::Japanese => &cues::JAPANESE,
        Language::Chinese => &cues::CHINESE,
        Language::English | Language::Other => &cues::ENGLISH,
    }
}
