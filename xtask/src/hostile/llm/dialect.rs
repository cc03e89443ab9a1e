//! What a model server says, in the words of each format, streamed or whole.

use std::time::Duration;

use bowline_core::task::Format;
use bowline_remote::double::Play;
use serde_json::{Value, json};

/// A format, and whether it streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(crate) format: Format,
    pub(crate) streaming: bool,
}

/// Why a reply says that it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Turn,
    Calls,
    Length,
}

/// A call: id, tool, arguments as JSON.
pub(crate) type Call = (String, String, String);

/// A reply, whoever says it.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) text: String,
    pub(crate) calls: Vec<Call>,
    pub(crate) end: End,
    /// Tokens of input and output, as digits.
    pub(crate) usage: (String, String),
}

impl Reply {
    pub(crate) fn say(text: &str) -> Self {
        let usage = ("100".to_owned(), "10".to_owned());
        Self { text: text.to_owned(), calls: Vec::new(), end: End::Turn, usage }
    }

    pub(crate) fn call(args: &str) -> Self {
        Self::calls(&[("c1", "note", args)])
    }

    pub(crate) fn calls(calls: &[(&str, &str, &str)]) -> Self {
        let owned = |(id, tool, args): &(&str, &str, &str)| ((*id).into(), (*tool).into(), (*args).into());
        Self { calls: calls.iter().map(owned).collect(), end: End::Calls, ..Self::say("") }
    }

    pub(crate) fn ending(mut self, end: End) -> Self {
        self.end = end;
        self
    }

    pub(crate) fn using(mut self, input: &str, output: &str) -> Self {
        self.usage = (input.to_owned(), output.to_owned());
        self
    }
}

impl Dialect {
    /// Every format, both ways.
    pub(crate) fn all() -> Vec<Self> {
        let both = |format| [true, false].map(|streaming| Self { format, streaming });
        Format::ALL.into_iter().flat_map(both).collect()
    }

    /// Whether calls have ids the model chooses.
    pub(crate) fn has_ids(self) -> bool {
        self.format != Format::Ollama
    }

    /// Whether arguments come as a text.
    pub(crate) fn has_text_arguments(self) -> bool {
        matches!(self.format, Format::Openai | Format::OpenaiResponses)
    }

    /// The server says this.
    pub(crate) fn reply(self, reply: &Reply) -> Play {
        if self.streaming { self.raw(&self.stream(reply)) } else { self.raw(&self.whole(reply)) }
    }

    /// The server says these bytes, under the right name.
    pub(crate) fn raw(self, bytes: &str) -> Play {
        let kind = match (self.streaming, self.format) {
            (false, _) => "application/json",
            (true, Format::Ollama) => "application/x-ndjson",
            (true, _) => "text/event-stream",
        };
        let pieces = bytes.as_bytes().chunks(1 << 16).map(|piece| (Duration::ZERO, piece.to_vec()));
        Play { pieces: pieces.collect(), ..Play::stream(b"", 1).header("content-type", kind) }
    }

    /// One piece of text of a stream.
    pub(crate) fn token(self, text: &str) -> String {
        let q = quoted(text);
        match self.format {
            Format::Openai => data(&format!(r#"{{"choices":[{{"index":0,"delta":{{"content":{q}}}}}]}}"#)),
            Format::OpenaiResponses => {
                data(&format!(r#"{{"type":"response.output_text.delta","delta":{q}}}"#))
            }
            Format::Anthropic => data(&format!(
                r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{q}}}}}"#
            )),
            Format::Gemini => data(&format!(
                r#"{{"candidates":[{{"content":{{"parts":[{{"text":{q}}}]}}}}],"usageMetadata":{{}}}}"#
            )),
            Format::Ollama => format!("{{\"message\":{{\"content\":{q}}},\"done\":false}}\n"),
        }
    }

