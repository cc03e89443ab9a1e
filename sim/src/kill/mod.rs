//! The kill harness: SIGKILL for the real program, again and again, and proof
//! from the outside that nothing was lost and nothing done twice.
//!
//! [`scenario`] writes the reference tasks, [`moment`] says when to kill,
//! [`bowline`] starts and kills the program, `batch` takes runs to their ending
//! and has them judged by the checker, [`sabotage()`] shows that the judges bite.
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
mod forge;
pub mod journal;
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
use self::bowline::{Bowline, Ended, Errand};
use self::error::KillError;
use self::moment::{Call, Counts, Deck};
use self::options::Options;
use self::scenario::{Scenario, Stage, World};
use self::tally::{Tally, Tickets};
use crate::clock::now_ms;
use crate::oracle::LedgerProcess;

/// Runs of one batch.
const RUNS_A_BATCH: u64 = 24;
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
    tickets: Tickets,
    clean_ms: BTreeMap<Scenario, u64>,
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
            tickets: Tickets::new(options.count),
            clean_ms: BTreeMap::new(),
            tally: Mutex::default(),
            next_batch: AtomicU64::new(options.batch.unwrap_or(0)),
            stop: AtomicBool::new(false),
        }
    }

    fn count(&self, change: impl FnOnce(&mut Tally)) {
        change(&mut self.tally.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn kills(&self) -> u64 {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).kills()
    }

    fn clean_ms(&self, scenario: Scenario) -> u64 {
        self.clean_ms.get(&scenario).copied().unwrap_or(0)
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
    tell(&format!("{} moments in clean runs of {} scenarios", deck.size(), measured.len()));
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
    while !crew.stop.load(Ordering::SeqCst) && crew.kills() < options.count {
        if !crew.tickets.take() {
            thread::sleep(PAUSE);
            continue;
        }
        crew.tickets.give_back();
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
        let (scenario, moment) = deck.at(run);
        batch.live(scenario, Some(moment))?;
        if crew.stop.load(Ordering::SeqCst) || !crew.tickets.take() {
            break;
        }
        crew.tickets.give_back();
    }
    let folder = batch.folder.clone();
    let violations = batch.close()?;
    if violations.is_empty() {
        fs::remove_dir_all(&folder).map_err(KillError::io(&folder))?;
    }
    Ok(violations)
}

/// Runs every scenario once under `strace` and once alone, and counts.
fn measure(crew: &mut Crew) -> Result<Vec<(Scenario, Counts)>, KillError> {
    let mut measured = Vec::new();
    for scenario in Scenario::ALL {
        let folder = crew.folder.join(format!("clean-{}", scenario.word()));
        let ledger = folder.join("ledger");
        fs::create_dir_all(&ledger).map_err(KillError::io(&ledger))?;
        let world = World { sim: crew.sim.clone(), ledger: ledger.clone() };
        let keeper = LedgerProcess::start(&crew.sim, &ledger)?;
        let bowline = Bowline { program: crew.bowline.clone(), home: folder.join("home") };
        let run = |name: &str| {
            let place = folder.join(name);
            fs::create_dir_all(&place).map_err(KillError::io(&place))?;
            Stage::set(scenario, &place, &world).map_err(KillError::io(&place))
        };
        let (traced, alone) = (run("traced")?, run("alone")?);
        let trace = folder.join("trace");
        let errand = Errand::Run { task: &traced.task(), key: "traced" };
        expect_clean(scenario, &bowline.trace(errand, &trace, &folder.join("traced.p"))?)?;
        let errand = Errand::Run { task: &alone.task(), key: "alone" };
        let finished = bowline.work(errand, None, 0, &folder.join("alone.p"))?;
        expect_clean(scenario, &finished)?;
        crew.clean_ms.insert(scenario, finished.took_ms);
        let text = fs::read_to_string(&trace).map_err(KillError::io(&trace))?;
        let counts = moment::count(&text);
        if let Some(call) = Call::ALL.into_iter().find(|call| needed(*call) && !counts.contains_key(call)) {
            return Err(KillError::NoMoments { scenario: scenario.word(), call: call.words().join(", ") });
        }
        measured.push((scenario, counts));
        keeper.stop()?;
    }
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

/// A clean run ends as its scenario says, or waits for the person it needs.
fn expect_clean(scenario: Scenario, finished: &bowline::Finished) -> Result<(), KillError> {
    let expected = match scenario {
        Scenario::Rollback => 1,
        Scenario::Consent | Scenario::Doubt => 4,
        Scenario::Plan | Scenario::Repair | Scenario::Crowd => 0,
    };
    match finished.ended {
        Ended::Exited(code) if code == expected => Ok(()),
        Ended::Exited(exit) => {
            let complained = format!("{}\n{}", finished.complained.trim(), finished.printed.trim());
            Err(KillError::NotClean { scenario: scenario.word(), exit, complained })
        }
        Ended::Killed => Err(KillError::Broken),
    }
}
