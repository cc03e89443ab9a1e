//! How tools are called, as task files say it.

use serde_json::{Value, json};

use super::{parse, places, with};
use crate::task::ToolChoice;
use crate::tool::{Class, Invocation};

fn tool(keys: Value) -> Value {
    let mut tool = json!({ "name": "look", "command": ["look"], "description": "Looks.", "schema": {} });
    tool.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    with(json!({ "tool": [tool] }))
}

fn read(keys: Value) -> ToolChoice {
    parse(&tool(keys)).unwrap().tools.remove(0)
}

#[test]
fn a_task_says_how_a_tool_is_called() {
    let choice = read(json!({
        "class": "compensable", "attempts": 5, "concurrency": 2, "cost_usd": 0.25, "output_bytes": 2048,
    }));
    let said = Invocation {
        class: Some(Class::Compensable),
        attempts: Some(5),
        at_once: Some(2),
        cost_micros: Some(250_000),
        output_bytes: Some(2048),
    };
    assert_eq!(choice.invocation, said);
    let kept = serde_json::to_value(&choice).unwrap();
    assert_eq!(serde_json::from_value::<ToolChoice>(kept).unwrap(), choice);
}

#[test]
fn what_is_not_said_leaves_no_trace_so_that_old_fingerprints_stay() {
    let choice = read(json!({}));
    assert!(choice.invocation.is_default());
    assert!(serde_json::to_value(&choice).unwrap().get("invocation").is_none());
}

#[test]
fn a_substitute_is_another_tool() {
    let choice = read(json!({ "substitute": "other" }));
    assert_eq!(choice.substitute.as_ref().map(|tool| tool.as_str()), Some("other"));
    assert!(serde_json::to_value(read(json!({}))).unwrap().get("substitute").is_none());
    for wrong in ["look", "no name", ""] {
        assert_eq!(places(&tool(json!({ "substitute": wrong }))), ["tool[0].substitute"], "{wrong}");
    }
}

#[test]
fn every_amount_has_its_bounds_and_none_is_unlimited() {
    for (key, low, high) in [
        ("attempts", json!(0), json!(11)),
        ("concurrency", json!(0), json!(65)),
        ("cost_usd", json!(-0.1), json!(1_000_001)),
        ("output_bytes", json!(255), json!(1_048_577)),
    ] {
        for wrong in [low, high, json!("unlimited"), json!("many")] {
            assert_eq!(places(&tool(json!({ key: wrong }))), [format!("tool[0].{key}")], "{key} {wrong}");
        }
    }
    assert_eq!(places(&tool(json!({ "class": "harmless" }))), ["tool[0].class"]);
}