    /// A reply as one JSON value.
    pub(crate) fn whole(self, reply: &Reply) -> String {
        let (text, (input, output)) = (quoted(&reply.text), &reply.usage);
        let calls = self.calls(reply).join(",");
        let end = self.end(reply.end);
        match self.format {
            Format::Openai => {
                let calls =
                    if calls.is_empty() { String::new() } else { format!(r#","tool_calls":[{calls}]"#) };
                format!(
                    r#"{{"choices":[{{"index":0,"message":{{"role":"assistant","content":{text}{calls}}},"finish_reason":"{end}"}}],"usage":{{"prompt_tokens":{input},"completion_tokens":{output}}}}}"#
                )
            }
            Format::OpenaiResponses => {
                let said =
                    format!(r#"{{"type":"message","content":[{{"type":"output_text","text":{text}}}]}}"#);
                let items = if calls.is_empty() { said } else { format!("{said},{calls}") };
                format!(
                    r#"{{"status":"{end}","incomplete_details":{{"reason":"max_output_tokens"}},"output":[{items}],"usage":{{"input_tokens":{input},"output_tokens":{output}}}}}"#
                )
            }
            Format::Anthropic => {
                let said = format!(r#"{{"type":"text","text":{text}}}"#);
                let blocks = if calls.is_empty() { said } else { format!("{said},{calls}") };
                format!(
                    r#"{{"type":"message","content":[{blocks}],"stop_reason":"{end}","usage":{{"input_tokens":{input},"output_tokens":{output}}}}}"#
                )
            }
            Format::Gemini => {
                let said = format!(r#"{{"text":{text}}}"#);
                let parts = if calls.is_empty() { said } else { format!("{said},{calls}") };
                format!(
                    r#"{{"candidates":[{{"content":{{"parts":[{parts}]}},"finishReason":"{end}"}}],"usageMetadata":{{"promptTokenCount":{input},"candidatesTokenCount":{output}}}}}"#
                )
            }
            Format::Ollama => format!(
                r#"{{"message":{{"content":{text},"tool_calls":[{calls}]}},"done":true,"done_reason":"{end}","prompt_eval_count":{input},"eval_count":{output}}}"#
            ),
        }
    }

    fn calls(self, reply: &Reply) -> Vec<String> {
        let one = |(number, (id, tool, args)): (usize, &Call)| {
            let (id, tool, text) = (quoted(id), quoted(tool), quoted(args));
            match self.format {
                Format::Openai => format!(
                    r#"{{"index":{number},"id":{id},"type":"function","function":{{"name":{tool},"arguments":{text}}}}}"#
                ),
                Format::OpenaiResponses => {
                    format!(r#"{{"type":"function_call","call_id":{id},"name":{tool},"arguments":{text}}}"#)
                }
                Format::Anthropic => {
                    format!(r#"{{"type":"tool_use","id":{id},"name":{tool},"input":{args}}}"#)
                }
                Format::Gemini => {
                    format!(r#"{{"functionCall":{{"id":{id},"name":{tool},"args":{args}}}}}"#)
                }
                Format::Ollama => format!(r#"{{"function":{{"name":{tool},"arguments":{args}}}}}"#),
            }
        };
        reply.calls.iter().enumerate().map(one).collect()
    }

    fn end(self, end: End) -> &'static str {
        match (self.format, end) {
            (Format::Openai, End::Turn) | (Format::Ollama, End::Turn | End::Calls) => "stop",
            (Format::Openai, End::Calls) => "tool_calls",
            (Format::Openai | Format::Ollama, End::Length) => "length",
            (Format::OpenaiResponses, End::Length) => "incomplete",
            (Format::OpenaiResponses, End::Turn | End::Calls) => "completed",
            (Format::Anthropic, End::Turn) => "end_turn",
            (Format::Anthropic, End::Calls) => "tool_use",
            (Format::Anthropic, End::Length) => "max_tokens",
            (Format::Gemini, End::Turn | End::Calls) => "STOP",
            (Format::Gemini, End::Length) => "MAX_TOKENS",
        }
    }

    /// A reply as a stream.
    pub(crate) fn stream(self, reply: &Reply) -> String {
        let said = if reply.text.is_empty() { String::new() } else { self.token(&reply.text) };
        format!("{said}{}{}", self.call_events(reply), self.final_event(reply))
    }

    fn call_events(self, reply: &Reply) -> String {
        let calls = self.calls(reply);
        match self.format {
            Format::Openai => calls
                .iter()
                .map(|call| data(&format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{call}]}}}}]}}"#)))
                .collect(),
            Format::OpenaiResponses => calls
                .iter()
                .map(|call| data(&format!(r#"{{"type":"response.output_item.done","item":{call}}}"#)))
                .collect(),
            Format::Anthropic => reply
                .calls
                .iter()
                .enumerate()
                .map(|(number, (id, tool, args))| {
                    let index = number + 1;
                    let block = json!({"type": "content_block_start", "index": index,
                    "content_block": {"type": "tool_use", "id": id, "name": tool, "input": {}}});
                    let delta = json!({"type": "content_block_delta", "index": index,
                    "delta": {"type": "input_json_delta", "partial_json": args}});
                    format!("{}{}", data(&block.to_string()), data(&delta.to_string()))
                })
                .collect(),
            Format::Gemini => calls
                .iter()
                .map(|call| data(&format!(r#"{{"candidates":[{{"content":{{"parts":[{call}]}}}}]}}"#)))
                .collect(),
            Format::Ollama => calls
                .iter()
                .map(|call| {
                    format!("{{\"message\":{{\"content\":\"\",\"tool_calls\":[{call}]}},\"done\":false}}\n")
                })
                .collect(),
        }
    }

    /// What ends a stream.
    pub(crate) fn final_event(self, reply: &Reply) -> String {
        let (end, (input, output)) = (self.end(reply.end), &reply.usage);
        match self.format {
            Format::Openai => {
                let finish = format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{end}"}}]}}"#);
                let usage = format!(
                    r#"{{"choices":[],"usage":{{"prompt_tokens":{input},"completion_tokens":{output}}}}}"#
                );
                format!("{}{}{}", data(&finish), data(&usage), data("[DONE]"))
            }
            Format::OpenaiResponses => data(&format!(
                r#"{{"type":"response.completed","response":{{"status":"{end}","output":[],"usage":{{"input_tokens":{input},"output_tokens":{output}}}}}}}"#
            )),
            Format::Anthropic => {
                let last = format!(
                    r#"{{"type":"message_delta","delta":{{"stop_reason":"{end}"}},"usage":{{"input_tokens":{input},"output_tokens":{output}}}}}"#
                );
                format!("{}{}", data(&last), data(r#"{"type":"message_stop"}"#))
            }
            Format::Gemini => data(&format!(
                r#"{{"candidates":[{{"content":{{"parts":[]}},"finishReason":"{end}"}}],"usageMetadata":{{"promptTokenCount":{input},"candidatesTokenCount":{output}}}}}"#
            )),
            Format::Ollama => format!(
                "{{\"message\":{{\"content\":\"\"}},\"done\":true,\"done_reason\":\"{end}\",\"prompt_eval_count\":{input},\"eval_count\":{output}}}\n"
            ),
        }
    }

    /// An error where a piece was expected.
    pub(crate) fn error(self) -> String {
        let error: Value = match self.format {
            Format::OpenaiResponses => json!({"type": "error", "code": "server_error", "message": "broken"}),
            Format::Ollama => return "{\"error\":\"broken\"}\n".to_owned(),
            Format::Openai | Format::Anthropic | Format::Gemini => {
                json!({"type": "error", "error": {"type": "api_error", "message": "broken"}})
            }
        };
        data(&error.to_string())
    }
}

fn data(text: &str) -> String {
    format!("data: {text}\n\n")
}

/// A JSON string.
pub(crate) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
