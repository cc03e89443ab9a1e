//! When a process is killed: which moments there are, and in which order they
//! are tried.
//!
//! A clean run under `strace` shows how often each system call is made; every
//! one of them is a moment. The order mixes the kinds, so that a short run of
//! the harness sees all of them and a long one sees every moment.

use std::collections::{BTreeMap, HashMap};

use super::scenario::Scenario;
use crate::chance::Draw;

/// What kind of moment it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Before a write of the journal.
    Write,
    /// Before a sync of the journal; the one after it is before the next write.
    Sync,
    /// Before a write while the store is made, recovered or opened.
    Open,
    /// Before a written file of a workspace or a result takes its name.
    File,
    /// At any time.
    Random,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Write, Self::Sync, Self::Open, Self::File, Self::Random];

    /// What people call it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Write => "at a journal write",
            Self::Sync => "at a journal sync",
            Self::Open => "at an opening write",
            Self::File => "at a file's rename",
            Self::Random => "at random",
        }
    }
}

/// The thread of the program that writes the journal, and nothing else does.
pub const STORE_THREAD: &str = "bowline-store";

/// A system call whose entry is a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    /// The store's thread writes a page or a log frame.
    Write,
    /// The store's thread syncs log or database.
    Sync,
    /// Any thread writes a page or a log frame: before the store's thread
    /// exists, that is whoever opens the store.
    Open,
    /// A file takes its name.
    Rename,
    /// The same, relative to an open folder.
    Renameat,
}

impl Call {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Write, Self::Sync, Self::Open, Self::Rename, Self::Renameat];

    /// What `strace` calls them.
    #[must_use]
    pub fn words(self) -> &'static [&'static str] {
        match self {
            Self::Write | Self::Open => &["pwrite64"],
            // Which of the two SQLite uses depends on how it was built.
            Self::Sync => &["fdatasync", "fsync"],
            Self::Rename => &["rename"],
            Self::Renameat => &["renameat"],
        }
    }

    /// Whether it counts only on the store's own files, so that no file of a
    /// workspace is taken for the journal and no tool is hit in its place.
    #[must_use]
    pub fn is_on_the_store(self) -> bool {
        match self {
            Self::Write | Self::Sync | Self::Open => true,
            Self::Rename | Self::Renameat => false,
        }
    }

    /// Whether it counts only in the store's thread. Each thread is counted for
    /// itself, so the many writes of an opening would hide those of the journal.
    #[must_use]
    pub fn is_of_the_store_thread(self) -> bool {
        match self {
            Self::Write | Self::Sync => true,
            Self::Open | Self::Rename | Self::Renameat => false,
        }
    }

    /// What kind of moment it makes.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Self::Write => Kind::Write,
            Self::Sync => Kind::Sync,
            Self::Open => Kind::Open,
            Self::Rename | Self::Renameat => Kind::File,
        }
    }

    /// Which of so many are moments: all, but of an opening's long preparations
    /// only some, spread evenly.
    fn moments(self, most: u32) -> Vec<u32> {
        match self {
            Self::Open if most > OPENING_MOMENTS => {
                (0..OPENING_MOMENTS).map(|place| 1 + place * (most - 1) / (OPENING_MOMENTS - 1)).collect()
            }
            Self::Write | Self::Sync | Self::Open | Self::Rename | Self::Renameat => (1..=most).collect(),
        }
    }
}

/// Moments taken of an opening.
const OPENING_MOMENTS: u32 = 64;

/// A moment to kill a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Moment {
    /// When a thread enters this call for the n-th time.
    Entering(Call, u32),
    /// After so many thousandths of a clean run's time.
    After(u32),
}

impl Moment {
    /// What kind of moment it is.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Self::Entering(call, _) => call.kind(),
            Self::After(_) => Kind::Random,
        }
    }

    /// A moment early in a process: while it recovers what another one left.
    pub fn early(chance: &mut Draw) -> Self {
        let mut nth = |end: u64| u32::try_from(chance.below(end)).unwrap_or(0) + 1;
        match nth(8) {
            1 | 2 => Self::Entering(Call::Sync, nth(6)),
            3 | 4 => Self::Entering(Call::Write, nth(40)),
            5 => Self::Entering(Call::Renameat, nth(2)),
            6 => Self::Entering(Call::Open, nth(60)),
            _ => Self::After(nth(500)),
        }
    }
}

