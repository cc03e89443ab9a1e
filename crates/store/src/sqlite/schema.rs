//! The layout on disk, and how a connection to it is opened.
//!
//! Journals only grow, so their rows are stored in the order they are written
//! and found through an index; a table keyed by hash or by run would leave its
//! pages half empty. Content is found by the first eight bytes of its hash: the
//! whole hash stands in the row and is compared there.
//!
//! Nothing here touches a database that is not ours.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{is_damage, layout};
use crate::OpenError;

/// Version of the layout below. Another one is refused.
pub(super) const VERSION: i64 = 1;

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

const TABLES: &str = "
CREATE TABLE runs (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    request TEXT,
    fingerprint BLOB NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    worker TEXT,
    lease INTEGER NOT NULL,
    next_seq INTEGER NOT NULL,
    head BLOB NOT NULL,
    ended INTEGER NOT NULL,
    waiting INTEGER NOT NULL,
    summary TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX runs_by_request ON runs (request) WHERE request IS NOT NULL;
CREATE INDEX runs_open ON runs (key) WHERE ended = 0;
CREATE INDEX runs_owned ON runs (key) WHERE worker IS NOT NULL;

CREATE TABLE records (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    count INTEGER NOT NULL,
    at INTEGER NOT NULL,
    format INTEGER NOT NULL,
    hash BLOB NOT NULL,
    blobs TEXT,
    body TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX records_by_seq ON records (run, seq);

CREATE TABLE blobs (
    id INTEGER PRIMARY KEY,
    hash BLOB NOT NULL,
    size INTEGER NOT NULL,
    piece INTEGER NOT NULL,
    rest BLOB NOT NULL
) STRICT;
CREATE INDEX blobs_by_hash ON blobs (substr(hash, 1, 8));

CREATE TABLE pieces (
    id INTEGER PRIMARY KEY,
    bytes BLOB NOT NULL
) STRICT;

CREATE TABLE shared (
    blob INTEGER PRIMARY KEY,
    more INTEGER NOT NULL
) STRICT;

CREATE TABLE checkpoints (
    run INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    head BLOB NOT NULL,
    version INTEGER NOT NULL,
    hash BLOB NOT NULL,
    state BLOB NOT NULL
) STRICT;

CREATE TABLE mailbox (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    key TEXT NOT NULL,
    sender TEXT NOT NULL,
    signal TEXT NOT NULL,
    at INTEGER NOT NULL,
    consumed INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX mailbox_by_key ON mailbox (run, key);
CREATE INDEX mailbox_unread ON mailbox (run) WHERE consumed = 0;
";

/// Whose database a file is.
enum Kind {
    Fresh,
    Ours,
    OtherVersion(i64),
    Foreign,
}

/// Opens the database that holds the store, making it if there is none.
pub(super) fn open_writer(path: &Path) -> Result<Connection, OpenError> {
    let conn = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    let said = |error| trouble(path, error);
    if matches!(kind(&conn).map_err(said)?, Kind::Fresh) {
        create(&conn).map_err(said)?;
    }
    match kind(&conn).map_err(said)? {
        Kind::Ours => {
            if let Some(what) = layout::stranger(&conn, TABLES).map_err(said)? {
                return Err(OpenError::Layout { path: path.to_owned(), what });
            }
        }
        Kind::OtherVersion(found) => {
            return Err(OpenError::Version { path: path.to_owned(), found, expected: VERSION });
        }
        Kind::Fresh | Kind::Foreign => return Err(OpenError::NotAStore { path: path.to_owned() }),
    }
    conn.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = 67108864;",
    )
    .and_then(|()| conn.execute_batch(CACHE))
    .map_err(said)?;
    Ok(conn)
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
pub(super) fn open_reader(path: &Path) -> Result<Connection, OpenError> {
    let conn = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    conn.execute_batch("PRAGMA query_only = ON; PRAGMA cache_size = -4096;")
        .and_then(|()| leave_the_log(&conn))
        .map_err(|error| trouble(path, error))?;
    Ok(conn)
}

/// Closing this connection does not move the log into the database: who only reads does
/// not write, and after a failed sync nobody may trust what the log holds.
pub(super) fn leave_the_log(conn: &Connection) -> rusqlite::Result<()> {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map(|_| ())
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, OpenError> {
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
    Ok(match (application, version, objects) {
        (APPLICATION, VERSION, _) => Kind::Ours,
        (APPLICATION, found, _) => Kind::OtherVersion(found),
        (0, 0, 0) => Kind::Fresh,
        _ => Kind::Foreign,
    })
}

/// Two processes may come here at once: the second finds the work done.
fn create(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(&format!("PRAGMA page_size = {PAGE_BYTES}; PRAGMA journal_mode = WAL;"))?;
    conn.execute_batch("BEGIN IMMEDIATE")?;
    let made = match kind(conn) {
        Ok(Kind::Fresh) => conn.execute_batch(&format!(
            "{TABLES} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};"
        )),
        Ok(Kind::Ours | Kind::OtherVersion(_) | Kind::Foreign) => Ok(()),
        Err(error) => Err(error),
    };
    match made {
        Ok(()) => conn.execute_batch("COMMIT"),
        Err(error) => {
            // The reason it failed is worth more than the reason this does.
            let _ = conn.execute_batch("ROLLBACK");
            Err(error)
        }
    }
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
