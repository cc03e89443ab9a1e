//! File work on the blocking pool, ended when its caller is gone.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Longest time the file work around a call (evidence, undo) may take.
pub(crate) const FILE_WORK_MAX: Duration = Duration::from_secs(120);

/// Tells long file work that nobody waits for it any more.
#[derive(Clone, Debug, Default)]
pub(crate) struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// True once the caller is gone.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// That of a caller who is gone.
    #[cfg(test)]
    pub(crate) fn raised() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }
}

/// File work did not come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotDone {
    /// It took too long.
    TimedOut,
    /// It broke: a bug.
    Broke,
}

impl NotDone {
    pub(crate) fn message(self, limit: Duration) -> String {
        match self {
            Self::TimedOut => format!("ended after {} s: the time is up", limit.as_secs()),
            Self::Broke => "the tool broke off with an internal error".to_owned(),
        }
    }
}

thread_local! {
    static IN_PLACE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`; file work that futures polled by it do is done on this very
/// thread, with no deadline. For simulation: a pool is faster or slower from one
/// time to the next, and with it the order of everything else.
pub fn file_work_in_place<T>(work: impl FnOnce() -> T) -> T {
    let _restored = PutBack(IN_PLACE.replace(true));
    work()
}

struct PutBack(bool);

impl Drop for PutBack {
    fn drop(&mut self) {
        IN_PLACE.set(self.0);
    }
}

/// Runs blocking work with a deadline.
pub(crate) async fn run<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce(&StopFlag) -> T + Send + 'static,
) -> Result<T, NotDone> {
    if IN_PLACE.get() {
        return Ok(work(&StopFlag::default()));
    }
    let raised = RaisedOnDrop(StopFlag::default());
    let flag = raised.0.clone();
    let task = tokio::task::spawn_blocking(move || work(&flag));
    match tokio::time::timeout(limit, task).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(_)) => Err(NotDone::Broke),
        Err(_) => Err(NotDone::TimedOut),
    }
}

struct RaisedOnDrop(StopFlag);

impl Drop for RaisedOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_in_place_is_done_by_the_thread_that_asks_and_only_there() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let worker = || runtime.block_on(run(FILE_WORK_MAX, |_| std::thread::current().id())).unwrap();
        let here = std::thread::current().id();
        assert_ne!(worker(), here);
        assert_eq!(file_work_in_place(worker), here);
        assert_ne!(worker(), here, "the pool is back afterwards");
    }
}
