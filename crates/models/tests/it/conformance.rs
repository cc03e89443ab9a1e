//! The conformance suite of models, run on the scripted double.

use std::sync::Arc;

use bowline_models::conformance::{Subject, check};
use serde_json::json;

use crate::{main_script, reply, request, user};

#[tokio::test(start_paused = true)]
async fn the_scripted_double_keeps_every_promise_of_a_model() {
    let model = main_script(json!([
        {"say": "two calls", "stream": 3, "calls": [{"tool": "a"}, {"tool": "b"}]},
        {"say": "cut of", "stop": "truncated", "calls": [{"tool": "a", "raw_args": "{\"pa"}]},
        {"say": "never", "stall": "forever"},
        {"say": "{\"total\": 1}", "stream": 2},
        {"say": "later", "fails": [{"rate_limited": 20}]},
        {"say": "not at all", "fails": ["permanent"]},
    ]));
    let after = |many: usize| {
        let replies = (0..many).map(|number| reply(&number.to_string()));
        request([user("go")].into_iter().chain(replies).collect())
    };
    let subject = Subject {
        model: Arc::new(model),
        with_calls: request(vec![user("go")]),
        truncated: request(vec![user("go"), reply("1")]),
        slow: request(vec![user("go"), reply("1"), reply("2")]),
        structured: Some(after(3)),
        limited: Some(after(4)),
        refused: Some(after(5)),
    };
    assert_eq!(check(&subject).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_model_whose_cut_reply_does_not_say_so_is_found_out() {
    let model = main_script(json!([
        {"say": "two calls", "calls": [{"tool": "a"}, {"tool": "b"}]},
        {"say": "whole"},
    ]));
    let subject = Subject {
        model: Arc::new(model),
        with_calls: request(vec![user("go")]),
        truncated: request(vec![user("go"), reply("1")]),
        slow: request(vec![user("go")]),
        structured: None,
        limited: None,
        refused: None,
    };
    let broken = check(&subject).await.unwrap_err();
    assert_eq!(broken, "broken promise: a reply that hit the limit says truncated");
}
