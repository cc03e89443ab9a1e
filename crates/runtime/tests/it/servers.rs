//! Models on servers, as the engine opens them by itself.

use std::sync::Arc;

use bowline::store::MemoryStore;
use bowline::{Engine, EngineError};
use serde_json::{Value, json};

use crate::world::World;

async fn refused(raw: Value) -> (String, String) {
    let world = World::new(json!({}));
    let engine = Engine::builder(Arc::new(MemoryStore::default())).build();
    let error: EngineError = engine.submit(world.task(raw), None).await.unwrap_err();
    (error.to_string(), error.remedy().to_string())
}

fn named(table: Value, privacy: &str) -> Value {
    json!({"model": "it", "models": {"it": table}, "privacy": privacy})
}

#[tokio::test]
async fn a_sovereign_run_takes_no_model_on_another_machine() {
    let far = json!({"format": "openai", "name": "m", "base_url": "http://10.0.0.7:8000/v1", "free": true});
    let (what, _) = refused(named(far.clone(), "sovereign")).await;
    assert!(what.contains("sovereign") && what.contains("it is not on this machine"), "{what}");
    let critic =
        json!({"model": "scripted:none", "critic": "it", "models": {"it": far}, "privacy": "sovereign"});
    let world = World::new(json!({"main": [{"say": "x"}]}));
    let engine = Engine::builder(Arc::new(MemoryStore::default())).build();
    assert!(engine.submit(world.task(critic), None).await.is_err(), "nor as a critic");
    // A server here may ask somebody else, unless the task says that it does not.
    let near = json!({"format": "openai", "name": "m", "base_url": "http://127.0.0.1:9/v1", "free": true});
    assert!(refused(named(near.clone(), "sovereign")).await.0.contains("sovereign"));
    let mut local = near;
    local["privacy"] = "local".into();
    let engine = Engine::builder(Arc::new(MemoryStore::default())).build();
    assert!(engine.submit(world.task(named(local, "sovereign")), None).await.is_ok());
}

#[tokio::test]
async fn a_model_without_a_price_or_a_key_is_refused_with_what_to_do() {
    let unpriced = json!({"format": "openai", "name": "m", "base_url": "http://10.0.0.7:8000/v1"});
    let (what, remedy) = refused(named(unpriced, "standard")).await;
    assert!(
        what.contains("nobody knows what it costs") && remedy.contains("free = true"),
        "{what}; {remedy}"
    );
    let keyless = json!({"format": "openai", "name": "gpt-5", "key_env": "BOWLINE_TEST_NO_KEY"});
    let (what, remedy) = refused(named(keyless, "standard")).await;
    assert!(
        what.contains("BOWLINE_TEST_NO_KEY is not set") && remedy.contains("set BOWLINE_TEST_NO_KEY"),
        "{what}"
    );
    let (what, _) = refused(json!({"model": "opnai:gpt-5"})).await;
    assert!(what.contains("openai:NAME") && what.contains("scripted:PATH"), "{what}");
}
