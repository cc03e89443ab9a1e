//! What somebody probably meant to write.
//!
//! Words only: nothing here knows what they are used for.

/// Longer words are no typing errors of ours, and comparing them is not free.
const WORD_MAX: usize = 64;

/// The candidate nearest to a mistyped word, if one is near enough to be worth
/// naming: about one wrong letter in three, or one a beginning of the other.
///
/// Case and the choice between `-`, `_` and a space do not count.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = folded(word)?;
    let near = |candidate: &'a str| {
        let folded = folded(candidate)?;
        let far = distance(&word, &folded);
        let is_near = far <= (word.len().max(folded.len()) / 3).max(1) && far < word.len();
        let is_beginning =
            word.len().min(folded.len()) >= 3 && (folded.starts_with(&word) || word.starts_with(&folded));
        (is_near || is_beginning).then_some((far, candidate))
    };
    candidates.into_iter().filter_map(near).min_by_key(|(far, _)| *far).map(|(_, candidate)| candidate)
}

fn folded(word: &str) -> Option<Vec<char>> {
    let plain = |c: char| if matches!(c, '-' | ' ') { '_' } else { c.to_ascii_lowercase() };
    (!word.is_empty() && word.len() <= WORD_MAX).then(|| word.chars().map(plain).collect())
}

/// How many letters must be changed, added, left out or swapped with their
/// neighbour to get from one word to the other.
fn distance(from: &[char], to: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, &a) in from.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, &b) in to.iter().enumerate() {
            let at = |row: &[usize], place: usize| row.get(place).copied().unwrap_or(usize::MAX / 2);
            let mut least =
                (at(&next, j) + 1).min(at(&row, j + 1) + 1).min(at(&row, j) + usize::from(a != b));
            let swapped = j > 0 && i > 0 && to.get(j - 1) == Some(&a) && from.get(i - 1) == Some(&b);
            if swapped {
                least = least.min(at(&before, j - 1) + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or_default()
}
