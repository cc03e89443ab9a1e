//! Every fault of a small run: at the n-th write, sync and rename, for every n, the
//! program is killed or told that the disk does not do it. Afterwards a clean process
//! takes the run to its ending, and everything is judged as after any kill.
//!
//! The program is as it is shipped, and does not know that it is looked at.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::batch::Batch;
use super::error::KillError;
use super::fault::{self, Fault, How, Place};
use super::options::Options;
use super::scenario::Scenario;
use super::tally::Tally;
use super::{CLEAN, Crew, Outcome, Violation};
use crate::clock::now_ms;

/// Runs of one batch.
const RUNS_A_BATCH: usize = 24;

/// What was done, by kind of call and fault: how often it was tried, and how often it struck.
pub type Struck = BTreeMap<(Place, How), (u64, u64)>;

/// Tries every fault, of the writes those at every `step`-th. `tell` hears how it goes.
pub fn run(
    options: &Options,
    step: usize,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<(Struck, Outcome), KillError> {
    let started = now_ms();
    fs::create_dir_all(&options.folder).map_err(KillError::io(&options.folder))?;
    let crew = Crew::new(options);
    let mut batch = Batch::open(&crew, CLEAN)?;
    let counts = fault::count(&batch.trace_faults(Scenario::Brief)?);
    let found = batch.close()?;
    if !found.is_empty() {
        let found: Vec<String> = found.into_iter().map(|violation| violation.0).collect();
        return Err(KillError::NotClean { found: found.join("\n") });
    }
    crew.count(|tally| *tally = Tally::default());
    let faults = fault::table(&counts, step);
    tell(&format!("{} faults at {counts:?}", faults.len()));
    let bench = Bench { crew: &crew, next: AtomicUsize::new(0), struck: Mutex::default(), faults: &faults };
    let found: Result<Vec<Vec<Violation>>, KillError> = thread::scope(|scope| {
        let workers: Vec<_> = (0..options.workers).map(|_| scope.spawn(|| bench.work(tell))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or(Err(KillError::Broken))).collect()
    });
    let violations: Vec<Violation> = found?.into_iter().flatten().collect();
    if violations.is_empty() {
        fs::remove_dir_all(&options.folder).map_err(KillError::io(&options.folder))?;
    }
    let struck = bench.struck.into_inner().unwrap_or_else(PoisonError::into_inner);
    let tally = crew.tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (took_ms, folder) = (now_ms().saturating_sub(started), options.folder.clone());
    Ok((struck, Outcome { tally, violations, batch: None, moments: faults.len(), took_ms, folder }))
}

/// What the workers share.
struct Bench<'a> {
    crew: &'a Crew,
    next: AtomicUsize,
    struck: Mutex<Struck>,
    faults: &'a [Fault],
}

impl Bench<'_> {
    /// Batch after batch, until there are no more or a promise is broken.
    fn work(&self, tell: &(dyn Fn(&str) + Sync)) -> Result<Vec<Violation>, KillError> {
        while !self.crew.stop.load(Ordering::SeqCst) {
            let number = self.next.fetch_add(1, Ordering::SeqCst);
            let faults = self.faults.iter().skip(number * RUNS_A_BATCH).take(RUNS_A_BATCH);
            if faults.len() == 0 {
                break;
            }
            let outcome = self.one_batch(number as u64, faults);
            if !outcome.as_ref().is_ok_and(Vec::is_empty) {
                self.crew.stop.store(true, Ordering::SeqCst);
                return outcome;
            }
            tell(&format!("batch {number} clean"));
        }
        Ok(Vec::new())
    }

    fn one_batch<'f>(
        &self,
        number: u64,
        faults: impl Iterator<Item = &'f Fault>,
    ) -> Result<Vec<Violation>, KillError> {
        let mut batch = Batch::open(self.crew, number)?;
        for fault in faults {
            let struck = batch.suffer(Scenario::Brief, *fault)?;
            let mut all = self.struck.lock().unwrap_or_else(PoisonError::into_inner);
            let row = all.entry((fault.place, fault.how)).or_default();
            row.0 += 1;
            row.1 += u64::from(struck);
        }
        let folder = batch.folder.clone();
        let violations = batch.close()?;
        if violations.is_empty() {
            fs::remove_dir_all(&folder).map_err(KillError::io(&folder))?;
        }
        Ok(violations)
    }
}

/// The table at the end.
#[must_use]
pub fn told(struck: &Struck, took_ms: u64) -> String {
    let mut text = String::new();
    for ((place, how), (tried, hit)) in struck {
        let name = format!("{} at {}", how.word(), place.words().join(", "));
        text.push_str(&format!("  {name:<40}{tried:>6} tried, {hit} struck\n"));
    }
    let tried: u64 = struck.values().map(|(tried, _)| tried).sum();
    text.push_str(&format!("  {:<40}{tried:>6} in {} s\n", "together", took_ms / 1000));
    text
}
