//! What is durable. Where a seeded bug loses writes, the disk remembers what was
//! done to it, and a crash makes it again from less.

use bowline_core::id::{Millis, RunId, WorkerId};
use bowline_core::task::Submission;
use bowline_store::{Append, Fence, Letter, MemoryStore, RunStore};

use super::bugs::Bug;
use crate::chance::Draw;

/// The store that survives, and how it came about.
pub(super) struct Disk {
    pub(super) store: MemoryStore,
    writes: Vec<Write>,
    loses: Option<Bug>,
}

/// One write.
#[derive(Clone)]
pub(super) enum Write {
    Submit(RunId, Box<Submission>, Millis),
    Claim(RunId, WorkerId, u64, Millis),
    Append(Fence, Box<Append>),
    Release(Fence),
    Signal(RunId, Letter),
}

impl Disk {
    pub(super) fn new(bug: Option<Bug>) -> Self {
        let loses =
            bug.filter(|bug| matches!(bug, Bug::NoSync | Bug::SyncAfterReply | Bug::TornTailAccepted));
        Self { store: MemoryStore::new(), writes: Vec::new(), loses }
    }

    /// Takes note of a write, where that is needed.
    pub(super) fn wrote(&mut self, write: impl FnOnce() -> Write) {
        if self.loses.is_some() {
            self.writes.push(write());
        }
    }

    /// What a crash leaves; `None` where nothing is lost.
    pub(super) fn after_crash(&mut self, draw: &mut Draw) -> Option<Vec<Write>> {
        let bug = self.loses?;
        if bug == Bug::TornTailAccepted {
            tear(self.writes.last_mut());
        } else {
            let most = if bug == Bug::NoSync { 6 } else { 1 };
            let lost = usize::try_from(draw.between(1, most)).unwrap_or(1);
            self.writes.truncate(self.writes.len().saturating_sub(lost));
        }
        self.store = MemoryStore::new();
        Some(self.writes.clone())
    }
}

fn tear(last: Option<&mut Write>) {
    if let Some(Write::Append(_, batch)) = last
        && batch.events.len() > 1
    {
        batch.events.truncate(batch.events.len().div_ceil(2));
        batch.checkpoint = None;
    }
}

/// Makes a store again from its writes.
pub(super) async fn rebuild(store: &MemoryStore, writes: Vec<Write>) {
    for write in writes {
        // Each write was accepted before, and is again.
        let _accepted = match write {
            Write::Submit(run, submission, at) => store.submit(&run, *submission, at).await.is_ok(),
            Write::Claim(run, worker, lease, at) => store.claim(&run, &worker, lease, at).await.is_ok(),
            Write::Append(mut fence, batch) => store.append(&mut fence, *batch).await.is_ok(),
            Write::Release(fence) => store.release(&fence).await.is_ok(),
            Write::Signal(run, letter) => store.signal(&run, letter).await.is_ok(),
        };
    }
}
