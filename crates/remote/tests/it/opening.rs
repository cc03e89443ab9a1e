//! What a task names is opened, priced and kept at home.

use std::sync::Arc;

use bowline_core::budget::Price;
use bowline_core::task::{self, Task};
use bowline_models::{Model, OpenModelError};
use bowline_remote::{Environment, Remotes, reference};
use serde_json::{Value, json};

use crate::opener;

fn task(model: &str, models: Value) -> Task {
    task::parse(&json!({"goal": "g", "model": model, "models": models})).unwrap()
}

fn opened(model: &str, models: Value) -> Option<Result<Arc<dyn Model>, OpenModelError>> {
    opener(&crate::server(Vec::new())).open(&task(model, models), model)
}

fn refused(model: &str, models: Value) -> (String, String) {
    let error = opened(model, models).unwrap().err().unwrap();
    (error.to_string(), error.remedy().to_owned())
}

#[test]
fn a_model_is_opened_by_its_kind_or_by_a_name_of_the_task() {
    let gpt = opened("openai:gpt-5", json!({})).unwrap().unwrap();
    assert_eq!(gpt.price().unwrap().input, 1_250_000);
    assert!(gpt.is_remote());
    assert_eq!(gpt.secrets(), [("OPENAI_API_KEY".to_owned(), crate::KEY.to_owned())]);
    let ollama = opened("ollama:qwen3:8b", json!({})).unwrap().unwrap();
    assert_eq!((ollama.price(), ollama.is_remote()), (Some(Price::FREE), false));
    assert!(ollama.secrets().is_empty());
    let nick = json!({"big": {"format": "anthropic", "name": "claude-opus-5"}});
    assert!(opened("big", nick).unwrap().unwrap().is_remote());
    assert!(opened("scripted:x", json!({})).is_none(), "another source's model");
}

#[test]
fn a_model_nobody_has_a_price_for_has_none() {
    let price = |table: Value| opened("it", json!({"it": table})).unwrap().unwrap().price();
    assert_eq!(price(json!({"format": "openai", "name": "gpt-99"})), None);
    assert_eq!(price(json!({"format": "openai", "name": "gpt-99", "free": true})), Some(Price::FREE));
    let own = json!({"format": "openai", "name": "gpt-5", "price": {"input": 2, "output": 3}});
    assert_eq!(price(own).unwrap().output, 3_000_000);
    // The list is the provider's: another server may charge what it likes for the name.
    let elsewhere = json!({"format": "openai", "name": "gpt-5", "base_url": "https://llm.example/v1"});
    assert_eq!(price(elsewhere), None);
    let here =
        json!({"format": "openai", "name": "x", "base_url": "http://127.0.0.1:8080/v1", "privacy": "local"});
    assert_eq!(price(here), Some(Price::FREE), "what runs here costs nothing");
}

#[test]
fn the_usual_key_of_a_provider_goes_to_no_other_address() {
    let elsewhere =
        json!({"it": {"format": "openai", "name": "x", "base_url": "https://llm.example/v1", "free": true}});
    assert!(opened("it", elsewhere).unwrap().unwrap().secrets().is_empty());
    let clear =
        json!({"it": {"format": "openai", "name": "x", "base_url": "http://llm.example/v1", "key_env": "K"}});
    let (what, remedy) = refused("it", clear);
    assert!(what.contains("in the clear") && remedy.contains("https"), "{what}; {remedy}");
}

#[test]
fn a_missing_key_is_named_before_anything_is_sent() {
    let server = crate::server(Vec::new());
    let from_environment = Remotes::default()
        .with_keys(Arc::new(Environment))
        .over(server.network(crate::certificates::trust()));
    let models = json!({"it": {"format": "openai", "name": "gpt-5", "key_env": "BOWLINE_TEST_NO_KEY"}});
    let error = from_environment.open(&task("it", models), "it").unwrap().err().unwrap();
    assert!(error.to_string().contains("BOWLINE_TEST_NO_KEY is not set"), "{error}");
    assert!(error.remedy().contains("set BOWLINE_TEST_NO_KEY"));
    assert!(server.seen().is_empty());
}

#[test]
fn local_is_not_believed_of_another_machine() {
    let far = json!({"it": {"format": "openai", "name": "x", "base_url": "https://llm.example/v1", "privacy": "local"}});
    let (what, remedy) = refused("it", far);
    assert!(what.contains("not on this machine") && remedy.contains("127.0.0.1"), "{what}; {remedy}");
    assert!(reference(&task("openai:gpt-5", json!({})), "openai:gpt-5").is_some());
}
