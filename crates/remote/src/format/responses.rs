//! OpenAI responses. Nothing is kept at the server (`store` is off): the conversation is
//! sent whole each time, as to everybody else.

use bowline_core::message::Stop;
use bowline_models::Said;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Ask, Flow, Problem, complained, list, schema, set, system, temperature, told};
use crate::arguments;
use crate::booked::Tally;
use crate::frames::Frame;
use crate::gather::{Ended, Gathered, Part};
use crate::json::{self, Raw};
use crate::trouble;

pub(super) fn body(ask: &Ask<'_>) -> Value {
    let input: Vec<Value> = ask.request.messages.iter().flat_map(|said| items(ask, said)).collect();
    let mut body = json!({
        "model": ask.model,
        "input": input,
        "max_output_tokens": ask.output_tokens,
        "store": false,
    });
    let instructions = system(ask.request);
    set(&mut body, "instructions", (!instructions.is_empty()).then(|| json!(instructions)));
    set(&mut body, "temperature", temperature(ask));
    let tool = |tool: &bowline_core::tool::ToolSpec| {
        json!({"type": "function", "name": ask.names.sent(tool.name.as_str()),
            "description": tool.description, "parameters": tool.schema, "strict": false})
    };
    set(&mut body, "tools", list(ask.request.tools.iter().map(tool).collect()));
    let form = ask.request.schema.as_ref().and_then(schema::named).map(|mut named| {
        set(&mut named, "type", Some(json!("json_schema")));
        json!({"format": named})
    });
    set(&mut body, "text", form);
    let include = ask.likelihood.then(|| json!(["message.output_text.logprobs"]));
    set(&mut body, "include", include);
    set(&mut body, "stream", ask.streaming.then_some(json!(true)));
    body
}

fn items(ask: &Ask<'_>, said: &Said) -> Vec<Value> {
    match said {
        Said::System(_) => Vec::new(),
        Said::User(text) => vec![json!({"role": "user", "content": text})],
        Said::ToolResult { call, output, is_error } => {
            vec![json!({"type": "function_call_output", "call_id": call, "output": told(output, *is_error)})]
        }
        Said::Assistant { text, calls } => {
            let spoken = (!text.is_empty()).then(|| json!({"role": "assistant", "content": text}));
            let call = |call: &bowline_models::SaidCall| {
                json!({"type": "function_call", "call_id": call.id, "name": ask.names.sent(&call.tool),
                    "arguments": arguments::outgoing_text(&call.args)})
            };
            spoken.into_iter().chain(calls.iter().map(call)).collect()
        }
    }
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow, default)]
    status: Raw<'a>,
    #[serde(borrow, default)]
    incomplete_details: Option<Incomplete<'a>>,
    #[serde(borrow, default)]
    output: Option<Vec<Item<'a>>>,
    #[serde(borrow, default)]
    usage: Raw<'a>,
}

#[derive(Deserialize)]
struct Incomplete<'a> {
    #[serde(borrow, default)]
    reason: Raw<'a>,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow, default)]
    content: Option<Vec<Content<'a>>>,
    #[serde(borrow, default)]
    call_id: Raw<'a>,
    #[serde(borrow, default)]
    name: Raw<'a>,
    #[serde(borrow, default)]
    arguments: Raw<'a>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow, default)]
    text: Raw<'a>,
    #[serde(borrow, default)]
    refusal: Raw<'a>,
    #[serde(borrow, default)]
    logprobs: Raw<'a>,
}

#[derive(Default, Deserialize)]
struct Counts<'a> {
    #[serde(borrow, default)]
    input_tokens: Raw<'a>,
    #[serde(borrow, default)]
    output_tokens: Raw<'a>,
    #[serde(borrow, default)]
    total_tokens: Raw<'a>,
    #[serde(borrow, default)]
    input_tokens_details: Option<Details<'a>>,
    #[serde(borrow, default)]
    output_tokens_details: Option<Details<'a>>,
}

