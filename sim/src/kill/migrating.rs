//! Migrations under fire: an old store is brought to today's version, and whoever does it is
//! killed, or told that the disk does not do it, at a write, a sync or a rename.
//!
//! Whatever happens, the store is the old one or a newer one, with every row it had, and a copy
//! that has its name is whole. A clean process then ends the migration. The judge is a script
//! that knows nothing of the program. Nothing here mends anything.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::bowline::{Bowline, Ended, Errand};
use super::error::KillError;
use super::every::Struck;
use super::fault::{self, Fault, How, Place};
use super::options::Options;
use super::{Outcome, Violation};
use crate::chance::Draw;
use crate::clock::now_ms;
use crate::kill::tally::Tally;

/// Content in the store besides its runs, so that a copy takes more than one step.
const PIECES: u32 = 9_000;
/// Most of the faults at which nobody is killed.
const ERRORS_MAX: usize = 64;
/// Every so-manieth attempt after a kill is killed as well.
const AGAIN: usize = 3;

/// Kills `count` migrations. `tell` hears how it goes.
pub fn run(
    options: &Options,
    count: usize,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<(Struck, Outcome), KillError> {
    let started = now_ms();
    let yard = Yard::open(options)?;
    let counts = fault::count(&yard.trace_clean()?);
    let faults = deck(&counts, count, options.seed);
    tell(&format!("{} faults at {counts:?}", faults.len()));
    let bench = Bench { yard, next: AtomicUsize::new(0), struck: Mutex::default(), faults };
    let found: Result<Vec<Vec<Violation>>, KillError> = thread::scope(|scope| {
        let workers: Vec<_> = (0..options.workers).map(|_| scope.spawn(|| bench.work(tell))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or(Err(KillError::Broken))).collect()
    });
    let violations: Vec<Violation> = found?.into_iter().flatten().collect();
    if violations.is_empty() {
        fs::remove_dir_all(&options.folder).map_err(KillError::io(&options.folder))?;
    }
    let struck = bench.struck.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (took_ms, folder) = (now_ms().saturating_sub(started), options.folder.clone());
    let (tally, moments) = (Tally::default(), bench.faults.len());
    Ok((struck, Outcome { tally, violations, batch: None, moments, took_ms, folder }))
}

/// So many kills, at every sync and rename and at writes spread evenly, and some errors.
fn deck(counts: &std::collections::HashMap<Place, u32>, count: usize, seed: u64) -> Vec<Fault> {
    let many = counts.get(&Place::Write).copied().unwrap_or(0);
    let few: Vec<Fault> = fault::table(counts, usize::MAX)
        .into_iter()
        .filter(|fault| matches!(fault.place, Place::Sync | Place::Rename))
        .collect();
    let (mut kills, mut errors): (Vec<Fault>, Vec<Fault>) =
        few.into_iter().partition(|fault| fault.how == How::Kill);
    let left = u32::try_from(count.saturating_sub(kills.len())).unwrap_or(u32::MAX).min(many);
    let spread =
        |place: u32| 1 + u32::try_from(u64::from(place) * u64::from(many) / u64::from(left)).unwrap_or(0);
    let write = |nth, how| Fault { place: Place::Write, how, nth };
    kills.extend((0..left).map(|place| write(spread(place), How::Kill)));
    errors.extend((0..left.min(16)).flat_map(|place| {
        let nth = spread(place * (left / 16).max(1));
        [write(nth, How::Eio), write(nth, How::Enospc)]
    }));
    Draw::part(seed, 1).shuffle(&mut kills);
    Draw::part(seed, 2).shuffle(&mut errors);
    // When there are more kills than moments, they come round again.
    let mut all: Vec<Fault> = kills.iter().cycle().take(count).copied().collect();
    all.extend(errors.into_iter().take(ERRORS_MAX.min(count)));
    all
}

/// Where an old store lies, to be copied and hurt.
struct Yard {
    program: PathBuf,
    judge: PathBuf,
    folder: PathBuf,
    original: PathBuf,
}

impl Yard {
    fn open(options: &Options) -> Result<Self, KillError> {
        let folder = options.folder.clone();
        fs::create_dir_all(&folder).map_err(KillError::io(&folder))?;
        let judge = options.checker.with_file_name("stores.py");
        let yard =
            Self { program: options.bowline.clone(), judge, original: folder.join("original"), folder };
        let (original, pieces) = (yard.original.display().to_string(), PIECES.to_string());
        yard.ask(&["make", &options.old_store.display().to_string(), &original, &pieces])?;
        Ok(yard)
    }

    /// An old store of its own.
    fn stage(&self, name: &str) -> Result<Trial<'_>, KillError> {
        let home = self.folder.join(name);
        fs::create_dir_all(&home).map_err(KillError::io(&home))?;
        let to = home.join("store.db");
        fs::copy(self.original.join("store.db"), &to).map_err(KillError::io(&to))?;
        let bowline = Bowline { program: self.program.clone(), home };
        Ok(Trial { yard: self, bowline, name: name.into(), violations: Vec::new() })
    }

    /// The system calls of a migration that nobody hurts.
    fn trace_clean(&self) -> Result<String, KillError> {
        let mut trial = self.stage("clean")?;
        let trace = trial.suffer(None, 0)?.1;
        trial.judge("3")?;
        match trial.violations.is_empty() {
            true => Ok(trace),
            false => {
                let found: Vec<String> = trial.violations.into_iter().map(|found| found.0).collect();
                Err(KillError::NotClean { found: found.join("\n") })
            }
        }
    }

    /// Every line the script has to say; it says nothing when all is well.
    fn ask(&self, words: &[&str]) -> Result<Vec<String>, KillError> {
        let failed = |source| KillError::Program { program: "python3".into(), source };
        let output = Command::new("python3").arg(&self.judge).args(words).output().map_err(failed)?;
        let lines = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
        match output.status.code() {
            Some(0 | 1) => Ok(lines),
            Some(_) | None => Err(KillError::Refused {
                words: words.join(" "),
                complained: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            }),
        }
    }
}

