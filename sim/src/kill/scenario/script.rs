//! What the model says in each scenario.
//!
//! A reply that follows calls expects their answer to be no error, so an answer
//! that went missing or wrong stops the run.

use serde_json::{Value, json};

use super::{MADE, PARTS, Scenario, page};

/// The scripts of a scenario, with the files they stand in.
pub(super) fn of(scenario: Scenario) -> Vec<(&'static str, Value)> {
    let main = match scenario {
        Scenario::Plan => plan_script(),
        Scenario::Repair => repair_script(),
        Scenario::Rollback => rollback_script(),
        Scenario::Consent => consent_script(),
        Scenario::Doubt => doubt_script(),
        Scenario::Crowd => crowd_script(),
        Scenario::Saga => saga_script(),
        Scenario::Undo => undo_script(),
        Scenario::Switch => return switch_scripts(),
        Scenario::Brief => brief_script(),
    };
    vec![("model.json", main)]
}

fn calls(list: &[(&str, Value)]) -> Value {
    let calls: Vec<Value> = list.iter().map(|(tool, args)| json!({ "tool": tool, "args": args })).collect();
    json!({ "stall_ms": 2, "calls": calls })
}

/// The same, once the answer to the last calls is seen to be no error.
fn then(reply: Value) -> Value {
    let mut reply = reply;
    if let Value::Object(fields) = &mut reply {
        fields.insert("expect".into(), json!({ "error": false }));
        fields.insert("stall_ms".into(), json!(3));
    }
    reply
}

fn say(text: &str) -> Value {
    then(json!({ "say": text }))
}

fn script(conversations: &Value) -> Value {
    json!({ "script": 1, "usage": { "input": 40, "output": 10 }, "conversations": conversations })
}

const DIAGNOSIS: &str =
    r#"{"summary":"not mended","defects":[{"what":"still broken","severity":"major","place":"answer.txt"}]}"#;

fn critique() -> Value {
    json!([{ "say": DIAGNOSIS, "stall_ms": 2 }, { "say": DIAGNOSIS }])
}

fn plan_script() -> Value {
    script(&json!({
        "survey": [calls(&[("read_file", json!({ "path": "notes.txt" }))]), say("surveyed")],
        "buy": [
            calls(&[("pay", json!({ "amount": 5, "to": "shop" }))]),
            then(calls(&[("put", json!({ "name": "order", "value": 1 }))])),
            say("bought"),
        ],
        "write": [
            calls(&[("write_file", json!({ "path": "report.txt", "content": "the first report\n" }))]),
            then(calls(&[
                ("read_file", json!({ "path": "report.txt" })),
                ("edit_file", json!({ "path": "report.txt", "old": "first", "new": "final" })),
            ])),
            say("written"),
        ],
    }))
}

fn repair_script() -> Value {
    script(&json!({
        "main": [
            calls(&[
                ("write_file", json!({ "path": "answer.txt", "content": "broken\n" })),
                ("slow_pay", json!({ "amount": 3, "delay_ms": 15, "drop_reply": true })),
            ]),
            say("done"),
        ],
        "critique": critique(),
        "repair-1": [
            calls(&[("edit_file", json!({ "path": "answer.txt", "old": "broken", "new": "fixed" }))]),
            then(calls(&[("pay", json!({ "amount": 4, "to": "mender" }))])),
            say("mended"),
        ],
    }))
}

fn rollback_script() -> Value {
    let edit = |old: &str, new: &str| ("edit_file", json!({ "path": "old.txt", "old": old, "new": new }));
    script(&json!({
        "main": [
            calls(&[edit("as it was", "changed once"), ("put", json!({ "name": "draft", "value": 2 }))]),
            then(calls(&[
                ("reserve", json!({ "amount": 6 })),
                ("write_file", json!({ "path": "fresh/new.txt", "content": "new\n" })),
                ("reserve", json!({ "amount": 8 })),
                ("write_file", json!({ "path": "deep/keep.txt", "content": "overwritten\n" })),
            ])),
            say("done"),
        ],
        "critique": critique(),
        "repair-1": [calls(&[edit("once", "twice")]), say("tried")],
    }))
}

fn consent_script() -> Value {
    script(&json!({
        "main": [
            calls(&[("put", json!({ "name": "request", "value": 3 }))]),
            then(calls(&[("asked_pay", json!({ "amount": 7, "to": "landlord" }))])),
            say("paid"),
        ],
    }))
}

