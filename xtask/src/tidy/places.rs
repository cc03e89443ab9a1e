//! No text of ours names a folder of the machine it was written on. Recorded
//! material is left as it is.

use crate::offence::Offence;
use crate::tree::File;

/// Tops of absolute paths that differ from machine to machine.
const TOPS: [&str; 3] = ["home", "root", "work"];
/// Below `home`, these are nobody: examples may use them.
const NOBODY: [&str; 2] = ["user", "you"];

/// Finds absolute machine paths.
pub(super) fn check(files: &[File]) -> Vec<Offence> {
    let mut offences = Vec::new();
    for file in files.iter().filter(|file| !file.is_fixture()) {
        for (number, line) in file.text.lines().enumerate() {
            for top in TOPS.iter().filter(|top| names_place(line, top)) {
                let message = format!("a path below `/{top}` is one machine's: use a relative or given one");
                offences.push(Offence::new("place", &file.path, message).at(number + 1));
            }
        }
    }
    offences
}

fn names_place(line: &str, top: &str) -> bool {
    // Assembled, so that this file does not offend against itself.
    let needle = format!("/{top}/");
    line.match_indices(&needle).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let absolute = before.is_none_or(|c| !c.is_alphanumeric() && !"._-~})*]".contains(c));
        let below = line.get(at + needle.len()..).unwrap_or_default();
        absolute && !NOBODY.iter().any(|name| below.strip_prefix(name).is_some_and(ends_a_name))
    })
}

fn ends_a_name(rest: &str) -> bool {
    rest.chars().next().is_none_or(|c| !c.is_alphanumeric() && !"_-".contains(c))
}
