//! What a message is about, in a form that can be kept and compared.

use serde::{Deserialize, Serialize};

use crate::guard::drift::terms::{self, Kind};
use crate::guard::drift::{Language, fold};

/// How many terms of a message are kept.
pub(super) const TERMS_MAX: usize = 24;
/// How much of a message is read.
const CHARS_LOOKED_AT: usize = 2000;
/// Two stems with this much common beginning are forms of one word.
const BEGINNING_MIN: usize = 5;

/// The terms of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Topic {
    /// Terms that carry the subject.
    pub(super) telling: Vec<Box<str>>,
    /// Terms of any subject.
    pub(super) weak: Vec<Box<str>>,
}

impl Topic {
    pub(super) fn of(message: &str) -> Self {
        let head: String = message.chars().take(CHARS_LOOKED_AT).collect();
        let language = Language::of(&head);
        let mut topic = Self::default();
        for term in terms::terms(&head, language) {
            let list = match term.kind {
                Kind::Word | Kind::Name | Kind::Code | Kind::Number | Kind::Pair | Kind::Single => {
                    &mut topic.telling
                }
                Kind::Weak => &mut topic.weak,
            };
            let stem: Box<str> = term.stem.into();
            if list.len() < TERMS_MAX && !list.contains(&stem) {
                list.push(stem);
            }
        }
        topic
    }

    /// Share of the smaller topic's telling terms found in the larger, 0 to 1.
    pub(super) fn overlap(&self, other: &Self) -> f64 {
        let smaller = self.telling.len().min(other.telling.len());
        share(shared(&self.telling, &other.telling).min(smaller), smaller)
    }

    /// Does one of the two ask for nothing the other does not? A term exchanged
    /// for another (March for April) makes it another question.
    pub(super) fn restates(&self, other: &Self) -> bool {
        let (mine, theirs) = (self.all(), other.all());
        let (shorter, longer) = if mine.len() <= theirs.len() { (&mine, &theirs) } else { (&theirs, &mine) };
        let enough = shorter.len() >= 2 && shorter.len() * 4 >= longer.len() * 3;
        enough && shared(shorter, longer) == shorter.len()
    }

    fn all(&self) -> Vec<Box<str>> {
        self.telling.iter().chain(&self.weak).cloned().collect()
    }
}

/// How many of `from` have their like in `within`.
fn shared(from: &[Box<str>], within: &[Box<str>]) -> usize {
    from.iter().filter(|stem| within.iter().any(|other| alike(stem, other))).count()
}

fn alike(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    let common = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let longer = one.chars().count().max(other.chars().count());
    common >= BEGINNING_MIN && common * 4 >= longer * 3
}

fn share(part: usize, whole: usize) -> f64 {
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    if whole == 0 { 0.0 } else { number(part) / number(whole) }
}

/// Han characters of a message, in order of code: word order and the pairs that
/// straddle words then make no difference.
pub(super) fn han_bag(message: &str) -> Vec<char> {
    // Who, what, how many, tell me: how a question is put, not what it asks.
    const ASKING: &str = "教誰谁何哪请請幾几多少什么为的了吗呢是有";
    let han = |letter: &char| fold::script(*letter) == fold::Script::Han && !ASKING.contains(*letter);
    let mut bag: Vec<char> = message.chars().take(CHARS_LOOKED_AT).filter(han).collect();
    bag.sort_unstable();
    bag.dedup();
    bag.truncate(4 * TERMS_MAX);
    bag
}
