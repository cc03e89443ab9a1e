//! Plans as people and models write them, and what is said about the rest.

use serde_json::{Value, json};

use super::*;
use crate::plan::schema;
use crate::plan::tests::{id, plan};

fn sub(name: &str, more: Value) -> Value {
    let mut node = json!({ "id": name, "goal": name });
    let Value::Object(more) = more else { panic!("keys to add are a table") };
    node.as_object_mut().unwrap().extend(more);
    node
}

fn from_file(nodes: &Value) -> Result<Plan, Vec<String>> {
    let task = json!({ "goal": "x", "model": "scripted:x", "plan": nodes });
    let task = crate::task::parse(&task)
        .map_err(|bad| bad.problems.iter().map(Problem::to_string).collect::<Vec<_>>())?;
    Ok(task.plan.unwrap())
}

/// The whole form of the task file's page.
fn full() -> Value {
    json!([
        sub("read", json!({ "after": [], "priority": -2, "optional": true, "uses": ["read_file"], "needs": ["a report"],
            "makes": [" known "], "breaks": ["unknown"], "tokens": 2000, "seconds": 60.0 })),
        { "id": "mend", "priority": 3, "branch": [
            { "name": "small", "plan": [sub("patch", json!({ "after": ["read"] }))] },
            { "plan": [sub("rewrite", json!({})), { "id": "try", "branch": [{ "plan": [sub("test", json!({}))] }] }] }] },
        { "id": "tell", "after": ["mend"], "when": { "of": "read", "is": "bug" }, "branch": [
            { "plan": [sub("note", json!({}))] }, { "plan": [sub("answer", json!({}))] }] },
        { "id": "more", "when": { "of": "read", "at": "/a/0", "is": { "n": 1.0 } }, "branch": [
            { "plan": [{ "id": "yet", "when": { "of": "mend", "contains": "x" }, "branch": [{ "plan": [sub("z", json!({}))] }] }] }] },
    ])
}

#[test]
fn every_key_of_a_plan_is_read() {
    let expected = plan(json!([
        sub("read", json!({ "priority": -2, "optional": true, "uses": ["read_file"], "needs": ["a report"],
            "makes": ["known"], "breaks": ["unknown"], "tokens": 2000, "seconds": 60 })),
        { "id": "mend", "priority": 3, "branches": [
            { "name": "small", "nodes": [sub("patch", json!({ "after": ["read"] }))] },
            { "nodes": [sub("rewrite", json!({})), { "id": "try", "branches": [{ "nodes": [sub("test", json!({}))] }] }] }] },
        { "id": "tell", "after": ["mend"], "rule": { "when": { "of": "read", "test": { "is": "bug" } } }, "branches": [
            { "nodes": [sub("note", json!({}))] }, { "nodes": [sub("answer", json!({}))] }] },
        { "id": "more", "rule": { "when": { "of": "read", "test": { "json": { "at": "/a/0", "is": { "n": 1 } } } } },
          "branches": [{ "nodes": [{ "id": "yet", "rule": { "when": { "of": "mend", "test": { "contains": "x" } } },
            "branches": [{ "nodes": [sub("z", json!({}))] }] }] }] },
    ]));
    assert_eq!(from_file(&full()).unwrap(), expected);
    assert_eq!(read(&json!({ "plan": full() })).unwrap(), expected);
}

