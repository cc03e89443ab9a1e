//! Some words name nothing: a module or type called so says that nobody found
//! out what it is.

use std::collections::BTreeSet;

use super::RustFile;
use crate::offence::Offence;
use crate::source;

const EMPTY_WORDS: [&str; 6] = ["manager", "managers", "helper", "helpers", "util", "utils"];

/// Finds them in file names, folder names, modules and types.
pub(super) fn check(files: &[RustFile<'_>]) -> Vec<Offence> {
    let mut offences = Vec::new();
    let mut seen = BTreeSet::new();
    for rust in files {
        let mut place = String::new();
        for part in rust.file.parts() {
            place = if place.is_empty() { part.to_owned() } else { format!("{place}/{part}") };
            if let Some(word) = empty_word(part).filter(|_| seen.insert(place.clone())) {
                offences.push(Offence::new("name", &place, message(&word)));
            }
        }
        for (line, name) in source::names(&rust.source) {
            if let Some(word) = empty_word(&name) {
                let message = format!("`{name}`: {}", message(&word));
                offences.push(Offence::new("name", &rust.file.path, message).at(line));
            }
        }
    }
    offences
}

fn message(word: &str) -> String {
    format!("`{word}` names nothing: say what it does or holds")
}

fn empty_word(name: &str) -> Option<String> {
    split(name).into_iter().find(|word| EMPTY_WORDS.contains(&word.as_str()))
}

/// `PathHelper`, `path_helper` and `path-helper.rs` hold the word `helper`.
fn split(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before_upper = true;
    for letter in name.chars() {
        if !letter.is_alphanumeric() || (letter.is_uppercase() && !before_upper) {
            words.push(String::new());
        }
        before_upper = letter.is_uppercase();
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
    }
    words
}
