//! Seeing to it that nothing of what was removed is left in the files.
//!
//! A removed row leaves its bytes in free pages, in the gaps of pages that are still used, and in
//! the log. So the database is written anew, which takes only what is there, and the log is moved
//! into it and emptied. What the file system keeps of blocks it gave up is not ours to say.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::{schema, trouble};
use crate::StoreError;

/// How often a log that somebody reads is tried to be emptied, and how long between.
const TRIES: u32 = 20;
const BETWEEN: Duration = Duration::from_millis(100);

/// Writes the database anew and empties the log.
pub(super) async fn scrub(path: PathBuf) -> Result<(), StoreError> {
    let gone = |message: String| StoreError::Database { action: ACTION, message };
    let conn = tokio::task::spawn_blocking(move || anew(&path)).await;
    let conn = conn.map_err(|stopped| gone(stopped.to_string()))??;
    let mut conn = Some(conn);
    for _ in 0..TRIES {
        let Some(given) = conn.take() else { break };
        let emptied = tokio::task::spawn_blocking(move || is_emptied(&given).map(|done| (done, given)));
        let (done, given) = emptied.await.map_err(|stopped| gone(stopped.to_string()))??;
        if done {
            return Ok(());
        }
        conn = Some(given);
        tokio::time::sleep(BETWEEN).await;
    }
    Err(StoreError::Busy { action: ACTION })
}

const ACTION: &str = "overwrite what was removed";

fn anew(path: &Path) -> Result<Connection, StoreError> {
    let opened = schema::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE);
    let conn = opened.map_err(|error| StoreError::Database { action: ACTION, message: error.to_string() })?;
    conn.execute_batch("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; VACUUM;")
        // From here on a try is short: there are several.
        .and_then(|()| conn.busy_timeout(BETWEEN))
        .map_err(trouble(ACTION))?;
    Ok(conn)
}

/// Moves the log into the database and cuts it off; false if somebody reads what it holds.
fn is_emptied(conn: &Connection) -> Result<bool, StoreError> {
    let busy: i64 =
        conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).map_err(trouble(ACTION))?;
    Ok(busy == 0)
}
