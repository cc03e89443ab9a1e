//! Ollama chat: one JSON object a line, calls without ids.

use bowline_core::message::Stop;
use bowline_models::Said;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Ask, Flow, Problem, complained, list, openai, set, temperature, told, tool_of};
use crate::arguments;
use crate::booked::Tally;
use crate::gather::{Ended, Gathered, Part};
use crate::json::{self, Raw};

pub(super) fn body(ask: &Ask<'_>) -> Value {
    let messages: Vec<Value> = ask.request.messages.iter().map(|said| message(ask, said)).collect();
    let mut options = json!({"num_predict": ask.output_tokens});
    set(&mut options, "temperature", temperature(ask));
    // Without this the server cuts a long conversation at its front, and says nothing.
    set(&mut options, "num_ctx", ask.context_tokens.map(|tokens| json!(tokens)));
    let mut body =
        json!({"model": ask.model, "messages": messages, "options": options, "stream": ask.streaming});
    set(&mut body, "tools", list(openai::tools(ask)));
    // A form of the answer leaves no room for calls.
    let form = ask.request.schema.clone().filter(|_| ask.request.tools.is_empty());
    set(&mut body, "format", form);
    set(&mut body, "logprobs", ask.likelihood.then_some(json!(true)));
    body
}

fn message(ask: &Ask<'_>, said: &Said) -> Value {
    match said {
        Said::System(text) => json!({"role": "system", "content": text}),
        Said::User(text) => json!({"role": "user", "content": text}),
        Said::ToolResult { call, output, is_error } => {
            let tool = tool_of(ask.request, call).unwrap_or("unknown");
            json!({"role": "tool", "tool_name": ask.names.sent(tool), "content": told(output, *is_error)})
        }
        Said::Assistant { text, calls } => {
            let call = |call: &bowline_models::SaidCall| {
                let (name, args) = (ask.names.sent(&call.tool), arguments::outgoing(&call.args));
                json!({"function": {"name": name, "arguments": args}})
            };
            let mut message = json!({"role": "assistant", "content": text});
            set(&mut message, "tool_calls", list(calls.iter().map(call).collect()));
            message
        }
    }
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow, default)]
    message: Option<Message<'a>>,
    #[serde(default)]
    done: Option<bool>,
    #[serde(borrow, default)]
    done_reason: Raw<'a>,
    #[serde(borrow, default)]
    prompt_eval_count: Raw<'a>,
    #[serde(borrow, default)]
    eval_count: Raw<'a>,
    #[serde(borrow, default)]
    logprobs: Raw<'a>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    content: Raw<'a>,
    #[serde(borrow, default)]
    thinking: Raw<'a>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<ToolCall<'a>>>,
}

#[derive(Deserialize)]
struct ToolCall<'a> {
    #[serde(borrow, default)]
    function: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow, default)]
    name: Raw<'a>,
    #[serde(borrow, default)]
    arguments: Raw<'a>,
}

/// A line of a streamed answer, which is of the form of a whole one.
pub(super) fn chunk(text: &str, into: &mut Gathered) -> Result<Flow, Problem> {
    complained(text)?;
    let response: Response<'_> = json::read(text)?;
    if response.message.is_none() && response.done.is_none() {
        return Err("it holds no answer".to_owned().into());
    }
    into.likely(response.logprobs);
    if let Some(message) = &response.message {
        into.think(&json::text(message.thinking).unwrap_or_default());
        into.say(&json::text(message.content).unwrap_or_default());
        for function in message.tool_calls.iter().flatten().filter_map(|call| call.function.as_ref()) {
            into.call(Part {
                id: String::new(),
                tool: json::text(function.name).unwrap_or_default(),
                args: arguments::whole(function.arguments),
            });
        }
    }
    if response.done != Some(true) {
        return Ok(Flow::Open);
    }
    into.tally.update(Tally {
        input: json::count(response.prompt_eval_count),
        output: json::count(response.eval_count),
        ..Tally::default()
    });
    into.end(stop(json::text(response.done_reason).as_deref()));
    Ok(Flow::Done)
}

fn stop(reason: Option<&str>) -> Ended {
    match reason {
        Some("length") => Ended::As(Stop::Truncated),
        // It answers so when it only loads or lets go of the model.
        Some(reason @ ("load" | "unload")) => Ended::Failed(format!("it stopped with {reason:?}")),
        Some(_) | None => Ended::As(Stop::End),
    }
}
