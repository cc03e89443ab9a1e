//! The protocol's page, its schemas and the program say the same.

use std::path::PathBuf;

use bowline_core::guard::regulator::{Limits, Settings};
use bowline_guard::session::{EVENTS, PROTOCOL, Session};
use jsonschema::Validator;
use serde_json::{Value, json};

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}

fn schema(name: &str) -> (Value, Validator) {
    let path = repository().join("schemas").join(name);
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    (schema, validator)
}

#[track_caller]
fn valid(validator: &Validator, value: &Value) {
    let flaws: Vec<String> = validator.iter_errors(value).map(|flaw| flaw.to_string()).collect();
    assert!(flaws.is_empty(), "{value}\n{flaws:#?}");
}

/// The transcripts of the page: each begins anew.
fn transcripts() -> Vec<Vec<(char, Value)>> {
    let page = std::fs::read_to_string(repository().join("docs/guard-protocol.md")).unwrap();
    let blocks = page.split("```jsonl\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let line = |line: &str| {
        let (mark, json) = (line.chars().next().unwrap(), line[line.find('{').unwrap()..].trim());
        (mark, serde_json::from_str(json).unwrap_or_else(|error| panic!("{line}: {error}")))
    };
    blocks.map(|block| block.lines().map(line).collect()).collect()
}

#[test]
fn every_example_of_the_page_is_what_the_program_says() {
    let (events, decisions) = (schema("guard-event.schema.json").1, schema("guard-decision.schema.json").1);
    let transcripts = transcripts();
    assert!(transcripts.len() >= 5, "{}", transcripts.len());
    for transcript in transcripts {
        let settings = Settings { limits: Limits::default(), ..Settings::default() };
        let mut session = Session::new(settings).unwrap();
        let mut answer = Value::Null;
        for (mark, value) in transcript {
            if mark == '>' {
                answer = serde_json::to_value(session.answer(value.to_string().as_bytes(), 0)).unwrap();
                valid(&decisions, &answer);
                let is_event = events.is_valid(&value);
                assert_eq!(is_event, answer["verdict"] != "error", "{value}");
            } else {
                assert_eq!(shortened(&answer, &value), value, "\nthe program says\n{answer}");
            }
        }
    }
}

/// The answer with only the keys that the page shows: a page may leave some out,
/// at every depth.
fn shortened(answer: &Value, shown: &Value) -> Value {
    match (answer, shown) {
        (Value::Array(answers), Value::Array(parts)) if answers.len() == parts.len() => {
            answers.iter().zip(parts).map(|(answer, shown)| shortened(answer, shown)).collect()
        }
        (Value::Object(_), Value::Object(parts)) => {
            parts.iter().map(|(key, shown)| (key.clone(), shortened(&answer[key.as_str()], shown))).collect()
        }
        _ => answer.clone(),
    }
}

#[test]
fn the_schema_and_the_program_know_the_same_events_and_keys() {
    let (schema, _) = schema("guard-event.schema.json");
    let mut written: Vec<(String, Vec<String>)> = Vec::new();
    for event in schema["oneOf"].as_array().unwrap() {
        let properties = event["properties"].as_object().unwrap();
        let name = properties["event"]["const"].as_str().unwrap().to_owned();
        let mut keys: Vec<String> =
            properties.keys().filter(|key| !["event", "at_ms"].contains(&key.as_str())).cloned().collect();
        keys.sort();
        written.push((name, keys));
    }
    let mut known: Vec<(String, Vec<String>)> = EVENTS
        .iter()
        .map(|(name, keys)| {
            let mut keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
            keys.sort();
            ((*name).to_owned(), keys)
        })
        .collect();
    written.sort();
    known.sort();
    assert_eq!(written, known);
}

#[test]
fn what_the_schema_refuses_the_program_refuses() {
    let (_, events) = schema("guard-event.schema.json");
    let bad = [
        json!({"event": "shout"}),
        json!({"event": "tool_call"}),
        json!({"event": "tool_call", "tool": "x", "extra": 1}),
        json!({"event": "cost", "usd": -1}),
        json!({"event": "cost", "usd": 1, "micros": 1}),
        json!({"event": "quality", "score": 2}),
        json!({"event": "assistant", "calls": -1}),
        json!({"event": "assistant", "calls": [{"args": {}}]}),
        json!({"event": "user", "origin": "nobody"}),
        json!({"event": "step", "at_ms": 1.5}),
        json!({"event": "logprobs"}),
        json!({"event": "logprobs", "tokens": [{"logprob": -1}]}),
        json!({"event": "logprobs", "tokens": [{"token": "a", "logprob": 1}]}),
        json!({"event": "logprobs", "tokens": [{"token": "a", "top": []}]}),
        json!({"event": "run", "protocol": 2}),
        json!({"event": "run", "protocol": 0}),
        json!({"event": "run", "protocol": "1"}),
        json!({"event": "import"}),
        json!({"event": "import", "export": 1}),
    ];
    for event in bad {
        assert!(!events.is_valid(&event), "{event}");
        let mut session = Session::new(Settings::default()).unwrap();
        let answer = serde_json::to_value(session.answer(event.to_string().as_bytes(), 0)).unwrap();
        assert_eq!(answer["verdict"], "error", "{event}");
    }
}

