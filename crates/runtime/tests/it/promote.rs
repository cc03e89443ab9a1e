//! What is committed is handed on: to a hook of the engine or a program of the task, at
//! least once, under one key, and never at the cost of the ending.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bowline::core::event::{Ending, Event, Promoted, PromotionOutcome};
use bowline::core::id::{RunId, WorkerId};
use bowline::core::provenance::Digest;
use bowline::core::run::PROMOTIONS_MAX;
use bowline::store::{EndingKind, MemoryStore, Role, RunStore, SqliteStore};
use bowline::{Engine, EngineError, NotTaken, Promote, Promotion, Stopped};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::attempts::PausedClock;
use crate::world::World;

/// Keeps what it is given, after a few refusals.
#[derive(Default)]
struct Memory {
    refuses: usize,
    given: Mutex<Vec<Promotion>>,
}

impl Memory {
    fn refusing(refuses: usize) -> Arc<Self> {
        Arc::new(Self { refuses, ..Self::default() })
    }

    fn given(&self) -> Vec<Promotion> {
        self.given.lock().unwrap().clone()
    }
}

#[async_trait]
impl Promote for Memory {
    async fn promote(&self, promotion: Promotion) -> Result<(), NotTaken> {
        let mut given = self.given.lock().unwrap();
        given.push(promotion);
        if given.len() <= self.refuses { Err(NotTaken { why: "no room".into() }) } else { Ok(()) }
    }
}

/// Gets an output and says nothing any more.
#[derive(Default)]
struct Stuck {
    reached: Notify,
    given: Mutex<Vec<Promotion>>,
}

#[async_trait]
impl Promote for Stuck {
    async fn promote(&self, promotion: Promotion) -> Result<(), NotTaken> {
        self.given.lock().unwrap().push(promotion);
        self.reached.notify_one();
        std::future::pending().await
    }
}

fn answering() -> Value {
    json!({ "main": [{ "say": "42" }] })
}

fn checked() -> Value {
    json!({ "class": "sums", "check": [{ "name": "number", "matches": "^[0-9]+$" }] })
}

async fn outcome(engine: &Engine, run: &RunId) -> Option<PromotionOutcome> {
    engine.inspect(run).await.unwrap().run.promotion.and_then(|handed| handed.outcome)
}

fn is_committed(stopped: &Stopped) -> bool {
    matches!(stopped, Stopped::Ended(Ending::Committed { .. }))
}

#[tokio::test]
async fn a_hook_gets_what_was_committed_with_its_key_and_how_sure_the_run_is() {
    let world = World::new(answering());
    let memory = Memory::refusing(0);
    let engine = world.builder().promote(memory.clone()).build();
    let (run, stopped) = engine.run_task(world.task(checked())).await.unwrap();
    let Stopped::Ended(Ending::Committed { provenance, .. }) = stopped else { panic!("{stopped:?}") };
    let given = memory.given();
    let [given] = given.as_slice() else { panic!("{given:?}") };
    assert_eq!(given.key, Digest::of_parts(&[b"promote", run.as_str().as_bytes()]));
    assert_eq!((given.goal.as_str(), given.output.as_str()), ("Do it", "42"));
    assert_eq!((&given.class, given.missing.len()), (&Some("sums".to_owned()), 0));
    assert_eq!((given.output_sha256, given.provenance), (Digest::of(b"42"), provenance));
    assert!(given.assurance.as_ref().is_some_and(|found| found.confidence.is_some()));
    assert_eq!(outcome(&engine, &run).await, Some(PromotionOutcome::Taken));
    let row = world.store.row(&run).await.unwrap();
    assert!(row.summary.is_over() && row.summary.phase == "committed", "{:?}", row.summary);
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_never_takes_it_costs_the_run_nothing_and_can_be_asked_again() {
    let world = World::new(answering());
    let most = usize::try_from(PROMOTIONS_MAX).unwrap();
    let memory = Memory::refusing(most);
    let clock = Arc::new(PausedClock(Instant::now()));
    let engine = world.builder().clock(clock).promote(memory.clone()).build();
    let (run, stopped) = engine.run_task(world.task(checked())).await.unwrap();
    assert!(is_committed(&stopped), "{stopped:?}");
    assert_eq!(outcome(&engine, &run).await, Some(PromotionOutcome::NotTaken("no room".into())));
    assert_eq!(memory.given().len(), most);
    assert!(is_committed(&engine.run(&run).await.unwrap()), "nothing is tried again unasked");
    assert_eq!(memory.given().len(), most);
    assert!(is_committed(&engine.resume(&run, "ann", Vec::new()).await.unwrap()));
    assert_eq!(outcome(&engine, &run).await, Some(PromotionOutcome::Taken));
    let keys: Vec<Digest> = memory.given().iter().map(|given| given.key).collect();
    assert!(keys.len() == most + 1 && keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    assert!(engine.promote(&run, "ann").await.is_err(), "it was taken");
}

/// The process dies while the hook is at work; another one finds the run by itself.
async fn a_kill_behind_the_commit(store: Arc<dyn RunStore>) {
    let world = World::on(store, answering());
    let stuck = Arc::new(Stuck::default());
    let first = world.builder().worker(WorkerId::parse("w1").unwrap()).promote(stuck.clone()).build();
    let run = first.submit(world.task(checked()), None).await.unwrap().run().clone();
    let at_work = tokio::spawn({
        let (first, run) = (first.clone(), run.clone());
        async move { first.run(&run).await }
    });
    stuck.reached.notified().await;
    at_work.abort();
    assert!(at_work.await.unwrap_err().is_cancelled());
    let row = world.store.row(&run).await.unwrap();
    assert_eq!((row.summary.ending, row.summary.owes), (Some(EndingKind::Committed), true));
    let memory = Memory::refusing(0);
    let second =
        world.builder().worker(WorkerId::parse("w2").unwrap()).clock(Arc::new(Later)).promote(memory.clone());
    let second = second.build();
    let worked = second.work_off(1).await.unwrap();
    let [(worked_on, Ok(stopped))] = worked.as_slice() else { panic!("{worked:?}") };
    assert!(*worked_on == run && is_committed(stopped), "{stopped:?}");
    let (seen, again) = (stuck.given.lock().unwrap().clone(), memory.given());
    assert_eq!((seen.len(), again.len()), (1, 1), "at least once");
    assert_eq!(seen, again, "the same bytes under the same key");
    assert_eq!(outcome(&second, &run).await, Some(PromotionOutcome::Taken));
    assert!(second.work_off(1).await.unwrap().is_empty(), "nothing is owed any more");
}

/// A clock that is past every claim of before.
struct Later;

impl bowline::Clock for Later {
    fn now(&self) -> bowline::core::id::Millis {
        bowline::core::id::Millis(u64::MAX / 4)
    }
}

#[tokio::test]
async fn a_kill_behind_the_commit_loses_nothing_in_memory() {
    a_kill_behind_the_commit(Arc::new(MemoryStore::default())).await;
}

#[tokio::test]
async fn a_kill_behind_the_commit_loses_nothing_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("runs.db"), Role::Worker).unwrap();
    a_kill_behind_the_commit(Arc::new(store)).await;
}

