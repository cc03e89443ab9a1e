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
