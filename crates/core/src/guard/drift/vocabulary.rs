//! What a task and its grounding texts talk about, ready to be asked "is this
//! term yours?".
//!
//! A term is at home when its stem is there, an idea of the same name is there,
//! or a long enough piece of it is: the beginning (inflection, related
//! languages) or one end of a compound. Bounded: only the most frequent terms
//! of long texts are kept.

use super::concepts::{self, Concept};
use super::hash::{self, Rolling};
use super::terms::{Kind, Term};

/// How many distinct terms are kept, the most frequent first.
pub(super) const TERMS_MAX: usize = 2048;

/// The shortest piece of a compound that counts.
const PIECE_CHARS_MIN: usize = 5;
/// The shortest word that may be a compound.
const COMPOUND_CHARS_MIN: usize = 8;
/// How sure a shared beginning makes.
const BY_BEGINNING: f64 = 0.8;
/// How sure a piece of a compound makes.
const BY_PIECE: f64 = 0.7;
/// The shortest beginning two words must share.
const BEGINNING_CHARS_MIN: usize = 4;

/// See the module's page.
#[derive(Clone, Debug, Default)]
pub(super) struct Vocabulary {
    whole: Vec<u64>,
    whole_reversed: Vec<u64>,
    beginnings: Vec<u64>,
    pieces: Vec<u64>,
    pieces_reversed: Vec<u64>,
    concepts: Vec<Concept>,
    han: Vec<char>,
}

impl Vocabulary {
    /// The vocabulary of these terms.
    pub(super) fn of(terms: &[Term<'_>]) -> Self {
        let mut all: Vec<(usize, &Term<'_>)> = terms.iter().enumerate().collect();
        all.sort_by_key(|(place, term)| (term.key, *place));
        let same = all.chunk_by(|(_, a), (_, b)| a.key == b.key);
        let mut ranked: Vec<(usize, usize, &Term<'_>)> = same
            .filter_map(|group| group.first().map(|(place, term)| (group.len(), *place, *term)))
            .collect();
        ranked.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut vocabulary = Self::default();
        ranked.iter().take(TERMS_MAX).for_each(|(_, _, term)| vocabulary.learn(term));
        vocabulary.settle();
        vocabulary
    }

    /// How many distinct terms it has.
    pub(super) fn len(&self) -> usize {
        self.whole.len()
    }

    /// True when there is nothing to compare with.
    pub(super) fn is_empty(&self) -> bool {
        self.whole.is_empty()
    }

    /// How surely a term is at home here, 0 to 1.
    pub(super) fn knows(&self, term: &Term<'_>) -> f64 {
        let whole = term.key;
        if self.whole.binary_search(&whole).is_ok() {
            return 1.0;
        }
        if concepts::of_hash(whole).is_some_and(|concept| self.concepts.binary_search(&concept).is_ok()) {
            return 0.9;
        }
        match term.kind {
            Kind::Pair | Kind::Single => self.knows_han(&term.stem),
            Kind::Number => 0.0,
            Kind::Word | Kind::Weak | Kind::Name | Kind::Code => self.knows_part(&term.stem),
        }
    }

    fn knows_han(&self, text: &str) -> f64 {
        let letters = text.chars().count();
        let known = text.chars().filter(|han| self.han.binary_search(han).is_ok()).count();
        match (letters, known) {
            (1, 1) => 0.8,
            (_, 2) => 0.6,
            (_, 1) => 0.25,
            _ => 0.0,
        }
    }

    fn knows_part(&self, stem: &str) -> f64 {
        let length = stem.chars().count();
        let known = |list: &[u64], hash: u64| list.binary_search(&hash).is_ok();
        let mut best = 0.0_f64;
        let mut forward = Rolling::new();
        for (place, letter) in stem.chars().enumerate() {
            let (taken, hash) = (place + 1, forward.push(letter));
            if is_beginning(taken, length) && known(&self.beginnings, hash) {
                return BY_BEGINNING;
            }
            let opens = is_piece(taken, length) && known(&self.whole, hash);
            let opens_known = taken == length && taken >= PIECE_CHARS_MIN && known(&self.pieces, hash);
            if opens || opens_known {
                best = BY_PIECE;
            }
        }
        let mut backward = Rolling::new();
        for (place, letter) in stem.chars().rev().enumerate() {
            let (taken, hash) = (place + 1, backward.push(letter));
            let closes = is_piece(taken, length) && known(&self.whole_reversed, hash);
            let closes_known =
                taken == length && taken >= PIECE_CHARS_MIN && known(&self.pieces_reversed, hash);
            if closes || closes_known {
                best = BY_PIECE;
            }
        }
        best
    }

    fn learn(&mut self, term: &Term<'_>) {
        let whole = term.key;
        self.whole.push(whole);
        self.concepts.extend(concepts::of_hash(whole));
        match term.kind {
            Kind::Pair | Kind::Single => self.han.extend(term.stem.chars()),
            Kind::Number => {}
            Kind::Word | Kind::Weak | Kind::Name | Kind::Code => self.learn_parts(&term.stem),
        }
    }

    fn learn_parts(&mut self, stem: &str) {
        let length = stem.chars().count();
        self.whole_reversed.push(hash::of_reversed(stem));
        let mut forward = Rolling::new();
        for (place, letter) in stem.chars().enumerate() {
            let (taken, hash) = (place + 1, forward.push(letter));
            if is_beginning(taken, length) {
                self.beginnings.push(hash);
            }
            if is_piece(taken, length) {
                self.pieces.push(hash);
            }
        }
        if length < COMPOUND_CHARS_MIN {
            return;
        }
        let mut backward = Rolling::new();
        for (place, letter) in stem.chars().rev().enumerate() {
            let hash = backward.push(letter);
            if is_piece(place + 1, length) {
                self.pieces_reversed.push(hash);
            }
        }
    }

    fn settle(&mut self) {
        for list in [
            &mut self.whole,
            &mut self.whole_reversed,
            &mut self.beginnings,
            &mut self.pieces,
            &mut self.pieces_reversed,
        ] {
            list.sort_unstable();
            list.dedup();
        }
        self.concepts.sort_unstable();
        self.han.retain(|han| !super::language::is_plain_han(*han));
        self.han.sort_unstable();
    }
}

/// Do this many characters of a stem of this length stand for the whole?
///
/// Three quarters of a long stem do, and so does what a short one has before
/// its last two characters.
fn is_beginning(taken: usize, length: usize) -> bool {
    let most = taken >= PIECE_CHARS_MIN && taken * 4 >= length * 3;
    let nearly_all =
        taken >= BEGINNING_CHARS_MIN && (taken == length || (length <= 6 && length - taken <= 2));
    most || nearly_all
}

/// Do this many characters at one end of a word make a word of a compound?
fn is_piece(taken: usize, length: usize) -> bool {
    length >= COMPOUND_CHARS_MIN && taken >= PIECE_CHARS_MIN && taken < length
}