#[tokio::test]
async fn an_engine_without_the_hook_does_not_take_the_run_up_and_burns_no_attempt() {
    let world = World::new(answering());
    let stuck = Arc::new(Stuck::default());
    let first = world.builder().promote(stuck.clone()).build();
    let run = first.submit(world.task(checked()), None).await.unwrap().run().clone();
    let at_work = tokio::spawn({
        let (first, run) = (first.clone(), run.clone());
        async move { first.run(&run).await }
    });
    stuck.reached.notified().await;
    at_work.abort();
    assert!(at_work.await.is_err());
    let other = world.builder().clock(Arc::new(Later)).build();
    let error = other.run(&run).await.unwrap_err();
    assert!(matches!(error, EngineError::Task { .. }) && !error.remedy().is_empty(), "{error}");
    assert!(other.inspect(&run).await.unwrap().run.is_being_promoted());
    let tried = world.events(&run).await;
    let tried = tried.iter().filter(|event| matches!(event, Event::Promoted(Promoted::Tried { .. })));
    assert_eq!(tried.count(), 1);
}

fn remembering(script: &str) -> Value {
    let mut raw = checked();
    raw["memory"] = json!({ "promote": ["/bin/sh", "-c", script], "timeout_seconds": 20 });
    raw
}

#[tokio::test]
async fn a_program_of_the_task_gets_it_on_standard_input() {
    let world = World::new(answering());
    let memory = Memory::refusing(0);
    let engine = world.builder().promote(memory.clone()).build();
    let script = "cat > taken.json; printf %s \"$BOWLINE_KEY\" > key";
    let (run, stopped) = engine.run_task(world.task(remembering(script))).await.unwrap();
    assert!(is_committed(&stopped), "{stopped:?}");
    let taken: Value = serde_json::from_str(&world.read("taken.json")).unwrap();
    assert_eq!(
        (&taken["run"], &taken["output"], &taken["class"]),
        (&json!(run), &json!("42"), &json!("sums"))
    );
    assert_eq!((&taken["missing"], taken["key"].as_str()), (&json!([]), Some(world.read("key").as_str())));
    assert_eq!(taken["output_sha256"], json!(Digest::of(b"42")));
    assert_eq!(memory.given(), [], "the task's own program comes first");
    assert_eq!(outcome(&engine, &run).await, Some(PromotionOutcome::Taken));
}

#[tokio::test]
async fn a_program_that_fails_is_run_again_and_what_it_said_is_in_the_journal() {
    let world = World::new(answering());
    let script = "test -e once || { touch once; echo disk is full >&2; exit 3; }";
    let (run, stopped) = world.engine().run_task(world.task(remembering(script))).await.unwrap();
    assert!(is_committed(&stopped), "{stopped:?}");
    let events = world.events(&run).await;
    let how =
        events.iter().filter_map(|event| if let Event::Promoted(how) = event { Some(how) } else { None });
    let how: Vec<&Promoted> = how.collect();
    let [
        Promoted::Begun { .. },
        Promoted::Tried { attempt: 1 },
        Promoted::Troubled { message, .. },
        rest @ ..,
    ] = how.as_slice()
    else {
        panic!("{how:?}")
    };
    assert!(message.contains("disk is full"), "{message}");
    assert_eq!(rest, [&Promoted::Tried { attempt: 2 }, &Promoted::Settled(PromotionOutcome::Taken)]);
}
