//! Looks for pieces of secrets in a row of symbols: a rolling hash over a window, then
//! a comparison of at most [`PIECE_MAX`] symbols.
//!
//! A symbol carries the place in the text that it was read from, so what is found is a
//! span of the text, whatever was skipped in between. Each symbol costs a constant, on
//! any text: a needle is cut into pieces, and no comparison is longer than a piece.

use std::fmt;

/// Longest piece, and how long the pieces of a longer needle are.
const PIECE_MAX: usize = 48;
const PIECE: usize = 32;
/// Fewest different symbols of a part: a row of dashes is in many texts.
const DISTINCT_MIN: usize = 4;
/// Symbols that are remembered; more than a piece has, and one before it.
const RING: usize = 64;
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Which secret, by its place in the list.
    pub(super) secret: usize,
}

/// What is looked for.
#[derive(Clone, Debug)]
pub(super) struct Needle {
    pub(super) symbols: Vec<u8>,
    pub(super) secret: usize,
    /// The symbol before, or behind, holds a part of the secret too.
    pub(super) before: bool,
    pub(super) after: bool,
    /// Only a part of the secret, so it must not be something that is in every text.
    pub(super) is_part: bool,
}

#[derive(Clone)]
struct Piece {
    hash: u64,
    symbols: Box<[u8]>,
    secret: usize,
    before: bool,
    after: bool,
}

/// All pieces of one way to read a text.
#[derive(Clone, Default)]
pub(super) struct Finder {
    window: usize,
    /// What the symbol that leaves the window was multiplied with.
    leaving: u64,
    /// By their hash.
    pieces: Vec<Piece>,
    /// Places in `pieces`, by their symbols.
    sorted: Vec<usize>,
    /// A bit for each hash that some piece has.
    filter: Vec<u64>,
}

impl fmt::Debug for Finder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Finder").field("pieces", &self.pieces.len()).finish_non_exhaustive()
    }
}

fn step(hash: u64, symbol: u8) -> u64 {
    hash.wrapping_mul(BASE).wrapping_add(u64::from(symbol) + 1)
}

fn slot(hash: u64) -> (usize, u64) {
    let bits = hash >> 52;
    (usize::try_from(bits >> 6).unwrap_or(0), 1 << (bits & 63))
}

fn distinct(symbols: &[u8]) -> usize {
    let mut seen = [false; 256];
    for symbol in symbols {
        if let Some(seen) = seen.get_mut(usize::from(*symbol)) {
            *seen = true;
        }
    }
    seen.iter().filter(|seen| **seen).count()
}

impl Finder {
    /// For these needles; those shorter than the window are left out.
    pub(super) fn new(window: usize, needles: Vec<Needle>) -> Self {
        let mut pieces = Vec::new();
        for needle in needles.iter().filter(|needle| needle.symbols.len() >= window) {
            cut(needle, window, &mut pieces);
        }
        // The first of two equal pieces counts: the order of the secrets.
        pieces.sort_by(|a, b| a.symbols.cmp(&b.symbols));
        pieces.dedup_by(|a, b| a.symbols == b.symbols);
        pieces.sort_by_key(|piece| piece.hash);
        let mut filter = vec![0; 64];
        for piece in &pieces {
            let (at, bit) = slot(piece.hash);
            if let Some(word) = filter.get_mut(at) {
                *word |= bit;
            }
        }
        let mut sorted: Vec<usize> = (0..pieces.len()).collect();
        sorted.sort_by_key(|at| pieces.get(*at).map(|piece| &piece.symbols));
        let leaving = (0..window).fold(1_u64, |power, _| power.wrapping_mul(BASE));
        Self { window, leaving, pieces, sorted, filter }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    fn may_have(&self, hash: u64) -> bool {
        let (at, bit) = slot(hash);
        self.filter.get(at).is_some_and(|word| word & bit != 0)
    }

    fn with(&self, hash: u64) -> impl Iterator<Item = &Piece> {
        let from = self.pieces.partition_point(|piece| piece.hash < hash);
        self.pieces.iter().skip(from).take_while(move |piece| piece.hash == hash)
    }

    /// Whether a piece begins with these symbols and has more.
    fn begins(&self, symbols: &[u8]) -> bool {
        let of = |at: &usize| self.pieces.get(*at).map_or(&[][..], |piece| &piece.symbols);
        let from = self.sorted.partition_point(|at| of(at) < symbols);
        let next = self.sorted.iter().skip(from).take(2).map(of);
        next.into_iter().any(|piece| piece.len() > symbols.len() && piece.starts_with(symbols))
    }
}

/// Cuts a needle into pieces. The last one may overlap the one before.
fn cut(needle: &Needle, window: usize, pieces: &mut Vec<Piece>) {
    let all = needle.symbols.as_slice();
    let mut add = |from: usize, to: usize, is_part: bool| {
        let symbols = all.get(from..to).unwrap_or_default();
        let is_told_apart = !is_part || distinct(symbols) >= DISTINCT_MIN;
        if is_told_apart {
            let tail = symbols.get(symbols.len().saturating_sub(window)..).unwrap_or_default();
            let hash = tail.iter().fold(0, |hash, symbol| step(hash, *symbol));
            let before = needle.before && from == 0;
            let after = needle.after && to == all.len();
            pieces.push(Piece { hash, symbols: symbols.into(), secret: needle.secret, before, after });
        }
        is_told_apart
    };
    if all.len() <= PIECE_MAX {
        add(0, all.len(), needle.is_part);
        return;
    }
    let mut any = false;
    for from in (0..all.len()).step_by(PIECE) {
        let from = from.min(all.len() - PIECE);
        any |= add(from, from + PIECE, true);
    }
    if !any && !needle.is_part {
        add(0, PIECE_MAX, false);
    }
}

#[derive(Clone, Copy, Default)]
struct Seen {
    symbol: u8,
    start: usize,
    end: usize,
}

/// A finder at work on one row of symbols.
pub(super) struct Cursor<'f> {
    finder: &'f Finder,
    ring: [Seen; RING],
    /// Symbols since the row began.
    count: usize,
    hash: u64,
    pub(super) found: Vec<Found>,
    /// The next symbol still belongs to what was found last.
    owes: bool,
}

