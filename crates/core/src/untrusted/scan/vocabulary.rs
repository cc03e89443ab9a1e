//! The templates and words, made ready for the automaton.
//!
//! Built once, from data that is part of the program.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::automaton::{Automaton, State};
use super::foreign;
use super::lexicon::{Slot, WORDS};
use super::templates::{self, When};
use crate::untrusted::fold::{Kind, Reader, plain_symbol};

/// Slots whose words count only in capitals: in small letters they are markup.
pub(super) const CAPITALS: u128 = 1 << Slot::PseudoTag as u8;

/// What the scanner needs to know of a symbol.
#[derive(Clone, Copy, Debug)]
pub(super) struct Symbol {
    pub(super) looks: char,
    pub(super) class: Class,
    /// A letter or a digit.
    pub(super) is_word: bool,
    /// Ends a sentence.
    pub(super) is_stop: bool,
}

/// What the automaton sees of a symbol: one step, or two for those outside ASCII, of
/// which there are more than one step could tell apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Class {
    first: u8,
    second: Option<u8>,
}

/// How many second steps there are; a first one for each so many symbols.
const SECONDS: usize = 64;

/// What a pattern is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Entry {
    /// A mark of some model's format.
    Template(When),
    /// A word of phrases.
    Word {
        /// One bit for each slot it fills.
        slots: u128,
        /// It may be the end of a longer word.
        starts_free: bool,
        /// It may be the start of a longer word.
        ends_free: bool,
    },
}

/// A pattern of symbols.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub(super) len: usize,
    pub(super) entry: Entry,
}

/// Everything the scanner looks for.
#[derive(Debug)]
pub(super) struct Vocabulary {
    ascii: [Class; 128],
    wide: Vec<(char, Class)>,
    letters: [Option<Symbol>; 128],
    automaton: Automaton,
    patterns: Vec<Pattern>,
}

/// The one there is.
pub(super) static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(Vocabulary::new);

impl Vocabulary {
    fn new() -> Self {
        let mut written: Vec<(Vec<char>, Entry)> =
            templates::all().map(|(mark, when)| (squeezed(&mark), Entry::Template(when))).collect();
        let mut words: BTreeMap<(Vec<char>, bool, bool), u128> = BTreeMap::new();
        for (slot, list) in WORDS.iter().chain(foreign::WORDS) {
            for word in *list {
                let symbols = squeezed(word.trim_matches('*'));
                // Past the alphabets of Europe words are not always parted.
                let unparted = symbols.first().is_some_and(|c| *c >= '\u{590}');
                let key = (symbols, unparted || word.starts_with('*'), unparted || word.ends_with('*'));
                *words.entry(key).or_default() |= 1 << *slot as u8;
            }
        }
        written.extend(
            words.into_iter().map(|((w, starts_free, ends_free), slots)| {
                (w, Entry::Word { slots, starts_free, ends_free })
            }),
        );
        let (ascii, wide, classes) = alphabet(&written);
        let class = |c: char| class_of(&ascii, &wide, c);
        let steps = |c: &char| {
            let class = class(*c);
            std::iter::once(class.first).chain(class.second)
        };
        let symbols: Vec<Vec<u8>> = written.iter().map(|(w, _)| w.iter().flat_map(steps).collect()).collect();
        let automaton = Automaton::new(classes, &symbols);
        let patterns = written.into_iter().map(|(w, entry)| Pattern { len: w.len(), entry }).collect();
        let mut vocabulary = Self { ascii, wide, letters: [None; 128], automaton, patterns };
        let letters: Vec<Option<Symbol>> =
            (0..128).map(|byte| plain_symbol(byte).map(|c| vocabulary.symbol(c))).collect();
        vocabulary.letters.copy_from_slice(&letters);
        vocabulary
    }

    /// The symbol of a byte that is one by itself.
    #[inline]
    pub(super) fn letter(&self, byte: u8) -> Option<Symbol> {
        self.letters.get(usize::from(byte)).copied().flatten()
    }

    /// What is known of a symbol.
    pub(super) fn symbol(&self, looks: char) -> Symbol {
        Symbol {
            looks,
            class: class_of(&self.ascii, &self.wide, looks),
            is_word: looks.is_alphanumeric(),
            is_stop: matches!(looks, '.' | '!' | '?' | ';'),
        }
    }

    #[inline]
    pub(super) fn step(&self, state: State, class: Class) -> (State, bool) {
        let (state, ends) = self.automaton.step(state, class.first);
        match class.second {
            None => (state, ends),
            Some(second) => self.automaton.step(state, second),
        }
    }

    pub(super) fn ending(&self, state: State) -> &[u16] {
        self.automaton.ending(state)
    }

    pub(super) fn pattern(&self, id: u16) -> Option<&Pattern> {
        self.patterns.get(usize::from(id))
    }
}

#[cfg(test)]
impl Vocabulary {
    pub(super) fn states(&self) -> usize {
        self.automaton.states()
    }

    /// The largest number of a step.
    pub(super) fn steps(&self) -> u8 {
        let steps = |class: &Class| class.first.max(class.second.unwrap_or(0));
        self.ascii.iter().chain(self.wide.iter().map(|(_, class)| class)).map(steps).max().unwrap()
    }
}

/// The symbols of a text, with nothing between them.
pub(super) fn squeezed(text: &str) -> Vec<char> {
    let mut symbols = Vec::new();
    for piece in Reader::new(text) {
        match piece.kind {
            Kind::Symbol(c) => symbols.push(c),
            Kind::Ligature(several) => symbols.extend(several.letters().chars()),
            Kind::Space | Kind::Break | Kind::Soft | Kind::Glue | Kind::Nothing => {}
        }
    }
    symbols
}

/// One class for each symbol of the vocabulary, the default for all others; and how many
/// different steps there are.
fn alphabet(written: &[(Vec<char>, Entry)]) -> ([Class; 128], Vec<(char, Class)>, usize) {
    let used: BTreeSet<char> = written.iter().flat_map(|(word, _)| word.iter().copied()).collect();
    let (plain, beyond): (Vec<char>, Vec<char>) = used.into_iter().partition(char::is_ascii);
    let number = |at: usize| u8::try_from(at).unwrap_or(u8::MAX);
    let mut ascii = [Class::default(); 128];
    for (at, c) in plain.iter().enumerate() {
        if let Some(slot) = ascii.get_mut(*c as usize) {
            *slot = Class { first: number(at + 1), second: None };
        }
    }
    let seconds = plain.len() + 1;
    let firsts = seconds + SECONDS;
    let wide = beyond.iter().enumerate().map(|(at, c)| {
        let (first, second) = (number(firsts + at / SECONDS), number(seconds + at % SECONDS));
        (*c, Class { first, second: Some(second) })
    });
    // A test holds it well below what a byte can number.
    (ascii, wide.collect(), firsts + beyond.len() / SECONDS + 1)
}

#[inline]
fn class_of(ascii: &[Class; 128], wide: &[(char, Class)], c: char) -> Class {
    if let Some(class) = u8::try_from(c).ok().and_then(|byte| ascii.get(usize::from(byte))) {
        return *class;
    }
    wide.binary_search_by(|(known, _)| known.cmp(&c))
        .ok()
        .and_then(|at| wide.get(at))
        .map_or_else(Class::default, |(_, class)| *class)
}
