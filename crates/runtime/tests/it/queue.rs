//! Working off a queue: one run that cannot go on, or a queue that cannot be read,
//! keeps nobody else from being finished.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use bowline::core::event::Ending;
use bowline::core::id::{Millis, RunId, ToolName, WorkerId};
use bowline::core::journal::Record;
use bowline::core::provenance::Digest;
use bowline::core::task::Submission;
use bowline::core::tool::{Consent, Repeat, ToolSpec, Touch};
use bowline::store::{
    Append, AppendError, Checkpoint, Claimed, Fence, Letter, ListFilter, Mail, MemoryStore, Removal, RunRow,
    RunStore, SignalId, StoreError, Submitted, Tombstone,
};
use bowline::tools::{CallContext, Tool, ToolOutput};
use bowline::{Clock, EngineError, Stopped};
use serde_json::{Value, json};

use crate::world::World;

/// A tool that does something once and is done.
struct Once<F: Fn() + Send + Sync>(ToolSpec, F);

impl<F: Fn() + Send + Sync> Once<F> {
    fn new(act: F) -> Arc<Self> {
        let spec = ToolSpec {
            name: ToolName::parse("act").unwrap(),
            description: "Acts.".into(),
            schema: json!({ "type": "object" }),
            touch: Touch::Exec,
            repeat: Repeat::WithSameKey,
            consent: Consent::NotNeeded,
            probes: false,
            timeout_ms: 10_000,
            effect: None,
            invocation: Default::default(),
            undo: None,
            needs: None,
            given: false,
        };
        Arc::new(Self(spec, act))
    }
}

#[async_trait]
impl<F: Fn() + Send + Sync> Tool for Once<F> {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn run(&self, _args: Value, _ctx: &CallContext) -> ToolOutput {
        (self.1)();
        ToolOutput::ok("acted")
    }
}

/// A clock that breaks once it is told to, and works again afterwards.
#[derive(Default)]
struct BrittleClock(AtomicUsize);

impl Clock for BrittleClock {
    fn now(&self) -> Millis {
        let left = self.0.load(Ordering::SeqCst);
        if left > 0 {
            self.0.store(left - 1, Ordering::SeqCst);
            // Not `panic!`: nothing is to be printed about what is meant.
            std::panic::resume_unwind(Box::new("the clock broke"));
        }
        Millis(1_000_000)
    }
}

fn acting() -> Value {
    json!({ "main": [{ "calls": [{ "tool": "act", "args": {} }] }, { "say": "done" }] })
}

fn is_committed(stopped: &Result<Stopped, EngineError>) -> bool {
    matches!(stopped, Ok(Stopped::Ended(Ending::Committed { .. })))
}

#[tokio::test]
async fn a_run_whose_desk_breaks_down_is_reported_and_released_and_can_go_on() {
    let world = World::new(acting());
    let clock = Arc::new(BrittleClock::default());
    let armed = AtomicBool::new(true);
    let breaks = clock.clone();
    // Once in the call's own task, which is reported as broken down; then at the desk.
    let tool = Once::new(move || {
        if armed.swap(false, Ordering::SeqCst) {
            breaks.0.store(2, Ordering::SeqCst);
        }
    });
    let engine = world.builder().clock(clock).tool(tool).build();
    let task = world.task(json!({ "tools": ["act"], "review": "never" }));
    let run = engine.submit(task, None).await.unwrap().run().clone();
    let worked = engine.work_off(2).await.unwrap();
    let [(id, Err(EngineError::BrokeDown { run: broken }))] = worked.as_slice() else { panic!("{worked:?}") };
    assert_eq!((id, broken), (&run, &run));
    let worked = engine.work_off(2).await.unwrap();
    let [(id, outcome)] = worked.as_slice() else { panic!("{worked:?}") };
    assert!(*id == run && is_committed(outcome), "{worked:?}");
}

/// A store whose queue can be read so many times.
struct Unreadable {
    store: MemoryStore,
    reads: AtomicUsize,
}