fn doubt_script() -> Value {
    script(&json!({
        "main": [
            calls(&[("wire", json!({ "amount": 11, "to": "abroad" }))]),
            then(calls(&[
                ("slow_wire", json!({ "amount": 12, "delay_ms": 25, "drop_reply": true })),
                ("wire", json!({ "amount": 13, "to": "abroad" })),
            ])),
            say("wired"),
        ],
    }))
}

fn crowd_script() -> Value {
    let mut conversations = serde_json::Map::new();
    for (amount, (id, file, letter)) in (1..).zip(PARTS) {
        let replies = json!([
            calls(&[
                ("read_file", json!({ "path": "large.txt" })),
                ("pay", json!({ "amount": amount, "to": id })),
            ]),
            then(calls(&[("write_file", json!({ "path": file, "content": page(letter, 6_000) }))])),
            say("did my part"),
        ]);
        conversations.insert(id.into(), replies);
    }
    conversations.insert("gather".into(), json!([{ "say": "gathered", "stall_ms": 2 }]));
    script(&Value::Object(conversations))
}

fn brief_script() -> Value {
    script(&json!({
        "main": [
            calls(&[
                ("write_file", json!({ "path": MADE.0, "content": MADE.1 })),
                ("pay", json!({ "amount": 1, "to": "shop" })),
            ]),
            { "say": "done" },
        ],
    }))
}

fn saga_script() -> Value {
    let reserve = |tool: &'static str, amount: u64| (tool, json!({ "amount": amount }));
    script(&json!({
        "main": [
            calls(&[
                ("edit_file", json!({ "path": "old.txt", "old": "as it was", "new": "changed" })),
                ("put", json!({ "name": "draft", "value": 2 })),
                reserve("reserve", 6),
            ]),
            // A person denies the first.
            then(calls(&[reserve("asked_reserve", 5), reserve("asked_reserve", 7)])),
            then(calls(&[("slow_wire", json!({ "amount": 12, "delay_ms": 5, "drop_reply": true }))])),
            // The first takes nothing, so nothing is to be given back.
            then(calls(&[
                reserve("keyed_reserve", 0),
                reserve("keyed_reserve", 4),
                reserve("flaky_reserve", 8),
                ("write_file", json!({ "path": "fresh/new.txt", "content": "new\n" })),
                reserve("stuck_reserve", 9),
            ])),
            say("done"),
        ],
    }))
}

fn undo_script() -> Value {
    script(&json!({
        "main": [
            calls(&[
                ("write_file", json!({ "path": "shared.txt", "content": "written by the run\n" })),
                ("reserve", json!({ "amount": 6 })),
                ("delete_file", json!({ "path": "gone.txt" })),
                ("flaky_reserve", json!({ "amount": 8 })),
            ]),
            then(calls(&[
                ("put", json!({ "name": "order", "value": 1 })),
                ("move_file", json!({ "from": "notes.txt", "to": "kept/notes.txt" })),
                ("stuck_reserve", json!({ "amount": 9 })),
                ("write_file", json!({ "path": "new/page.txt", "content": page('p', 6_000) })),
            ])),
            say("done"),
        ],
    }))
}

/// The model is gone after its first reply, the next in line mends nothing, the
/// stronger one does.
fn switch_scripts() -> Vec<(&'static str, Value)> {
    let gone = json!({ "say": "", "fails": vec!["permanent"; 12] });
    let edit = |old: &str, new: &str| {
        calls(&[("edit_file", json!({ "path": "answer.txt", "old": old, "new": new }))])
    };
    let first = calls(&[
        ("write_file", json!({ "path": "answer.txt", "content": "broken\n" })),
        ("pay", json!({ "amount": 2, "to": "helper" })),
    ]);
    let model = json!({
        "main": [first, gone, gone], "critique": [gone, gone, gone],
        "repair-1": [gone, gone], "repair-2": [gone, gone],
    });
    let other = json!({
        "main": [first, then(calls(&[("reserve", json!({ "amount": 3 }))])), say("done")],
        "critique": [{ "say": DIAGNOSIS }, { "say": DIAGNOSIS }, { "say": DIAGNOSIS }],
        "repair-1": [edit("broken", "half way"), say("tried")],
    });
    let big = json!({
        "critique": [{ "say": DIAGNOSIS }, { "say": DIAGNOSIS }, { "say": DIAGNOSIS }],
        "repair-2": [edit("half way", "fixed"), then(calls(&[("put", json!({ "name": "mended" }))])), say("mended")],
    });
    vec![("model.json", script(&model)), ("other.json", script(&other)), ("big.json", script(&big))]
}
