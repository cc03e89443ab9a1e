//! What a scripted reply can do: stall, fail, truncate, stream.

use std::sync::Mutex;
use std::time::Duration;

use bowline_core::budget::Price;
use bowline_core::control::Ppm;
use bowline_core::event::{Purpose, StepTrouble};
use bowline_core::id::SubtaskId;
use bowline_core::message::Stop;
use bowline_models::scripted::{Script, Scripted};
use bowline_models::{Model as _, Request, Watcher};
use serde_json::json;

use crate::{ask, main_script, reply, request, script, user};

#[tokio::test]
async fn the_reply_follows_the_number_of_replies_in_the_conversation_and_nothing_else() {
    let model = main_script(json!([{"say": "first"}, {"say": "second"}]));
    for _ in 0..2 {
        assert_eq!(ask(&model, request(vec![user("go"), reply("x")])).await.unwrap().text, "second");
        assert_eq!(ask(&model, request(vec![user("go")])).await.unwrap().text, "first");
    }
}

#[tokio::test]
async fn a_critique_is_found_by_its_round() {
    let model = script(json!({"script": 1, "conversations": {"critique": [{"say": "one"}, {"say": "two"}]}}));
    let mut asked = request(vec![user("what is wrong?")]);
    asked.purpose = Purpose::Critique(2);
    assert_eq!(ask(&model, asked.clone()).await.unwrap().text, "two");
    asked.purpose = Purpose::Critique(0);
    assert!(ask(&model, asked.clone()).await.unwrap_err().message.contains("count from 1"));
    asked.purpose = Purpose::Act(SubtaskId::parse("critique").unwrap());
    assert!(ask(&model, asked).await.unwrap_err().message.contains("cannot be scripted"));
}

#[tokio::test]
async fn calls_get_stable_ids_and_arguments_as_they_are_written() {
    let model = main_script(json!([
        {"say": "hm"},
        {"calls": [{"tool": "read_file", "args": {"path": "a"}}, {"tool": "x", "raw_args": "not json"}, {"tool": "y", "id": "mine"}]},
    ]));
    let answer = ask(&model, request(vec![reply("hm")])).await.unwrap();
    let calls: Vec<_> = answer.calls.iter().map(|call| (&*call.id, &*call.tool, &*call.args)).collect();
    assert_eq!(
        calls,
        [("call-1-0", "read_file", "{\"path\":\"a\"}"), ("call-1-1", "x", "not json"), ("mine", "y", "{}")]
    );
    assert_eq!(answer.stop, Stop::ToolUse);
}

#[tokio::test]
async fn a_truncated_reply_may_carry_calls() {
    let model = main_script(json!([{"stop": "truncated", "calls": [{"tool": "x", "raw_args": "{\"a\": "}]}]));
    let answer = ask(&model, request(vec![])).await.unwrap();
    assert_eq!((answer.stop, answer.calls.len()), (Stop::Truncated, 1));
}

#[tokio::test]
async fn attempts_fail_as_listed_and_the_next_one_answers() {
    let fails = json!(["transient", {"rate_limited": 1200}, "timed_out", "permanent"]);
    let model = main_script(json!([{"say": "at last", "fails": fails}]));
    let mut seen = Vec::new();
    for attempt in 1..=4 {
        let mut asked = request(vec![user("go")]);
        asked.attempt = attempt;
        let error = ask(&model, asked).await.unwrap_err();
        seen.push((error.kind, error.retry_after_ms));
    }
    assert_eq!(
        seen,
        [
            (StepTrouble::Transient, None),
            (StepTrouble::RateLimited, Some(1200)),
            (StepTrouble::TimedOut, None),
            (StepTrouble::Permanent, None)
        ]
    );
    let mut asked = request(vec![user("go")]);
    asked.attempt = 5;
    assert_eq!(ask(&model, asked).await.unwrap().text, "at last");
}

#[tokio::test(start_paused = true)]
async fn a_stalling_reply_waits_as_long_as_it_says() {
    let model = main_script(json!([{"say": "late", "stall_ms": 500}]));
    let before = tokio::time::Instant::now();
    ask(&model, request(vec![])).await.unwrap();
    assert_eq!(before.elapsed(), Duration::from_millis(500));
}

