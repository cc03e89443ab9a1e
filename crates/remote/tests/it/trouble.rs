//! Servers that fail, lie, stall or never stop.

use std::time::Duration;

use bowline_core::event::StepTrouble;
use bowline_core::message::Stop;
use bowline_models::{Answer, Model as _, ModelError};
use bowline_remote::double::{Play, Then};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{Heard, hello, model};

async fn ask(table: Value, play: Play) -> (Result<Answer, ModelError>, Vec<String>) {
    let server = crate::server(vec![play]);
    let heard = Heard::default();
    let answer = model(&table, &server).call(hello(), &heard).await;
    assert_eq!(server.seen().len(), 1, "nothing is retried here");
    (answer, heard.pieces())
}

fn streaming() -> Value {
    json!({"format": "openai", "name": "gpt-5"})
}

fn whole() -> Value {
    json!({"format": "openai", "name": "gpt-5", "stream": false})
}

async fn trouble(table: Value, play: Play) -> ModelError {
    ask(table, play).await.0.expect_err("trouble")
}

const HALF: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n";
const END: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_early_is_no_answer_and_is_paid() {
    for then in [Then::End, Then::Cut] {
        let error = trouble(streaming(), Play::stream(HALF.as_bytes(), 9).then(then)).await;
        assert_eq!(error.kind, StepTrouble::TimedOut, "{error}");
    }
    let error = trouble(streaming(), Play::stream(b"", 1).then(Then::Nothing)).await;
    assert_eq!(error.kind, StepTrouble::TimedOut, "{error}");
}