/// How often a clean run made each call; of several threads, the busiest.
pub type Counts = BTreeMap<Call, u32>;

/// What the paths of the store's files have in common.
const STORE: &str = "/store.db";

/// Counts the calls in what `strace -f -y -Y` wrote.
#[must_use]
pub fn count(trace: &str) -> Counts {
    let mut of_thread: HashMap<(&str, Call), u32> = HashMap::new();
    let mut is_open = false;
    for line in trace.lines() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let Some((name, arguments)) = rest.trim_start().split_once('(') else { continue };
        let is_store = thread.ends_with(&format!("<{STORE_THREAD}>"));
        let is_it = |call: &Call| {
            let is_here =
                if call.is_of_the_store_thread() { is_store } else { *call != Call::Open || !is_open };
            call.words().contains(&name) && is_here && (!call.is_on_the_store() || arguments.contains(STORE))
        };
        if let Some(call) = Call::ALL.into_iter().find(is_it) {
            // Once its thread writes, the store is open.
            is_open |= call == Call::Write;
            *of_thread.entry((thread, call)).or_default() += 1;
        }
    }
    let mut counts = Counts::new();
    for ((_, call), found) in of_thread {
        let most = counts.entry(call).or_default();
        *most = found.max(*most);
    }
    counts
}

/// In which order kinds are tried.
const TURNS: [Kind; 10] = [
    Kind::Sync,
    Kind::Write,
    Kind::Random,
    Kind::Write,
    Kind::Open,
    Kind::Sync,
    Kind::Write,
    Kind::File,
    Kind::Random,
    Kind::Write,
];

/// Where a run is killed for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Aim {
    /// In which run.
    pub scenario: Scenario,
    /// In which of its legs: from one stop to the next, counted from 0.
    pub leg: u32,
    /// When.
    pub moment: Moment,
}

/// Every moment of every leg of every scenario, in the order in which they are tried.
#[derive(Debug)]
pub struct Deck {
    of_kind: BTreeMap<Kind, Vec<Aim>>,
    legs: Vec<(Scenario, u32)>,
    seed: u64,
}

impl Deck {
    /// Lays out the moments that the legs of clean runs showed.
    #[must_use]
    pub fn new(measured: &[(Scenario, Vec<Counts>)], seed: u64) -> Self {
        let mut of_kind: BTreeMap<Kind, Vec<Aim>> = BTreeMap::new();
        let mut legs = Vec::new();
        for (scenario, counts) in measured {
            for (leg, counts) in (0..).zip(counts) {
                legs.push((*scenario, leg));
                for (call, most) in counts {
                    let nths = call.moments(*most).into_iter();
                    let aims = nths.map(|nth| Moment::Entering(*call, nth));
                    let aims = aims.map(|moment| Aim { scenario: *scenario, leg, moment });
                    of_kind.entry(call.kind()).or_default().extend(aims);
                }
            }
        }
        for (kind, moments) in &mut of_kind {
            Draw::part(seed, *kind as u64).shuffle(moments);
        }
        Self { of_kind, legs, seed }
    }

    /// How many moments of system calls there are.
    #[must_use]
    pub fn size(&self) -> usize {
        self.of_kind.values().map(Vec::len).sum()
    }

    /// How many legs there are.
    #[must_use]
    pub fn legs(&self) -> usize {
        self.legs.len()
    }

    /// The first kill of this run, counted from 0. Moments come round again
    /// only when all of their kind were tried.
    #[must_use]
    pub fn at(&self, run: u64) -> Aim {
        let (round, turn) = (run / TURNS.len() as u64, run % TURNS.len() as u64);
        let turn = usize::try_from(turn).unwrap_or(0);
        let kind = TURNS.get(turn).copied().unwrap_or(Kind::Random);
        let before = TURNS.iter().take(turn).filter(|other| **other == kind).count() as u64;
        let a_round = TURNS.iter().filter(|other| **other == kind).count() as u64;
        let nth = round * a_round + before;
        let moments = self.of_kind.get(&kind).map(Vec::as_slice).unwrap_or_default();
        let place = usize::try_from(nth % (moments.len() as u64).max(1)).unwrap_or(0);
        moments.get(place).copied().unwrap_or_else(|| self.any_time(run))
    }

