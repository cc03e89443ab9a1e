//! The ledger's file: appended, synced, indexed.
//!
//! Opening cuts a torn last line (it was never answered); damage before it is
//! reported and left alone. After a failed write or sync the book is closed for
//! good: what the disk holds then is unknown, and only a restart finds out.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::wire::{Caller, Entry, EntryKind, Operation, Reply, args_hash, is_whole};

/// Why the book cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
    /// Two writers would interleave.
    #[error("{path} is kept by another ledger")]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// Not a torn tail: something else wrote here.
    #[error("{path} is damaged at line {line}, with good lines after it or a wrong number on it")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where.
        line: u64,
    },
    /// The disk does not do as it is told.
    #[error("{path} cannot be read or written")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// An earlier write failed.
    #[error("the ledger stopped after a failed write")]
    Closed,
}

impl BookError {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::InUse { .. } => "stop the other ledger, or use another folder",
            Self::Damaged { .. } => "keep the file as evidence and start over in another folder",
            Self::Io { .. } => "check that the folder exists, is writable and has space",
            Self::Closed => "start the ledger again; it reads back what was synced",
        }
    }
}

/// The open file and what is known from it.
#[derive(Debug)]
pub struct Book {
    path: PathBuf,
    file: File,
    entries: Vec<Entry>,
    effects: HashMap<(Operation, String), usize>,
    released: HashSet<u64>,
    closed: bool,
}

impl Book {
    /// Opens or creates the file; at most one process may hold it.
    pub fn open(path: &Path) -> Result<Self, BookError> {
        let io = |source| BookError::Io { path: path.into(), source };
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(BookError::InUse { path: path.into() }),
            Err(TryLockError::Error(source)) => return Err(io(source)),
        }
        // A file whose name is lost with the power would lose every entry in it.
        if let Some(folder) = path.parent() {
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(io)?;
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        let (entries, good) = read(&bytes).map_err(|line| BookError::Damaged { path: path.into(), line })?;
        if good < bytes.len() {
            file.set_len(good as u64).and_then(|()| file.sync_all()).map_err(io)?;
            file.seek(io::SeekFrom::End(0)).map_err(io)?;
        }
        let mut book = Self {
            path: path.into(),
            file,
            entries: Vec::new(),
            effects: HashMap::new(),
            released: HashSet::new(),
            closed: false,
        };
        entries.into_iter().for_each(|entry| book.index(entry));
        Ok(book)
    }

    /// Every entry, oldest first.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Makes the operation; when this returns `Done`, it is synced.
    pub fn act(
        &mut self,
        operation: Operation,
        caller: &Caller,
        args: &Value,
        at: u64,
    ) -> Result<Reply, BookError> {
        if !is_whole(args) {
            return Ok(Reply::Refused { why: "every number must be whole and fit 64 bits".into() });
        }
        let mut entry = self.entry(operation, caller, Some(args), at);
        if operation.removes_duplicates()
            && let Some(first) = self.effect(operation, &caller.key)
        {
            let result = first.result();
            entry.kind = EntryKind::Duplicate;
            entry.of = Some(first.n);
            self.append(entry)?;
            return Ok(Reply::Done { result });
        }
        if let Err(why) = self.fill(&mut entry, args) {
            return Ok(Reply::Refused { why });
        }
        if operation == Operation::Release && entry.of.is_none() {
            // Nothing was taken: noted as a look, since the world stays as it is.
            entry.kind = EntryKind::Look;
        }
        let result = entry.result();
        self.append(entry)?;
        Ok(Reply::Done { result })
    }

    /// Looks for the effect of this key, and notes that somebody looked.
    pub fn look(
        &mut self,
        operation: Operation,
        caller: &Caller,
        args: Option<&Value>,
        at: u64,
    ) -> Result<Reply, BookError> {
        let mut entry = self.entry(operation, caller, args, at);
        entry.kind = EntryKind::Look;
        let found = self.effect(operation, &caller.key).map(|first| (first.n, first.result()));
        entry.of = found.as_ref().map(|(n, _)| *n);
        self.append(entry)?;
        Ok(found.map_or(Reply::NotFound, |(_, result)| Reply::Found { result }))
    }

