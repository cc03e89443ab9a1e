//! The kill harness: SIGKILL for the real program, again and again, and proof
//! from the outside that nothing was lost and nothing done twice.
//!
//! [`scenario`] writes the reference tasks, [`moment`] says when to kill,
//! [`bowline`] starts and kills the program, [`migrating`] kills migrations, `batch` takes runs to their ending
//! and has them judged by the checker, [`every`] hurts a small run at every system call,
//! [`sabotage()`] shows that the judges bite.
//!
//! Invariants
//! - A kill counts only if the process died of our signal before it was done.
//! - The harness never mends anything: it resumes, answers as a person would,
//!   and compares.
//! - The first violation stops everything and keeps all evidence.

mod attach;
mod batch;
pub mod bowline;
pub mod error;
pub mod every;
pub mod fault;
mod forge;
pub mod journal;
mod life;
pub mod migrating;
pub mod moment;
pub mod options;
pub mod sabotage;
pub mod scenario;
mod states;
pub mod tally;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use self::batch::Batch;
use self::error::KillError;
use self::moment::{Call, Counts, Deck};
use self::options::Options;
use self::scenario::Scenario;
use self::tally::{Goal, Tally};
use crate::clock::now_ms;

/// Runs of one batch.
const RUNS_A_BATCH: u64 = 24;
/// The number of the batch in which nobody is killed.
const CLEAN: u64 = u64::MAX;
/// How long a worker without a ticket waits for one that is given back.
const PAUSE: Duration = Duration::from_millis(20);

/// A broken promise, as a line that begins with the check that found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(pub String);

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// What was done.
    pub tally: Tally,
    /// What was found; empty if every promise was kept.
    pub violations: Vec<Violation>,
    /// The batch in which it was found.
    pub batch: Option<u64>,
    /// How many moments at system calls clean runs have.
    pub moments: usize,
    /// How long it took.
    pub took_ms: u64,
    /// Where everything is; gone if nothing was found.
    pub folder: PathBuf,
}

/// A batch in which a promise was broken.
struct Broken {
    batch: u64,
    violations: Vec<Violation>,
}

/// What all workers share.
pub(crate) struct Crew {
    bowline: PathBuf,
    sim: PathBuf,
    checker: PathBuf,
    folder: PathBuf,
    seed: u64,
    goal: Goal,
    clean_ms: BTreeMap<(Scenario, u32), u64>,
    tally: Mutex<Tally>,
    next_batch: AtomicU64,
    stop: AtomicBool,
}

impl Crew {
    fn new(options: &Options) -> Self {
        Self {
            bowline: options.bowline.clone(),
            sim: options.sim.clone(),
            checker: options.checker.clone(),
            folder: options.folder.clone(),
            seed: options.seed,
            goal: Goal::new(options.count, options.doubles, options.triples),
            clean_ms: BTreeMap::new(),
            tally: Mutex::default(),
            next_batch: AtomicU64::new(options.batch.unwrap_or(0)),
            stop: AtomicBool::new(false),
        }
    }

