//! The player and every fact, with lines written here: those that hold, and those that
//! must be judged as failed.

use serde_json::{Value, json};

use super::*;

/// The lines that are kept here, of the same classes as those that are given.
#[test]
fn every_reply_of_our_own_set_goes_as_it_should() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/hostile").join(DATA);
    let score = run_data(&file, Options::default()).unwrap();
    assert_eq!(score.failed, Vec::new());
    assert!(score.passed >= 40, "{}", score.passed);
}

fn answer(message: &Value, reason: &str) -> Value {
    let body = json!({
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10},
    });
    json!({"status": 200, "headers": [["content-type", "application/json"]], "framing": "content-length",
        "body": [{"text": body.to_string()}]})
}

fn done() -> Value {
    answer(&json!({"content": "done"}), "stop")
}

fn call(tool: &str, args: &str) -> Value {
    let call = json!({"id": "c", "type": "function", "function": {"name": tool, "arguments": args}});
    answer(&json!({"content": null, "tool_calls": [call]}), "tool_calls")
}

/// A line with one call, then an answer; with these keys laid over it.
fn line(over: &Value) -> Value {
    let mut line = json!({
        "form": 1, "id": "t-1", "variant": "whole", "class": "c", "input": "i", "why": "w", "expect": "handled",
        "protocol": "openai-chat", "stream": false, "exchanges": [call("note", "{\"a\": 1}"), done()],
        "repeat_last": true, "oracle": {"ending": ["committed"], "requests": 2},
    });
    for (key, value) in over.as_object().unwrap() {
        match (key.as_str(), line.get_mut(key)) {
            ("oracle", Some(known)) => {
                let (known, value) = (known.as_object_mut().unwrap(), value.as_object().unwrap());
                known.extend(value.clone());
            }
            _ => drop(line.as_object_mut().unwrap().insert(key.clone(), value.clone())),
        }
    }
    line
}

fn judged(over: &Value) -> Result<Score> {
    let line = Line::read(&line(over).to_string())?;
    let mut score = Score::default();
    check(&Arc::new(line), &mut score)?;
    Ok(score)
}

#[test]
fn a_key_that_nobody_knows_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(DATA);
    for (over, key) in [
        (json!({"extra": 1}), "extra"),
        (json!({"setup": {"more": 1}}), "more"),
        (json!({"oracle": {"fact": 1}}), "fact"),
        (json!({"oracle": {"soft": {"thing": 1}}}), "thing"),
        (json!({"exchanges": [{"status": 200, "framing": "none", "body": [], "odd": 1}]}), "odd"),
        (json!({"exchanges": [{"status": 200, "framing": "none", "body": [{"txt": "a"}]}]}), "txt"),
        (json!({"oracle": {"said_as": {"text": "a", "roles": [], "who": 1}}}), "said_as"),
    ] {
        std::fs::write(&file, format!("{}\n{}\n", line(&json!({})), line(&over))).unwrap();
        let error = format!("{:#}", lines(&file).map(drop).unwrap_err());
        let named = error.contains(&format!("`{key}`")) || key == "said_as";
        assert!(error.starts_with("line 2") && named, "{error}");
    }
}

#[test]
fn what_is_not_of_the_form_is_an_error() {
    for over in [
        json!({"form": 2}),
        json!({"expect": "fine"}),
        json!({"protocol": "telnet"}),
        json!({"stream": "maybe"}),
        json!({"exchanges": []}),
        json!({"cycle": true}),
        json!({"oracle": {"requests": null}}),
        json!({"exchanges": [{"status": 200, "head": [], "framing": "none", "body": []}]}),
        json!({"exchanges": [{"status": null, "framing": "chunked", "body": []}]}),
        json!({"exchanges": [{"status": 200, "framing": "none", "body": [{"hang": true}, {"text": "a"}]}]}),
        json!({"exchanges": [{"status": 200, "framing": "none", "body": [], "trailers": []}]}),
        json!({"exchanges": [{"status": 200, "framing": "content-length",
            "body": [{"seq": [{"text": "a"}], "repeat": "forever"}]}]}),
    ] {
        assert!(Line::read(&line(&over).to_string()).is_err(), "{over}");
    }
}

