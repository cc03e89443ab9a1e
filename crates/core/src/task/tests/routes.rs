//! `fallbacks`, `ladder`, `escalate` of a task file, and `part` of its checks.

use serde_json::{Value, json};

use super::{check, with};
use crate::task::{Recourse, parse};

/// A task with two parts, checked for themselves.
fn in_parts(part: &str) -> Value {
    with(json!({
        "plan": [{ "id": "a", "goal": "one" }, { "id": "b", "goal": "other" }],
        "check": [{ "name": "of a", "command": ["true"], "part": part }],
        "escalate": ["partial", "person"]
    }))
}

#[test]
fn models_are_kept_in_the_order_they_are_written() {
    let raw = json!({ "fallbacks": ["scripted:b", "scripted:c"], "ladder": ["scripted:d"] });
    let task = parse(&with(raw)).unwrap();
    let named: Vec<&String> = task.routes.models().collect();
    assert_eq!(named, ["scripted:b", "scripted:c", "scripted:d"]);
    assert_eq!(task.routes.escalate, None);
}

#[test]
fn what_is_tried_by_itself_is_what_there_is_a_model_or_a_planner_for() {
    let plain = parse(&with(json!({ "ladder": ["scripted:d"] }))).unwrap();
    let tried = |task: &crate::task::Task| Recourse::WORDS.map(|(_, way)| task.tries(way));
    assert_eq!(tried(&plain), [true, false, false, false]);
    let planned = parse(&with(json!({ "planning": { "by": "model" } }))).unwrap();
    assert_eq!(tried(&planned), [true, true, false, false]);
    let nothing = parse(&with(json!({ "planning": { "by": "model" }, "escalate": [] }))).unwrap();
    assert_eq!(tried(&nothing), [false; 4]);
    let parts = parse(&in_parts("a")).unwrap();
    assert_eq!(tried(&parts), [false, false, true, true]);
}

#[test]
fn a_model_is_named_once_and_is_not_the_tasks_own() {
    let own = with(json!({}))["model"].as_str().unwrap().to_owned();
    check(
        &with(json!({ "fallbacks": [own, "scripted:b", "scripted:b", "none"] })),
        &format!(
            "fallbacks[0]: {own:?} is the task's own model; name each model once
            fallbacks[2]: \"scripted:b\" is named twice; name each model once
            fallbacks[3]: there is no table [models.none]; write kind:argument, as in \"openai:gpt-5\", or describe it \
             in [models.none]"
        ),
    );
}

#[test]
fn the_order_of_escalation_is_fixed_and_what_could_have_no_effect_is_refused() {
    check(
        &with(json!({ "escalate": ["person", "re-decompose", "re-decompose"] })),
        "escalate[1]: the order is fixed; write bigger-model, re-decompose, partial, person, leaving out what is not \
         wanted
        escalate[2]: it stands here twice; name each once",
    );
    check(
        &with(json!({ "escalate": ["bigger-model", "partial"] })),
        "escalate: there is no stronger model to ask; name some in `ladder`, or leave it out
        escalate: no check says which part it is about, so no part can be known to hold; add `part` to checks of \
         single sub-tasks, or leave \"partial\" out",
    );
    check(
        &with(json!({ "ladder": ["scripted:d"], "escalate": ["person"] })),
        "ladder: nobody climbs it; add \"bigger-model\" to `escalate`, or leave the ladder out",
    );
}

#[test]
fn a_part_is_a_sub_task_nobody_waits_for_and_lies_in_the_workspace() {
    check(
        &in_parts("c"),
        "check: c, which the check \"of a\" is about, is no part of the output; name one of several sub-tasks of \
         `plan` that no other waits for",
    );
    let mut raw = in_parts("a");
    raw["check"] = json!([
        { "name": "of a", "command": ["true"], "part": "a" },
        { "name": "said", "matches": "x", "part": "b" }
    ]);
    check(
        &raw,
        "check[1].part: only a `command` or a `file` can be about a part; leave `part` out, or name a `file`",
    );
}
