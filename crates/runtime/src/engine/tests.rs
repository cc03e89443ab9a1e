//! What the engine makes of work that ends otherwise than by itself.

use bowline_core::event::Event;
use bowline_store::Append;

use super::*;

fn run() -> RunId {
    RunId::parse("r1").unwrap()
}

#[tokio::test]
async fn work_that_panics_is_an_error_of_its_run() {
    let panics = async { std::panic::resume_unwind(Box::new("a bug")) };
    let outcome: Result<(), _> = at_home(&run(), panics).await;
    assert!(matches!(outcome, Err(EngineError::BrokeDown { .. })), "{outcome:?}");
}

#[test]
fn a_caller_that_outlives_the_runtime_is_told_and_does_not_wait_for_ever() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let handle = runtime.handle().clone();
    let (started, is_started) = std::sync::mpsc::sync_channel(1);
    let (told, is_told) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let work = async move {
            started.send(()).unwrap();
            std::future::pending::<Result<(), EngineError>>().await
        };
        told.send(handle.block_on(at_home(&run(), work))).unwrap();
    });
    is_started.recv_timeout(Duration::from_secs(20)).unwrap();
    runtime.shutdown_background();
    let outcome = is_told.recv_timeout(Duration::from_secs(20)).expect("it does not wait for ever");
    assert!(matches!(outcome, Err(EngineError::ShutDown { .. })), "{outcome:?}");
}

/// A clock that goes with tokio's, which tests pause.
struct PausedClock(tokio::time::Instant);

impl Clock for PausedClock {
    fn now(&self) -> bowline_core::id::Millis {
        bowline_core::id::Millis(u64::try_from(self.0.elapsed().as_millis()).unwrap())
    }
}

fn submission() -> Submission {
    let task = serde_json::json!({ "goal": "g", "model": "a:b", "review": "never" });
    Submission {
        task: bowline_core::task::parse(&task).unwrap(),
        tools: Vec::new(),
        key: None,
        seed: "0".into(),
        price: bowline_core::budget::Price::FREE,
        fingerprint: bowline_core::provenance::Digest::ZERO,
        parent: None,
        learned: None,
        calibration: None,
        novel: false,
        rates: Default::default(),
        critic_price: None,
        prices: Default::default(),
        contexts: Default::default(),
    }
}

#[tokio::test]
async fn a_checkpoint_of_another_version_counts_as_none_and_the_whole_journal_is_folded() {
    let store = bowline_store::MemoryStore::default();
    let (worker, now) = (WorkerId::parse("w").unwrap(), bowline_core::id::Millis(1));
    store.submit(&run(), submission(), now).await.unwrap();
    for (version, state) in [(bowline_core::run::STATE + 1, "{}"), (bowline_core::run::STATE, "no state")] {
        let mut fence = store.claim(&run(), &worker, LEASE_MS, now).await.unwrap().fence;
        let events = vec![Event::SignalRefused { by: "p".into(), why: "w".into() }];
        let checkpoint = Some((version, state.into()));
        let summary = store.row(&run()).await.unwrap().summary;
        let batch = Append { at: now, events, blobs: Vec::new(), checkpoint, summary, consumed: Vec::new() };
        store.append(&mut fence, batch).await.unwrap();
        let claimed = store.claim(&run(), &worker, LEASE_MS, now).await.unwrap();
        assert!(claimed.checkpoint.is_some() && claimed.tail.is_empty());
        let folded = fold::from_claim(&store, &claimed).await.unwrap();
        assert_eq!(folded.run, fold::fold(&store, &run(), u64::MAX).await.unwrap().run, "version {version}");
        assert_eq!(folded.folded + 1, claimed.fence.next_seq);
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_is_kept_while_something_takes_longer_than_it_lasts() {
    let store: Arc<dyn RunStore> = Arc::new(bowline_store::MemoryStore::default());
    let clock = Arc::new(PausedClock(tokio::time::Instant::now()));
    let engine = Engine::builder(store.clone()).clock(clock.clone()).build();
    store.submit(&run(), submission(), clock.now()).await.unwrap();
    let claimed = store.claim(&run(), &engine.inner.worker, LEASE_MS, clock.now()).await.unwrap();
    let other = WorkerId::parse("other").unwrap();
    let slow = async {
        tokio::time::sleep(Duration::from_millis(LEASE_MS * 3)).await;
        // Just before it is done, nobody else can have the run.
        store.claim(&run(), &other, LEASE_MS, clock.now()).await.err().map(|error| error.to_string())
    };
    let refused = engine.leased(&claimed.fence, slow).await.unwrap();
    assert!(refused.is_some_and(|why| why.contains("r1")), "the lease ran out while it was needed");
}