#[test]
fn every_fact_holds_where_it_should_and_fails_where_it_should() {
    for (facts, holds) in [
        (json!({}), true),
        (json!({"ending": ["limit", "looping"]}), false),
        (json!({"requests": 3}), false),
        (json!({"requests": {"min": 1, "max": 2}}), true),
        (json!({"tool_runs": 1, "refusals": 0, "failed_attempts": 0, "other_hosts": 0}), true),
        (json!({"tool_runs": {"max": 0}}), false),
        (json!({"refusals": {"min": 1}}), false),
        (json!({"failed_attempts": 1}), false),
        (json!({"spent_micros": 240}), true),
        (json!({"spent_micros": 241}), false),
        (json!({"tool_args": [{"a": 1}]}), true),
        (json!({"tool_args": [{"a": 2}]}), false),
        (json!({"tool_args_prefix_of": [{"a": 1}, {"a": 2}]}), true),
        (json!({"tool_args_prefix_of": [{"a": 2}]}), false),
        (json!({"same_twice": true, "journal_reads_back": true}), true),
        (json!({"refusal_has": ["rockets"]}), false),
        (json!({"request_has": ["noted"]}), true),
        (json!({"request_lacks": ["noted"]}), false),
        (json!({"last_request_has_once": "noted"}), true),
        (json!({"later_request_bytes_max": 100}), false),
        (json!({"said_as": {"text": "noted", "roles": ["tool"]}}), true),
        (json!({"said_as": {"text": "noted", "roles": ["user"]}}), false),
        (json!({"shown_is": "done", "shown_has": ["one"], "shown_lacks": ["two"]}), true),
        (json!({"shown_is": "did"}), false),
        (json!({"shown_has": ["did"]}), false),
        (json!({"shown_lacks": ["one"]}), false),
        (json!({"output_is": "done", "output_has": ["one"], "output_lacks": ["two"]}), true),
        (json!({"output_is": "did"}), false),
        (json!({"output_has": ["did"]}), false),
        (json!({"output_lacks": ["one"]}), false),
        (json!({"kept_has": ["done"], "kept_lacks": ["sk-"]}), true),
        (json!({"kept_has": ["sk-"]}), false),
        (json!({"kept_lacks": ["done"]}), false),
        (json!({"terminal_lacks": ["\u{1b}"], "html_lacks": ["<script>"]}), true),
        (json!({"terminal_lacks": ["tokens"]}), false),
        (json!({"text_bytes_max": 4}), true),
        (json!({"text_bytes_max": 3}), false),
        (json!({"usage_each_min": {"input": 100, "output": 10}}), true),
        (json!({"usage_each_min": {"output": 11}}), false),
        (json!({"spent_over_reserved": 240}), false),
        (json!({"time_s_max": 60, "memory_mb_max": 512}), true),
    ] {
        let judged = judged(&json!({"oracle": facts}));
        assert_eq!(judged.is_ok(), holds, "{facts}: {:?}", judged.err());
    }
}

#[test]
fn every_verdict_holds_where_it_should_and_fails_where_it_should() {
    let down = json!([{"status": 500, "framing": "content-length", "body": []}]);
    let denied = json!([{"status": 401, "framing": "content-length", "body": []}]);
    let circles = json!([call("note", "{\"a\": 1}")]);
    let unknown = json!([call("launch_rockets", "{}"), done()]);
    let facts = |ending: &str, requests: Value| json!({"ending": [ending], "requests": requests});
    for (exchanges, expect, oracle, holds) in [
        (&down, "retry_then_fail", facts("model_unavailable", json!(3)), true),
        (&down, "fail_at_once", facts("model_unavailable", json!(3)), false),
        (&down, "handled", facts("model_unavailable", json!(3)), false),
        (&down, "circuit_break", facts("model_unavailable", json!(3)), false),
        (&denied, "fail_at_once", facts("model_unavailable", json!(1)), true),
        (&circles, "circuit_break", facts("looping", json!({"max": 39})), true),
        (&circles, "retry_then_fail", facts("looping", json!({"max": 39})), false),
        (&unknown, "tool_error_to_model", facts("committed", json!(2)), true),
        (&unknown, "tool_error_to_model", json!({"refusal_has": ["launch_rockets"]}), true),
        (&json!([call("note", "{}"), done()]), "tool_error_to_model", facts("committed", json!(2)), false),
    ] {
        let judged = judged(&json!({"exchanges": exchanges, "expect": expect, "oracle": oracle}));
        assert_eq!(judged.is_ok(), holds, "{expect} {oracle}: {:?}", judged.err());
    }
}

