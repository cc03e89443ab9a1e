//! Destinations in running text: whoever writes an address into a sentence says something
//! about it, in whatever language. One that is the value of a field is a record.

use super::word::{Word, is_prose, is_unparted, words};

/// Words of running text in a field that make it prose, and letters of scripts that do
/// not part them.
const PROSE_WORDS: usize = 5;
const UNPARTED: usize = 5;
/// Most destinations of one field that are remembered.
const FIELD_MAX: usize = 64;

/// Hands on the destinations of a text that stand in prose.
pub(super) fn destinations<'t>(text: &'t str, mut take: impl FnMut(&Word<'t>)) {
    let mut field: Vec<Word<'t>> = Vec::new();
    let (mut prose, mut letters) = (0_usize, 0_usize);
    let mut settle = |field: &mut Vec<Word<'t>>, prose: usize, letters: usize| {
        if prose >= PROSE_WORDS || letters >= UNPARTED {
            field.iter().for_each(&mut take);
        }
        field.clear();
    };
    for line in text.split('\n') {
        for word in words(line) {
            if word.is_field {
                settle(&mut field, prose, letters);
                (prose, letters) = (0, 0);
            } else if is_destination(word.written) {
                let rest = word.unlabelled().unwrap_or(word);
                field.extend([word, rest].into_iter().take(FIELD_MAX.saturating_sub(field.len())));
            } else {
                prose += usize::from(is_prose(word.written));
                letters += word.written.chars().filter(|c| is_unparted(*c)).count();
            }
        }
        settle(&mut field, prose, letters);
        (prose, letters) = (0, 0);
    }
}

/// Something that things are sent to: a mail address, a link, an account.
pub(super) fn is_destination(word: &str) -> bool {
    let inside = |mark: char| word.trim_matches(mark).contains(mark);
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let is_account = digits >= 10
        && word.len() <= 34
        && word.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    inside('@') || word.contains("://") || word.starts_with("www.") || is_account
}