/// One old store, and what is done to it.
struct Trial<'a> {
    yard: &'a Yard,
    bowline: Bowline,
    name: String,
    violations: Vec<Violation>,
}

impl Trial<'_> {
    /// Migrates, with a fault or without one; gives whether it was killed, and what was traced.
    fn suffer(&self, fault: Option<Fault>, process: u32) -> Result<(Ended, String), KillError> {
        let notes = self.yard.folder.join(format!("{}-{process}", self.name));
        let trace = notes.with_extension("trace");
        let finished = self.bowline.suffer(Errand::Migrate, fault, &trace, &notes)?;
        let text = fs::read_to_string(&trace).map_err(KillError::io(&trace))?;
        Ok((finished.ended, text))
    }

    fn judge(&mut self, wanted: &str) -> Result<(), KillError> {
        let text = |path: &Path| path.display().to_string();
        let found =
            self.yard.ask(&["judge", &text(&self.yard.original), &text(&self.bowline.home), wanted])?;
        let name = &self.name;
        self.violations.extend(found.into_iter().map(|line| Violation(format!("{line} ({name})"))));
        Ok(())
    }

    /// One fault, perhaps another one while it is mended, and then a clean end.
    fn live(&mut self, fault: Fault, again: Option<Fault>) -> Result<bool, KillError> {
        let (_, trace) = self.suffer(Some(fault), 0)?;
        if let Some(line) = fault::wrote_after_a_failed_sync(&trace) {
            let name = &self.name;
            self.violations.push(Violation(format!("M9: written after a failed sync: {line} ({name})")));
        }
        self.judge("any")?;
        if let Some(again) = again {
            self.suffer(Some(again), 1)?;
            self.judge("any")?;
        }
        let (ended, _) = self.suffer(None, 2)?;
        if ended != Ended::Exited(0) {
            let name = &self.name;
            self.violations.push(Violation(format!("M10: it could not be ended: {ended:?} ({name})")));
        }
        self.judge("3")?;
        for words in [&["audit", "verify"][..], &["runs"]] {
            if let Err(refused) = self.bowline.ask(words, &self.yard.folder.join(format!("{}-3", self.name)))
            {
                self.violations.push(Violation(format!("M11: {refused} ({})", self.name)));
            }
        }
        Ok(fault::has_struck(&trace))
    }
}

/// What the workers share.
struct Bench {
    yard: Yard,
    next: AtomicUsize,
    struck: Mutex<Struck>,
    faults: Vec<Fault>,
}

impl Bench {
    /// Fault after fault, until there are no more or a promise is broken.
    fn work(&self, tell: &(dyn Fn(&str) + Sync)) -> Result<Vec<Violation>, KillError> {
        loop {
            let number = self.next.fetch_add(1, Ordering::SeqCst);
            let Some(fault) = self.faults.get(number) else { return Ok(Vec::new()) };
            let mut trial = self.yard.stage(&format!("t{number}"))?;
            let is_again = number.is_multiple_of(AGAIN);
            let again = self.faults.get((number + 1) % self.faults.len()).filter(|_| is_again).copied();
            let struck = trial.live(*fault, again)?;
            {
                let mut all = self.struck.lock().unwrap_or_else(PoisonError::into_inner);
                let row = all.entry((fault.place, fault.how)).or_default();
                row.0 += 1;
                row.1 += u64::from(struck);
            }
            if !trial.violations.is_empty() {
                self.next.store(self.faults.len(), Ordering::SeqCst);
                return Ok(trial.violations);
            }
            fs::remove_dir_all(&trial.bowline.home).map_err(KillError::io(&trial.bowline.home))?;
            if number % 25 == 24 {
                tell(&format!("{} of {} faults", number + 1, self.faults.len()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashMap};

    use super::*;

    #[test]
    fn as_many_are_killed_as_asked_for_and_every_sync_and_rename_is_among_them() {
        let counts = HashMap::from([(Place::Write, 5_000), (Place::Sync, 9), (Place::Rename, 1)]);
        let deck = deck(&counts, 300, 1);
        let kills: Vec<&Fault> = deck.iter().filter(|fault| fault.how == How::Kill).collect();
        assert_eq!(kills.len(), 300);
        assert_eq!(kills.iter().filter(|fault| fault.place == Place::Sync).count(), 9);
        let writes: BTreeSet<u32> =
            kills.iter().filter(|fault| fault.place == Place::Write).map(|fault| fault.nth).collect();
        assert_eq!(writes.len(), 290, "no write is taken twice while there are others");
        assert!(deck.iter().any(|fault| fault.how == How::Enospc));
    }

    #[test]
    fn kills_come_round_again_when_there_are_few_moments() {
        let counts = HashMap::from([(Place::Write, 3), (Place::Sync, 1)]);
        let kills = deck(&counts, 20, 1).into_iter().filter(|fault| fault.how == How::Kill).count();
        assert_eq!(kills, 20);
    }
}
