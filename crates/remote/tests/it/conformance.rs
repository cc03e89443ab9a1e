//! The conformance suite of models, run on every format, streamed and whole.

use std::sync::Arc;

use bowline_models::conformance::{Subject, check};
use bowline_remote::double::{Play, Then};
use serde_json::json;

use crate::cassettes::{Way, cassette, play, table};
use crate::{model, request};

#[tokio::test(start_paused = true)]
async fn every_format_keeps_every_promise_of_a_model() {
    for format in ["openai", "openai-responses", "anthropic", "gemini", "ollama"] {
        for way in [Way::Whole, Way::Stream(5)] {
            let [calls, truncated, structured] =
                ["calls", "truncated", "structured"].map(|name| cassette(format, name));
            let mut slow = play(&calls, way);
            slow.pieces.clear();
            let limited = Play::json(429, r#"{"error":{"message":"slow down"}}"#).header("retry-after", "7");
            let refused = Play::json(401, r#"{"error":{"message":"who are you?"}}"#);
            // In the order in which the suite asks.
            let plays = vec![
                play(&calls, way),
                play(&truncated, way),
                slow.then(Then::Silence),
                play(&calls, way),
                play(&structured, way),
                limited,
                refused,
            ];
            let server = crate::server(plays);
            let mut described = table(&calls, way);
            described["price"] = json!({"input": 3, "output": 15, "cached": 0.3, "reasoning": 20});
            let subject = Subject {
                model: Arc::new(model(&described, &server)),
                with_calls: request(&calls["request"]),
                truncated: request(&truncated["request"]),
                slow: request(&calls["request"]),
                structured: Some(request(&structured["request"])),
                limited: Some(request(&calls["request"])),
                refused: Some(request(&calls["request"])),
            };
            assert_eq!(check(&subject).await, Ok(()), "{format} {way:?}");
            assert_eq!(server.seen().len(), 7, "{format} {way:?}");
        }
    }
}