#[tokio::test(start_paused = true)]
async fn what_was_finished_counts_though_the_rest_is_lost() {
    let stream = format!("{HALF}{END}");
    for then in [Then::Cut, Then::Silence, Then::End] {
        let (answer, heard) = ask(streaming(), Play::stream(stream.as_bytes(), 9).then(then)).await;
        let answer = answer.unwrap();
        assert_eq!((answer.stop, answer.text.as_str()), (Stop::End, "Hel"));
        assert_eq!(heard.concat(), "Hel");
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_piece_is_shown_when_it_comes_not_when_all_is_there() {
    let mut play = Play::stream(HALF.as_bytes(), 1 << 20);
    play.pieces.push((Duration::from_secs(30), END.as_bytes().to_vec()));
    let server = crate::server(vec![play]);
    let (remote, heard) = (model(&streaming(), &server), Heard::default());
    let early = tokio::time::timeout(Duration::from_secs(1), remote.call(hello(), &heard)).await;
    assert!(early.is_err());
    assert_eq!(heard.pieces(), ["Hel"]);
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_not_waited_for_for_ever() {
    let begun = Instant::now();
    let error = trouble(streaming(), Play::stream(HALF.as_bytes(), 99).then(Then::Silence)).await;
    assert_eq!(error.kind, StepTrouble::TimedOut);
    assert_eq!(begun.elapsed().as_secs(), 60, "the next byte");
    let server = crate::server(vec![]);
    let begun = Instant::now();
    let drip = Then::Forever(Duration::from_secs(50), HALF.as_bytes().to_vec());
    let slow = model(&streaming(), &crate::server(vec![Play::stream(b"", 1).then(drip)]));
    let dropped = tokio::time::timeout(Duration::from_secs(300), slow.call(hello(), &Heard::default())).await;
    assert!(dropped.is_err() && begun.elapsed().as_secs() == 300, "a drip is ended by whoever waits");
    drop(server);
}

#[tokio::test(start_paused = true)]
async fn answers_without_end_are_cut_off_or_refused_and_never_held() {
    let forever = |piece: &[u8]| Then::Forever(Duration::ZERO, piece.to_vec());
    let (answer, _) = ask(streaming(), Play::stream(b"", 1).then(forever(HALF.as_bytes()))).await;
    assert_eq!(answer.unwrap().stop, Stop::Truncated, "a text without end is cut and marked");
    let line = trouble(streaming(), Play::stream(b"data: ", 9).then(forever(&[b'x'; 4096]))).await;
    assert!(line.message.contains("a line of more than"), "{line}");
    let body = trouble(whole(), Play::json(200, "{\"a\":\"").then(forever(&[b'x'; 65536]))).await;
    assert!(body.message.contains("a body of more than 16777216 bytes"), "{body}");
    let pings = trouble(streaming(), Play::stream(b"", 1).then(forever(&b":ping\n\n".repeat(1000)))).await;
    assert!(pings.message.contains("a body of more than"), "{pings}");
}

#[tokio::test(start_paused = true)]
async fn garbage_is_unreadable_whole_and_streamed() {
    let html = "<html><body>502 Bad Gateway</body></html>";
    for (table, play) in [
        (whole(), Play::json(200, "")),
        (whole(), Play::json(200, html)),
        (whole(), Play::json(200, "{\"choices\": [] } {}")),
        (whole(), Play::json(200, "{\"choices\": [{\"message\": {\"content\": \"x\"")),
        (streaming(), Play::json(200, html).header("content-type", "text/html")),
        (streaming(), Play::stream(html.as_bytes(), 5)),
        (streaming(), Play::stream(b"data: {\"choices\": [\n\n", 5)),
        (streaming(), Play::stream(b"\xff\xfe\n", 5)),
    ] {
        let error = trouble(table, play.clone()).await;
        assert_eq!(error.kind, StepTrouble::TimedOut, "{play:?}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_in_the_middle_wins_over_what_was_said_before() {
    let stream = format!(
        "{HALF}data: {{\"error\":{{\"message\":\"overloaded\",\"type\":\"server_error\"}}}}\n\n{END}"
    );
    let error = trouble(streaming(), Play::stream(stream.as_bytes(), 11)).await;
    assert!(error.message.contains("could not finish its answer: overloaded"), "{error}");
    let quota = r#"{"error":{"message":"gone","code":"insufficient_quota"}}"#;
    assert_eq!(trouble(whole(), Play::json(200, quota)).await.kind, StepTrouble::Permanent);
}

#[tokio::test(start_paused = true)]
async fn a_redirect_is_not_followed_and_the_key_stays() {
    for status in [301, 302, 307, 308] {
        let play = Play::json(status, "").header("location", "https://evil.example/v1");
        let server = crate::server(vec![play]);
        let error = model(&streaming(), &server).call(hello(), &Heard::default()).await.unwrap_err();
        assert_eq!(error.kind, StepTrouble::Transient);
        assert!(error.message.contains("redirects"), "{error}");
        assert_eq!(server.seen().len(), 1, "nobody else was asked");
    }
}

#[tokio::test(start_paused = true)]
async fn how_long_to_wait_is_handed_on_and_the_key_is_never_quoted() {
    let body = json!({"error": {"message": format!("slow down, {}", crate::KEY)}}).to_string();
    let error = trouble(streaming(), Play::json(429, &body).header("retry-after", "31536000")).await;
    assert_eq!((error.kind, error.retry_after_ms), (StepTrouble::RateLimited, Some(31_536_000_000)));
    assert!(
        error.message.contains("[secret OPENAI_API_KEY]") && !error.message.contains(crate::KEY),
        "{error}"
    );
    let key = trouble(streaming(), Play::json(401, "")).await;
    assert!(key.message.contains("set OPENAI_API_KEY to a valid key"), "{key}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_stream_though_asked_is_read_whole() {
    let play = Play::json(200, r#"{"choices":[{"message":{"content":"Hello"},"finish_reason":"stop"}]}"#);
    let (answer, heard) = ask(streaming(), play).await;
    assert_eq!((answer.unwrap().text.as_str(), heard.concat().as_str()), ("Hello", "Hello"));
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_cannot_fit_is_not_sent() {
    let server = crate::server(Vec::new());
    let table = json!({"format": "ollama", "name": "m", "context_tokens": 128});
    let mut long = hello();
    long.messages = [bowline_models::Said::User("word ".repeat(1000))].into_iter().collect();
    let error = model(&table, &server).call(long, &Heard::default()).await.unwrap_err();
    assert_eq!(error.kind, StepTrouble::Permanent);
    assert!(error.message.contains("does not fit into m") && server.seen().is_empty(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn arguments_are_handed_on_as_they_were_written_in_every_format() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    for args in [r#"{"n": 9007199254740993}"#, r#"{"a":"\ud800"}"#, r#"{"a":1,"a":2}"#, deep.as_str()] {
        let quoted = serde_json::to_string(args).unwrap();
        for (format, body) in [
            (
                "openai",
                format!(
                    r#"{{"choices":[{{"message":{{"tool_calls":[{{"id":"a","function":{{"name":"t","arguments":{quoted}}}}}]}},"finish_reason":"tool_calls"}}]}}"#
                ),
            ),
            (
                "openai-responses",
                format!(
                    r#"{{"status":"completed","output":[{{"type":"function_call","call_id":"a","name":"t","arguments":{quoted}}}]}}"#
                ),
            ),
            (
                "anthropic",
                format!(
                    r#"{{"content":[{{"type":"tool_use","id":"a","name":"t","input":{args}}}],"stop_reason":"tool_use"}}"#
                ),
            ),
            (
                "gemini",
                format!(
                    r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"name":"t","args":{args}}}}}]}},"finishReason":"STOP"}}]}}"#
                ),
            ),
            (
                "ollama",
                format!(
                    r#"{{"message":{{"tool_calls":[{{"function":{{"name":"t","arguments":{args}}}}}]}},"done":true}}"#
                ),
            ),
        ] {
            let table = json!({"format": format, "name": "m", "free": true, "stream": false});
            let (answer, _) = ask(table, Play::json(200, &body)).await;
            let answer = answer.unwrap_or_else(|error| panic!("{format}: {error}"));
            assert_eq!(answer.calls[0].args, args, "{format}");
        }
    }
}
