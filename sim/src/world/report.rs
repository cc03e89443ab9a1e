//! Seeds by the thousand: two threads, a report, and how to repeat a failure.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::thread;
use std::time::{Duration, Instant};

use super::{BUGS, Check, Expected, Look, Outcome, run_once, run_twice};

/// Threads, each with seeds of its own.
const THREADS: u64 = 2;
/// Every so many seeds the checker in the other language is asked too.
const SECOND_OPINION_EVERY: u64 = 100;
/// Seeds a bug has to show itself.
const BUG_SEEDS: u64 = 400;
/// Failures that are told in full.
const TOLD_MAX: usize = 5;

/// What to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// So many seeds, from the first.
    Seeds {
        /// The first.
        first: u64,
        /// How many.
        count: u64,
    },
    /// One seed, with its trace.
    Seed(u64),
    /// Every seeded bug.
    Bugs,
}

/// Reads `--seeds N`, `--seeds N --seed S`, `--seed S` or `--bugs`.
#[must_use]
pub fn parse(words: &[&str]) -> Option<Wanted> {
    match words {
        ["--bugs"] => Some(Wanted::Bugs),
        ["--seed", seed] => Some(Wanted::Seed(seed.parse().ok()?)),
        ["--seeds", count] => Some(Wanted::Seeds { first: 1, count: count.parse().ok()? }),
        ["--seeds", count, "--seed", first] | ["--seed", first, "--seeds", count] => {
            Some(Wanted::Seeds { first: first.parse().ok()?, count: count.parse().ok()? })
        }
        _ => None,
    }
}

/// Does what is wanted; true if every promise was kept, or every bug was noticed.
pub fn run(wanted: Wanted, out: &mut dyn Write) -> io::Result<bool> {
    match wanted {
        Wanted::Seeds { first, count } => seeds(first, count, out),
        Wanted::Seed(seed) => one(seed, out),
        Wanted::Bugs => bugs(out),
    }
}

/// What all seeds came to.
#[derive(Default)]
struct Total {
    tally: BTreeMap<&'static str, u64>,
    virtual_ms: u64,
    failed: Vec<Outcome>,
}

impl Total {
    fn add(&mut self, outcome: Outcome) {
        for (what, count) in &outcome.tally {
            *self.tally.entry(what).or_default() += count;
        }
        self.virtual_ms += outcome.virtual_ms;
        if !outcome.violations.is_empty() {
            self.failed.push(outcome);
        }
    }

    fn join(mut self, other: Self) -> Self {
        for (what, count) in other.tally {
            *self.tally.entry(what).or_default() += count;
        }
        self.virtual_ms += other.virtual_ms;
        self.failed.extend(other.failed);
        self
    }
}

fn seeds(first: u64, count: u64, out: &mut dyn Write) -> io::Result<bool> {
    let (total, time) = timed(|| spread(first, count));
    let mut total = total?;
    total.failed.sort_by_key(|outcome| outcome.seed);
    writeln!(
        out,
        "{count} seeds from {first}, each twice, {} of them for a second opinion",
        count / SECOND_OPINION_EVERY
    )?;
    for (what, count) in &total.tally {
        writeln!(out, "{count:>10}  {what}")?;
    }
    writeln!(out, "virtual time {:.1} h, real time {:.1} s", hours(total.virtual_ms), time.as_secs_f64())?;
    for outcome in total.failed.iter().take(TOLD_MAX) {
        tell(outcome, out)?;
    }
    let failed = total.failed.len() as u64;
    writeln!(out, "{} passed, {failed} failed", count - failed.min(count))?;
    Ok(failed == 0)
}

/// Runs seeds on all threads; each takes every other one.
fn spread(first: u64, count: u64) -> io::Result<Total> {
    thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS)
            .map(|offset| {
                scope.spawn(move || {
                    let workspace = tempfile::tempdir()?;
                    let mut total = Total::default();
                    for seed in (first..first.saturating_add(count)).filter(|seed| seed % THREADS == offset) {
                        let look =
                            Look { second_opinion: seed % SECOND_OPINION_EVERY == 0, ..Look::default() };
                        total.add(run_twice(seed, look, workspace.path())?);
                    }
                    Ok(total)
                })
            })
            .collect();
        workers.into_iter().try_fold(Total::default(), |total, worker| {
            let own: io::Result<Total> = worker
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("a thread of the simulator broke down")));
            Ok(total.join(own?))
        })
    })
}

