//! Bringing a store of an earlier version up to today's: a copy first, then one transaction for
//! each step.
//!
//! Whoever is here holds the worker's lock, so nobody works on runs meanwhile. A process that is
//! killed at any moment leaves the store as it was before a step or after it, both of which the
//! next one goes on from; SQLite's log sees to that. Nothing is ever taken back to an earlier
//! version: that is what the copy is for.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::{copy, schema};
use crate::OpenError;
use crate::migrations::{Migration, lacked_by};

/// What a migration says while it is at work.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// The store as it was is copied to this file.
    Copying {
        /// The copy.
        to: &'a Path,
        /// Bytes that are copied.
        done: u64,
        /// Bytes there are.
        of: u64,
    },
    /// This step begins.
    Step(&'static Migration),
    /// The store has today's version.
    Done {
        /// The version it had.
        from: u32,
        /// The copy of what it was, if one was made.
        copy: Option<&'a Path>,
    },
}

/// How a store of an earlier version is brought up to today's.
pub struct Upgrade<'a> {
    /// Whether it is copied before.
    pub copy: bool,
    /// Who hears how it goes.
    pub tell: &'a mut dyn FnMut(Progress<'_>),
}

/// Brings the store up to today's version. An error leaves it at a version we know, with
/// everything that is in it.
pub(super) fn bring_up(
    conn: &Connection,
    path: &Path,
    from: u32,
    upgrade: &mut Upgrade<'_>,
) -> Result<(), OpenError> {
    tidy(path);
    let copied = if upgrade.copy { Some(copy_beside(path, from, upgrade)?) } else { None };
    let mut reached = from;
    let stepped = lacked_by(from).try_for_each(|step| {
        (upgrade.tell)(Progress::Step(step));
        take(conn, path, step)?;
        reached = step.number;
        Ok(())
    });
    if stepped.is_err() {
        // After a failed sync nobody may trust what the log holds. It cannot fail for a
        // connection that is open.
        let _ = schema::leave_the_log(conn);
    }
    if let (Err(_), Some(copied)) = (&stepped, copied.as_ref().filter(|_| reached == from)) {
        // The store is what the copy is. One that stays costs room and harms nobody.
        let _ = fs::remove_file(copied);
    }
    stepped?;
    (upgrade.tell)(Progress::Done { from, copy: copied.as_deref() });
    Ok(())
}

/// One step, in one transaction.
fn take(conn: &Connection, path: &Path, step: &Migration) -> Result<(), OpenError> {
    let said = |error| schema::trouble(path, error);
    schema::in_one_transaction(conn, || -> Result<(), Failed> {
        let before = step.number.saturating_sub(1);
        // The same connection has seen it, and the lock is ours: only a stranger writes here.
        schema::is_laid_out(conn, path, before)?;
        conn.execute_batch(step.sqlite.make)?;
        conn.execute_batch(step.sqlite.fill)?;
        conn.execute_batch(&format!("PRAGMA user_version = {}", step.number))?;
        Ok(schema::is_laid_out(conn, path, step.number)?)
    })
    .map_err(|failed| match failed {
        Failed::Sqlite(error) => match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => OpenError::NoRoom { path: path.to_owned(), needed: 0 },
            _ => said(error),
        },
        Failed::Open(error) => error,
    })
}

enum Failed {
    Sqlite(rusqlite::Error),
    Open(OpenError),
}

impl From<rusqlite::Error> for Failed {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<OpenError> for Failed {
    fn from(error: OpenError) -> Self {
        Self::Open(error)
    }
}

/// Copies the store under the first name that is free.
fn copy_beside(path: &Path, from: u32, upgrade: &mut Upgrade<'_>) -> Result<PathBuf, OpenError> {
    let name = |number: u32| path.with_file_name(format!("store.v{from}.backup-{number}.db"));
    let free = (1..u32::MAX).map(name).find(|name| name.symlink_metadata().is_err());
    let to = free.unwrap_or_else(|| name(u32::MAX));
    let mut tell = |done, of| (upgrade.tell)(Progress::Copying { to: &to, done, of });
    copy::copy(path, &to, &mut tell)?;
    Ok(to)
}

/// The copies that migrations left beside a database, whole or not.
pub(super) fn copies(path: &Path) -> Vec<PathBuf> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let is_copy = |name: &str| {
        let version = name.strip_prefix("store.v").and_then(|rest| rest.split_once(".backup-"));
        version.is_some_and(|(version, rest)| {
            let rest = rest.strip_suffix(copy::UNFINISHED).unwrap_or(rest);
            let number = rest.strip_suffix(".db").unwrap_or_default();
            [version, number].iter().all(|text| text.parse::<u32>().is_ok())
        })
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_copy));
    let mut found: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// Removes what a process left that was killed while it copied.
fn tidy(path: &Path) {
    let is_part = |copy: &PathBuf| copy.extension().is_some_and(|ending| ending == "part");
    for part in copies(path).into_iter().filter(is_part) {
        // What cannot be removed is in nobody's way but that of the room it takes.
        let _ = fs::remove_file(part);
    }
}
