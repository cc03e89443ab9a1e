//! `[models]`: models by names of the task's own.

use serde_json::{Value, json};

use crate::budget::Price;
use crate::task::{Format, ModelChoice, Tariff, Whereabouts, parse};

fn task(model: &str, models: Value) -> Value {
    json!({ "goal": "g", "model": model, "models": models })
}

fn problems(raw: &Value) -> String {
    parse(raw).unwrap_err().to_string()
}

#[test]
fn a_table_is_read_whole_and_comes_back_from_a_journal() {
    let raw = task(
        "big",
        json!({ "big": {
            "format": "openai-responses", "name": "gpt-5", "base_url": "https://llm.example/v1/",
            "key_env": "BIG_KEY", "price": { "input": 1.25, "output": 10, "cached": 0.125 },
            "context_tokens": 400_000, "output_tokens": 128_000, "privacy": "remote", "stream": false,
            "likelihood": true,
        } }),
    );
    let read = parse(&raw).unwrap();
    let price = Price { input: 1_250_000, output: 10_000_000, cached: Some(125_000), reasoning: None };
    let want = ModelChoice {
        format: Format::OpenaiResponses,
        name: "gpt-5".into(),
        base_url: Some("https://llm.example/v1".into()),
        key_env: Some("BIG_KEY".into()),
        tariff: Tariff::Priced(price),
        context_tokens: Some(400_000),
        output_tokens: Some(128_000),
        whereabouts: Some(Whereabouts::Remote),
        whole: true,
        likelihood: true,
    };
    assert_eq!(read.models["big"], want);
    let again: crate::task::Task = serde_json::from_str(&serde_json::to_string(&read).unwrap()).unwrap();
    assert_eq!(again, read);
}

#[test]
fn a_task_without_models_is_written_as_before() {
    let plain = parse(&json!({ "goal": "g", "model": "openai:gpt-5" })).unwrap();
    assert!(!serde_json::to_string(&plain).unwrap().contains("models"));
    assert_eq!(
        ModelChoice::by_reference("ollama:qwen3:8b"),
        Some(ModelChoice::of(Format::Ollama, "qwen3:8b"))
    );
    assert_eq!(ModelChoice::by_reference("scripted:x"), None);
    assert_eq!(ModelChoice::by_reference("openai: "), None);
}

#[test]
fn a_name_that_stands_nowhere_gets_a_suggestion() {
    let big = json!({ "big": { "format": "openai", "name": "m", "free": true } });
    let said = problems(&task("bog", big.clone()));
    assert!(
        said.contains("there is no table [models.bog]") && said.contains("did you mean \"big\"?"),
        "{said}"
    );
    assert!(problems(&task("other-one", json!({}))).contains("openai:gpt-5"));
    let mut critic = task("big", big);
    critic["critic"] = "bog".into();
    assert!(problems(&critic).contains("[models.bog]"));
}

#[test]
fn what_is_wrong_with_a_table_is_named_with_its_remedy() {
    for (key, value, named) in [
        ("formt", json!("openai"), "did you mean `format`?"),
        ("format", json!("open-ai"), "did you mean \"openai\"?"),
        ("base_url", json!("ftp://x"), "no address of a model server"),
        ("base_url", json!("https://user@x/v1"), "no address of a model server"),
        ("key_env", json!("sk-secret-value"), "no name of a variable"),
        ("price", json!({ "input": 1 }), "`output` is missing"),
        ("price", json!({ "input": -1, "output": 1 }), "below 0"),
        ("price", json!({ "inputs": 1, "output": 1 }), "did you mean `input`?"),
        ("context_tokens", json!(1), "below 128"),
        ("privacy", json!("sovereign"), "none of \"remote\" or \"local\""),
        ("stream", json!("no"), "expected true or false"),
    ] {
        let mut table = json!({ "format": "openai", "name": "m" });
        table[key] = value;
        let said = problems(&task("big", json!({ "big": table })));
        assert!(said.contains(named), "{key}: {said}");
        assert!(!said.contains("sk-secret"), "a key is never quoted back: {said}");
    }
    let both = json!({ "format": "openai", "name": "m", "free": true, "price": { "input": 1, "output": 1 } });
    assert!(problems(&task("big", json!({ "big": both }))).contains("a price or is free"));
    assert!(problems(&task("big", json!({ "big": {} }))).contains("`format` is missing"));
}

#[test]
fn a_format_that_cannot_tell_a_likelihood_is_not_asked_for_one() {
    let asked = |format: &str, likelihood: Value| {
        let table = json!({ "format": format, "name": "m", "free": true, "likelihood": likelihood });
        parse(&task("it", json!({ "it": table }))).map(|task| task.models["it"].likelihood)
    };
    assert!(
        !parse(&task("it", json!({ "it": { "format": "openai", "name": "m" } }))).unwrap().models["it"]
            .likelihood
    );
    assert_eq!(asked("gemini", json!(true)).ok(), Some(true));
    assert_eq!(asked("anthropic", json!(false)).ok(), Some(false));
    assert!(asked("anthropic", json!(true)).unwrap_err().to_string().contains("leave it out"));
    assert!(asked("openai", json!("yes")).is_err());
}
