//! How much of an answer hangs on its task.
//!
//! Each piece of the answer gets a hold between 0 and 1. It holds on by terms
//! of the task, by terms that pieces with a good hold introduced, or by
//! standing next to such a piece without leaving the subject; the last wears
//! off with every sentence. The score is the share of content without hold.

use super::hash;
use super::language::Language;
use super::segments::{Form, Segment};
use super::terms::{self, Kind, Term};
use super::vocabulary::Vocabulary;

/// This share of a piece's content in the task's terms is a full hold: the rest
/// is what the answer adds, which is what answers are for.
const FULL_HOLD: f64 = 0.15;
/// A long task knows many words by chance, so it takes up to this much more
/// to hang on it, half of it at [`CHANCE_HALF`] terms.
const FULL_HOLD_BY_CHANCE: f64 = 0.4;
/// See [`FULL_HOLD_BY_CHANCE`].
const CHANCE_HALF: f64 = 300.0;
/// What a term introduced by a held piece counts, against one of the task.
const INTRODUCED: f64 = 0.6;
/// From this hold on, a piece's own terms count as introduced.
const INTRODUCES_FROM: f64 = 0.5;
/// What is left of a hold one sentence on.
const CARRIED_ON: f64 = 0.75;
/// What is left of a hold one sentence back.
const CARRIED_BACK: f64 = 0.7;
/// What is left of it in a block of code beside it.
const CARRIED_TO_CODE: f64 = 0.9;
/// A task with this many terms is not answered through one of them alone.
const BROAD_TASK: usize = 5;
/// An answer that takes up less of the task's vocabulary than this (in terms)
/// shares a word with it, not a subject.
const NARROW_BELOW: f64 = 1.3;
/// What is left of every hold then.
const NARROW_HOLD: f64 = 0.7;
/// What code weighs against prose: an example is long and says little new.
const CODE_WEIGHT: f64 = 0.4;

/// A piece of the answer, weighed.
pub(super) struct Weighed<'a> {
    /// How much content it has.
    pub(super) weight: f64,
    /// How well it hangs on the task.
    pub(super) hold: f64,
    /// Its terms, each with how well the task knows it.
    pub(super) terms: Vec<(Term<'a>, f64)>,
    turns: bool,
    form: Form,
}

/// Weighs every piece of an answer.
pub(super) fn weigh<'a>(
    segments: &[Segment<'a>],
    language: Language,
    known: &Vocabulary,
) -> Vec<Weighed<'a>> {
    let full = full_hold(known.len());
    let weighed = |segment: &Segment<'a>| weighed(segment, language, known, full);
    let mut pieces: Vec<Weighed<'a>> = segments.iter().map(weighed).collect();
    tie_by_introduced_terms(&mut pieces, full);
    carry(&mut pieces);
    if known.len() >= BROAD_TASK && breadth(&pieces) < NARROW_BELOW {
        pieces.iter_mut().for_each(|piece| piece.hold *= NARROW_HOLD);
    }
    pieces
}

/// The share of a piece that must be at home in a vocabulary of this size.
fn full_hold(terms: usize) -> f64 {
    let terms = f64::from(u32::try_from(terms).unwrap_or(u32::MAX));
    FULL_HOLD + FULL_HOLD_BY_CHANCE * terms / (terms + CHANCE_HALF)
}

