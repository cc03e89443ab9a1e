//! Does it bite? Each sabotage breaks a promise on purpose, from the outside,
//! and must be caught by the check that is named for it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::batch::Batch;
use super::error::KillError;
use super::forge;
use super::life::Life;
use super::moment::{Aim, Call, Moment};
use super::scenario::Scenario;
use super::{Crew, Violation};
use crate::ledger::wire::{Entry, EntryKind, Operation};

/// A way to break a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// A payment is made a second time.
    PayAgain,
    /// The disk forgets what the store had synced.
    LoseWrites,
    /// A file that was rolled back is changed by one byte.
    TouchFile,
    /// A process shows an event that its journal does not have.
    ShowTooSoon,
    /// The store's checkpoint has forgotten what the run has used.
    ForgeCheckpoint,
    /// A reservation that was given back is given back again, under another key.
    ReleaseAgain,
    /// A reservation is given back that no undo of the run is about.
    ReleaseUnasked,
    /// What was given back is in the ledger in another order.
    ReleaseOutOfOrder,
    /// The journal says that a call was undone, and the ledger knows nothing of it.
    ForgetRelease,
    /// People are told of an alert that was not raised.
    FalseAlarm,
    /// People were not told of one that was.
    SwallowAlert,
    /// A file that somebody else changed is put back all the same.
    OverwriteChanged,
}

