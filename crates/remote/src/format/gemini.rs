//! Gemini `generateContent`.

use bowline_core::message::Stop;
use bowline_models::Said;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Ask, Flow, Problem, complained, list, set, system, temperature, tool_of};
use crate::arguments;
use crate::booked::Tally;
use crate::gather::{Ended, Gathered, Part};
use crate::json::{self, Raw};

/// Stands where the signature of a call would be, which no conversation of ours keeps;
/// documented by the provider for calls that come from elsewhere.
const UNSIGNED: &str = "skip_thought_signature_validator";

pub(super) fn path(model: &str, streaming: bool) -> String {
    let model: String = model.chars().map(spelled).collect();
    let place = if model.contains('/') { model } else { format!("models/{model}") };
    let how = if streaming { "streamGenerateContent?alt=sse" } else { "generateContent" };
    format!("/{place}:{how}")
}

/// A character of a model's name in an address.
fn spelled(c: char) -> String {
    if c.is_ascii_alphanumeric() || "-._/".contains(c) {
        return c.to_string();
    }
    let mut bytes = [0; 4];
    c.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02X}")).collect()
}

pub(super) fn body(ask: &Ask<'_>) -> Value {
    let mut settings = json!({"maxOutputTokens": ask.output_tokens});
    set(&mut settings, "temperature", temperature(ask));
    set(&mut settings, "responseLogprobs", ask.likelihood.then_some(json!(true)));
    // Tools and a form of the answer cannot be asked for together.
    if let Some(schema) = ask.request.schema.as_ref().filter(|_| ask.request.tools.is_empty()) {
        set(&mut settings, "responseMimeType", Some(json!("application/json")));
        set(&mut settings, "responseJsonSchema", Some(schema.clone()));
    }
    let mut body = json!({"contents": contents(ask), "generationConfig": settings});
    let system = system(ask.request);
    let system = (!system.is_empty()).then(|| json!({"parts": [{"text": system}]}));
    set(&mut body, "systemInstruction", system);
    let tool = |tool: &bowline_core::tool::ToolSpec| {
        json!({"name": ask.names.sent(tool.name.as_str()), "description": tool.description,
            "parametersJsonSchema": tool.schema})
    };
    let tools = list(ask.request.tools.iter().map(tool).collect());
    set(&mut body, "tools", tools.map(|tools| json!([{"functionDeclarations": tools}])));
    body
}

fn contents(ask: &Ask<'_>) -> Vec<Value> {
    let mut turns: Vec<(&'static str, Vec<Value>)> = Vec::new();
    for said in ask.request.messages.iter() {
        let Some((role, parts)) = parts(ask, said) else { continue };
        match turns.last_mut() {
            Some((last, all)) if *last == role => all.extend(parts),
            Some(_) | None => turns.push((role, parts)),
        }
    }
    turns.into_iter().map(|(role, parts)| json!({"role": role, "parts": parts})).collect()
}

fn parts(ask: &Ask<'_>, said: &Said) -> Option<(&'static str, Vec<Value>)> {
    match said {
        Said::System(_) => None,
        Said::User(text) => Some(("user", vec![json!({"text": text})])),
        Said::ToolResult { call, output, is_error } => {
            let tool = tool_of(ask.request, call).unwrap_or("unknown");
            let word = if *is_error { "error" } else { "output" };
            let name = ask.names.sent(tool);
            Some(("user", vec![json!({"functionResponse": {"name": name, "response": {word: output}}})]))
        }
        Said::Assistant { text, calls } => {
            let spoken = (!text.is_empty() || calls.is_empty()).then(|| json!({"text": text}));
            let call = |call: &bowline_models::SaidCall| {
                let (name, args) = (ask.names.sent(&call.tool), arguments::outgoing(&call.args));
                let mut part = json!({"functionCall": {"name": name, "args": args}});
                let is_signed = ask.model.contains("gemini-3");
                set(&mut part, "thoughtSignature", is_signed.then(|| json!(UNSIGNED)));
                part
            };
            Some(("model", spoken.into_iter().chain(calls.iter().map(call)).collect()))
        }
    }
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow, default)]
    candidates: Option<Vec<Candidate<'a>>>,
    #[serde(borrow, default, rename = "promptFeedback")]
    feedback: Option<Feedback<'a>>,
    #[serde(borrow, default, rename = "usageMetadata")]
    usage: Raw<'a>,
}

