//! What is a plan, what is none, and that old plans stay what they were.

use serde_json::{Value, json};

use super::*;
use crate::event::Event;
use crate::provenance::Digest;

pub(super) fn id(raw: &str) -> SubtaskId {
    SubtaskId::parse(raw).unwrap()
}

/// A plan from its journal form.
pub(super) fn plan(nodes: Value) -> Plan {
    serde_json::from_value(nodes).unwrap()
}

fn bad(nodes: Value) -> BadPlan {
    Plan::new(serde_json::from_value(nodes).unwrap()).unwrap_err()
}

fn flat(rows: &[(&str, &[&str])]) -> Result<Vec<String>, String> {
    let node = |(name, after): &(&str, &[&str])| {
        let after = after.iter().map(|raw| id(raw)).collect();
        Node::Subtask(Subtask { after, ..Subtask::new(id(name), "") })
    };
    Plan::new(rows.iter().map(node).collect())
        .map(|plan| plan.subtasks().iter().map(|subtask| subtask.id.to_string()).collect())
        .map_err(|bad| bad.to_string())
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.subtasks().into_iter().map(|subtask| subtask.id.as_str()).collect()
}

#[test]
fn dependencies_come_first_and_given_order_is_kept() {
    assert_eq!(flat(&[("c", &["a", "b"]), ("b", &[]), ("a", &[])]).unwrap(), ["b", "a", "c"]);
}

#[test]
fn what_could_never_finish_is_refused_with_the_place() {
    assert_eq!(flat(&[]).unwrap_err(), "a plan needs at least one sub-task");
    assert_eq!(flat(&[("a", &[]), ("a", &[])]).unwrap_err(), "two sub-tasks are called a");
    assert_eq!(flat(&[("a", &["z"])]).unwrap_err(), "sub-task a waits for z, which is not in the plan");
    assert_eq!(
        flat(&[("x", &[]), ("a", &["b"]), ("b", &["a"])]).unwrap_err(),
        "sub-tasks wait for each other: a, b"
    );
    assert!(flat(&[("a", &["a"])]).unwrap_err().contains("wait for each other"));
}

#[test]
fn the_last_nodes_are_those_nobody_waits_for() {
    let plan = plan(json!([
        { "id": "a", "goal": "" },
        { "id": "b", "goal": "", "after": ["a"] },
        { "id": "pick", "branches": [{ "nodes": [{ "id": "d", "goal": "", "after": ["a"] }] }] },
        { "id": "c", "goal": "", "after": ["a"] },
    ]));
    assert_eq!(plan.last(), [&id("b"), &id("pick"), &id("c")]);
}

#[test]
fn an_old_plan_reads_writes_and_hashes_as_before() {
    let journal = include_str!("../../../../fixtures/journals/format-1.jsonl");
    let mut seen = 0;
    for line in journal.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        for event in record["events"].as_array().into_iter().flatten() {
            let Ok(Event::Planned { plan, sha256, .. }) = serde_json::from_value(event.clone()) else {
                continue;
            };
            assert_eq!(Digest::of(&serde_json::to_vec(&plan).unwrap()), sha256);
            seen += 1;
        }
    }
    assert_eq!(seen, 1);
    let text = r#"[{"id":"b","goal":"B"},{"id":"a","goal":"A","after":["b"]}]"#;
    let old: Plan = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&old).unwrap(), text);
}

#[test]
fn everything_a_plan_says_comes_back_from_a_journal() {
    let nodes = json!([
        { "id": "sort", "goal": "What is it?", "priority": -3, "optional": true, "uses": ["read_file"],
          "needs": ["a report"], "makes": ["sorted"], "breaks": ["a report"], "tokens": 9, "seconds": 8 },
        { "id": "get", "priority": 2, "branches": [
            { "name": "mirror", "nodes": [{ "id": "m", "goal": "From the mirror" }] },
            { "nodes": [{ "id": "o", "goal": "From the origin", "after": ["sort"] }] } ] },
        { "id": "mend", "after": ["get"], "rule": { "when": { "of": "sort", "test": { "is": "bug" } } },
          "branches": [{ "nodes": [{ "id": "x", "goal": "Mend it" },
            { "id": "deep", "rule": { "when": { "of": "x", "test": { "json": { "at": "/ok", "is": true } } } },
              "branches": [{ "nodes": [{ "id": "y", "goal": "y" }] }] }] }] },
    ]);
    let read = plan(nodes.clone());
    assert_eq!(serde_json::to_value(&read).unwrap(), nodes);
    assert_eq!(names(&read), ["sort", "m", "o", "x", "y"]);
    assert_eq!(read.size(), 8);
    assert_eq!(read.choice(&id("deep")).unwrap().branches.len(), 1);
    assert!(read.get(&id("deep")).is_none() && read.choice(&id("y")).is_none());
    assert_eq!(read.get(&id("y")).unwrap().goal, "y");
    let (choice, branch) = read.parent(&id("o")).unwrap();
    assert_eq!((choice.id.as_str(), branch), ("get", 1));
}