fn one(seed: u64, out: &mut dyn Write) -> io::Result<bool> {
    let workspace = tempfile::tempdir()?;
    let look = Look { keep_lines: true, second_opinion: true, ..Look::default() };
    let outcome = run_twice(seed, look, workspace.path())?;
    for line in &outcome.lines {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "trace {}, virtual time {:.2} h", outcome.trace, hours(outcome.virtual_ms))?;
    tell(&outcome, out)?;
    Ok(outcome.violations.is_empty())
}

fn tell(outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    for violation in &outcome.violations {
        writeln!(out, "seed {}: {violation}", outcome.seed)?;
    }
    if !outcome.violations.is_empty() {
        writeln!(out, "  again, with its trace: cargo xtask sim --seed {}", outcome.seed)?;
    }
    Ok(())
}

fn bugs(out: &mut dyn Write) -> io::Result<bool> {
    let mut all = true;
    for expected in &BUGS {
        let found = hunt(expected)?;
        all &= found.is_right();
        writeln!(out, "{}", found.line(expected))?;
    }
    writeln!(
        out,
        "{} seeded bugs, {}",
        BUGS.len(),
        if all { "every one noticed" } else { "NOT every one noticed" }
    )?;
    Ok(all)
}

/// Who noticed a bug.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The first seed in which each check fired.
    pub first: BTreeMap<Check, u64>,
    /// Checks that had to fire and did not.
    pub missing: BTreeSet<Check>,
    /// Checks that fired and should not have, with the first thing each found.
    pub unexpected: BTreeMap<Check, String>,
}

impl Found {
    fn is_right(&self) -> bool {
        self.missing.is_empty() && self.unexpected.is_empty()
    }

    fn line(&self, expected: &Expected) -> String {
        let seen: Vec<String> =
            self.first.iter().map(|(check, seed)| format!("{check:?} (seed {seed})")).collect();
        let word = if self.is_right() { "noticed" } else { "NOT as expected" };
        let mut line = format!("{:?}: {word} by {}", expected.bug, seen.join(", "));
        if !self.missing.is_empty() {
            line.push_str(&format!("; missing {:?}", self.missing));
        }
        if !self.unexpected.is_empty() {
            line.push_str(&format!("; unexpected {:?}", self.unexpected));
        }
        line
    }
}

/// Runs seeds with a bug, one after the other, until everybody who must notice
/// it has.
pub fn hunt(expected: &Expected) -> io::Result<Found> {
    let workspace = tempfile::tempdir()?;
    let look = Look { bug: Some(expected.bug), ..Look::default() };
    let mut first = BTreeMap::new();
    let mut texts = BTreeMap::new();
    for seed in 1..=BUG_SEEDS {
        for violation in run_once(seed, look, workspace.path())?.violations {
            first.entry(violation.check).or_insert(seed);
            texts.entry(violation.check).or_insert(violation.text);
        }
        if expected.caught_by.iter().all(|check| first.contains_key(check)) {
            break;
        }
    }
    let fired: BTreeSet<Check> = first.keys().copied().collect();
    let must: BTreeSet<Check> = expected.caught_by.iter().copied().collect();
    let may: BTreeSet<Check> = expected.also.iter().copied().chain(must.iter().copied()).collect();
    texts.retain(|check, _| !may.contains(check));
    Ok(Found { first, missing: must.difference(&fired).copied().collect(), unexpected: texts })
}

fn hours(ms: u64) -> f64 {
    Duration::from_millis(ms).as_secs_f64() / 3600.0
}

#[expect(clippy::disallowed_methods, reason = "how long it took is no part of what is simulated")]
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}