impl<'f> Cursor<'f> {
    pub(super) fn new(finder: &'f Finder) -> Self {
        Self { finder, ring: [Seen::default(); RING], count: 0, hash: 0, found: Vec::new(), owes: false }
    }

    /// The row ends; another begins.
    #[inline]
    pub(super) fn reset(&mut self) {
        self.count = 0;
        self.hash = 0;
        self.owes = false;
    }

    /// The symbol that came `back` symbols before the last one.
    #[inline]
    fn back(&self, back: usize) -> Seen {
        let at = self.count.wrapping_sub(1).wrapping_sub(back) % RING;
        self.ring.get(at).copied().unwrap_or_default()
    }

    /// The next symbol, and where in the text it was read.
    #[inline]
    pub(super) fn push(&mut self, symbol: u8, start: usize, end: usize) {
        if self.owes {
            self.owes = false;
            if let Some(last) = self.found.last_mut() {
                last.end = last.end.max(end);
            }
        }
        let window = self.finder.window;
        let mut hash = step(self.hash, symbol);
        if self.count >= window {
            let gone = u64::from(self.back(window - 1).symbol) + 1;
            hash = hash.wrapping_sub(gone.wrapping_mul(self.finder.leaving));
        }
        self.hash = hash;
        if let Some(slot) = self.ring.get_mut(self.count % RING) {
            *slot = Seen { symbol, start, end };
        }
        self.count += 1;
        if self.count >= window && self.finder.may_have(hash) {
            self.compare();
        }
    }

    #[cold]
    fn compare(&mut self) {
        let finder = self.finder;
        for piece in finder.with(self.hash) {
            let len = piece.symbols.len();
            let fits = len <= self.count
                && piece
                    .symbols
                    .iter()
                    .rev()
                    .enumerate()
                    .all(|(back, symbol)| self.back(back).symbol == *symbol);
            if fits {
                let has_more = piece.before && self.count > len;
                let first = self.back(if has_more { len } else { len - 1 });
                self.owes = piece.after;
                self.found.push(Found { start: first.start, end: self.back(0).end, secret: piece.secret });
            }
        }
    }

    /// Where the end of the row could be the beginning of a piece.
    pub(super) fn begun(&self) -> Option<usize> {
        let most = self.count.min(PIECE_MAX - 1);
        let tail: Vec<Seen> = (0..most).rev().map(|back| self.back(back)).collect();
        let symbols: Vec<u8> = tail.iter().map(|seen| seen.symbol).collect();
        let is_begun = |from: &usize| self.finder.begins(symbols.get(*from..).unwrap_or_default());
        let from = (0..most).find(is_begun)?;
        tail.get(from).map(|seen| seen.start)
    }
}