#[test]
fn another_accepted_verdict_leaves_out_the_facts_of_the_first() {
    let down = json!([{"status": 500, "framing": "content-length", "body": []}]);
    let mut over =
        json!({"exchanges": down, "also_ok": ["retry_then_fail"], "oracle": {"output_is": "done"}});
    assert!(judged(&over).is_ok());
    over["oracle"]["tool_runs"] = json!(1);
    assert!(judged(&over).is_err(), "the others stay");
}

#[test]
fn what_follows_the_last_exchange_is_what_the_line_says() {
    let one = json!([call("note", "{\"a\": 1}")]);
    let ends = |over: Value, ending: &str, requests: u64| {
        let mut over = over;
        over["oracle"] = json!({"ending": [ending], "requests": requests});
        over["expect"] = json!(if ending == "committed" { "handled" } else { "retry_then_fail" });
        if let Err(error) = judged(&over) {
            // A run that got as far as a tool is no `retry_then_fail`; the facts are what is asked for.
            assert!(format!("{error:#}").contains("a tool ran"), "{error:#}");
        }
    };
    ends(json!({"exchanges": one, "repeat_last": false}), "model_unavailable", 4);
    ends(json!({"exchanges": [call("note", "{}"), done()], "repeat_last": false}), "committed", 2);
}

#[test]
fn setups_are_what_the_form_says() {
    let tools = json!({"tools": [{"name": "echo", "result": "echo"}]});
    let said = json!({"exchanges": [call("echo", "{\"x\": \"parrot\"}"), done()], "setup": tools,
        "oracle": {"said_as": {"text": "{\"x\":\"parrot\"}", "roles": ["tool"]}, "tool_args": [{"x": "parrot"}]}});
    judged(&said).unwrap();
    let each = json!({"tools": [{"name": "say", "result": ["first", "second"]}]});
    let twice =
        json!([call("say", "{\"n\": 1}"), call("say", "{\"n\": 2}"), call("say", "{\"n\": 3}"), done()]);
    let facts =
        json!({"requests": 4, "tool_runs": 3, "last_request_has_once": ["first"], "request_has": ["second"]});
    judged(&json!({"exchanges": twice, "setup": each, "oracle": facts})).unwrap();
    let priceless = json!({"setup": {"model": {"price": null}}, "expect": "circuit_break",
        "oracle": {"ending": ["not_accepted"], "requests": 0}});
    judged(&priceless).unwrap();
    let long = json!({"setup": {"request_bytes_min": 90_000}, "oracle": {"later_request_bytes_max": 90_000}});
    assert!(judged(&long).is_err(), "it is that long");
    let crash = json!({"setup": {"crash": {"during_request": 2}},
        "oracle": {"requests": 3, "spent_over_reserved": 240, "tool_runs": 1}});
    judged(&crash).unwrap();
    let never = json!({"setup": {"crash": {"during_request": 9}}});
    assert!(judged(&never).is_err(), "a crash that never comes is told");
}

#[test]
fn a_line_about_another_client_is_reported_and_decides_nothing() {
    let skipped = json!({"setup": {"skip_if_accepts": "gzip"}, "expect": "circuit_break"});
    assert_eq!(judged(&skipped).unwrap().figures.len(), 1);
    let played = json!({"setup": {"skip_if_accepts": "br"}, "expect": "circuit_break"});
    assert!(judged(&played).is_err());
}

#[test]
fn soft_facts_are_reported_and_decide_nothing() {
    let soft = json!({"oracle": {"soft": {"output_is": "did"}}});
    assert_eq!(judged(&soft).unwrap().figures.len(), 1);
    let holds = json!({"oracle": {"soft": {"output_is": "done"}}});
    assert_eq!(judged(&holds).unwrap().figures.len(), 0);
}

#[test]
fn words_alone_are_not_passed() {
    let folder = tempfile::tempdir().unwrap();
    let words = folder.path().join("llm_replies.jsonl");
    std::fs::write(&words, "{\"id\": \"t-1\"}\n{\"id\": \"t-2\"}\n").unwrap();
    let score = run(&words, Options::default()).unwrap();
    assert_eq!((score.passed, score.failed.len()), (0, 2));
    std::fs::write(folder.path().join(DATA), line(&json!({})).to_string()).unwrap();
    let score = run(&words, Options::default()).unwrap();
    assert_eq!((score.passed, score.failed.len()), (1, 1), "{:?}", score.failed);
}