    fn entry(&self, op: Operation, caller: &Caller, args: Option<&Value>, at: u64) -> Entry {
        Entry {
            n: self.entries.len() as u64 + 1,
            kind: EntryKind::Effect,
            op,
            run: caller.run.clone(),
            action: caller.action.clone(),
            key: caller.key.clone(),
            epoch: caller.epoch,
            attempt: caller.attempt,
            args: args.filter(|args| is_whole(args)).map(args_hash),
            amount: args.and_then(|args| args.get("amount")).and_then(Value::as_u64).unwrap_or(0),
            at,
            of: None,
        }
    }

    /// Refuses arguments that name nothing that could be done.
    fn fill(&self, entry: &mut Entry, args: &Value) -> Result<(), String> {
        match entry.op {
            Operation::Put | Operation::Tell => Ok(()),
            Operation::Pay | Operation::SlowPay | Operation::Reserve => {
                let amount = args.get("amount").and_then(Value::as_u64).filter(|amount| *amount > 0);
                amount.map(|_| ()).ok_or_else(|| "amount must be a whole number above zero".into())
            }
            Operation::Release => {
                let receipt = match args.get("of").and_then(Value::as_str) {
                    Some(key) => match self.effect(Operation::Reserve, key) {
                        Some(held) => held.n,
                        None => return Ok(()),
                    },
                    None => {
                        let receipt = args.get("receipt").and_then(Value::as_u64);
                        receipt.ok_or("receipt must be the number of a reservation")?
                    }
                };
                let held = self.entries.iter().find(|held| held.n == receipt).filter(|held| {
                    held.op == Operation::Reserve
                        && held.kind == EntryKind::Effect
                        && !self.released.contains(&receipt)
                });
                let held = held.ok_or_else(|| format!("no reservation {receipt} is held"))?;
                entry.amount = held.amount;
                entry.of = Some(receipt);
                Ok(())
            }
        }
    }

    fn effect(&self, operation: Operation, key: &str) -> Option<&Entry> {
        let place = self.effects.get(&(operation, key.to_owned()))?;
        self.entries.get(*place)
    }

    fn append(&mut self, entry: Entry) -> Result<(), BookError> {
        if self.closed {
            return Err(BookError::Closed);
        }
        // Closed until proven synced, so no way out of here leaves it open by mistake.
        self.closed = true;
        let io = |source| BookError::Io { path: self.path.clone(), source };
        let mut line = serde_json::to_vec(&entry).map_err(|error| io(error.into()))?;
        line.push(b'\n');
        self.file.write_all(&line).and_then(|()| self.file.sync_data()).map_err(io)?;
        self.closed = false;
        self.index(entry);
        Ok(())
    }

    fn index(&mut self, entry: Entry) {
        if entry.kind == EntryKind::Effect {
            let place = self.entries.len();
            self.effects.entry((entry.op, entry.key.clone())).or_insert(place);
            if entry.op == Operation::Release {
                self.released.extend(entry.of);
            }
        }
        self.entries.push(entry);
    }
}

/// The entries and how many bytes of the file they fill, or the damaged line.
///
/// Only the last line may be unreadable: then it is torn and was never answered.
pub fn read(bytes: &[u8]) -> Result<(Vec<Entry>, usize), u64> {
    let mut entries = Vec::new();
    let mut good = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let number = entries.len() as u64 + 1;
        let is_last = good + line.len() == bytes.len();
        let whole = line.last() == Some(&b'\n');
        match serde_json::from_slice::<Entry>(line) {
            Ok(entry) if whole && entry.n == number => entries.push(entry),
            Ok(_) if whole => return Err(number),
            Ok(_) | Err(_) if is_last => break,
            Ok(_) | Err(_) => return Err(number),
        }
        good += line.len();
    }
    Ok((entries, good))
}

#[cfg(test)]
mod tests;