fn node(name: &str, after: &[&str]) -> Value {
    json!({ "id": name, "goal": name, "after": after })
}

fn pick(name: &str, branches: &[Value]) -> Value {
    let branches: Vec<_> = branches.iter().map(|nodes| json!({ "nodes": nodes })).collect();
    json!({ "id": name, "branches": branches })
}

fn when(name: &str, of: &str, inside: Value) -> Value {
    let rule = json!({ "when": { "of": of, "test": { "is": "x" } } });
    json!({ "id": name, "rule": rule, "branches": [{ "nodes": [inside] }] })
}

#[test]
fn nobody_waits_for_what_is_inside_a_branch_they_are_not_in() {
    let choice = pick("pick", &[json!([node("in", &[]), pick("deep", &[json!([node("down", &[])])])])]);
    for (waits, inside, choice_named) in [("in", "in", "pick"), ("down", "down", "pick")] {
        let refused = bad(json!([choice, node("out", &[waits])]));
        let expected = BadPlan::IntoBranch { id: id("out"), inside: id(inside), choice: id(choice_named) };
        assert_eq!(refused, expected);
    }
    let siblings = pick("pick", &[json!([node("one", &[])]), json!([node("two", &["one"])])]);
    assert!(matches!(bad(json!([siblings])), BadPlan::IntoBranch { .. }));
    let beside = json!([node("in", &["down"]), pick("deep", &[json!([node("down", &[])])])]);
    assert_eq!(
        bad(json!([pick("pick", &[beside])])).to_string(),
        "sub-task in waits for down, which is in a branch of deep; wait for deep instead"
    );
    assert_eq!(
        bad(json!([pick("pick", &[json!([node("in", &["pick"])])])])).to_string(),
        "sub-task in waits for pick, which it is part of"
    );
}

#[test]
fn a_cycle_through_a_choice_is_found() {
    let choice = pick("pick", &[json!([node("in", &["end"])])]);
    assert_eq!(
        bad(json!([choice, node("end", &["pick"])])),
        BadPlan::Cycle { among: vec![id("pick"), id("end")] }
    );
    let inside = json!([node("a", &["b"]), node("b", &["a"])]);
    assert_eq!(
        bad(json!([pick("pick", &[json!([node("ok", &[])]), inside])])),
        BadPlan::Cycle { among: vec![id("a"), id("b")] }
    );
    assert_eq!(
        bad(json!([when("ask", "end", node("in", &[])), node("end", &["ask"])])),
        BadPlan::Cycle { among: vec![id("ask"), id("end")] }
    );
    assert!(matches!(bad(json!([when("ask", "ask", node("in", &[]))])), BadPlan::Cycle { .. }));
    assert!(matches!(bad(json!([when("ask", "in", node("in", &[]))])), BadPlan::IntoBranch { .. }));
    assert!(matches!(bad(json!([when("ask", "none", node("in", &[]))])), BadPlan::Dangling { .. }));
}

#[test]
fn a_condition_comes_after_what_it_looks_at_wherever_it_was_given() {
    let plan = plan(json!([when("ask", "sort", node("in", &[])), node("sort", &[])]));
    assert_eq!(names(&plan), ["sort", "in"]);
}

#[test]
fn one_name_is_one_node_in_the_whole_tree() {
    let choice = pick("pick", &[json!([node("a", &[])]), json!([node("b", &[])])]);
    assert_eq!(bad(json!([choice, node("b", &[])])), BadPlan::Twice { id: id("b") });
    assert_eq!(bad(json!([pick("a", &[json!([node("a", &[])])])])), BadPlan::Twice { id: id("a") });
}

