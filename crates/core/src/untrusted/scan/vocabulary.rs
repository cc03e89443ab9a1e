//! The templates and words, made ready for the automaton.
//!
//! Built once, from data that is part of the program.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::automaton::{Automaton, State};
use super::lexicon::{Slot, WORDS};
use super::templates::{self, When};
use crate::untrusted::fold::{Kind, Reader, plain_symbol};

/// Slots whose words count only in capitals: in small letters they are markup.
pub(super) const CAPITALS: u64 = 1 << Slot::PseudoTag as u8;

/// What the scanner needs to know of a symbol.
#[derive(Clone, Copy, Debug)]
pub(super) struct Symbol {
    pub(super) looks: char,
    pub(super) class: u8,
    /// A letter or a digit.
    pub(super) is_word: bool,
    /// Ends a sentence.
    pub(super) is_stop: bool,
}

/// What a pattern is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Entry {
    /// A mark of some model's format.
    Template(When),
    /// A word of phrases.
    Word {
        /// One bit for each slot it fills.
        slots: u64,
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
    ascii: [u8; 128],
    wide: Vec<(char, u8)>,
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
        let mut words: BTreeMap<(Vec<char>, bool, bool), u64> = BTreeMap::new();
        for (slot, list) in WORDS {
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
        let symbols: Vec<Vec<u8>> =
            written.iter().map(|(w, _)| w.iter().map(|c| class(*c)).collect()).collect();
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
    pub(super) fn step(&self, state: State, class: u8) -> (State, bool) {
        self.automaton.step(state, class)
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

/// One class for each symbol of the vocabulary; class 0 for all others.
fn alphabet(written: &[(Vec<char>, Entry)]) -> ([u8; 128], Vec<(char, u8)>, usize) {
    let mut used: Vec<char> = written.iter().flat_map(|(word, _)| word.iter().copied()).collect();
    used.sort_unstable();
    used.dedup();
    let mut ascii = [0; 128];
    let mut wide = Vec::new();
    let mut class = 0_u8;
    for c in used {
        // Past 255 symbols a class would be shared with `0`: never in the vocabulary's reach.
        class = class.saturating_add(1);
        match u8::try_from(c).ok().and_then(|byte| ascii.get_mut(usize::from(byte))) {
            Some(slot) => *slot = class,
            None => wide.push((c, class)),
        }
    }
    (ascii, wide, usize::from(class) + 1)
}

#[inline]
fn class_of(ascii: &[u8; 128], wide: &[(char, u8)], c: char) -> u8 {
    if let Some(class) = u8::try_from(c).ok().and_then(|byte| ascii.get(usize::from(byte))) {
        return *class;
    }
    wide.binary_search_by(|(known, _)| known.cmp(&c))
        .ok()
        .and_then(|at| wide.get(at))
        .map_or(0, |(_, class)| *class)
}
