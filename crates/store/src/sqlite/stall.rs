//! Notices a disk that does not answer, without a timer for every write.
//!
//! The writer says when a commit begins and ends; a thread of its own looks now
//! and then. A commit that takes too long poisons the store and releases
//! everybody who waits. Nothing is written or retried here.

use std::future::Future;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// How long a commit may take. Far beyond any healthy disk.
const COMMIT_WITHIN: Duration = Duration::from_secs(60);

/// How often somebody looks.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The watch over one writer.
pub(super) struct Stall {
    seen: Arc<Seen>,
    // Dropping it ends the thread.
    done: Option<mpsc::SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Seen {
    since: Mutex<Option<Instant>>,
    stalled: Arc<Notify>,
}

impl Stall {
    /// Begins to watch; `poison` is what a stall sets.
    pub(super) fn watch(poison: Arc<OnceLock<String>>) -> Result<Self, rusqlite::Error> {
        Self::look(poison, LOOK_EVERY, COMMIT_WITHIN)
    }

    fn look(
        poison: Arc<OnceLock<String>>,
        every: Duration,
        within: Duration,
    ) -> Result<Self, rusqlite::Error> {
        let seen = Arc::new(Seen::default());
        let (done, ended) = mpsc::sync_channel::<()>(1);
        let watched = Arc::clone(&seen);
        let thread = std::thread::Builder::new()
            .name("bowline-stall".to_owned())
            .spawn(move || {
                while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(every) {
                    if watched.is_over(within) {
                        let message = format!("the disk has not answered for {} s", within.as_secs());
                        // Only the first reason is kept.
                        let _ = poison.set(message);
                        watched.stalled.notify_waiters();
                    }
                }
            })
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        Ok(Self { seen, done: Some(done), thread: Some(thread) })
    }

    /// A commit begins.
    #[expect(
        clippy::disallowed_methods,
        reason = "how long a disk takes is measured, nothing is decided by it"
    )]
    pub(super) fn begin(&self) {
        self.seen.set(Some(Instant::now()));
    }

    /// It came back.
    pub(super) fn end(&self) {
        self.seen.set(None);
    }

    /// Comes true when the writer is stuck, from now on.
    pub(super) fn stalled(&self) -> impl Future<Output = ()> + Send + use<> {
        Arc::clone(&self.seen.stalled).notified_owned()
    }
}

impl Seen {
    fn set(&self, since: Option<Instant>) {
        *self.since.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    fn is_over(&self, within: Duration) -> bool {
        let since = *self.since.lock().unwrap_or_else(PoisonError::into_inner);
        since.is_some_and(|since| since.elapsed() > within)
    }
}

impl Drop for Stall {
    fn drop(&mut self) {
        self.done = None;
        if let Some(thread) = self.thread.take() {
            // A panic there has been reported by the panic hook already.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_commit_that_never_ends_poisons_the_store_and_releases_who_waits() {
        let poison = Arc::new(OnceLock::new());
        let stall = Stall::look(Arc::clone(&poison), Duration::from_millis(1), Duration::ZERO).unwrap();
        let stalled = stall.stalled();
        assert!(poison.get().is_none(), "nothing was written yet");
        stall.begin();
        stalled.await;
        assert_eq!(poison.get().map(String::as_str), Some("the disk has not answered for 0 s"));
    }
}
