//! Reading, beside the writer: a few connections, each used by one at a time.
//!
//! A read sees one snapshot and never waits for writers. It runs on a blocking
//! thread; a caller who goes away does not stop it, but its connection comes
//! back all the same.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::schema;
use crate::{OpenError, StoreError};

/// Reads at once; more wait their turn.
const CONNECTIONS: usize = 4;

/// The connections that are free, and how many there are.
pub(super) struct Readers {
    free: Arc<Mutex<Vec<Connection>>>,
    turns: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn open(path: &Path, version: u32) -> Result<Self, OpenError> {
        let free: Result<Vec<_>, _> = (0..CONNECTIONS).map(|_| schema::open_reader(path, version)).collect();
        Ok(Self { free: Arc::new(Mutex::new(free?)), turns: Arc::new(Semaphore::new(CONNECTIONS)) })
    }

    /// Runs `look` on one snapshot of the store.
    pub(super) async fn read<T, F>(&self, action: &'static str, look: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let gone = |message: String| StoreError::Database { action, message };
        let turn =
            Arc::clone(&self.turns).acquire_owned().await.map_err(|closed| gone(closed.to_string()))?;
        let free = Arc::clone(&self.free);
        let read = tokio::task::spawn_blocking(move || {
            let taken = free.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(conn) = taken else {
                return Err(StoreError::Database { action, message: "no connection is free".to_owned() });
            };
            let found = on_one_snapshot(&conn, action, look);
            free.lock().unwrap_or_else(PoisonError::into_inner).push(conn);
            drop(turn);
            found
        });
        read.await.map_err(|stopped| gone(stopped.to_string()))?
    }
}

fn on_one_snapshot<T>(
    conn: &Connection,
    action: &'static str,
    look: impl FnOnce(&Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let said = super::trouble(action);
    conn.prepare_cached("BEGIN").and_then(|mut begin| begin.execute([])).map_err(&said)?;
    let found = look(conn);
    let ended = conn.prepare_cached("ROLLBACK").and_then(|mut end| end.execute([])).map_err(&said);
    found.and_then(|found| ended.map(|_| found))
}