#[test]
fn what_is_compared_is_kept_in_the_order_a_journal_gives_it_back() {
    let when = json!({ "of": "a", "at": "", "is": { "z": { "y": 1, "b": 2 }, "c": [] } });
    let nodes = json!([sub("a", json!({})), { "id": "x", "when": when, "branch": [{ "plan": [sub("b", json!({}))] }] }]);
    let kept = serde_json::to_string(&from_file(&nodes).unwrap()).unwrap();
    assert!(kept.contains(r#"{"c":[],"z":{"b":2,"y":1}}"#), "{kept}");
}

fn check(nodes: &Value, expected: &[&str]) {
    assert_eq!(from_file(nodes).unwrap_err(), expected, "{nodes}");
}

#[test]
fn everything_that_does_not_fit_together_is_told_at_once_where_it_stands() {
    let branch = |nodes: Value| json!([{ "plan": nodes }]);
    check(
        &json!([
            sub("read", json!({ "after": ["raed", "in"] })),
            { "id": "pick", "branch": [{ "plan": [sub("in", json!({ "after": ["pick"] })), sub("read", json!({}))] }] },
            { "id": "ask", "when": { "of": "nobody-there", "at": "x", "is": 1 }, "branch": branch(json!([])) },
            sub("a", json!({ "after": ["b"] })),
            sub("b", json!({ "after": ["a"] })),
        ]),
        &[
            "plan[2].when.at: \"x\" of choice ask is no JSON pointer: write \"\" or \"/name/0\", with ~ as ~0 and / as ~1; \
             write the place as a JSON pointer",
            "plan[2].branch[0].plan: branch 0 of choice ask is empty; say what is done in it, or take it out",
            "plan[1].branch[0].plan[1].id: two sub-tasks are called read; give one of them another id",
            "plan[0].after: sub-task read waits for raed, which is not in the plan; did you mean \"read\"?",
            "plan[0].after: sub-task read waits for in, which is in a branch of pick; wait for pick instead; \
             wait for the choice, which is over when the branch it took is",
            "plan[1].branch[0].plan[0].after: sub-task in waits for pick, which it is part of; \
             take it out: what is in a choice waits for whatever the choice waits for",
            "plan[2].when.of: sub-task ask waits for nobody-there, which is not in the plan; name a sub-task of the plan",
            "plan[3].after: sub-tasks wait for each other: a, b; let one of them not wait",
        ],
    );
    check(
        &json!([{ "id": "pick", "branch": branch(json!([])) }]),
        &["plan[0].branch[0].plan: branch 0 of choice pick is empty; say what is done in it, or take it out"],
    );
    check(
        &json!([
            { "id": "ask", "when": { "of": "end", "is": "x" }, "branch": branch(json!([sub("in", json!({}))])) },
            sub("end", json!({ "after": ["ask"] })),
        ]),
        &["plan[0].after: sub-tasks wait for each other: ask, end; let one of them not wait"],
    );
}

#[test]
fn unknown_and_misplaced_keys_of_a_plan_are_answered_with_the_best_guess() {
    check(
        &json!([
            sub("a", json!({ "prioritty": 1, "name": "x", "steps": 1 })),
            { "id": "b", "goal": "x", "tokens": 1, "branch": [{ "twigs": [], "plan": [sub("c", json!({}))] }] },
            { "id": "d", "when": { "of": "a", "iss": "x" } },
            { "id": "e", "branch": { "plan": [] } },
        ]),
        &[
            "plan[0].name: `name` belongs in `[[check]]` or in `[[rubric.dimension]]` or in `[[tool]]` or in `[[plan.branch]]`; move it there",
            "plan[0].prioritty: `prioritty` is not known in `[[plan]]`; did you mean `priority`?",
            "plan[0].steps: `steps` belongs in `[limits]`; move it there",
            "plan[1].goal: `goal` is for sub-tasks; this is a choice between branches; \
             move it into a branch, or take `branch` and `when` out",
            "plan[1].tokens: `tokens` is for sub-tasks; this is a choice between branches; \
             move it into a branch, or take `branch` and `when` out",
            "plan[1].branch[0].twigs: `twigs` is not known in `[[plan.branch]]`; remove it; `[[plan.branch]]` knows name, plan",
            "plan[2].when.iss: `iss` is not known in `when` of `[[plan]]`; did you mean `is`?",
            "plan[2].when: nothing is no test of an output; write `is`, or `contains`, or `at` and `is`",
            "plan[2].branch: `branch` is missing; say what is done, in `[[plan.branch]]`",
            "plan[3].branch: expected a list of tables, found a table; write `[[plan.branch]]`",
        ],
    );
}

fn places(nodes: &Value) -> Vec<String> {
    let problems = from_file(nodes).unwrap_err();
    problems.iter().map(|problem| problem.split(": ").next().unwrap().to_owned()).collect()
}

#[test]
fn values_of_the_wrong_type_or_size_are_refused_where_they_stand() {
    for (key, bad) in [
        ("id", json!(1)),
        ("id", json!("a b")),
        ("id", json!("repair-1")),
        ("goal", json!("x".repeat(16 * 1024 + 1))),
        ("goal", json!(" ")),
        ("after", json!("a")),
        ("after", json!({})),
        ("priority", json!("high")),
        ("priority", json!(1.5)),
        ("priority", json!(1_000_001)),
        ("optional", json!("yes")),
        ("uses", json!(vec!["x"; 65])),
        ("needs", json!(vec!["x"; 65])),
        ("tokens", json!(-1)),
        ("tokens", json!("many")),
        ("seconds", json!(31_536_001)),
    ] {
        assert_eq!(places(&json!([sub("a", json!({ key: bad }))])), [format!("plan[0].{key}")]);
    }
    for (key, bad) in [("uses", "a b"), ("needs", "a\nb"), ("makes", " "), ("after", "a/b")] {
        assert_eq!(places(&json!([sub("a", json!({ key: [bad] }))])), [format!("plan[0].{key}[0]")]);
    }
    assert_eq!(places(&json!([sub("a", json!({ "breaks": ["x".repeat(201)] }))])), ["plan[0].breaks[0]"]);
    let deep = (0..9).fold(json!(1), |inside, _| json!([inside]));
    for (when, place) in [
        (json!("a"), ""),
        (json!({ "is": "x" }), ".of"),
        (json!({ "of": "a", "is": 1 }), ".is"),
        (json!({ "of": "a", "is": "x", "contains": "y" }), ""),
        (json!({ "of": "a", "at": "/x" }), ""),
        (json!({ "of": "a", "at": "/x", "is": deep }), ".is"),
        (json!({ "of": "a", "at": "/x", "is": "x".repeat(5000) }), ".is"),
        (json!({ "of": "a", "contains": "x".repeat(4097) }), ".contains"),
        (json!({ "of": "a", "at": format!("/{}", "x".repeat(1024)), "is": 1 }), ".at"),
    ] {
        let choice = json!({ "id": "b", "when": when, "branch": [{ "plan": [sub("c", json!({}))] }] });
        assert_eq!(places(&json!([sub("a", json!({})), choice])), [format!("plan[1].when{place}")]);
    }
}

/// Choices nested so deep.
fn nested(depth: usize) -> Value {
    let inside = sub("in", json!({}));
    (0..depth)
        .fold(inside, |inside, level| json!({ "id": format!("c{level}"), "branch": [{ "plan": [inside] }] }))
}

#[test]
fn a_file_and_a_model_may_nest_choices_as_deep_as_is_stated() {
    assert!(from_file(&json!([nested(16)])).is_ok());
    let place = format!("plan[0]{}.branch", ".branch[0].plan[0]".repeat(16));
    assert_eq!(places(&json!([nested(17)])), [place]);
    assert!(places(&json!([nested(400)])).len() == 1);
    assert!(read(&json!({ "plan": [nested(2)] })).is_ok());
    let problems = read(&json!({ "plan": [nested(3)] })).unwrap_err();
    assert_eq!(problems[0].place, "plan[0].branch[0].plan[0].branch[0].plan[0].branch");
    let wide: Vec<_> =
        (0..17).map(|place| json!({ "plan": [sub(&format!("n{place}"), json!({}))] })).collect();
    assert_eq!(places(&json!([{ "id": "c", "branch": wide }])), ["plan[0].branch"]);
}

#[test]
fn what_a_model_leaves_empty_is_left_out_and_what_is_no_plan_is_told() {
    let keys = ["after", "priority", "optional", "uses", "needs", "makes", "breaks", "tokens", "seconds"];
    let node = keys.iter().fold(sub("a", json!({})), |mut node, key| {
        node[key] = Value::Null;
        node
    });
    let choice = json!({ "id": "b", "after": null, "priority": null, "when": null,
        "branch": [{ "name": null, "plan": [sub("c", json!({}))] }] });
    let plan = read(&json!({ "plan": [node, choice] })).unwrap();
    assert_eq!(plan.get(&id("a")), Some(&Subtask::new(id("a"), "a")));
    for bad in
        [json!(null), json!([]), json!("plan"), json!({}), json!({ "plan": null }), json!({ "plan": [] })]
    {
        assert_eq!(read(&bad).unwrap_err()[0].place, "plan", "{bad}");
    }
    let problems = read(&json!({ "plan": [sub("a", json!({}))], "why": "so" })).unwrap_err();
    assert_eq!(problems[0].to_string(), "why: `why` is not known beside `plan`; leave it out");
}

/// Every object of a schema, with the way to it.
fn objects<'s>(schema: &'s Value, found: &mut Vec<&'s Value>) {
    match schema {
        Value::Object(map) => {
            found.push(schema);
            map.values().for_each(|value| objects(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| objects(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn the_schema_is_strict_bounded_and_never_refers_to_itself() {
    let schema = schema();
    let mut all = Vec::new();
    objects(&schema, &mut all);
    let is = |part: &Value, kind: &str| part["type"] == json!(kind) || part["type"][0] == json!(kind);
    for part in &all {
        if is(part, "object") {
            assert_eq!(part["additionalProperties"], json!(false));
            assert_eq!(
                part["required"].as_array().unwrap().len(),
                part["properties"].as_object().unwrap().len()
            );
        }
        assert!(!is(part, "array") || part["maxItems"].is_u64(), "{part}");
        assert!(!is(part, "string") || part["maxLength"].is_u64() || part["pattern"].is_string(), "{part}");
    }
    // Each choice holds only choices of lower levels.
    let refers =
        |level: &str, to: &str| schema["$defs"][level].to_string().contains(&format!("#/$defs/{to}\""));
    assert!(refers("choice_2", "choice_1") && !refers("choice_2", "choice_2"));
    assert!(!refers("choice_1", "choice_1") && !refers("choice_1", "choice_2"));
    let mut keys: Vec<_> = ["subtask", "choice_1"]
        .iter()
        .flat_map(|part| schema["$defs"][part]["properties"].as_object().unwrap().keys())
        .collect();
    keys.sort();
    keys.dedup();
    let mut known = KEYS.to_vec();
    known.sort_unstable();
    assert_eq!(keys, known, "the schema and the task file know the same keys");
}