#[test]
fn every_cap_of_a_plan_holds() {
    let many =
        |count: usize| -> Vec<Value> { (0..count).map(|place| node(&format!("n{place}"), &[])).collect() };
    assert_eq!(plan(json!(many(10_000))).size(), 10_000);
    assert_eq!(bad(json!([pick("pick", &[json!(many(10_000))])])), BadPlan::TooMany { count: 10_001 });
    let nested = |depth: usize| {
        (0..depth).fold(node("in", &[]), |inside, level| pick(&format!("c{level}"), &[json!([inside])]))
    };
    assert!(Plan::new(serde_json::from_value(json!([nested(16)])).unwrap()).is_ok());
    assert_eq!(bad(json!([nested(17)])), BadPlan::TooDeep { id: id("c0") });
    let asked = |depth: usize| {
        let ask = (0..depth).fold(node("in", &[]), |inside, level| when(&format!("w{level}"), "a", inside));
        json!([node("a", &[]), ask])
    };
    assert_eq!(plan(asked(4)).size(), 6);
    assert_eq!(
        bad(asked(5)).to_string(),
        "choice w0 is the 5th condition within conditions; 4 may be nested"
    );
    let wide = |count: usize| -> Vec<Value> { many(count).into_iter().map(|node| json!([node])).collect() };
    assert_eq!(plan(json!([pick("pick", &wide(16))])).size(), 17);
    let refused = [
        (json!([pick("pick", &wide(17))]), "choice pick has 17 branches; it may have 1 to 16"),
        (json!([pick("pick", &[])]), "choice pick has 0 branches; it may have 1 to 16"),
        (json!([pick("pick", &[json!([node("a", &[])]), json!([])])]), "branch 1 of choice pick is empty"),
    ];
    for (nodes, message) in refused {
        assert_eq!(bad(nodes).to_string(), message);
    }
    let mut three = when("ask", "a", node("in", &[]));
    three["branches"] =
        json!([{ "nodes": [node("x", &[])] }, { "nodes": [node("y", &[])] }, { "nodes": [node("z", &[])] }]);
    assert_eq!(
        bad(json!([node("a", &[]), three])).to_string(),
        "choice ask has 3 branches; it may have 1 to 2"
    );
}

#[test]
fn the_lists_of_a_node_have_caps() {
    let facts = |count: usize| vec!["fact"; count];
    for list in ["uses", "needs", "makes", "breaks"] {
        let mut full = node("a", &[]);
        full[list] = json!(facts(64));
        assert_eq!(plan(json!([full])).size(), 1);
        full[list] = json!(facts(65));
        assert_eq!(bad(json!([full])), BadPlan::LongList { id: id("a"), list, count: 65 });
    }
    let many: Vec<_> = (0..257).map(|place| node(&format!("n{place}"), &[])).collect();
    let names: Vec<_> = (0..257).map(|place| format!("n{place}")).collect();
    let mut nodes = many.clone();
    nodes.push(json!({ "id": "z", "goal": "", "after": names[..256] }));
    assert_eq!(plan(json!(nodes)).size(), 258);
    for waits in [json!({ "id": "z", "goal": "", "after": names }), {
        let mut choice = pick("z", &[json!([node("in", &[])])]);
        choice["after"] = json!(names);
        choice
    }] {
        let mut nodes = many.clone();
        nodes.push(waits);
        assert_eq!(bad(json!(nodes)).to_string(), "`after` of z has 257 entries; it may have 256");
    }
    assert!(Fact::parse(&"x".repeat(200)).is_ok());
    assert!(
        Fact::parse(&"x".repeat(201)).is_err() && Fact::parse(" ").is_err() && Fact::parse("a\nb").is_err()
    );
}

#[test]
fn a_condition_asks_for_the_whole_text_a_part_or_a_place_in_json() {
    let is = Test::Is(" bug ".into());
    assert!(is.holds("bug\n") && !is.holds("bug report"));
    let contains = Test::Contains("bug".into());
    assert!(contains.holds("a bug") && !contains.holds("a flea"));
    let json = |at: &str, is: Value| Test::Json { at: at.into(), is };
    assert!(json("/kind", json!("bug")).holds("{\"kind\": \"bug\"}"));
    assert!(json("/n/0", json!(1)).holds("```json\n{\"n\": [1.0]}\n```"));
    assert!(json("", json!(true)).holds(" true "));
    assert!(!json("/kind", json!("bug")).holds("kind: bug") && !json("/x", json!(null)).holds("{}"));
    let mut ask = when("ask", "a", node("in", &[]));
    for (at, fits) in [("", true), ("/a~0b~1c/0", true), ("a", false), ("/a~2", false), ("/~", false)] {
        ask["rule"]["when"]["test"] = json!({ "json": { "at": at, "is": 1 } });
        let made = Plan::new(serde_json::from_value(json!([node("a", &[]), ask])).unwrap());
        assert_eq!(made.is_ok(), fits, "{at}");
    }
}

#[test]
fn what_is_no_node_is_not_read() {
    for bad in [
        json!([{ "id": "a" }]),
        json!([{ "goal": "a" }]),
        json!([{ "id": "a b", "goal": "x" }]),
        json!([{ "id": "a", "goal": 1 }]),
        json!([{ "id": "a", "branches": {} }]),
        json!([{ "id": "a", "branches": [{ "nodes": [{ "id": "b" }] }] }]),
        json!([{ "id": "a", "goal": "x", "priority": 3_000_000_000_u64 }]),
        json!([{ "id": "a", "goal": "x", "tokens": -1 }]),
        json!({ "id": "a", "goal": "x" }),
        json!([]),
    ] {
        assert!(serde_json::from_value::<Plan>(bad.clone()).is_err(), "{bad}");
    }
}