    fn count(&self, change: impl FnOnce(&mut Tally)) {
        change(&mut self.tally.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn is_done(&self, options: &Options) -> bool {
        let tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        let deep = |depth| tally.of_depth.get(&depth).copied().unwrap_or(0);
        tally.kills() >= options.count && deep(2) >= options.doubles && deep(3) >= options.triples
    }

    fn kills(&self) -> u64 {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).kills()
    }

    fn clean_ms(&self, scenario: Scenario, leg: u32) -> u64 {
        self.clean_ms.get(&(scenario, leg)).copied().unwrap_or(0)
    }
}

/// Kills the program as often as asked, or until a promise is broken. `tell`
/// hears how it goes.
pub fn run(options: &Options, tell: &(dyn Fn(&str) + Sync)) -> Result<Outcome, KillError> {
    let started = now_ms();
    fs::create_dir_all(&options.folder).map_err(KillError::io(&options.folder))?;
    let mut crew = Crew::new(options);
    let measured = measure(&mut crew)?;
    let deck = Deck::new(&measured, options.seed);
    let (moments, legs) = (deck.size(), deck.legs());
    tell(&format!("{moments} moments in {legs} legs of clean runs of {} scenarios", measured.len()));
    let workers = if options.batch.is_some() { 1 } else { options.workers };
    let found: Result<Vec<Option<Broken>>, KillError> = thread::scope(|scope| {
        let work = |_| scope.spawn(|| work(&crew, &deck, options, tell));
        let crew: Vec<_> = (0..workers).map(work).collect();
        crew.into_iter().map(|worker| worker.join().unwrap_or(Err(KillError::Broken))).collect()
    });
    let found: Vec<Broken> = found?.into_iter().flatten().collect();
    let batch = found.first().map(|broken| broken.batch);
    let violations: Vec<Violation> = found.into_iter().flat_map(|broken| broken.violations).collect();
    if violations.is_empty() {
        fs::remove_dir_all(&options.folder).map_err(KillError::io(&options.folder))?;
    }
    let tally = crew.tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    let took_ms = now_ms().saturating_sub(started);
    Ok(Outcome { tally, violations, batch, moments: deck.size(), took_ms, folder: options.folder.clone() })
}

/// Breaks a promise on purpose; true if the check that is named for it says so.
pub fn sabotage(options: &Options, sabotage: sabotage::Sabotage) -> Result<(bool, Outcome), KillError> {
    let started = now_ms();
    let crew = Crew::new(options);
    let violations = sabotage.commit(&crew, 0)?;
    let check = format!("{}: ", sabotage.caught_by());
    let caught = violations.iter().any(|violation| violation.0.starts_with(&check));
    if caught {
        fs::remove_dir_all(&options.folder).map_err(KillError::io(&options.folder))?;
    }
    let tally = crew.tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    let took_ms = now_ms().saturating_sub(started);
    Ok((
        caught,
        Outcome { tally, violations, batch: Some(0), moments: 0, took_ms, folder: options.folder.clone() },
    ))
}

/// Batch after batch, until there are enough kills or a promise is broken.
fn work(
    crew: &Crew,
    deck: &Deck,
    options: &Options,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Option<Broken>, KillError> {
    while !crew.stop.load(Ordering::SeqCst) && !crew.is_done(options) {
        if !crew.goal.take() {
            thread::sleep(PAUSE);
            continue;
        }
        crew.goal.give_back();
        let number = crew.next_batch.fetch_add(1, Ordering::SeqCst);
        let outcome = one_batch(crew, deck, number);
        if !outcome.as_ref().is_ok_and(Vec::is_empty) {
            crew.stop.store(true, Ordering::SeqCst);
            return outcome.map(|violations| Some(Broken { batch: number, violations }));
        }
        tell(&format!("batch {number} clean, {} of {} kills", crew.kills(), options.count));
        if options.batch.is_some() {
            break;
        }
    }
    Ok(None)
}

fn one_batch(crew: &Crew, deck: &Deck, number: u64) -> Result<Vec<Violation>, KillError> {
    let mut batch = Batch::open(crew, number)?;
    for run in number * RUNS_A_BATCH..(number + 1) * RUNS_A_BATCH {
        batch.live(deck.at(run))?;
        if crew.stop.load(Ordering::SeqCst) || !crew.goal.take() {
            break;
        }
        crew.goal.give_back();
    }
    let folder = batch.folder.clone();
    let violations = batch.close()?;
    if violations.is_empty() {
        fs::remove_dir_all(&folder).map_err(KillError::io(&folder))?;
    }
    Ok(violations)
}

/// Takes every scenario through all its legs, once under `strace` and once alone, and
/// counts. Nobody is killed, and every check must be silent.
fn measure(crew: &mut Crew) -> Result<Vec<(Scenario, Vec<Counts>)>, KillError> {
    let mut measured = Vec::new();
    let mut clean_ms = BTreeMap::new();
    let mut batch = Batch::open(crew, CLEAN)?;
    for scenario in Scenario::ALL {
        let traced = batch.watch(scenario, true)?;
        let alone = batch.watch(scenario, false)?;
        let times = (0..).zip(alone).map(|(leg, (_, took_ms))| ((scenario, leg), took_ms));
        clean_ms.extend(times);
        let legs: Vec<Counts> = traced.into_iter().map(|(counts, _)| counts).collect();
        let first = legs.first().cloned().unwrap_or_default();
        if let Some(call) = Call::ALL.into_iter().find(|call| needed(*call) && !first.contains_key(call)) {
            return Err(KillError::NoMoments { scenario: scenario.word(), call: call.words().join(", ") });
        }
        measured.push((scenario, legs));
    }
    let found = batch.close()?;
    if !found.is_empty() {
        let found: Vec<String> = found.into_iter().map(|violation| violation.0).collect();
        return Err(KillError::NotClean { found: found.join("\n") });
    }
    crew.clean_ms = clean_ms;
    // What clean runs did is no part of the count.
    crew.count(|tally| *tally = Tally::default());
    Ok(measured)
}

/// Calls that every run makes: none of them in a trace means that the trace or
/// its reader is wrong, and a harness that then kills at random would look fine.
fn needed(call: Call) -> bool {
    match call {
        Call::Write | Call::Sync | Call::Open => true,
        Call::Rename | Call::Renameat => false,
    }
}
