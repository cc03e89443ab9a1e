//! OpenAI chat completions, and every server that speaks them.

use bowline_core::message::Stop;
use bowline_models::Said;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Ask, Flow, Problem, complained, list, schema, set, temperature, told};
use crate::arguments;
use crate::booked::Tally;
use crate::frames::Frame;
use crate::gather::{Ended, Gathered, Part, Slot};
use crate::json::{self, Lone, Raw};

pub(super) fn body(ask: &Ask<'_>) -> Value {
    let messages: Vec<Value> = ask.request.messages.iter().map(|said| message(ask, said)).collect();
    let mut body = json!({"model": ask.model, "messages": messages});
    // The provider counts what a model thinks too; who speaks like it knows the old name.
    let limit = if ask.is_own { "max_completion_tokens" } else { "max_tokens" };
    set(&mut body, limit, Some(json!(ask.output_tokens)));
    set(&mut body, "temperature", temperature(ask));
    set(&mut body, "tools", list(tools(ask)));
    let form = ask.request.schema.as_ref().and_then(schema::named);
    let form = form.map(|named| json!({"type": "json_schema", "json_schema": named}));
    set(&mut body, "response_format", form);
    set(&mut body, "logprobs", ask.likelihood.then_some(json!(true)));
    if ask.streaming {
        set(&mut body, "stream", Some(json!(true)));
        set(&mut body, "stream_options", Some(json!({"include_usage": true})));
    }
    body
}

/// The tools, as Ollama takes them too.
pub(super) fn tools(ask: &Ask<'_>) -> Vec<Value> {
    let tool = |tool: &bowline_core::tool::ToolSpec| {
        json!({"type": "function", "function": {
            "name": ask.names.sent(tool.name.as_str()),
            "description": tool.description,
            "parameters": tool.schema,
        }})
    };
    ask.request.tools.iter().map(tool).collect()
}

fn message(ask: &Ask<'_>, said: &Said) -> Value {
    match said {
        Said::System(text) => json!({"role": "system", "content": text}),
        Said::User(text) => json!({"role": "user", "content": text}),
        Said::ToolResult { call, output, is_error } => {
            json!({"role": "tool", "tool_call_id": call, "content": told(output, *is_error)})
        }
        Said::Assistant { text, calls } if calls.is_empty() => json!({"role": "assistant", "content": text}),
        Said::Assistant { text, calls } => {
            let call = |call: &bowline_models::SaidCall| {
                json!({"id": call.id, "type": "function", "function": {
                    "name": ask.names.sent(&call.tool),
                    "arguments": arguments::outgoing_text(&call.args),
                }})
            };
            let content = if text.is_empty() { Value::Null } else { json!(text) };
            let calls: Vec<Value> = calls.iter().map(call).collect();
            json!({"role": "assistant", "content": content, "tool_calls": calls})
        }
    }
}

#[derive(Deserialize)]
struct Completion<'a> {
    #[serde(borrow, default)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow, default)]
    usage: Raw<'a>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    message: Raw<'a>,
    #[serde(borrow, default)]
    delta: Raw<'a>,
    #[serde(borrow, default)]
    finish_reason: Raw<'a>,
    #[serde(borrow, default)]
    logprobs: Raw<'a>,
    #[serde(default)]
    index: Option<u64>,
}

#[derive(Default, Deserialize)]
struct Logprobs<'a> {
    #[serde(borrow, default)]
    content: Raw<'a>,
}

#[derive(Default, Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    content: Raw<'a>,
    #[serde(borrow, default)]
    refusal: Raw<'a>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<ToolCall<'a>>>,
    #[serde(borrow, default)]
    reasoning_content: Raw<'a>,
    #[serde(borrow, default)]
    reasoning: Raw<'a>,
}

#[derive(Deserialize)]
struct ToolCall<'a> {
    #[serde(default)]
    index: Option<u64>,
    #[serde(borrow, default)]
    id: Raw<'a>,
    #[serde(borrow, default)]
    function: Option<Function<'a>>,
}

#[derive(Default, Deserialize)]
struct Function<'a> {
    #[serde(borrow, default)]
    name: Raw<'a>,
    #[serde(borrow, default)]
    arguments: Raw<'a>,
}

#[derive(Default, Deserialize)]
struct Counts<'a> {
    #[serde(borrow, default)]
    prompt_tokens: Raw<'a>,
    #[serde(borrow, default)]
    completion_tokens: Raw<'a>,
    #[serde(borrow, default)]
    total_tokens: Raw<'a>,
    #[serde(borrow, default)]
    prompt_tokens_details: Option<Details<'a>>,
    #[serde(borrow, default)]
    completion_tokens_details: Option<Details<'a>>,
}

#[derive(Default, Deserialize)]
struct Details<'a> {
    #[serde(borrow, default)]
    cached_tokens: Raw<'a>,
    #[serde(borrow, default)]
    reasoning_tokens: Raw<'a>,
}