#[derive(Default, Deserialize)]
struct Details<'a> {
    #[serde(borrow, default)]
    cached_tokens: Raw<'a>,
    #[serde(borrow, default)]
    reasoning_tokens: Raw<'a>,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow, default)]
    delta: Raw<'a>,
    #[serde(borrow, default)]
    logprobs: Raw<'a>,
    #[serde(borrow, default)]
    item: Option<Item<'a>>,
    #[serde(borrow, default)]
    response: Option<Response<'a>>,
}

pub(super) fn whole(text: &str, into: &mut Gathered) -> Result<(), Problem> {
    let response: Response<'_> = json::read(text)?;
    if response.output.is_none() && response.status.is_none() {
        return Err("it holds no answer".to_owned().into());
    }
    finish(response, into);
    Ok(())
}

pub(super) fn event(frame: &Frame, into: &mut Gathered) -> Result<Flow, Problem> {
    if frame.data.trim() == "[DONE]" {
        return Ok(Flow::Done);
    }
    let event: Event<'_> = json::read(&frame.data)?;
    match json::text(event.kind).unwrap_or_default().as_str() {
        "response.output_text.delta" => {
            into.likely(event.logprobs);
            into.say(&json::text(event.delta).unwrap_or_default());
        }
        "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
            into.think(&json::text(event.delta).unwrap_or_default());
        }
        "response.refusal.delta" => {
            into.refused = true;
            into.say(&json::text(event.delta).unwrap_or_default());
        }
        "response.output_item.done" => {
            event.item.filter(is_call).into_iter().for_each(|item| call(&item, into));
        }
        "response.completed" | "response.incomplete" => {
            let response = event.response.ok_or_else(|| "its last event holds no response".to_owned())?;
            finish(response, into);
            return Ok(Flow::Done);
        }
        "error" => return Err(Problem::Complaint(trouble::event_complaint(&frame.data))),
        "response.failed" => {
            complained(&frame.data)?;
            return Err(Problem::Complaint(trouble::event_complaint(&frame.data)));
        }
        _ => {}
    }
    Ok(Flow::Open)
}

fn is_call(item: &Item<'_>) -> bool {
    json::text(item.kind).as_deref() == Some("function_call")
}

fn call(item: &Item<'_>, into: &mut Gathered) {
    into.call(Part {
        id: json::text(item.call_id).unwrap_or_default(),
        tool: json::text(item.name).unwrap_or_default(),
        args: arguments::whole(item.arguments),
    });
}

/// The response as it is at its end. What was streamed before is not taken in again.
fn finish(response: Response<'_>, into: &mut Gathered) {
    into.tally.update(tally(response.usage));
    if into.is_empty() {
        response.output.iter().flatten().for_each(|item| take(item, into));
    }
    let reason = response.incomplete_details.and_then(|details| json::text(details.reason));
    let ended = match (json::text(response.status).as_deref(), reason.as_deref()) {
        (Some("incomplete"), Some("content_filter")) => Ended::As(Stop::Filtered),
        (Some("incomplete"), _) => Ended::As(Stop::Truncated),
        (Some("failed" | "cancelled"), _) => Ended::Failed("it failed".to_owned()),
        (_, _) if into.refused => Ended::As(Stop::Refused),
        (_, _) => Ended::As(Stop::End),
    };
    into.end(ended);
}

fn take(item: &Item<'_>, into: &mut Gathered) {
    if is_call(item) {
        call(item, into);
        return;
    }
    for content in item.content.iter().flatten() {
        match json::text(content.kind).as_deref() {
            Some("output_text") => {
                into.likely(content.logprobs);
                into.say(&json::text(content.text).unwrap_or_default());
            }
            Some("refusal") => {
                into.refused = true;
                into.say(&json::text(content.refusal).unwrap_or_default());
            }
            Some(_) | None => {}
        }
    }
}

fn tally(usage: Raw<'_>) -> Tally {
    let counts: Counts<'_> = json::part(usage).unwrap_or_default();
    let (input, output) = (counts.input_tokens_details, counts.output_tokens_details);
    Tally {
        input: json::count(counts.input_tokens),
        output: json::count(counts.output_tokens),
        cached: json::count(input.unwrap_or_default().cached_tokens),
        reasoning: json::count(output.unwrap_or_default().reasoning_tokens),
        total: json::count(counts.total_tokens),
    }
}