impl Sabotage {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::PayAgain,
        Self::LoseWrites,
        Self::TouchFile,
        Self::ShowTooSoon,
        Self::ForgeCheckpoint,
        Self::ReleaseAgain,
        Self::ReleaseUnasked,
        Self::ReleaseOutOfOrder,
        Self::ForgetRelease,
        Self::FalseAlarm,
        Self::SwallowAlert,
        Self::OverwriteChanged,
    ];

    /// What people call it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::PayAgain => "pay-again",
            Self::LoseWrites => "lose-writes",
            Self::TouchFile => "touch-file",
            Self::ShowTooSoon => "show-too-soon",
            Self::ForgeCheckpoint => "forge-checkpoint",
            Self::ReleaseAgain => "release-again",
            Self::ReleaseUnasked => "release-unasked",
            Self::ReleaseOutOfOrder => "release-out-of-order",
            Self::ForgetRelease => "forget-release",
            Self::FalseAlarm => "false-alarm",
            Self::SwallowAlert => "swallow-alert",
            Self::OverwriteChanged => "overwrite-changed",
        }
    }

    /// The sabotage of that name.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|sabotage| sabotage.word() == word)
    }

    /// The check that must catch it.
    #[must_use]
    pub fn caught_by(self) -> &'static str {
        match self {
            Self::PayAgain | Self::LoseWrites => "O3",
            Self::TouchFile | Self::OverwriteChanged => "F1",
            Self::ShowTooSoon => "V1",
            Self::ForgeCheckpoint => "O10",
            Self::ReleaseAgain | Self::ReleaseOutOfOrder | Self::ForgetRelease => "O8",
            Self::ReleaseUnasked => "O5",
            Self::FalseAlarm | Self::SwallowAlert => "U1",
        }
    }

    /// Commits it in a batch of its own and says what was found.
    pub(super) fn commit(self, crew: &Crew, number: u64) -> Result<Vec<Violation>, KillError> {
        let mut batch = Batch::open(crew, number)?;
        match self {
            Self::PayAgain => self.pay_again(&mut batch)?,
            Self::LoseWrites => self.lose_writes(&mut batch)?,
            Self::TouchFile => {
                let mut life = batch.begin(Scenario::Rollback, aim(Scenario::Rollback, 12))?;
                batch.go_on(&mut life)?;
                let path = life.stage.workspace().join("old.txt");
                fs::write(&path, "as it Was\n").map_err(KillError::io(&path))?;
                batch.keep(life);
            }
            Self::ShowTooSoon => {
                let mut life = batch.begin(Scenario::Plan, None)?;
                batch.go_on(&mut life)?;
                life.pretend("{\"seq\":9999,\"event\":{\"ended\":{}}}\n");
                batch.keep(life);
            }
            Self::ForgeCheckpoint => {
                // Waits for a person, so there is a resume after the forgery.
                let mut life = batch.begin(Scenario::Consent, None)?;
                batch.start(&mut life, None)?;
                let run = life.run.as_deref().ok_or(KillError::NoChance { name: self.word() })?;
                forge::checkpoint(&batch.bowline.home, run)?;
                batch.go_on(&mut life)?;
                batch.keep(life);
            }
            Self::OverwriteChanged => {
                let mut life = batch.begin(Scenario::Undo, None)?;
                batch.go_on(&mut life)?;
                let path = life.stage.workspace().join("shared.txt");
                fs::remove_file(&path).map_err(KillError::io(&path))?;
                batch.keep(life);
            }
            Self::ReleaseAgain
            | Self::ReleaseUnasked
            | Self::ReleaseOutOfOrder
            | Self::ForgetRelease
            | Self::FalseAlarm
            | Self::SwallowAlert => self.falsify(&mut batch)?,
        }
        batch.close()
    }

    /// Changes what the ledger knows of a run that was undone, as a runtime would have that
    /// undid otherwise than its journal says.
    fn falsify(self, batch: &mut Batch<'_>) -> Result<(), KillError> {
        let scenario = if self == Self::FalseAlarm { Scenario::Rollback } else { Scenario::Saga };
        let mut life = batch.begin(scenario, aim(scenario, 12))?;
        batch.go_on(&mut life)?;
        batch.keep(life);
        let mut entries = batch.ledger.dump()?;
        self.change(&mut entries).ok_or(KillError::NoChance { name: self.word() })?;
        for (entry, n) in entries.iter_mut().zip(1..) {
            entry.n = n;
        }
        let lines: Vec<String> =
            entries.iter().filter_map(|entry| serde_json::to_string(entry).ok()).collect();
        let path = batch.ledger.file();
        fs::write(&path, lines.join("\n") + "\n").map_err(KillError::io(&path))
    }

    /// `None` if there is nothing to change.
    fn change(self, entries: &mut Vec<Entry>) -> Option<()> {
        let released = |entry: &Entry| entry.kind == EntryKind::Effect && entry.op == Operation::Release;
        let (first, last) = (entries.iter().position(released)?, entries.iter().rposition(released)?);
        match self {
            Self::ReleaseAgain | Self::ReleaseUnasked => {
                let again = Entry { key: "f".repeat(64), ..entries.get(last)?.clone() };
                if self == Self::ReleaseUnasked {
                    entries.remove(last);
                }
                entries.push(again);
            }
            Self::ReleaseOutOfOrder => entries.swap(first, last),
            // No other entry refers to the last one.
            Self::ForgetRelease => drop(entries.remove(last)),
            Self::FalseAlarm => {
                let told = Entry { op: Operation::Tell, of: None, ..entries.get(last)?.clone() };
                entries.push(told);
            }
            Self::SwallowAlert => {
                let is_told = |entry: &Entry| entry.op == Operation::Tell;
                entries.iter().position(is_told)?;
                entries.retain(|entry| !is_told(entry));
            }
            Self::PayAgain
            | Self::LoseWrites
            | Self::TouchFile
            | Self::ShowTooSoon
            | Self::ForgeCheckpoint
            | Self::OverwriteChanged => return None,
        }
        Some(())
    }

    fn pay_again(self, batch: &mut Batch<'_>) -> Result<(), KillError> {
        let mut life = batch.begin(Scenario::Repair, aim(Scenario::Repair, 10))?;
        batch.go_on(&mut life)?;
        batch.keep(life);
        let paid = |entry: &&Entry| entry.kind == EntryKind::Effect && entry.op == Operation::Pay;
        let entries = batch.ledger.dump()?;
        let entry = entries.iter().find(paid).ok_or(KillError::NoChance { name: self.word() })?;
        let program = batch.crew.sim.clone();
        let failed = |source| KillError::Program { program: program.clone(), source };
        let mut child = Command::new(&program)
            .args(["tool", "pay", "--dir"])
            .arg(batch.folder.join("ledger"))
            .env("BOWLINE_RUN", &entry.run)
            .env("BOWLINE_ACTION", &entry.action)
            .env("BOWLINE_KEY", &entry.key)
            .env("BOWLINE_EPOCH", entry.epoch.to_string())
            .env("BOWLINE_ATTEMPT", entry.attempt.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .map_err(failed)?;
        if let Some(mut stdin) = child.stdin.take() {
            let args = format!("{{\"amount\":{}}}", entry.amount);
            std::io::Write::write_all(&mut stdin, args.as_bytes()).map_err(failed)?;
        }
        let status = child.wait().map_err(failed)?;
        if status.success() { Ok(()) } else { Err(KillError::NoChance { name: self.word() }) }
    }

    /// Kills a run before its payment, keeps a copy of the store, lets the run
    /// end, and puts the copy back: what was synced since is gone.
    fn lose_writes(self, batch: &mut Batch<'_>) -> Result<(), KillError> {
        for nth in 4..24 {
            let mut life = batch.begin(Scenario::Consent, aim(Scenario::Consent, nth))?;
            let first = life.next.take();
            batch.start(&mut life, first)?;
            let early = life.run.is_some() && !has_paid(batch, &life)?;
            let (home, copy) = (batch.bowline.home.clone(), batch.folder.join(format!("copy{nth}")));
            if early {
                copy_store(&home, &copy)?;
            }
            batch.go_on(&mut life)?;
            if early && has_paid(batch, &life)? {
                copy_store(&copy, &home)?;
                batch.go_on(&mut life)?;
                batch.keep(life);
                return Ok(());
            }
            batch.keep(life);
        }
        Err(KillError::NoChance { name: self.word() })
    }
}

/// The n-th sync of the first leg.
fn aim(scenario: Scenario, nth: u32) -> Option<Aim> {
    Some(Aim { scenario, leg: 0, moment: Moment::Entering(Call::Sync, nth) })
}

fn has_paid(batch: &Batch<'_>, life: &Life) -> Result<bool, KillError> {
    let is_ours = |entry: &Entry| {
        entry.kind == EntryKind::Effect && entry.op == Operation::Pay && Some(&entry.run) == life.run.as_ref()
    };
    Ok(batch.ledger.dump()?.iter().any(is_ours))
}

/// Copies the store's files as they are; nobody has it open.
fn copy_store(from: &Path, to: &Path) -> Result<(), KillError> {
    fs::create_dir_all(to).map_err(KillError::io(to))?;
    for name in ["store.db", "store.db-wal", "store.db-shm"] {
        let (from, to) = (from.join(name), to.join(name));
        if from.exists() {
            fs::copy(&from, &to).map_err(KillError::io(&to))?;
        } else if to.exists() {
            fs::remove_file(&to).map_err(KillError::io(&to))?;
        }
    }
    Ok(())
}
