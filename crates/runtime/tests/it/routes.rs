//! Runs with several models: who is asked, what it costs, and what privacy forbids.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use bowline::core::budget::Price;
use bowline::core::event::{Ending, Event, HaltReason, SentFor};
use bowline::core::task::Task;
use bowline::models::scripted::{Script, Scripted};
use bowline::models::{Answer, Model, ModelError, OpenModelError, Request, Watcher};
use bowline::{Engine, EngineError, ModelSource, Stopped};
use serde_json::{Value, json};

use crate::world::World;

/// Scripted models by name, some of them somewhere else.
#[derive(Default)]
struct Several {
    scripts: BTreeMap<&'static str, Value>,
    away: BTreeMap<&'static str, Arc<AtomicBool>>,
}

impl Several {
    fn with(mut self, name: &'static str, script: Value) -> Self {
        self.scripts.insert(name, script);
        self
    }
}

struct Placed {
    model: Scripted,
    away: Arc<AtomicBool>,
}

#[async_trait]
impl Model for Placed {
    async fn call(&self, request: Request, watch: &dyn Watcher) -> Result<Answer, ModelError> {
        self.model.call(request, watch).await
    }

    fn price(&self) -> Option<Price> {
        self.model.price()
    }

    fn is_remote(&self) -> bool {
        self.away.load(Ordering::SeqCst)
    }
}

impl ModelSource for Several {
    fn open(&self, _: &Task, name: &str) -> Result<Arc<dyn Model>, OpenModelError> {
        let Some(script) = self.scripts.get(name) else {
            return Err(OpenModelError::UnknownKind { reference: name.into(), kinds: Vec::new() });
        };
        let model = Scripted::new(Script::from_value(script.clone()).expect("a good script"));
        let away = self.away.get(name).cloned().unwrap_or_default();
        Ok(Arc::new(Placed { model, away }))
    }
}

fn says(text: &str, dollars: u64) -> Value {
    json!({
        "script": 1,
        "price": { "input": dollars, "output": dollars },
        "usage": { "input": 1000, "output": 1000 },
        "conversations": { "main": [{ "say": text }] }
    })
}

/// A script that has nothing to say: lasting trouble.
fn silent() -> Value {
    json!({ "script": 1, "conversations": {} })
}

fn engine(world: &World, models: Several) -> Engine {
    world.builder().models(Arc::new(models)).build()
}

fn refusal(outcome: Result<bowline::store::Submitted, EngineError>) -> String {
    outcome.expect_err("a refusal").to_string()
}

#[tokio::test]
async fn a_fallback_does_the_work_of_a_model_in_trouble_and_is_paid_by_its_own_price() {
    let world = World::new(json!({}));
    let models = Several::default().with("a:1", silent()).with("b:1", says("done by b", 7));
    let engine = engine(&world, models);
    let task = world.task(json!({ "model": "a:1", "fallbacks": ["b:1"], "review": "never" }));
    let (run, stopped) = engine.run_task(task).await.unwrap();
    assert!(matches!(stopped, Stopped::Ended(Ending::Committed { .. })), "{stopped:?}");
    let events = world.events(&run).await;
    let sent = events.iter().find_map(|event| match event {
        Event::StepStarted { sent: Some(sent), .. } => Some(sent.clone()),
        _ => None,
    });
    let sent = sent.expect("a step was moved");
    assert_eq!((sent.model.as_str(), &sent.why), ("b:1", &SentFor::Trouble { with: "a:1".into() }));
    let folded = engine.inspect(&run).await.unwrap().run;
    assert_eq!(folded.spend.settled.micros, 14_000, "2000 tokens at seven dollars a million");
}

#[tokio::test]
async fn every_model_a_task_names_must_be_there_and_have_a_price() {
    let world = World::new(json!({}));
    for key in ["fallbacks", "ladder"] {
        let task = |name: &str| world.task(json!({ "model": "a:1", key: [name], "review": "never" }));
        let mut unpriced = says("dear?", 1);
        unpriced["free"] = json!(false);
        unpriced.as_object_mut().unwrap().remove("price");
        let models = Several::default().with("a:1", silent()).with("b:1", silent()).with("d:1", unpriced);
        let engine = engine(&world, models);
        let found = refusal(engine.submit(task("c:1"), None).await);
        assert!(found.contains("c:1"), "{found}");
        let found = refusal(engine.submit(task("d:1"), None).await);
        assert!(found.contains("d:1 costs"), "{found}");
        assert!(engine.submit(task("b:1"), None).await.is_ok());
    }
}

#[tokio::test]
async fn a_sovereign_run_refuses_a_fallback_that_is_elsewhere_when_it_is_submitted() {
    let world = World::new(json!({}));
    let mut models = Several::default().with("a:1", silent()).with("b:1", says("leak", 1));
    models.away.insert("b:1", Arc::new(AtomicBool::new(true)));
    let engine = engine(&world, models);
    let task = world.task(json!({
        "model": "a:1", "fallbacks": ["b:1"], "review": "never", "privacy": "sovereign", "sandbox": "cage"
    }));
    let found = refusal(engine.submit(task, None).await);
    assert!(found.contains("sovereign") && found.contains("b:1"), "{found}");
}

#[tokio::test]
async fn a_fallback_that_moved_elsewhere_is_not_asked_by_a_sovereign_run() {
    let world = World::new(json!({}));
    let away = Arc::new(AtomicBool::new(false));
    let mut models = Several::default().with("a:1", silent()).with("b:1", says("leak", 1));
    models.away.insert("b:1", away.clone());
    let engine = engine(&world, models);
    let task = world.task(json!({
        "model": "a:1", "fallbacks": ["b:1"], "review": "never", "privacy": "sovereign", "sandbox": "cage"
    }));
    let run = engine.submit(task, None).await.unwrap().run().clone();
    away.store(true, Ordering::SeqCst);
    let stopped = engine.run(&run).await.unwrap();
    let Stopped::Ended(Ending::Halted { why: HaltReason::ModelUnavailable { message }, .. }) = stopped else {
        panic!("{stopped:?}")
    };
    assert!(message.contains("sovereign"), "{message}");
}
