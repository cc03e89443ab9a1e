//! Noticing that something changed: at once in this process, soon in others.
//!
//! The writer announces its commits; commits of other processes show in
//! SQLite's data version, which is looked at while somebody waits. Nobody
//! looks while nobody waits.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::Notify;

/// How often other processes are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Somebody's view of the store's version.
pub(super) struct Watch {
    seen: Arc<Mutex<Seen>>,
    changed: Arc<Notify>,
}

struct Seen {
    conn: Connection,
    version: Option<i64>,
}

impl Watch {
    pub(super) fn new(conn: Connection, changed: Arc<Notify>) -> Self {
        let mut seen = Seen { conn, version: None };
        seen.look();
        Self { seen: Arc::new(Mutex::new(seen)), changed }
    }

    /// Waits for a change, or for `timeout_ms` to pass.
    pub(super) async fn changed(&self, timeout_ms: u64) {
        let wait = async {
            while tokio::time::timeout(LOOK_EVERY, self.changed.notified()).await.is_err() {
                if self.others_wrote().await {
                    return;
                }
            }
        };
        // A hint: running out of time is as good an answer as a change.
        let _ = tokio::time::timeout(Duration::from_millis(timeout_ms), wait).await;
    }

    /// Looks once for all who wait, and wakes them.
    async fn others_wrote(&self) -> bool {
        let seen = Arc::clone(&self.seen);
        let look = tokio::task::spawn_blocking(move || {
            // Whoever is looking already will wake us.
            seen.try_lock().is_ok_and(|mut seen| seen.look())
        });
        let moved = look.await.unwrap_or(false);
        if moved {
            self.changed.notify_waiters();
        }
        moved
    }
}

impl Seen {
    /// Whether anybody wrote since the last look.
    fn look(&mut self) -> bool {
        let now = self
            .conn
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut version| version.query_row([], |row| row.get(0)))
            .ok();
        let moved = now.is_some() && now != self.version;
        self.version = now.or(self.version);
        moved
    }
}
