//! Another answer that holds as well: then the checks do not tell which is right.

use bowline::Stopped;
use bowline::core::event::{Ending, Event, FailReason};
use bowline::core::quality::CheckOutcome;
use serde_json::{Value, json};

use crate::world::World;

/// A task whose checks want a number above two, and one other answer held against them.
fn task(world: &World, more: &Value) -> bowline::core::task::Task {
    let mut raw = json!({
        "repair": "from-scratch",
        "output": { "schema": { "type": "object", "required": ["n"] } },
        "check": [{ "name": "above two", "command": ["grep", "-q", "[3-9]"] }],
        "consistency": { "rivals": 1 },
    });
    for (key, value) in more.as_object().unwrap() {
        raw[key] = value.clone();
    }
    world.task(raw)
}

/// What a run with these answers comes to, and what its last consistency check said.
async fn played(script: Value, more: Value) -> (Stopped, Vec<CheckOutcome>) {
    let world = World::new(script);
    let (run, stopped) = world.engine().run_task(task(&world, &more)).await.unwrap();
    let checked = world.events(&run).await.into_iter().filter_map(|event| match event {
        Event::Checked { result, .. } if result.name == "consistency" => Some(result.outcome),
        _ => None,
    });
    (stopped, checked.collect())
}

#[tokio::test]
async fn an_answer_whose_rival_fails_a_check_is_committed() {
    let script = json!({ "main": [{ "say": "{\"n\": 3}" }], "judge-1-3-1": [{ "say": "{\"n\": 1}" }] });
    let (stopped, checked) = played(script, json!({})).await;
    assert!(matches!(stopped, Stopped::Ended(Ending::Committed { .. })), "{stopped:?}");
    assert_eq!(checked, [CheckOutcome::Passed]);
}

#[tokio::test]
async fn a_rival_of_the_wrong_form_and_one_that_says_the_same_are_none() {
    for rival in ["[3]", "{ \"n\" : 3 }", "three"] {
        let script = json!({ "main": [{ "say": "{\"n\": 3}" }], "judge-1-3-1": [{ "say": rival }] });
        let (stopped, _) = played(script, json!({})).await;
        assert!(matches!(stopped, Stopped::Ended(Ending::Committed { .. })), "{rival}: {stopped:?}");
    }
}

#[tokio::test]
async fn where_both_hold_the_run_fails_and_says_what_the_other_answer_is() {
    let script = json!({ "main": [{ "say": "{\"n\": 3}" }], "judge-1-3-1": [{ "say": "{\"n\": 4}" }] });
    let (stopped, checked) = played(script, json!({})).await;
    let Stopped::Ended(Ending::Failed { why, .. }) = stopped else { panic!("{stopped:?}") };
    assert_eq!(why, FailReason::Undecided);
    let [CheckOutcome::Failed(failures)] = &checked[..] else { panic!("{checked:?}") };
    assert!(failures[0].message.ends_with("as well: {\"n\": 4}"), "{failures:?}");
}

#[tokio::test]
async fn a_person_is_asked_which_of_two_it_is_where_the_task_says_so() {
    let script = json!({ "main": [{ "say": "{\"n\": 3}" }], "judge-1-3-1": [{ "say": "{\"n\": 4}" }] });
    let (stopped, _) = played(script, json!({ "escalate": ["person"] })).await;
    assert!(matches!(stopped, Stopped::Waiting(_)), "{stopped:?}");
}

#[test]
fn rivals_are_refused_where_nothing_could_tell_them_apart() {
    let refused = |raw: Value, words: &str| {
        let error = bowline::core::task::parse(&raw).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    let check = json!([{ "name": "c", "command": ["true"] }]);
    let of = |consistency: Value| json!({ "goal": "x", "model": "m:x", "consistency": consistency });
    refused(of(json!({ "rivals": 1 })), "nothing tells them apart");
    let mut raw = of(json!({ "rivals": 1 }));
    raw["check"] = check.clone();
    raw["tools"] = json!(["read_file"]);
    refused(raw, "is not in the answer");
    for others in [json!({ "rivals": 1, "samples": 3 }), json!({ "rivals": 1, "agree": 2 })] {
        let mut raw = of(others);
        raw["check"] = check.clone();
        refused(raw, "keep one of them");
    }
    let mut raw = of(json!({ "rivals": 8 }));
    raw["check"] = check;
    assert!(bowline::core::task::parse(&raw).is_err());
}
