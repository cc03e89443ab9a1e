//! Answers: their form, their limits, who waits for whom, and what is remembered.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use bowline_core::control::Ppm;
use bowline_core::event::StepTrouble;
use bowline_core::id::RunId;
use bowline_core::message::Stop;
use bowline_local::{LocalModel, Sampling, ToolUse};
use bowline_models::{Model, Said, Unwatched, Watcher};
use serde_json::{Value, json};

use crate::tiny::Tiny;
use crate::{Parrot, model, request, settings, tool, tools};

fn invoice() -> Value {
    json!({
        "type": "object",
        "properties": {
            "number": {"type": "string"},
            "total": {"type": "number", "minimum": 0},
            "paid": {"type": "boolean"},
            "lines": {"type": "array", "maxItems": 3, "items": {
                "type": "object",
                "properties": {"what": {"type": "string"}, "count": {"type": "integer"}},
                "required": ["what", "count"],
            }},
        },
        "required": ["number", "total", "paid", "lines"],
    })
}

/// What the schema above asks for, checked by hand.
fn fits_invoice(answer: &Value) -> bool {
    let line = |line: &Value| {
        line["what"].is_string() && line["count"].is_i64() && line.as_object().unwrap().len() == 2
    };
    let lines = answer["lines"].as_array();
    answer.as_object().is_some_and(|members| members.len() == 4)
        && answer["number"].is_string()
        && answer["total"].as_f64().is_some_and(|total| total >= 0.0)
        && answer["paid"].is_boolean()
        && lines.is_some_and(|lines| lines.len() <= 3 && lines.iter().all(line))
}

#[tokio::test]
async fn five_hundred_answers_of_random_weights_all_fit_their_schema() {
    let mut warm = settings();
    warm.sampling = Sampling { temperature: 1.5, seed: 1 };
    let model = model(Tiny::default(), warm);
    for step in 0..500 {
        let mut request = request("he");
        request.step = step;
        request.schema = Some(invoice());
        request.output_tokens = 220;
        let answer = model.call(request, &Unwatched).await.unwrap();
        assert_eq!(answer.stop, Stop::End, "step {step}: {}", answer.text);
        let value: Value =
            serde_json::from_str(&answer.text).unwrap_or_else(|error| panic!("{error}: {}", answer.text));
        assert!(fits_invoice(&value), "step {step}: {}", answer.text);
        assert!(answer.usage.output <= 220);
    }
}