#[derive(Deserialize)]
struct Candidate<'a> {
    #[serde(borrow, default)]
    content: Option<Content<'a>>,
    #[serde(borrow, default, rename = "finishReason")]
    finish_reason: Raw<'a>,
    #[serde(borrow, default, rename = "avgLogprobs")]
    mean: Raw<'a>,
    #[serde(borrow, default, rename = "logprobsResult")]
    logprobs: Raw<'a>,
}

#[derive(Default, Deserialize)]
struct Logprobs<'a> {
    #[serde(borrow, default, rename = "chosenCandidates")]
    chosen: Raw<'a>,
}

#[derive(Deserialize)]
struct Feedback<'a> {
    #[serde(borrow, default, rename = "blockReason")]
    block_reason: Raw<'a>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, default)]
    parts: Option<Vec<Piece<'a>>>,
}

#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(borrow, default)]
    text: Raw<'a>,
    #[serde(default)]
    thought: Option<bool>,
    #[serde(borrow, default, rename = "functionCall")]
    call: Option<FunctionCall<'a>>,
}

#[derive(Deserialize)]
struct FunctionCall<'a> {
    #[serde(borrow, default)]
    id: Raw<'a>,
    #[serde(borrow, default)]
    name: Raw<'a>,
    #[serde(borrow, default)]
    args: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Counts<'a> {
    #[serde(borrow, default)]
    prompt_token_count: Raw<'a>,
    #[serde(borrow, default)]
    tool_use_prompt_token_count: Raw<'a>,
    #[serde(borrow, default)]
    candidates_token_count: Raw<'a>,
    #[serde(borrow, default)]
    thoughts_token_count: Raw<'a>,
    #[serde(borrow, default)]
    cached_content_token_count: Raw<'a>,
    #[serde(borrow, default)]
    total_token_count: Raw<'a>,
}

/// A piece of a streamed answer, which is of the form of a whole one.
pub(super) fn chunk(text: &str, into: &mut Gathered) -> Result<Flow, Problem> {
    complained(text)?;
    let response: Response<'_> = json::read(text)?;
    let blocked = response.feedback.and_then(|feedback| json::text(feedback.block_reason));
    let candidates = response.candidates.unwrap_or_default();
    if candidates.is_empty() && blocked.is_none() && response.usage.is_none() {
        return Err("it holds no answer".to_owned().into());
    }
    into.tally.update(tally(response.usage));
    if let Some(candidate) = candidates.first() {
        let content = candidate.content.iter().flat_map(|content| &content.parts);
        content.flatten().for_each(|piece| take(piece, into));
        into.likely_on_average(candidate.mean);
        let logprobs: Logprobs<'_> = json::part(candidate.logprobs).unwrap_or_default();
        into.likely(logprobs.chosen);
        if let Some(reason) = json::text(candidate.finish_reason) {
            into.end(stop(&reason));
        }
    }
    if blocked.is_some() {
        into.end(Ended::As(Stop::Filtered));
    }
    Ok(Flow::Open)
}

fn take(piece: &Piece<'_>, into: &mut Gathered) {
    if let Some(call) = &piece.call {
        into.call(Part {
            id: json::text(call.id).unwrap_or_default(),
            tool: json::text(call.name).unwrap_or_default(),
            args: arguments::whole(call.args),
        });
    } else if piece.thought != Some(true) {
        into.say(&json::text(piece.text).unwrap_or_default());
    } else {
        into.think(&json::text(piece.text).unwrap_or_default());
    }
}

fn stop(reason: &str) -> Ended {
    Ended::As(match reason {
        "STOP" => Stop::End,
        "MAX_TOKENS" => Stop::Truncated,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY" => {
            Stop::Filtered
        }
        other => return Ended::Failed(format!("it stopped with {other:?}")),
    })
}

/// What a model thinks is not in their count of the output.
fn tally(usage: Raw<'_>) -> Tally {
    let counts: Counts<'_> = json::part(usage).unwrap_or_default();
    let tools = json::count(counts.tool_use_prompt_token_count).unwrap_or(0);
    let thoughts = json::count(counts.thoughts_token_count);
    let written = json::count(counts.candidates_token_count);
    let output = match (written, thoughts) {
        (None, None) => None,
        (written, thoughts) => Some(written.unwrap_or(0).saturating_add(thoughts.unwrap_or(0))),
    };
    Tally {
        input: json::count(counts.prompt_token_count).map(|input| input.saturating_add(tools)),
        output,
        cached: json::count(counts.cached_content_token_count),
        reasoning: thoughts,
        total: json::count(counts.total_token_count),
    }
}