/// How much of the task's vocabulary the answer takes up, in distinct terms.
fn breadth(pieces: &[Weighed<'_>]) -> f64 {
    let mut taken: Vec<(u64, f64)> = pieces
        .iter()
        .flat_map(|piece| &piece.terms)
        .filter(|(_, home)| *home > 0.0)
        .map(|(term, home)| (term.key, term.weight() * home))
        .collect();
    taken.sort_by_key(|(key, _)| *key);
    taken.dedup_by_key(|(key, _)| *key);
    taken.iter().map(|(_, weight)| weight).sum()
}

/// The share of content without hold, 0 to 1.
pub(super) fn share_without_hold(pieces: &[Weighed<'_>]) -> f64 {
    let whole: f64 = pieces.iter().map(|piece| piece.weight).sum();
    let loose: f64 = pieces.iter().map(|piece| piece.weight * (1.0 - piece.hold)).sum();
    if whole > 0.0 { (loose / whole).clamp(0.0, 1.0) } else { 0.0 }
}

fn weighed<'a>(segment: &Segment<'a>, language: Language, known: &Vocabulary, full: f64) -> Weighed<'a> {
    let mut found = terms::terms(segment.text, language);
    found.sort_by_key(|term| term.key);
    found.dedup_by_key(|term| term.key);
    found.sort_by_key(|term| term.place);
    let terms: Vec<(Term<'a>, f64)> = found.into_iter().map(|term| with_home(term, known)).collect();
    let content = content(&terms);
    let scale = match segment.form {
        Form::Prose => 1.0,
        Form::Code => CODE_WEIGHT,
    };
    let at_home: f64 = terms.iter().map(|(term, home)| term.weight() * home).sum();
    Weighed {
        weight: content * scale,
        hold: hold(at_home, content, full),
        terms,
        turns: segment.turns(),
        form: segment.form,
    }
}

fn with_home<'a>(term: Term<'a>, known: &Vocabulary) -> (Term<'a>, f64) {
    let home = known.knows(&term);
    (term, home)
}

/// What there is to be grounded: a new name, number or identifier is what an
/// answer may well bring, so it counts less than a new word.
fn content(terms: &[(Term<'_>, f64)]) -> f64 {
    let share = |(term, home): &(Term<'_>, f64)| {
        let new = match term.kind {
            Kind::Word | Kind::Weak | Kind::Single => 1.0,
            // Every other pair of a run straddles two words.
            Kind::Name | Kind::Code | Kind::Pair => 0.6,
            Kind::Number => 0.2,
        };
        term.weight() * (home + (1.0 - home) * new)
    };
    terms.iter().map(share).sum()
}

fn hold(tied: f64, content: f64, full: f64) -> f64 {
    if content > 0.0 { (tied / content / full).min(1.0) } else { 0.0 }
}

fn tie_by_introduced_terms(pieces: &mut [Weighed<'_>], full: f64) {
    let introduces = |piece: &&Weighed<'_>| piece.hold >= INTRODUCES_FROM;
    let introduced = hash::sorted(
        pieces
            .iter()
            .filter(introduces)
            .flat_map(|piece| &piece.terms)
            .filter(|(term, _)| introduces_subject(term.kind))
            .map(|(term, _)| term.key),
    );
    for piece in pieces.iter_mut().filter(|piece| piece.hold < INTRODUCES_FROM) {
        let tied: f64 = piece
            .terms
            .iter()
            .map(|(term, home)| {
                let met = introduced.binary_search(&term.key).is_ok();
                term.weight() * home.max(if met { INTRODUCED } else { 0.0 })
            })
            .sum();
        piece.hold = piece.hold.max(hold(tied, content(&piece.terms), full));
    }
}

fn introduces_subject(kind: Kind) -> bool {
    match kind {
        Kind::Word | Kind::Name | Kind::Code | Kind::Pair => true,
        Kind::Weak | Kind::Number | Kind::Single => false,
    }
}

fn carry(pieces: &mut [Weighed<'_>]) {
    let mut before = 0.0_f64;
    for piece in pieces.iter_mut() {
        let kept = match piece.form {
            Form::Prose if piece.turns => 0.0,
            Form::Prose => CARRIED_ON,
            Form::Code => CARRIED_TO_CODE,
        };
        piece.hold = piece.hold.max(before * kept);
        before = piece.hold;
    }
    let mut after = 0.0_f64;
    for piece in pieces.iter_mut().rev() {
        let kept = match piece.form {
            Form::Prose => CARRIED_BACK,
            Form::Code => CARRIED_TO_CODE,
        };
        piece.hold = piece.hold.max(after * kept);
        after = if piece.turns { 0.0 } else { piece.hold };
    }
}
