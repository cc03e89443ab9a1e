//! Anthropic messages.
//!
//! An answer that must fit a schema is asked for as the one call of a tool with that
//! schema, which every model of theirs keeps; where there are other tools the schema is
//! told in words by whoever wrote the conversation.

use bowline_core::message::Stop;
use bowline_models::Said;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Ask, Flow, Problem, complained, list, schema, set, system, temperature};
use crate::arguments;
use crate::booked::Tally;
use crate::frames::Frame;
use crate::gather::{Ended, Gathered, Part, Slot};
use crate::json::{self, Lone, Raw};

/// The tool that stands for a structured answer.
const ANSWER: &str = "answer";

/// What stands where an empty text would be refused.
const NOTHING: &str = "(nothing)";

/// The tool whose arguments are the answer, if it is asked for that way.
pub(super) fn answer_tool(ask: &Ask<'_>) -> Option<&'static str> {
    let is_object = ask.request.schema.as_ref().is_some_and(schema::is_object);
    (is_object && ask.request.tools.is_empty()).then_some(ANSWER)
}

pub(super) fn body(ask: &Ask<'_>) -> Value {
    let mut body = json!({
        "model": ask.model,
        "max_tokens": ask.output_tokens,
        "messages": messages(ask),
    });
    let system = system(ask.request);
    set(&mut body, "system", (!system.is_empty()).then(|| json!(system)));
    set(&mut body, "temperature", temperature(ask));
    let tool = |tool: &bowline_core::tool::ToolSpec| {
        json!({"name": ask.names.sent(tool.name.as_str()), "description": tool.description,
            "input_schema": tool.schema})
    };
    let mut tools: Vec<Value> = ask.request.tools.iter().map(tool).collect();
    if let (Some(name), Some(schema)) = (answer_tool(ask), &ask.request.schema) {
        let description = "Gives the answer. Call it once.";
        tools.push(json!({"name": name, "description": description, "input_schema": schema}));
        set(&mut body, "tool_choice", Some(json!({"type": "tool", "name": name})));
    }
    set(&mut body, "tools", list(tools));
    set(&mut body, "stream", ask.streaming.then_some(json!(true)));
    body
}

/// The conversation in turns: results of calls and what is said after them are one turn.
fn messages(ask: &Ask<'_>) -> Vec<Value> {
    let mut turns: Vec<(&'static str, Vec<Value>)> = Vec::new();
    for said in ask.request.messages.iter() {
        let Some((role, blocks)) = blocks(ask, said) else { continue };
        match turns.last_mut() {
            Some((last, all)) if *last == role => all.extend(blocks),
            Some(_) | None => turns.push((role, blocks)),
        }
    }
    turns.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

fn blocks(ask: &Ask<'_>, said: &Said) -> Option<(&'static str, Vec<Value>)> {
    let text =
        |text: &str| json!({"type": "text", "text": if text.trim().is_empty() { NOTHING } else { text }});
    match said {
        Said::System(_) => None,
        Said::User(words) => Some(("user", vec![text(words)])),
        Said::ToolResult { call, output, is_error } => {
            let mut block = json!({"type": "tool_result", "tool_use_id": call, "content": output});
            set(&mut block, "is_error", is_error.then(|| json!(true)));
            Some(("user", vec![block]))
        }
        Said::Assistant { text: words, calls } => {
            let spoken = (!words.trim().is_empty() || calls.is_empty()).then(|| text(words));
            let call = |call: &bowline_models::SaidCall| {
                json!({"type": "tool_use", "id": call.id, "name": ask.names.sent(&call.tool),
                    "input": arguments::outgoing(&call.args)})
            };
            Some(("assistant", spoken.into_iter().chain(calls.iter().map(call)).collect()))
        }
    }
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    content: Option<Vec<Block<'a>>>,
    #[serde(borrow, default)]
    stop_reason: Raw<'a>,
    #[serde(borrow, default)]
    usage: Raw<'a>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow, default)]
    text: Raw<'a>,
    #[serde(borrow, default)]
    thinking: Raw<'a>,
    #[serde(borrow, default)]
    id: Raw<'a>,
    #[serde(borrow, default)]
    name: Raw<'a>,
    #[serde(borrow, default)]
    input: Raw<'a>,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Raw<'a>,
    #[serde(default)]
    index: Option<u64>,
    #[serde(borrow, default)]
    message: Option<Message<'a>>,
    #[serde(borrow, default)]
    content_block: Option<Block<'a>>,
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
    #[serde(borrow, default)]
    usage: Raw<'a>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    text: Raw<'a>,
    #[serde(borrow, default)]
    partial_json: Raw<'a>,
    #[serde(borrow, default)]
    thinking: Raw<'a>,
    #[serde(borrow, default)]
    stop_reason: Raw<'a>,
}

#[derive(Default, Deserialize)]
struct Counts<'a> {
    #[serde(borrow, default)]
    input_tokens: Raw<'a>,
    #[serde(borrow, default)]
    output_tokens: Raw<'a>,
    #[serde(borrow, default)]
    cache_read_input_tokens: Raw<'a>,
    #[serde(borrow, default)]
    cache_creation_input_tokens: Raw<'a>,
}

pub(super) fn whole(text: &str, into: &mut Gathered) -> Result<(), Problem> {
    let message: Message<'_> = json::read(text)?;
    let content = message.content.ok_or_else(|| "it holds no answer".to_owned())?;
    into.tally.update(tally(message.usage));
    for block in &content {
        match json::text(block.kind).as_deref() {
            Some("text") => into.say(&json::text(block.text).unwrap_or_default()),
            Some("thinking") => into.think(&json::text(block.thinking).unwrap_or_default()),
            Some("tool_use") => into.call(part(block, arguments::whole(block.input))),
            Some(_) | None => {}
        }
    }
    into.end(json::text(message.stop_reason).map_or(Ended::As(Stop::End), |reason| stop(&reason)));
    Ok(())
}

pub(super) fn event(frame: &Frame, into: &mut Gathered) -> Result<Flow, Problem> {
    complained(&frame.data)?;
    let event: Event<'_> = json::read(&frame.data)?;
    match json::text(event.kind).unwrap_or_default().as_str() {
        "message_start" => {
            // What it has written by then is no more than a beginning.
            let begun = |tally: Tally| Tally { output: None, ..tally };
            event.message.into_iter().for_each(|message| into.tally.update(begun(tally(message.usage))));
        }
        "content_block_start" => {
            if let (Some(number), Some(block)) = (event.index, event.content_block) {
                begin(number, &block, into);
            }
        }
        "content_block_delta" => {
            if let (Some(number), Some(delta)) = (event.index, event.delta) {
                more(number, &delta, into);
            }
        }
        "message_delta" => {
            into.tally.update(tally(event.usage));
            if let Some(reason) = event.delta.and_then(|delta| json::text(delta.stop_reason)) {
                into.end(stop(&reason));
            }
        }
        "message_stop" => return Ok(Flow::Done),
        _ => {}
    }
    Ok(Flow::Open)
}

fn begin(number: u64, block: &Block<'_>, into: &mut Gathered) {
    match json::text(block.kind).as_deref() {
        Some("text") => into.say(&json::text(block.text).unwrap_or_default()),
        Some("tool_use") => {
            // Arguments come in pieces; the object at the beginning stands for nothing yet.
            let given = arguments::whole(block.input);
            let part = part(block, if given == "{}" { String::new() } else { given });
            match into.answer_tool {
                Some(tool) if part.tool == tool => into.begin_text(number),
                Some(_) | None => into.begin(Some(number), part),
            }
        }
        Some(_) | None => {}
    }
}

fn more(number: u64, delta: &Delta<'_>, into: &mut Gathered) {
    if let Some(text) = json::text(delta.text) {
        into.say(&text);
    }
    into.think(&json::text(delta.thinking).unwrap_or_default());
    let Some(piece) = json::string(delta.partial_json, Lone::Escaped) else { return };
    match into.slot(number) {
        Some(Slot::Call(at)) => into.more(at, "", "", &piece),
        Some(Slot::Text) => into.say(&piece),
        None => {}
    }
}

fn part(block: &Block<'_>, args: String) -> Part {
    Part {
        id: json::text(block.id).unwrap_or_default(),
        tool: json::text(block.name).unwrap_or_default(),
        args,
    }
}

fn stop(reason: &str) -> Ended {
    Ended::As(match reason {
        "tool_use" => Stop::ToolUse,
        "max_tokens" | "model_context_window_exceeded" => Stop::Truncated,
        "refusal" => Stop::Refused,
        "pause_turn" => return Ended::Failed("it paused".to_owned()),
        _ => Stop::End,
    })
}

/// What was read from a cache or written into it is not in their count of the input.
fn tally(usage: Raw<'_>) -> Tally {
    let counts: Counts<'_> = json::part(usage).unwrap_or_default();
    let read = json::count(counts.cache_read_input_tokens);
    let created = json::count(counts.cache_creation_input_tokens).unwrap_or(0);
    let input = json::count(counts.input_tokens);
    Tally {
        input: input.map(|input| input.saturating_add(read.unwrap_or(0)).saturating_add(created)),
        output: json::count(counts.output_tokens),
        cached: read,
        ..Tally::default()
    }
}
