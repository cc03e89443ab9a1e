//! Questions nobody answers: whoever works off the store notices when their time
//! is over, without being told which run it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bowline::core::event::{Ending, Event, FailReason, Subject, Verdict};
use bowline::core::id::{Millis, RunId};
use bowline::store::{MemoryStore, Role, RunStore, SqliteStore};
use bowline::{Clock, Engine, Stopped};
use serde_json::json;

use crate::world::World;

/// A clock that somebody sets.
struct SetClock(AtomicU64);

impl SetClock {
    fn pass(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Millis {
        Millis(self.0.load(Ordering::SeqCst))
    }
}

/// How long a question stays open here.
const OPEN_MS: u64 = 60_000;

/// An engine whose time stands still until it is told.
fn standing(world: &World) -> (Engine, Arc<SetClock>) {
    let clock = Arc::new(SetClock(AtomicU64::new(1_000_000)));
    (world.builder().clock(clock.clone()).build(), clock)
}

/// A run that waits for somebody to agree to its output, released.
async fn asking(world: &World, engine: &Engine) -> RunId {
    let task = world.task(json!({ "review": "always", "limits": { "approval_seconds": OPEN_MS / 1000 } }));
    let (run, stopped) = engine.run_task(task).await.unwrap();
    assert!(matches!(stopped, Stopped::Waiting(_)), "{stopped:?}");
    run
}

fn is_expired(stopped: &Stopped) -> bool {
    matches!(stopped, Stopped::Ended(Ending::Failed { why: FailReason::ApprovalExpired, .. }))
}

async fn expires_when_worked_off(store: Arc<dyn RunStore>) {
    let world = World::on(store, json!({ "main": [{ "say": "an essay" }] }));
    let (engine, clock) = standing(&world);
    let run = asking(&world, &engine).await;
    clock.pass(OPEN_MS - 1);
    let worked = engine.work_off(4).await.unwrap();
    assert!(worked.is_empty(), "taken before its time: {worked:?}");
    clock.pass(1);
    let worked = engine.work_off(4).await.unwrap();
    let [(worked_on, Ok(stopped))] = worked.as_slice() else { panic!("{worked:?}") };
    assert!(*worked_on == run && is_expired(stopped), "{stopped:?}");
    let events = world.events(&run).await;
    let settled = events.iter().filter_map(|event| match event {
        Event::ApprovalSettled { subject, verdict, .. } => Some((*subject, verdict.clone())),
        _ => None,
    });
    assert_eq!(settled.collect::<Vec<_>>(), [(Subject::Output, Verdict::Expired)]);
}

#[tokio::test]
async fn a_question_that_expired_is_settled_by_whoever_works_off_a_store_in_memory() {
    expires_when_worked_off(Arc::new(MemoryStore::default())).await;
}

#[tokio::test]
async fn a_question_that_expired_is_settled_by_whoever_works_off_a_store_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    expires_when_worked_off(Arc::new(SqliteStore::open(folder.path(), Role::Worker).unwrap())).await;
}

#[tokio::test]
async fn a_paused_run_whose_question_expires_is_looked_at_once_and_stays_paused() {
    let world = World::new(json!({ "main": [{ "say": "an essay" }] }));
    let (engine, clock) = standing(&world);
    let run = asking(&world, &engine).await;
    engine.pause(&run, "ann").await.unwrap();
    engine.work_off(1).await.unwrap();
    clock.pass(OPEN_MS);
    for taken in [1, 0] {
        assert_eq!(engine.work_off(1).await.unwrap().len(), taken);
        assert!(engine.inspect(&run).await.unwrap().run.paused);
    }
    let stopped = engine.resume(&run, "ann", Vec::new()).await.unwrap();
    assert!(is_expired(&stopped), "{stopped:?}");
}

/// Tokio's clock, which jumps to the next timer when it is paused.
struct JumpingClock(tokio::time::Instant);

impl Clock for JumpingClock {
    fn now(&self) -> Millis {
        Millis(1_000_000).plus(u64::try_from(self.0.elapsed().as_millis()).unwrap())
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_comes_due_while_others_are_at_work_is_settled_meanwhile() {
    let world = World::new(json!({
        "main": [{ "say": "an essay" }],
        "slow": [{ "stall_ms": 2 * OPEN_MS, "say": "slow" }],
    }));
    let clock = Arc::new(JumpingClock(tokio::time::Instant::now()));
    let engine = world.builder().clock(clock).build();
    let run = asking(&world, &engine).await;
    let plan = json!([{ "id": "slow", "goal": "take your time" }]);
    let slow = world.task(json!({ "review": "never", "plan": plan }));
    let slow = engine.submit(slow, None).await.unwrap().run().clone();
    let worked = engine.work_off(2).await.unwrap();
    let order: Vec<&RunId> = worked.iter().map(|(run, _)| run).collect();
    assert_eq!(order, [&run, &slow], "{worked:?}");
}