#[test]
fn a_state_and_an_export_are_valid_in_both_directions() {
    let (events, decisions) = (schema("guard-event.schema.json").1, schema("guard-decision.schema.json").1);
    let mut session = Session::new(Settings::default()).unwrap();
    let answer = serde_json::to_value(session.answer(br#"{"event":"state"}"#, 0)).unwrap();
    valid(&decisions, &answer);
    valid(&events, &json!({"event": "restore", "state": answer["state"]}));
    let answer = serde_json::to_value(session.answer(br#"{"event":"export"}"#, 0)).unwrap();
    valid(&decisions, &answer);
    valid(&events, &json!({"event": "import", "export": answer["export"]}));
}

#[test]
fn a_loop_of_a_newer_protocol_is_told_both_versions_and_changed_nothing() {
    let mut session = Session::new(Settings::default()).unwrap();
    let before = session.state();
    let newer = json!({"event": "run", "protocol": PROTOCOL + 1}).to_string();
    let answer = serde_json::to_value(session.answer(newer.as_bytes(), 0)).unwrap();
    assert_eq!(answer["verdict"], "error");
    assert_eq!(answer["error"], "this loop speaks version 2 of the protocol; this build speaks up to 1");
    assert_eq!(session.state(), before);
    let ours = json!({"event": "run", "protocol": PROTOCOL, "task": "mend"}).to_string();
    let answer = serde_json::to_value(session.answer(ours.as_bytes(), 0)).unwrap();
    assert_eq!(answer["verdict"], "continue");
    for name in ["guard-event.schema.json", "guard-decision.schema.json"] {
        assert_eq!(schema(name).0["x-bowline"]["version"], PROTOCOL, "{name}");
    }
}

#[test]
fn a_state_of_a_newer_version_or_with_a_key_nobody_knows_is_refused_and_changed_nothing() {
    let mut session = Session::new(Settings::default()).unwrap();
    let state = session.state();
    let ours = state["version"].as_u64().unwrap();
    let mut newer = state.clone();
    newer["version"] = json!(ours + 1);
    let mut strange = state.clone();
    strange["brakes"] = json!("off");
    for (kept, expected) in [
        (newer, format!("this state is of version {}, not {ours}", ours + 1)),
        (strange, "this is no state of a guard: unknown field `brakes`".into()),
    ] {
        let line = json!({"event": "restore", "state": kept}).to_string();
        let answer = serde_json::to_value(session.answer(line.as_bytes(), 0)).unwrap();
        let told = answer["error"].as_str().unwrap();
        assert!(told.starts_with(&expected), "{told}");
        assert_eq!(session.state(), state);
    }
}

/// Keys of an answer that its schema knows, and that this build can write.
#[test]
fn the_schema_of_answers_knows_every_key_of_an_answer_and_no_other() {
    let (schema, _) = schema("guard-decision.schema.json");
    let known: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    let mut written = std::collections::BTreeSet::new();
    for transcript in transcripts() {
        let settings = Settings { limits: Limits::default(), ..Settings::default() };
        let mut session = Session::new(settings).unwrap();
        for (_, value) in transcript.iter().filter(|(mark, _)| *mark == '>') {
            let answer = serde_json::to_value(session.answer(value.to_string().as_bytes(), 0)).unwrap();
            written.extend(answer.as_object().unwrap().keys().cloned());
        }
        for event in ["state", "statistics", "export", "unheard"] {
            let line = json!({ "event": event }).to_string();
            let answer = serde_json::to_value(session.answer(line.as_bytes(), 0)).unwrap();
            written.extend(answer.as_object().unwrap().keys().cloned());
        }
    }
    let missing: Vec<&&String> = known.iter().filter(|key| !written.contains(**key)).collect();
    assert!(missing.is_empty(), "no answer ever had {missing:?}");
    assert!(written.iter().all(|key| known.contains(&key)), "{written:?}");
}
