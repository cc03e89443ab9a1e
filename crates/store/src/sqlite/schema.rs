//! The layout on disk, and how a connection to it is opened.
//!
//! Journals only grow, so their rows are stored in the order they are written
//! and found through an index; a table keyed by hash or by run would leave its
//! pages half empty. Content is found by the first eight bytes of its hash: the
//! whole hash stands in the row and is compared there.
//!
//! What the tables are says [`crate::migrations`]. Nothing here touches a database that is not
//! ours.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{is_damage, layout};
use crate::OpenError;
use crate::migrations::{VERSION, had_by, lacked_by};

/// Marks the file as ours: "Bowl".
pub(super) const APPLICATION: i64 = 0x426f_776c;

/// Bytes in a page. Appends of many runs share the pages of one commit, so small
/// pages would cost a write each; content is cut into pieces instead, so that
/// large pages do not cost room either.
pub(super) const PAGE_BYTES: i32 = 4096;

/// Content is cut into pieces of this many bytes, four of which fill a page to the
/// last byte; what is left over stands in the content's own row.
pub(super) const PIECE_BYTES: usize = 1010;

/// Length a worker's log begins with.
const LOG_BYTES: i64 = 1 << 20;

/// The writer's cache, in KiB.
const CACHE: &str = "PRAGMA cache_size = -16384";

/// How long a connection waits for another process before it gives up.
const BUSY: Duration = Duration::from_secs(5);

/// Statements kept prepared for each connection.
const STATEMENTS: usize = 64;

/// Whose database a file is.
enum Kind {
    Fresh,
    /// Of a version we know.
    Ours(u32),
    OtherVersion(i64),
    Foreign,
}

/// The database that holds the store, open for writing, and the version it has.
pub(super) struct Opened {
    pub(super) conn: Connection,
    pub(super) version: u32,
}

/// Opens the database that holds the store, making it if there is none. One of an earlier
/// version is left as it is.
pub(super) fn open_writer(path: &Path) -> Result<Opened, OpenError> {
    let conn = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    let said = |error| trouble(path, error);
    if matches!(kind(&conn).map_err(said)?, Kind::Fresh) {
        create(&conn).map_err(said)?;
    }
    let version = match kind(&conn).map_err(said)? {
        Kind::Ours(version) => version,
        Kind::OtherVersion(found) => {
            return Err(OpenError::Version { path: path.to_owned(), found, newest: VERSION });
        }
        Kind::Fresh | Kind::Foreign => return Err(OpenError::NotAStore { path: path.to_owned() }),
    };
    is_laid_out(&conn, path, version)?;
    conn.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = 67108864;",
    )
    .and_then(|()| conn.execute_batch(CACHE))
    .map_err(said)?;
    Ok(Opened { conn, version })
}

/// Refuses a database that has not the tables of this version, word for word.
pub(super) fn is_laid_out(conn: &Connection, path: &Path, version: u32) -> Result<(), OpenError> {
    match layout::stranger(conn, version).map_err(|error| trouble(path, error))? {
        Some(what) => Err(OpenError::Layout { path: path.to_owned(), what }),
        None => Ok(()),
    }
}

/// Puts temporary views in the place of what a store of an earlier version lacks, so that it
/// is read as it is.
pub(super) fn stand_in(conn: &Connection, version: u32) -> rusqlite::Result<()> {
    lacked_by(version).try_for_each(|step| conn.execute_batch(step.sqlite.stand_in))
}

/// Gives the log its working length at once, so that a worker's first commits
/// write over it instead of growing it, which would take twice as long.
///
/// A transaction too large for the cache spills into the log; rolled back, it
/// leaves nothing but the length.
pub(super) fn lengthen_log(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("PRAGMA cache_size = 16; BEGIN IMMEDIATE; CREATE TABLE spilled (bytes BLOB);")?;
    // Only speed is at stake: a disk too full for this still has runs to remove.
    let _ = conn.execute("INSERT INTO spilled VALUES (zeroblob(?1))", [LOG_BYTES]);
    if !conn.is_autocommit() {
        conn.execute_batch("ROLLBACK")?;
    }
    conn.execute_batch(CACHE)
}

/// Opens one more connection to a store that exists; it cannot write.
pub(super) fn open_reader(path: &Path, version: u32) -> Result<Connection, OpenError> {
    let conn = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    stand_in(&conn, version)
        .and_then(|()| conn.execute_batch("PRAGMA query_only = ON; PRAGMA cache_size = -4096;"))
        .and_then(|()| leave_the_log(&conn))
        .map_err(|error| trouble(path, error))?;
    Ok(conn)
}

/// Closing this connection does not move the log into the database: who only reads does
/// not write, and after a failed sync nobody may trust what the log holds.
pub(super) fn leave_the_log(conn: &Connection) -> rusqlite::Result<()> {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map(|_| ())
}

pub(super) fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, OpenError> {
    let said = |error| trouble(path, error);
    let conn = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(said)?;
    conn.busy_timeout(BUSY).map_err(said)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    // What lies in a schema runs nothing, and a statement cannot damage the file.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false).map_err(said)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true).map_err(said)?;
    conn.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA locking_mode = NORMAL;").map_err(said)?;
    Ok(conn)
}

fn kind(conn: &Connection) -> rusqlite::Result<Kind> {
    let application: i64 = conn.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let version: i64 = conn.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let objects: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let known = u32::try_from(version).ok().filter(|known| (1..=VERSION).contains(known));
    Ok(match (application, known, objects) {
        (APPLICATION, Some(known), _) => Kind::Ours(known),
        (APPLICATION, None, _) => Kind::OtherVersion(version),
        (0, _, 0) if version == 0 => Kind::Fresh,
        _ => Kind::Foreign,
    })
}

/// Two processes may come here at once: the second finds the work done.
fn create(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(&format!("PRAGMA page_size = {PAGE_BYTES}; PRAGMA journal_mode = WAL;"))?;
    in_one_transaction(conn, || match kind(conn)? {
        Kind::Fresh => {
            had_by(VERSION).try_for_each(|step| conn.execute_batch(step.sqlite.make))?;
            conn.execute_batch(&format!(
                "PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};"
            ))
        }
        Kind::Ours(_) | Kind::OtherVersion(_) | Kind::Foreign => Ok(()),
    })
}

/// Does all of it, or nothing.
pub(super) fn in_one_transaction<E: From<rusqlite::Error>>(
    conn: &Connection,
    work: impl FnOnce() -> Result<(), E>,
) -> Result<(), E> {
    conn.execute_batch("BEGIN IMMEDIATE")?;
    let done = work().and_then(|()| Ok(conn.execute_batch("COMMIT")?));
    if done.is_err() && !conn.is_autocommit() {
        // The reason it failed is worth more than the reason this does.
        let _ = conn.execute_batch("ROLLBACK");
    }
    done
}

/// What SQLite said about the database at a path.
pub(super) fn trouble(path: &Path, error: rusqlite::Error) -> OpenError {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => OpenError::NotAStore { path },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => OpenError::Busy { path },
        _ if is_damage(&error) => OpenError::Malformed { path, message: error.to_string() },
        _ => OpenError::Database { path, message: error.to_string() },
    }
}
