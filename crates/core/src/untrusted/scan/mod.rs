//! One pass over a text that finds markers and phrases on the canonical copy.
//!
//! The reader's pieces become symbols; white space and decoration are left out of
//! the comparison but remembered, so that a marker is found however it is spaced
//! and a word only where it is one. Found spans are spans of the original.
//!
//! Invariants
//! - Linear: each symbol costs one step of the automaton and a bounded number of
//!   rule updates. The state is a ring of the last symbols, never the text.
//! - Spans begin and end on character boundaries of the original.

mod automaton;
mod foreign;
mod lexicon;
mod phrases;
mod templates;
#[cfg(test)]
mod tests;
mod vocabulary;

use std::ops::Range;

use self::automaton::State;
use self::lexicon::{Action, RULES};
use self::phrases::Phrases;
use self::templates::When;
use self::vocabulary::{Entry, Pattern, Symbol, VOCABULARY, Vocabulary};
use super::fold::{Kind, Piece, Reader};
use super::suspicion::{Family, Weight};

/// Symbols that are remembered; no pattern is longer.
const RING: usize = 64;
/// Longest tag that is taken as one mark, in bytes.
const TAG_MAX: usize = 256;
/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Bytes of the original.
    pub(super) span: Range<usize>,
    pub(super) rule: &'static str,
    pub(super) family: Family,
    pub(super) weight: Weight,
    pub(super) neutralise: bool,
}

/// Walks the text and reports everything found, in the order of the ends.
pub(super) fn scan(text: &str, mark: Option<&str>, report: impl FnMut(Found)) {
    let mut scanner = Scanner::new(text, mark, report);
    let mut reader = Reader::new(text);
    let vocabulary: &Vocabulary = &VOCABULARY;
    loop {
        // Nearly all text is plain letters: one look-up each, and no detour.
        while let Some((letter, at)) =
            reader.peek().and_then(|(byte, at)| Some((vocabulary.letter(byte)?, at)))
        {
            reader.skip_plain();
            scanner.symbol(letter, at, at + 1);
        }
        match reader.next() {
            Some(piece) => scanner.take(piece),
            None => break,
        }
    }
    scanner.settle(false);
}

/// What is remembered of a symbol.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    start: usize,
    end: usize,
    /// White space before it, counted from the start of the text. This and the
    /// next two are only compared with near ones, so they may wrap.
    spaces: u32,
    /// Ends of sentences before it.
    stops: u32,
    /// Place among the symbols.
    place: u32,
    /// Line ends just before it; two and more are an empty line.
    breaks: u8,
    /// Part of the same word as the symbol before.
    joined: bool,
}

/// What lies between the last symbol and the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Between {
    Nothing,
    Glue,
    Apart,
}

struct Scanner<'t, F> {
    text: &'t str,
    vocabulary: &'static Vocabulary,
    state: State,
    ring: [Seen; RING],
    count: usize,
    place: u32,
    spaces: u32,
    stops: u32,
    breaks: u8,
    between: Between,
    word_before: bool,
    /// Patterns whose end waits for the next symbol to show a word's end.
    pending: Option<State>,
    mark: Option<Mark>,
    phrases: Phrases,
    report: F,
}

impl<'t, F: FnMut(Found)> Scanner<'t, F> {
    fn new(text: &'t str, mark: Option<&str>, report: F) -> Self {
        Self {
            text,
            vocabulary: &VOCABULARY,
            state: 0,
            ring: [Seen::default(); RING],
            count: 0,
            place: 0,
            spaces: 0,
            stops: 0,
            // The start of the text starts a line, and follows no empty one.
            breaks: 1,
            between: Between::Apart,
            word_before: false,
            pending: None,
            mark: mark.map(Mark::new),
            phrases: Phrases::new(),
            report,
        }
    }