pub(super) fn whole(text: &str, into: &mut Gathered) -> Result<(), Problem> {
    let completion: Completion<'_> = json::read(text)?;
    let choices = completion.choices.unwrap_or_default();
    let choice = choices.first().ok_or_else(|| "it holds no answer".to_owned())?;
    let message: Message<'_> =
        json::part(choice.message).ok_or_else(|| "its answer is no message".to_owned())?;
    into.tally.update(tally(completion.usage));
    into.likely(logprobs(choice));
    into.think(&thought(&message));
    let refusal = json::text(message.refusal);
    into.say(&refusal.clone().or_else(|| content(message.content)).unwrap_or_default());
    for call in message.tool_calls.unwrap_or_default() {
        let function = call.function.unwrap_or_default();
        into.call(Part {
            id: json::text(call.id).unwrap_or_default(),
            tool: json::text(function.name).unwrap_or_default(),
            args: arguments::whole(function.arguments),
        });
    }
    let ended = match refusal {
        Some(_) => Ended::As(Stop::Refused),
        // Some servers leave it out of a whole answer, which has no other end.
        None => json::text(choice.finish_reason).map_or(Ended::As(Stop::End), |reason| stop(&reason)),
    };
    into.end(ended);
    Ok(())
}

pub(super) fn event(frame: &Frame, into: &mut Gathered) -> Result<Flow, Problem> {
    if frame.data.trim() == "[DONE]" {
        return Ok(Flow::Done);
    }
    complained(&frame.data)?;
    let completion: Completion<'_> = json::read(&frame.data)?;
    into.tally.update(tally(completion.usage));
    // Only one answer was asked for.
    let choices = completion.choices.unwrap_or_default();
    for choice in choices.iter().filter(|choice| choice.index.unwrap_or(0) == 0) {
        let message: Message<'_> = json::part(choice.delta.or(choice.message)).unwrap_or_default();
        let refusal = json::text(message.refusal).filter(|text| !text.is_empty());
        if let Some(refusal) = &refusal {
            into.say(refusal);
            into.refused = true;
        }
        into.likely(logprobs(choice));
        into.think(&thought(&message));
        into.say(&content(message.content).unwrap_or_default());
        message.tool_calls.unwrap_or_default().into_iter().for_each(|call| delta(call, into));
        if let Some(reason) = json::text(choice.finish_reason) {
            let ended = if into.refused { Ended::As(Stop::Refused) } else { stop(&reason) };
            into.end(ended);
        }
    }
    Ok(Flow::Open)
}

/// A piece of a call. Pieces without a number belong to the call that began last, and a
/// new id under an old number is a new call.
fn delta(call: ToolCall<'_>, into: &mut Gathered) {
    let function = call.function.unwrap_or_default();
    let id = json::text(call.id).unwrap_or_default();
    let tool = json::text(function.name).unwrap_or_default();
    let args = json::string(function.arguments, Lone::Escaped);
    let args = args.or_else(|| function.arguments.map(|raw| raw.get().to_owned())).unwrap_or_default();
    let at = match call.index {
        Some(number) => into.slot(number),
        None if id.is_empty() => into.last_call(),
        None => None,
    };
    match at {
        Some(Slot::Call(at)) if into.continues(at, &id) => into.more(at, &id, &tool, &args),
        Some(Slot::Call(_) | Slot::Text) | None => into.begin(call.index, Part { id, tool, args }),
    }
}

fn logprobs<'a>(choice: &Choice<'a>) -> Raw<'a> {
    json::part::<Logprobs<'_>>(choice.logprobs).unwrap_or_default().content
}

/// What it tells of its thinking, under whichever of its names.
fn thought(message: &Message<'_>) -> String {
    json::text(message.reasoning_content).or_else(|| json::text(message.reasoning)).unwrap_or_default()
}

/// A text, or a list of parts with texts.
fn content(raw: Raw<'_>) -> Option<String> {
    #[derive(Deserialize)]
    struct Piece<'a> {
        #[serde(borrow, default)]
        text: Raw<'a>,
    }
    json::text(raw).or_else(|| {
        let pieces: Vec<Piece<'_>> = json::part(raw)?;
        Some(pieces.iter().filter_map(|piece| json::text(piece.text)).collect())
    })
}

fn stop(reason: &str) -> Ended {
    Ended::As(match reason {
        "tool_calls" | "function_call" => Stop::ToolUse,
        "length" | "max_tokens" => Stop::Truncated,
        "content_filter" => Stop::Filtered,
        "error" | "abort" | "cancelled" => return Ended::Failed(format!("it stopped with {reason:?}")),
        // Whoever speaks like the provider has words of its own for the ordinary end.
        _ => Stop::End,
    })
}

fn tally(usage: Raw<'_>) -> Tally {
    let counts: Counts<'_> = json::part(usage).unwrap_or_default();
    let (input, output) = (counts.prompt_tokens_details, counts.completion_tokens_details);
    Tally {
        input: json::count(counts.prompt_tokens),
        output: json::count(counts.completion_tokens),
        cached: json::count(input.unwrap_or_default().cached_tokens),
        reasoning: json::count(output.unwrap_or_default().reasoning_tokens),
        total: json::count(counts.total_tokens),
    }
}