#[tokio::test]
async fn a_queue_that_cannot_be_read_any_more_lets_those_at_work_come_home() {
    let store = Arc::new(Unreadable { store: MemoryStore::default(), reads: AtomicUsize::new(1) });
    let world = World::on(store, acting());
    let engine = world.builder().tool(Once::new(|| {})).build();
    let task = world.task(json!({ "tools": ["act"], "review": "never" }));
    let run = engine.submit(task, None).await.unwrap().run().clone();
    let outcome = engine.work_off(2).await;
    let Err(EngineError::Queue { worked, source }) = outcome else { panic!("{outcome:?}") };
    let [(id, outcome)] = worked.as_slice() else { panic!("{worked:?}") };
    assert!(*id == run && is_committed(outcome), "{worked:?}");
    assert!(matches!(*source, EngineError::Store(StoreError::DiskFull)), "{source:?}");
}

#[async_trait]
impl RunStore for Unreadable {
    fn version(&self) -> u32 {
        self.store.version()
    }

    async fn submit(&self, run: &RunId, submission: Submission, at: Millis) -> Result<Submitted, StoreError> {
        self.store.submit(run, submission, at).await
    }

    async fn claim(
        &self,
        run: &RunId,
        worker: &WorkerId,
        lease_ms: u64,
        at: Millis,
    ) -> Result<Claimed, StoreError> {
        self.store.claim(run, worker, lease_ms, at).await
    }

    async fn claim_ready(
        &self,
        worker: &WorkerId,
        max: usize,
        lease_ms: u64,
        at: Millis,
    ) -> Result<Vec<Claimed>, StoreError> {
        let take = |left: usize| left.checked_sub(1);
        match self.reads.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take) {
            Ok(_) => self.store.claim_ready(worker, max, lease_ms, at).await,
            Err(_) => Err(StoreError::DiskFull),
        }
    }

    async fn append(&self, fence: &mut Fence, batch: Append) -> Result<(), AppendError> {
        self.store.append(fence, batch).await
    }

    async fn renew(&self, fence: &Fence, lease_ms: u64, at: Millis) -> Result<(), AppendError> {
        self.store.renew(fence, lease_ms, at).await
    }

    async fn release(&self, fence: &Fence) -> Result<(), AppendError> {
        self.store.release(fence).await
    }

    async fn signal(&self, run: &RunId, letter: Letter) -> Result<SignalId, StoreError> {
        self.store.signal(run, letter).await
    }

    async fn mail(&self, run: &RunId) -> Result<Vec<Mail>, StoreError> {
        self.store.mail(run).await
    }

    async fn mailed(&self) -> Result<Vec<RunId>, StoreError> {
        self.store.mailed().await
    }

    async fn row(&self, run: &RunId) -> Result<RunRow, StoreError> {
        self.store.row(run).await
    }

    async fn list(&self, filter: ListFilter) -> Result<Vec<RunRow>, StoreError> {
        self.store.list(filter).await
    }

    async fn records(&self, run: &RunId, from_seq: u64, max: usize) -> Result<Vec<Record>, StoreError> {
        self.store.records(run, from_seq, max).await
    }

    async fn checkpoint(&self, run: &RunId) -> Result<Option<Checkpoint>, StoreError> {
        self.store.checkpoint(run).await
    }

    async fn drop_checkpoints(&self) -> Result<(), StoreError> {
        self.store.drop_checkpoints().await
    }

    async fn blob(&self, sha256: Digest) -> Result<Vec<u8>, StoreError> {
        self.store.blob(sha256).await
    }

    async fn changed(&self, timeout_ms: u64) {
        self.store.changed(timeout_ms).await;
    }

    async fn remove(&self, run: &RunId, removal: Removal) -> Result<u64, StoreError> {
        self.store.remove(run, removal).await
    }

    async fn tombstones(&self, filter: ListFilter) -> Result<Vec<Tombstone>, StoreError> {
        self.store.tombstones(filter).await
    }
}