#[tokio::test]
async fn the_text_is_streamed_in_pieces_that_never_cut_a_character() {
    struct Pieces(Mutex<Vec<String>>);
    impl Watcher for Pieces {
        fn text(&self, piece: &str) {
            self.0.lock().unwrap().push(piece.to_owned());
        }
    }
    let model = main_script(json!([{"say": "äöüßéèñ", "stream": 3}]));
    let pieces = Pieces(Mutex::default());
    model.call(request(vec![]), &pieces).await.unwrap();
    assert_eq!(*pieces.0.lock().unwrap(), ["äöü", "ßéè", "ñ"]);
}

#[tokio::test]
async fn usage_is_the_replys_own_or_the_scripts_or_counted() {
    let model = script(json!({
        "script": 1, "usage": {"input": 100, "output": 20}, "price": {"input": 3, "output": 15},
        "conversations": {"main": [{"say": "a"}, {"say": "b", "usage": {"input": 7, "cached": 5, "output": 1}}]},
    }));
    let first = ask(&model, request(vec![user("go")])).await.unwrap();
    assert_eq!((first.usage.input, first.usage.output, first.micros), (100, 20, 600));
    let second = ask(&model, request(vec![reply("a")])).await.unwrap();
    assert_eq!((second.usage.input, second.usage.cached, second.micros), (7, 5, 36));
    assert_eq!(model.price().unwrap().at_most(100, 20), 600);
    let counted = ask(&main_script(json!([{"say": "12345678"}])), request(vec![user("1234")])).await.unwrap();
    assert_eq!((counted.usage.input, counted.usage.output, counted.micros), (1, 2, 0));
}

#[tokio::test]
async fn every_kind_of_token_has_its_price() {
    let priced = |price: serde_json::Value| {
        script(json!({
            "script": 1, "price": price, "usage": {"input": 10, "cached": 4, "output": 6, "reasoning": 5},
            "conversations": {"main": [{"say": "a"}]},
        }))
    };
    for (price, micros) in [
        (json!({"input": 3, "output": 15}), 30 + 90),
        (json!({"input": 3, "output": 15, "cached": 1, "reasoning": 20}), 18 + 4 + 15 + 100),
        (json!({"input": 3, "output": 15, "cached": 0}), 18 + 90),
    ] {
        assert_eq!(ask(&priced(price), request(vec![user("go")])).await.unwrap().micros, micros);
    }
}

#[test]
fn a_script_is_free_unless_it_says_otherwise_and_says_what_it_costs() {
    let price = |more: serde_json::Value| {
        let mut value = json!({"script": 1, "conversations": {}});
        value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Script::from_value(value).map(|script| Scripted::new(script).price())
    };
    assert_eq!(price(json!({})).unwrap(), Some(Price::FREE));
    assert_eq!(price(json!({"free": true})).unwrap(), Some(Price::FREE));
    assert_eq!(price(json!({"price": {"input": 0}})).unwrap(), Some(Price::FREE));
    assert_eq!(price(json!({"free": false})).unwrap(), None);
    assert!(price(json!({"free": true, "price": {"input": 1}})).is_err());
    assert!(price(json!({"price": {"input": -1}})).is_err());
    assert!(price(json!({"price": {"input": 1.5}})).is_err());
    assert!(price(json!({"price": {"input": u64::MAX}})).is_err());
}

#[tokio::test]
async fn a_likelihood_is_told_to_whoever_asks_for_it() {
    let model = main_script(json!([{"say": "a", "likelihood": 0.93}]));
    let asked = Request { likelihood: true, ..request(vec![user("go")]) };
    assert_eq!(ask(&model, asked).await.unwrap().likelihood, Some(Ppm(930_000)));
    assert_eq!(ask(&model, request(vec![user("go")])).await.unwrap().likelihood, None);
    let silent = main_script(json!([{"say": "a"}]));
    let asked = Request { likelihood: true, ..request(vec![user("go")]) };
    assert_eq!(ask(&silent, asked).await.unwrap().likelihood, None);
}

#[test]
fn a_likelihood_that_is_no_probability_is_no_script() {
    for odd in [json!(1.01), json!(-0.1), json!("0.9"), json!(true), json!(null)] {
        let replies = json!({"script": 1, "conversations": {"main": [{"say": "a", "likelihood": odd}]}});
        let bad = Script::from_value(replies).unwrap_err().to_string();
        assert!(bad.contains("main[0].likelihood: must be from 0 to 1"), "{bad}");
    }
}
