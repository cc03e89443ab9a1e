//! A copy of the database as it was at one moment, made while others read and write.
//!
//! It is made page by page with SQLite's backup interface, on a snapshot of its own, so writers
//! neither wait for it nor make it start over. A copy has its name only once it is whole and
//! synced; what a killed process left is removed by the next one.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{private, schema};
use crate::OpenError;

/// Pages of one step, after which somebody hears how far it is.
const STEP_PAGES: i32 = 2048;

/// What a copy is called until it is whole.
pub(super) const UNFINISHED: &str = ".part";

/// Copies the database `from` to `to`, where nothing may be yet. `tell` hears how many bytes of
/// how many are done. `Ok` means that the copy is durable under its name.
pub(super) fn copy(from: &Path, to: &Path, tell: &mut dyn FnMut(u64, u64)) -> Result<(), OpenError> {
    let part = unfinished(to);
    let copied = copy_pages(from, &part, tell).and_then(|()| take_name(&part, to));
    if copied.is_err() {
        // Only to tidy up: why it failed is what counts.
        let _ = fs::remove_file(&part);
    }
    copied
}

/// What a copy of this name is called until it is whole.
fn unfinished(to: &Path) -> std::path::PathBuf {
    let mut name = to.as_os_str().to_owned();
    name.push(UNFINISHED);
    name.into()
}

fn copy_pages(from: &Path, part: &Path, tell: &mut dyn FnMut(u64, u64)) -> Result<(), OpenError> {
    let made = private(OpenOptions::new().write(true)).truncate(true).open(part);
    made.map_err(|source| OpenError::Io { path: part.to_owned(), source })?;
    let source = schema::connect(from, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let read = |error| schema::trouble(from, error);
    // One snapshot for all steps.
    source
        .execute_batch("PRAGMA query_only = ON; PRAGMA cache_size = -4096; BEGIN")
        .and_then(|()| schema::leave_the_log(&source))
        .and_then(|()| source.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())))
        .map_err(read)?;
    let bytes: i64 = source
        .query_row("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", [], |row| {
            row.get(0)
        })
        .map_err(read)?;
    let written = |error: rusqlite::Error| match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            OpenError::NoRoom { path: part.to_owned(), needed: bytes.cast_unsigned() }
        }
        _ => schema::trouble(part, error),
    };
    let mut target = Connection::open_with_flags(part, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(written)?;
    // Synced once, at the end, by us: until then the name says that it is not whole.
    target
        .execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -8192;")
        .map_err(written)?;
    step_by_step(&source, &mut target, tell).map_err(written)?;
    drop(target);
    let sync = |file: &Path| File::open(file)?.sync_all();
    sync(part).map_err(|source| no_room_or(part, bytes.cast_unsigned(), source))
}

fn step_by_step(
    source: &Connection,
    target: &mut Connection,
    tell: &mut dyn FnMut(u64, u64),
) -> rusqlite::Result<()> {
    let backup = Backup::new(source, target)?;
    loop {
        let step = backup.step(STEP_PAGES)?;
        let progress = backup.progress();
        let bytes =
            |pages: i32| u64::try_from(pages).unwrap_or(0) * u64::from(schema::PAGE_BYTES.unsigned_abs());
        tell(bytes(progress.pagecount.saturating_sub(progress.remaining)), bytes(progress.pagecount));
        match step {
            StepResult::Done => return Ok(()),
            StepResult::More => {}
            // Nobody else has the target, and the snapshot of the source is held.
            StepResult::Busy | StepResult::Locked | _ => {
                return Err(rusqlite::Error::SqliteFailure(
                    rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY),
                    None,
                ));
            }
        }
    }
}

/// Gives a whole copy its name, durably, and never that of something else.
fn take_name(part: &Path, to: &Path) -> Result<(), OpenError> {
    let io = |source| OpenError::Io { path: to.to_owned(), source };
    if to.symlink_metadata().is_ok() {
        return Err(io(io::ErrorKind::AlreadyExists.into()));
    }
    fs::rename(part, to).map_err(io)?;
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(io)
}

fn no_room_or(path: &Path, needed: u64, source: io::Error) -> OpenError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::StorageFull => OpenError::NoRoom { path, needed },
        _ => OpenError::Io { path, source },
    }
}
