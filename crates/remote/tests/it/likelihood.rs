//! How likely a model finds its words: asked only where it is wanted, never trusted, never needed.

use bowline_core::control::Ppm;
use bowline_core::event::StepTrouble;
use bowline_core::message::Stop;
use bowline_models::{Answer, Model as _, Request};
use bowline_remote::double::Play;
use serde_json::{Value, json};

use crate::{Heard, model, request};

fn table(likelihood: bool) -> Value {
    json!({"format": "openai", "name": "gpt-4.1", "stream": false, "likelihood": likelihood})
}

fn asking(likelihood: bool) -> Request {
    request(&json!({"messages": [{"user": "Total?"}], "tools": [], "likelihood": likelihood}))
}

fn answered(logprobs: &str) -> Play {
    let message = r#"{"role":"assistant","content":"It is 12."}"#;
    let choice = format!(r#"{{"index":0,"message":{message},"logprobs":{logprobs},"finish_reason":"stop"}}"#);
    Play::json(200, &format!(r#"{{"choices":[{choice}]}}"#))
}

async fn told(table: &Value, request: Request, logprobs: &str) -> (Answer, String) {
    let server = crate::server(vec![answered(logprobs)]);
    let answer = model(table, &server).call(request, &Heard::default()).await.unwrap();
    (answer, server.seen()[0].body.clone())
}

#[tokio::test(start_paused = true)]
async fn it_is_asked_for_where_table_and_request_both_want_it() {
    let tokens = r#"{"content":[{"token":"It","logprob":-0.6931471805599453}]}"#;
    for (by_table, by_request) in [(true, true), (true, false), (false, true), (false, false)] {
        let (answer, sent) = told(&table(by_table), asking(by_request), tokens).await;
        let is_wanted = by_table && by_request;
        assert_eq!(sent.contains("logprobs"), is_wanted, "{sent}");
        assert_eq!(answer.likelihood, is_wanted.then_some(Ppm(500_000)));
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_server_makes_up_costs_the_likelihood_and_not_the_answer() {
    for odd in [
        "null",
        "7",
        r#""high""#,
        "{}",
        r#"{"content":null}"#,
        r#"{"content":"yes"}"#,
        r#"{"content":[{"logprob":5}]}"#,
        r#"{"content":[{"logprob":"-0.1"}]}"#,
        r#"{"content":[{"logprob":-0.1},{"logprob":1e999}]}"#,
        r#"{"content":[[[[[]]]]]}"#,
    ] {
        let (answer, _) = told(&table(true), asking(true), odd).await;
        assert_eq!((answer.stop, answer.text.as_str()), (Stop::End, "It is 12."), "{odd}");
        assert_eq!(answer.likelihood, None, "{odd}");
    }
    let many = format!(r#"{{"content":[{}]}}"#, vec![r#"{"logprob":-9999}"#; 200_000].join(","));
    assert_eq!(told(&table(true), asking(true), &many).await.0.likelihood, Some(Ppm(1)));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_to_tell_is_asked_again_without() {
    for (status, said) in [
        (400, "Unsupported parameter: 'logprobs' is not supported with this model."),
        (403, "You are not allowed to request logprobs from this model"),
        (422, "extra fields not permitted: logprobs"),
    ] {
        let body = json!({"error": {"message": said, "type": "invalid_request_error"}}).to_string();
        let server = crate::server(vec![Play::json(status, &body), answered("null"), answered("null")]);
        let remote = model(&table(true), &server);
        let error = remote.call(asking(true), &Heard::default()).await.unwrap_err();
        assert_eq!(error.kind, StepTrouble::Transient, "the core tries again: {error}");
        for _ in 0..2 {
            let answer = remote.call(asking(true), &Heard::default()).await.unwrap();
            assert_eq!((answer.text.as_str(), answer.likelihood), ("It is 12.", None));
        }
        let asked: Vec<bool> = server.seen().iter().map(|seen| seen.body.contains("logprobs")).collect();
        assert_eq!(asked, [true, false, false]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_is_about_something_else_stays_one() {
    for (likelihood, said) in [(true, "messages: too odd"), (false, "logprobs are not supported")] {
        let body = json!({"error": {"message": said, "type": "invalid_request_error"}}).to_string();
        let server = crate::server(vec![Play::json(400, &body)]);
        let error =
            model(&table(likelihood), &server).call(asking(true), &Heard::default()).await.unwrap_err();
        assert_eq!(error.kind, StepTrouble::Permanent, "{error}");
    }
}
