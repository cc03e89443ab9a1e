//! Servers that count wrongly, in every format: what is booked, and what is noted.

use bowline_core::message::{Claim, Usage};
use bowline_models::{Answer, Model as _};
use bowline_remote::double::Play;
use serde_json::{Value, json};

use crate::{Heard, model, request};

/// 4000 bytes of words; 250 tokens at the least.
fn long() -> String {
    "some words of it".repeat(250)
}

/// An answer of this text, with these counts in the format's own words.
fn reply(format: &str, usage: &Value) -> Value {
    let (text, count) = (long(), |key: &str| usage[key].clone());
    match format {
        "openai" => json!({
            "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": count("input"), "completion_tokens": count("output"),
                "prompt_tokens_details": {"cached_tokens": count("cached")}},
        }),
        "openai-responses" => json!({
            "status": "completed",
            "output": [{"type": "message", "content": [{"type": "output_text", "text": text}]}],
            "usage": {"input_tokens": count("input"), "output_tokens": count("output"),
                "input_tokens_details": {"cached_tokens": count("cached")}},
        }),
        "anthropic" => json!({
            "content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
            "usage": {"input_tokens": count("input"), "output_tokens": count("output")},
        }),
        "gemini" => json!({
            "candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": count("input"), "candidatesTokenCount": count("output"),
                "cachedContentTokenCount": count("cached")},
        }),
        "ollama" => json!({
            "message": {"content": text}, "done": true, "done_reason": "stop",
            "prompt_eval_count": count("input"), "eval_count": count("output"),
        }),
        other => panic!("{other}"),
    }
}

async fn ask(format: &str, usage: &Value) -> Answer {
    let server = crate::server(vec![Play::json(200, &reply(format, usage).to_string())]);
    let table = json!({"format": format, "name": "m", "stream": false, "base_url": "http://10.0.0.7/v1",
        "key_env": "K", "price": {"input": 1, "output": 2, "cached": 0.1}});
    let asked = request(&json!({"messages": [{"user": long()}]}));
    model(&table, &server).call(asked, &Heard::default()).await.unwrap()
}

const FORMATS: [&str; 5] = ["openai", "openai-responses", "anthropic", "gemini", "ollama"];

#[tokio::test(start_paused = true)]
async fn no_format_lets_a_server_count_nothing() {
    for format in FORMATS {
        for nothing in
            [json!(0), json!(-5), json!("700"), json!(null), json!(0.0), json!([]), json!({"a": 1})]
        {
            let answer = ask(format, &json!({"input": nothing, "output": nothing, "cached": 0})).await;
            let Usage { input, output, .. } = answer.usage;
            assert!(input >= 1333 && output >= 1333, "{format} {nothing}: {input}, {output}");
            assert!(answer.micros >= input + 2 * output, "{format} {nothing}");
            assert!(answer.claim.is_some(), "{format} {nothing}: it is noted");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn too_little_is_booked_as_the_least_and_an_honest_count_as_it_is() {
    for format in FORMATS {
        let low = ask(format, &json!({"input": 1, "output": 1, "cached": 0})).await;
        assert_eq!((low.usage.input, low.usage.output), (250, 250), "{format}");
        let claim = low.claim.unwrap();
        assert_eq!((claim.input, claim.output), (Some(1), Some(1)), "{format}");
        let honest = ask(format, &json!({"input": 1000, "output": 1000, "cached": 0})).await;
        assert_eq!((honest.usage.input, honest.usage.output, honest.claim), (1000, 1000, None), "{format}");
        let huge = ask(format, &json!({"input": 1e18, "output": u64::MAX, "cached": 0})).await;
        assert_eq!((huge.usage.total(), huge.claim), (u64::MAX, None), "{format}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_first_request_is_not_paid_as_cached() {
    for format in ["openai", "openai-responses", "gemini"] {
        let answer = ask(format, &json!({"input": 1300, "output": 1000, "cached": 1300})).await;
        assert_eq!((answer.usage.cached, answer.micros), (0, 1300 + 2000), "{format}");
        let claim = Claim { input: Some(1300), output: Some(1000), cached: Some(1300), reasoning: None };
        assert_eq!(answer.claim, Some(claim), "{format}");
    }
}
