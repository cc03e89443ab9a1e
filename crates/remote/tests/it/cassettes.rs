//! Every cassette, streamed and whole: what is sent, byte for byte as JSON, and what the
//! answer is read as. The cassettes are constructed from documented formats, and say so.

use std::path::{Path, PathBuf};

use bowline_core::message::{Stop, Usage};
use bowline_models::{Answer, Model as _};
use bowline_remote::double::{Play, Seen};
use serde_json::{Value, json};

use crate::{Heard, model, request};

/// A cassette and the answer in it, as it is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    Whole,
    /// In pieces of so many bytes.
    Stream(usize),
}

pub(crate) fn cassette(format: &str, name: &str) -> Value {
    let path = folder().join(format).join(format!("{name}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cassettes")
}

/// The model of a cassette, asked that way.
pub(crate) fn table(cassette: &Value, way: Way) -> Value {
    let mut table = cassette["model"].clone();
    table["stream"] = json!(matches!(way, Way::Stream(_)));
    table
}

/// What the server of a cassette does.
pub(crate) fn play(cassette: &Value, way: Way) -> Play {
    match way {
        Way::Whole => Play::json(200, &cassette["whole"].to_string()),
        Way::Stream(size) => {
            let kind = cassette["stream_type"].as_str().unwrap_or("text/event-stream");
            Play::stream(cassette["stream"].as_str().unwrap().as_bytes(), size).header("content-type", kind)
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_sent_and_what_is_read_is_what_every_cassette_says() {
    let mut played = 0;
    for format in ["openai", "openai-responses", "anthropic", "gemini", "ollama"] {
        let mut names: Vec<String> = std::fs::read_dir(folder().join(format))
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        names.sort();
        for required in ["calls", "structured", "truncated"] {
            assert!(names.iter().any(|name| name == required), "{format} has no cassette {required}");
        }
        for name in names {
            let cassette = cassette(format, &name);
            assert_eq!(cassette["label"], "constructed", "{format}/{name}");
            for way in [Way::Whole, Way::Stream(1), Way::Stream(7), Way::Stream(1 << 20)] {
                check(&format!("{format}/{name} {way:?}"), &cassette, way).await;
                played += 1;
            }
        }
    }
    assert!(played >= 80, "{played}");
}

async fn check(name: &str, cassette: &Value, way: Way) {
    let server = crate::server(vec![play(cassette, way)]);
    let heard = Heard::default();
    let answer = model(&table(cassette, way), &server).call(request(&cassette["request"]), &heard).await;
    let answer = answer.unwrap_or_else(|error| panic!("{name}: {error}"));
    sent(name, cassette, way, &server.seen());
    read(name, &cassette["answer"], &answer);
    assert_eq!(heard.pieces().concat(), answer.text, "{name}: the pieces are the text");
}

fn sent(name: &str, cassette: &Value, way: Way, seen: &[Seen]) {
    let outbound = &cassette["outbound"];
    assert_eq!(seen.len(), 1, "{name}: one request, no retries");
    let (adds, path) = match way {
        Way::Whole => (outbound.get("whole_adds"), &outbound["path"]),
        Way::Stream(_) => {
            (outbound.get("stream_adds"), outbound.get("stream_path").unwrap_or(&outbound["path"]))
        }
    };
    let mut want = outbound["body"].clone();
    for (key, value) in adds.and_then(Value::as_object).into_iter().flatten() {
        want[key] = value.clone();
    }
    let body: Value = serde_json::from_str(&seen[0].body).unwrap();
    assert_eq!(body, want, "{name}: the body");
    let first = format!("POST {} HTTP/1.1", path.as_str().unwrap());
    assert_eq!(seen[0].head.lines().next().unwrap(), first, "{name}");
    let lines: Vec<String> = seen[0].head.lines().map(str::to_lowercase).collect();
    for header in outbound["headers"].as_array().unwrap() {
        let header = header.as_str().unwrap().to_lowercase();
        assert!(lines.contains(&header), "{name}: no {header} in {lines:?}");
    }
    let keys = lines.iter().filter(|line| line.contains(crate::KEY)).count();
    assert!(keys <= 1 && !seen[0].body.contains(crate::KEY), "{name}: the key goes into one header");
}

fn read(name: &str, want: &Value, answer: &Answer) {
    let stop = match answer.stop {
        Stop::End => "end",
        Stop::ToolUse => "tool_use",
        Stop::Truncated => "truncated",
        Stop::Refused => "refused",
        Stop::Filtered => "filtered",
    };
    assert_eq!(stop, want["stop"].as_str().unwrap(), "{name}");
    match want.get("json") {
        Some(json) => assert_eq!(&serde_json::from_str::<Value>(&answer.text).unwrap(), json, "{name}"),
        None => assert_eq!(answer.text, want["text"].as_str().unwrap(), "{name}"),
    }
    let calls: Vec<Value> = answer
        .calls
        .iter()
        .map(|call| json!({"tool": call.tool, "args": serde_json::from_str::<Value>(&call.args).unwrap()}))
        .collect();
    assert_eq!(Value::Array(calls), want["calls"], "{name}");
    assert_eq!(answer.likelihood.map(|told| told.0), want["likelihood"].as_i64(), "{name}");
    if let Some(ids) = want.get("ids") {
        let got: Vec<&str> = answer.calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(&json!(got), ids, "{name}");
    }
    match want.get("usage") {
        Some(usage) => {
            assert_eq!(answer.claim, None, "{name}: an honest count is booked as it is told");
            let count = |key: &str| usage[key].as_u64().unwrap();
            let want = Usage {
                input: count("input"),
                output: count("output"),
                cached: count("cached"),
                reasoning: count("reasoning"),
            };
            assert_eq!(answer.usage, want, "{name}");
        }
        None => assert!(answer.usage.input > 0 && answer.usage.output > 0, "{name}: usage is estimated"),
    }
}