    fn any_time(&self, run: u64) -> Aim {
        let mut chance = Draw::part(self.seed, 1_000 + run);
        let place = usize::try_from(chance.below((self.legs.len() as u64).max(1))).unwrap_or(0);
        let (scenario, leg) = self.legs.get(place).copied().unwrap_or((Scenario::Plan, 0));
        let moment = Moment::After(u32::try_from(chance.below(1_000)).unwrap_or(0));
        Aim { scenario, leg, moment }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_journals_calls_are_told_from_those_of_the_opening() {
        let trace = "7<bowline> pwrite64(3</s/store.db-wal>, \"x\", 1, 0) = 1\n\
            7<bowline> pwrite64(3</s/store.db>, \"y\", 1, 0 <unfinished ...>\n\
            9<bowline-store> pwrite64(3</s/store.db-wal>, \"z\", 1, 0) = 1\n\
            7<bowline> <... pwrite64 resumed>) = 1\n\
            9<bowline-store> fsync(3</s/store.db-wal>) = 0\n\
            8<tokio-rt-worker> fsync(4</w/notes.txt>) = 0\n\
            8<tokio-rt-worker> renameat(4</w>, \".n\", 4</w>, \"n\") = 0\n\
            7<bowline> pwrite64(3</s/store.db>, \"closing\", 7, 0) = 7\n\
            7<bowline> +++ exited with 0 +++\n";
        let counts = [(Call::Open, 2), (Call::Write, 1), (Call::Sync, 1), (Call::Renameat, 1)];
        assert_eq!(count(trace), Counts::from(counts));
    }

    #[test]
    fn of_a_long_opening_some_moments_are_taken_with_the_first_and_the_last() {
        let moments = Call::Open.moments(4_200);
        assert_eq!((moments.len(), moments.first(), moments.last()), (64, Some(&1), Some(&4_200)));
        assert_eq!(Call::Open.moments(9), (1..=9).collect::<Vec<_>>());
        assert_eq!(Call::Write.moments(500).len(), 500);
    }

    fn deck(seed: u64) -> Deck {
        let counts = [(Call::Write, 30), (Call::Sync, 8), (Call::Open, 5), (Call::Renameat, 2)];
        let counts = Counts::from(counts);
        Deck::new(&[(Scenario::Plan, vec![counts.clone(), counts])], seed)
    }

    #[test]
    fn a_long_run_tries_every_moment_before_it_tries_one_again() {
        let deck = deck(1);
        assert_eq!((deck.size(), deck.legs()), (90, 2));
        let drawn: Vec<_> = (0..150).map(|run| deck.at(run)).collect();
        let writes: Vec<_> = drawn.iter().filter(|aim| aim.moment.kind() == Kind::Write).collect();
        assert_eq!(writes.len(), 60);
        assert_eq!(writes.iter().collect::<BTreeSet<_>>().len(), 60);
        let syncs: BTreeSet<_> = drawn.iter().filter(|aim| aim.moment.kind() == Kind::Sync).collect();
        assert_eq!(syncs.len(), 16);
    }

    #[test]
    fn a_short_run_sees_every_kind() {
        let deck = deck(1);
        let kinds: BTreeSet<_> = (0..10).map(|run| deck.at(run).moment.kind()).collect();
        assert_eq!(kinds, BTreeSet::from(Kind::ALL));
    }

    #[test]
    fn the_same_seed_gives_the_same_plan_and_another_seed_another() {
        let plan = |seed| (0..100).map(|run| deck(seed).at(run)).collect::<Vec<_>>();
        assert_eq!(plan(1), plan(1));
        assert_ne!(plan(1), plan(2));
    }

    #[test]
    fn without_system_calls_to_wait_for_every_moment_is_random() {
        let deck = Deck::new(&[], 1);
        assert!((0..20).all(|run| deck.at(run).moment.kind() == Kind::Random));
    }

    #[test]
    fn early_moments_are_of_every_kind_and_count_from_one() {
        let mut chance = Draw::new(1);
        let drawn: Vec<_> = (0..200).map(|_| Moment::early(&mut chance)).collect();
        let kinds: BTreeSet<_> = drawn.iter().map(|moment| moment.kind()).collect();
        assert_eq!(kinds, BTreeSet::from(Kind::ALL));
        assert!(drawn.iter().all(|moment| !matches!(moment, Moment::Entering(_, 0))));
    }
}