    #[inline]
    fn take(&mut self, piece: Piece) {
        match piece.kind {
            Kind::Symbol(c) => self.symbol(self.vocabulary.symbol(c), piece.start, piece.end),
            Kind::Ligature(several) => self.symbols(several.letters(), piece.start, piece.end),
            Kind::Space => {
                self.spaces = self.spaces.wrapping_add(1);
                self.between = Between::Apart;
            }
            Kind::Break => {
                self.spaces = self.spaces.wrapping_add(1);
                self.breaks = self.breaks.saturating_add(1);
                self.between = Between::Apart;
            }
            Kind::Soft => self.between = Between::Apart,
            Kind::Glue => {
                if self.between == Between::Nothing {
                    self.between = Between::Glue;
                }
            }
            Kind::Nothing => {}
        }
    }

    #[inline(never)]
    fn symbols(&mut self, letters: &str, start: usize, end: usize) {
        for c in letters.chars() {
            self.symbol(self.vocabulary.symbol(c), start, end);
        }
    }

    #[inline]
    fn symbol(&mut self, symbol: Symbol, start: usize, end: usize) {
        let joined = symbol.is_word && self.word_before && self.between != Between::Apart;
        if self.pending.is_some() {
            self.settle(joined);
        }
        let seen = Seen {
            start,
            end,
            spaces: self.spaces,
            stops: self.stops,
            place: self.place,
            breaks: self.breaks,
            joined,
        };
        if let Some(slot) = self.ring.get_mut(self.count % RING) {
            *slot = seen;
        }
        self.count += 1;
        self.place = self.place.wrapping_add(1);
        self.stops = self.stops.wrapping_add(u32::from(symbol.is_stop));
        (self.between, self.word_before, self.breaks) = (Between::Nothing, symbol.is_word, 0);
        let (state, ends) = self.vocabulary.step(self.state, symbol.class);
        self.state = state;
        if ends {
            self.pending = Some(state);
        }
        if let Some(len) = self.mark.as_mut().and_then(|mark| mark.step(symbol.looks)) {
            let span = self.back(len).start..end;
            (self.report)(template(span, "own-mark"));
        }
    }

    /// The symbol that began a pattern of this length which ended just now.
    fn back(&self, len: usize) -> Seen {
        let at = self.count.wrapping_sub(len) % RING;
        self.ring.get(at).copied().unwrap_or_default()
    }

    /// Judges the patterns that ended with the last symbol.
    #[inline(never)]
    fn settle(&mut self, goes_on: bool) {
        let Some(state) = self.pending.take() else { return };
        let vocabulary = self.vocabulary;
        let mut whole = false;
        for &id in vocabulary.ending(state) {
            let Some(pattern) = vocabulary.pattern(id) else { continue };
            match pattern.entry {
                Entry::Template(when) => self.template(pattern, when),
                Entry::Word { slots, starts_free, ends_free } => {
                    let first = self.back(pattern.len);
                    let starts = starts_free || !first.joined || is_capital(self.text.get(first.start..));
                    // A word that may begin anywhere gives way to the word itself.
                    let counts = starts && (ends_free || !goes_on) && !(starts_free && whole);
                    if counts {
                        whole |= !starts_free;
                        self.word(pattern.len, slots);
                    }
                }
            }
        }
    }

    fn word(&mut self, len: usize, slots: u128) {
        let (first, last) = (self.back(len), self.back(1));
        if slots & vocabulary::CAPITALS != 0 && !is_shouted(self.text.get(first.start..last.end)) {
            return;
        }
        let (text, report) = (self.text, &mut self.report);
        self.phrases.word(slots, first, last, |rule, span| {
            let Some(rule) = RULES.get(rule) else { return };
            let neutralise = rule.action == Action::Neutralise;
            debug_assert!(text.get(span.clone()).is_some(), "spans lie on character boundaries");
            report(Found { span, rule: rule.name, family: rule.family, weight: rule.weight, neutralise });
        });
    }

    fn template(&mut self, pattern: &Pattern, when: When) {
        let (first, last) = (self.back(pattern.len), self.back(1));
        let Some(end) = self.counts(when, first, last) else { return };
        (self.report)(template(first.start..end, "template"));
    }