#[tokio::test]
async fn calls_of_random_weights_fit_the_schemas_of_their_tools() {
    let mut first = settings();
    first.tool_use = ToolUse::First;
    first.sampling = Sampling { temperature: 1.5, seed: 2 };
    let model = model(Tiny::default(), first);
    for step in 0..60 {
        let mut request = request("he");
        request.step = step;
        request.tools = tools();
        request.output_tokens = 600;
        let answer = model.call(request, &Unwatched).await.unwrap();
        assert_eq!(answer.stop, Stop::ToolUse, "{}", answer.text);
        assert!(answer.text.is_empty());
        for call in &answer.calls {
            let args: Value = serde_json::from_str(&call.args).unwrap();
            let fits = match call.tool.as_str() {
                "read" => args["path"].as_str().is_some_and(|path| path.chars().count() <= 8),
                "sum" => {
                    args["of"].as_array().is_some_and(|of| of.len() <= 3 && of.iter().all(Value::is_i64))
                }
                _ => false,
            };
            assert!(fits && args.as_object().unwrap().len() == 1, "{call:?}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_cannot_be_finished_says_that_it_was_cut() {
    let model = model(Tiny::default(), settings());
    let mut request = request("he");
    request.schema = Some(invoice());
    request.output_tokens = 12;
    let answer = model.call(request.clone(), &Unwatched).await.unwrap();
    assert_eq!(answer.stop, Stop::Truncated);
    assert!(answer.usage.output <= 12);
    request.schema = None;
    request.tools = tools();
    request.output_tokens = 8;
    let mut first = settings();
    first.tool_use = ToolUse::First;
    let answer = crate::model(Tiny::default(), first).call(request, &Unwatched).await.unwrap();
    assert_eq!((answer.stop, answer.calls.len()), (Stop::Truncated, 0));
}

#[tokio::test]
async fn a_text_before_a_call_is_the_text_and_the_mark_is_not() {
    let said = "I look.\n<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>";
    let model = LocalModel::start(Parrot::loaded(said, Duration::ZERO), settings()).unwrap();
    let mut request = request("he");
    request.tools = tools();
    request.output_tokens = 300;
    let answer = model.call(request.clone(), &Unwatched).await.unwrap();
    assert_eq!(answer.text, "I look.\n");
    assert_eq!(answer.calls[0].tool, "read");
    assert_eq!(answer.calls[0].args, "{\"path\":\"a\"}");
    // Without tools the same words are words.
    request.tools = std::sync::Arc::from([]);
    let answer = model.call(request, &Unwatched).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.stop), (said, Stop::End));
}

#[tokio::test]
async fn with_tools_and_a_schema_the_answer_is_calls_or_fits() {
    let said = "{\"ok\": true}";
    let model = LocalModel::start(Parrot::loaded(said, Duration::ZERO), settings()).unwrap();
    let mut request = request("he");
    request.tools = tools();
    request.schema =
        Some(json!({"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}));
    let answer = model.call(request, &Unwatched).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.stop), (said, Stop::End));
}

#[tokio::test]
async fn a_schema_that_cannot_be_decoded_is_a_permanent_error_that_names_it() {
    let model = model(Tiny::default(), settings());
    let mut request = request("he");
    request.schema = Some(json!({"type": "string", "pattern": "(unclosed"}));
    let error = model.call(request.clone(), &Unwatched).await.unwrap_err();
    assert_eq!(error.kind, StepTrouble::Permanent);
    assert!(error.message.contains("the schema of the answer"), "{error}");
    request.schema = None;
    let bad =
        tool("odd", json!({"type": "object", "properties": {"x": {"$ref": "#/nowhere"}}, "required": ["x"]}));
    request.tools = std::sync::Arc::from([bad]);
    let error = model.call(request, &Unwatched).await.unwrap_err();
    assert_eq!(error.kind, StepTrouble::Permanent);
    assert!(error.message.contains("\"odd\""), "{error}");
}

#[tokio::test]
async fn a_conversation_that_does_not_fit_is_an_error_and_nothing_is_cut_out() {
    let mut small = settings();
    small.context_tokens = Some(128);
    let model = model(Tiny::default(), small);
    let error = model.call(request(&"long ".repeat(100)), &Unwatched).await.unwrap_err();
    assert_eq!(error.kind, StepTrouble::Permanent);
    assert!(error.message.contains("128"), "{error}");
    let mut request = request("he");
    request.output_tokens = 100_000;
    let answer = model.call(request, &Unwatched).await.unwrap();
    assert!(answer.usage.input + answer.usage.output <= 128);
}

#[tokio::test]
async fn what_is_remembered_changes_nothing_but_the_time() {
    let warm = model(Tiny::default(), settings());
    let mut long = request("the weather in the town where they owe us");
    let first = warm.call(long.clone(), &Unwatched).await.unwrap();
    assert_eq!(first.usage.cached, 0);
    long.messages.push(Said::Assistant { text: first.text, calls: Vec::new() });
    long.messages.push(Said::User("and the other town?".to_owned()));
    let remembered = warm.call(long.clone(), &Unwatched).await.unwrap();
    let cold = model(Tiny::default(), settings()).call(long, &Unwatched).await.unwrap();
    assert!(remembered.usage.cached > 20, "{:?}", remembered.usage);
    assert_eq!((remembered.text, remembered.usage.output), (cold.text, cold.usage.output));
}

#[tokio::test]
async fn a_first_attempt_is_always_the_same_and_a_second_one_is_another() {
    let model = model(Tiny::default(), settings());
    let mut request = request("he");
    let first = model.call(request.clone(), &Unwatched).await.unwrap();
    assert_eq!(model.call(request.clone(), &Unwatched).await.unwrap().text, first.text);
    request.attempt = 3;
    let third = model.call(request.clone(), &Unwatched).await.unwrap();
    assert_ne!(third.text, first.text);
    assert_eq!(model.call(request, &Unwatched).await.unwrap().text, third.text);
}

#[tokio::test]
async fn samples_of_a_temperature_differ_by_step_and_attempt_and_come_again() {
    let model = model(Tiny::default(), settings());
    let ask = async |step: u32, attempt: u32, temperature: Option<Ppm>| {
        let mut request = request("he");
        (request.step, request.attempt, request.temperature) = (step, attempt, temperature);
        model.call(request, &Unwatched).await.unwrap().text
    };
    let warm = Some(Ppm(800_000));
    let greedy = ask(1, 1, None).await;
    let samples = [ask(1, 1, warm).await, ask(2, 1, warm).await, ask(1, 2, warm).await, greedy.clone()];
    let different: BTreeSet<&String> = samples.iter().collect();
    assert_eq!(different.len(), samples.len(), "{samples:?}");
    assert_eq!(ask(2, 1, warm).await, samples[1]);
    // What is asked for stands above what a later attempt would get by itself.
    assert_eq!(ask(1, 3, Some(Ppm::ZERO)).await, greedy);
    assert_eq!(ask(1, 3, Some(Ppm(-7))).await, greedy);
}

#[tokio::test]
async fn a_dropped_call_gives_the_engine_back_before_the_next_token() {
    let endless = "he".repeat(2_000);
    let model = LocalModel::start(Parrot::loaded(&endless, Duration::from_millis(2)), settings()).unwrap();
    let mut slow = request("the");
    slow.output_tokens = 2_000;
    let heard = Heard::default();
    let call = model.call(slow.clone(), &heard);
    // At two milliseconds a token the whole answer would take four seconds.
    assert!(tokio::time::timeout(Duration::from_millis(30), call).await.is_err());
    slow.output_tokens = 1;
    let next = tokio::time::timeout(Duration::from_secs(2), model.call(slow, &Unwatched)).await;
    assert_eq!(next.unwrap().unwrap().stop, Stop::Truncated);
    assert!(heard.0.lock().unwrap().len() < 2_000);
}

#[tokio::test]
async fn a_call_that_takes_too_long_ends_as_timed_out() {
    let mut hasty = settings();
    hasty.call_ms_max = 20;
    let endless = "he".repeat(2_000);
    let model = LocalModel::start(Parrot::loaded(&endless, Duration::from_millis(2)), hasty).unwrap();
    let mut slow = request("the");
    slow.output_tokens = 2_000;
    assert_eq!(model.call(slow, &Unwatched).await.unwrap_err().kind, StepTrouble::TimedOut);
}

#[tokio::test]
async fn a_run_that_asks_once_does_not_wait_for_all_of_a_run_that_asks_often() {
    let model = LocalModel::start(Parrot::loaded("hehe", Duration::from_millis(3)), settings()).unwrap();
    let order = Mutex::new(Vec::new());
    let ask = |run: &str, step: u32| {
        let mut request = request("the");
        request.run = RunId::parse(run).unwrap();
        request.step = step;
        let (model, order) = (&model, &order);
        let name = run.to_owned();
        async move {
            model.call(request, &Unwatched).await.unwrap();
            order.lock().unwrap().push(name);
        }
    };
    // Joined futures are polled in order, so all of the busy run's calls wait first.
    tokio::join!(ask("busy", 1), ask("busy", 2), ask("busy", 3), ask("busy", 4), ask("once", 1));
    let order = order.into_inner().unwrap();
    let place = order.iter().position(|run| run == "once").unwrap();
    assert!(place <= 2, "{order:?}");
}

#[tokio::test]
async fn one_call_too_many_is_asked_to_come_back() {
    let mut narrow = settings();
    narrow.waiting_max = 0;
    let model = model(Tiny::default(), narrow);
    let error = model.call(request("he"), &Unwatched).await.unwrap_err();
    assert_eq!((error.kind, error.retry_after_ms), (StepTrouble::RateLimited, Some(1_000)));
}

#[tokio::test]
async fn the_speed_of_the_last_call_is_told() {
    let model = model(Tiny::default(), settings());
    assert_eq!(model.last_speed(), None);
    let answer = model.call(request("he"), &Unwatched).await.unwrap();
    let speed = model.last_speed().unwrap();
    assert_eq!(speed.output_tokens, answer.usage.output);
    assert!(speed.output_per_second() > 0.0 && speed.prompt_per_second() > 0.0);
}

#[derive(Default)]
struct Heard(Mutex<String>);

impl Watcher for Heard {
    fn text(&self, piece: &str) {
        self.0.lock().unwrap().push_str(piece);
    }
}

/// Answers of a fixed set, so that all of them can be asked for.
fn colours() -> Value {
    json!({
        "type": "object",
        "properties": {"colour": {"enum": ["red", "reddish", "green", "the", "there"]}, "dark": {"type": "boolean"}},
        "required": ["colour", "dark"],
    })
}

/// As many answers as asked for, each told which failed before; by one model or by a new
/// one each time, as after a crash.
async fn each_unlike_the_last(count: usize, temperature: i64, restarts: bool) -> Vec<String> {
    let mut failed = Vec::new();
    let mut tiny = model(Tiny::default(), settings());
    for step in 0..count {
        let mut request = request("he");
        request.step = u32::try_from(step).unwrap();
        request.schema = Some(colours());
        request.temperature = (step > 0).then_some(Ppm(temperature));
        request.failed.clone_from(&failed);
        if restarts {
            tiny = model(Tiny::default(), settings());
        }
        let answer = tiny.call(request, &Unwatched).await.unwrap();
        assert_eq!(answer.stop, Stop::End);
        failed.push(answer.text);
    }
    failed
}

#[tokio::test]
async fn an_answer_that_failed_is_not_given_again_until_nothing_else_is_left() {
    for temperature in [0, 450_000, 1_500_000] {
        let answers = each_unlike_the_last(10, temperature, false).await;
        let different: BTreeSet<&String> = answers.iter().collect();
        assert_eq!(different.len(), 10, "{answers:#?}");
    }
    let answers = each_unlike_the_last(11, 0, false).await;
    assert!(answers[..10].contains(&answers[10]), "there are only ten: {answers:#?}");
}

#[tokio::test]
async fn a_model_that_was_started_anew_parts_from_failed_answers_in_the_same_way() {
    let once = each_unlike_the_last(10, 0, false).await;
    assert_eq!(each_unlike_the_last(10, 0, true).await, once);
}

#[tokio::test]
async fn how_likely_an_answer_was_is_told_to_whoever_asks() {
    let tiny = model(Tiny::default(), settings());
    let mut request = request("he");
    request.schema = Some(colours());
    assert_eq!(tiny.call(request.clone(), &Unwatched).await.unwrap().likelihood, None);
    request.likelihood = true;
    let first = tiny.call(request.clone(), &Unwatched).await.unwrap();
    let likelihood = first.likelihood.unwrap();
    assert!(likelihood > Ppm::ZERO && likelihood <= Ppm::ONE, "{likelihood}");
    request.failed = vec![first.text];
    let second = tiny.call(request.clone(), &Unwatched).await.unwrap();
    assert!(second.likelihood.is_some(), "of what had not failed");
    request.output_tokens = 4;
    let cut = tiny.call(request, &Unwatched).await.unwrap();
    assert_eq!((cut.stop, cut.likelihood), (Stop::Truncated, None));
}

#[tokio::test]
async fn failed_answers_that_are_none_change_nothing() {
    let tiny = model(Tiny::default(), settings());
    let mut request = request("he");
    request.schema = Some(colours());
    let plain = tiny.call(request.clone(), &Unwatched).await.unwrap();
    request.failed = vec![String::new(), "{\"colour\": \"blue\"}".to_owned(), "\u{feff}".repeat(100)];
    let again = tiny.call(request, &Unwatched).await.unwrap();
    assert_eq!((again.text, again.usage.output), (plain.text, plain.usage.output));
}

#[tokio::test]
async fn words_without_a_form_are_not_said_again_either() {
    let tiny = model(Tiny::default(), settings());
    let mut request = request("he");
    request.output_tokens = 300;
    let mut failed = BTreeSet::new();
    for step in 0..4 {
        request.step = step;
        request.failed = failed.iter().cloned().collect();
        let answer = tiny.call(request.clone(), &Unwatched).await.unwrap();
        if answer.stop == Stop::End {
            assert!(failed.insert(answer.text));
        }
    }
    assert!(failed.len() > 1, "too few came to an end to tell");
}