    /// Where the mark ends, if it is one here.
    fn counts(&self, when: When, first: Seen, last: Seen) -> Option<usize> {
        let written = self.text.get(first.start..last.end).unwrap_or_default();
        let after = self.text.get(last.end..).unwrap_or_default();
        let is_mark = match when {
            When::Always => true,
            When::Tight => first.spaces == last.spaces,
            When::NotAnIndex => is_shouted(Some(written)) || !indexes(self.text.get(..first.start)),
            When::LineStart => first.breaks > 0,
            When::NewTurn => first.breaks > 1 && written.starts_with(|c: char| !c.is_lowercase()),
            When::Shouted => first.breaks > 0 && is_shouted(Some(written)) && says_something(after),
            When::OpenTag => return Some(last.end + tag_end(after)),
        };
        is_mark.then_some(last.end)
    }
}

fn template(span: Range<usize>, rule: &'static str) -> Found {
    Found { span, rule, family: Family::Template, weight: Weight::Strong, neutralise: true }
}

/// A capital before a small letter starts a word even where nothing parts it
/// from the one before: text that was spliced in often lacks the space.
fn is_capital(written: Option<&str>) -> bool {
    let mut letters = written.unwrap_or_default().chars();
    letters.next().is_some_and(char::is_uppercase) && letters.next().is_some_and(char::is_lowercase)
}

/// No letter of it is small.
fn is_shouted(written: Option<&str>) -> bool {
    written.is_some_and(|written| !written.chars().any(char::is_lowercase))
}

/// `name[`, `call()[`, `x[0][`: what follows is an index, not a mark.
fn indexes(before: Option<&str>) -> bool {
    before.and_then(|text| text.chars().next_back()).is_some_and(|c| c.is_alphanumeric() || "_)]".contains(c))
}

fn says_something(after: &str) -> bool {
    after.starts_with([' ', '\t']) && after.trim_start_matches([' ', '\t']).starts_with(char::is_alphabetic)
}

/// Bytes up to and with the `>` that closes a tag, to the end of a text that cuts
/// it off; none when another tag or too much else comes first.
fn tag_end(after: &str) -> usize {
    let mut end = 0;
    for piece in Reader::new(after) {
        end = piece.end;
        if piece.kind == Kind::Symbol('>') {
            return end;
        }
        if piece.kind == Kind::Symbol('<') || end > TAG_MAX {
            return 0;
        }
    }
    end
}

/// Looks for the fence's own mark, in any disguise (Knuth, Morris and Pratt).
struct Mark {
    wanted: Vec<char>,
    fails: Vec<usize>,
    matched: usize,
}

impl Mark {
    fn new(mark: &str) -> Self {
        let wanted: Vec<char> = vocabulary::squeezed(mark);
        let mut fails = vec![0_usize; wanted.len()];
        let mut matched = 0;
        for at in 1..wanted.len() {
            while matched > 0 && wanted.get(at) != wanted.get(matched) {
                matched = fails.get(matched - 1).copied().unwrap_or(0);
            }
            if wanted.get(at) == wanted.get(matched) {
                matched += 1;
            }
            if let Some(slot) = fails.get_mut(at) {
                *slot = matched;
            }
        }
        Self { wanted, fails, matched: 0 }
    }

    /// The mark's length when it ends with this symbol.
    fn step(&mut self, c: char) -> Option<usize> {
        while self.matched > 0 && self.wanted.get(self.matched) != Some(&c) {
            self.matched = self.fails.get(self.matched - 1).copied().unwrap_or(0);
        }
        if self.wanted.get(self.matched) == Some(&c) {
            self.matched += 1;
        }
        let whole = !self.wanted.is_empty() && self.matched == self.wanted.len();
        if whole {
            self.matched = self.fails.last().copied().unwrap_or(0);
        }
        whole.then_some(self.wanted.len())
    }
}

/// The canonical copy of a short text, without what parts its words.
pub(super) fn symbols(text: &str) -> impl Iterator<Item = char> {
    vocabulary::squeezed(text).into_iter()
}

/// What a name looks like at a glance: canonical, without what parts its words,
/// with the letters that are taken for each other as one.
pub(super) fn skeleton(name: &str) -> String {
    let symbols: String = symbols(name).map(|c| if c == 'i' { 'l' } else { c }).collect();
    symbols.replace("rn", "m").replace("vv", "w").replace("cl", "d")
}
