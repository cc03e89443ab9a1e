//! The wire formats: what is asked, and how answers are read.
//!
//! Each format is two pure directions in a file of its own: a request to a JSON body, and
//! a body or an event to a [`Gathered`] answer. Nothing here waits or sends.

mod anthropic;
mod gemini;
mod ollama;
mod openai;
mod responses;
mod schema;

use bowline_core::task::Format;
use bowline_models::{Request, Said};
use serde_json::{Value, json};

use crate::frames::{Frame, Framing};
use crate::gather::Gathered;
use crate::key::Key;
use crate::names::Names;
use crate::trouble::Complaint;

/// What is asked, and of whom.
pub(crate) struct Ask<'a> {
    /// What the server calls the model.
    pub(crate) model: &'a str,
    pub(crate) request: &'a Request,
    pub(crate) names: &'a Names,
    /// Most tokens of the answer.
    pub(crate) output_tokens: u64,
    /// Tokens that fit into the model, where that is known.
    pub(crate) context_tokens: Option<u64>,
    pub(crate) streaming: bool,
    /// Whether it shall tell how likely the model finds its words.
    pub(crate) likelihood: bool,
    /// Whether the server is the format's own provider, and not one that speaks like it.
    pub(crate) is_own: bool,
}

/// What was not understood.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// It is not what the format says.
    Unreadable(String),
    /// The server says that something is wrong.
    Complaint(Complaint),
}

impl From<String> for Problem {
    fn from(why: String) -> Self {
        Self::Unreadable(why)
    }
}

/// Whether more of a stream is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// More may come.
    Open,
    /// That was all.
    Done,
}

/// Where a request goes, below the address of the server.
pub(crate) fn path(format: Format, model: &str, streaming: bool) -> String {
    match format {
        Format::Openai => "/chat/completions".to_owned(),
        Format::OpenaiResponses => "/responses".to_owned(),
        Format::Anthropic => "/v1/messages".to_owned(),
        Format::Gemini => gemini::path(model, streaming),
        Format::Ollama => "/api/chat".to_owned(),
    }
}

/// The headers that a request of this format carries.
pub(crate) fn headers(format: Format, key: Option<&Key>) -> Vec<(&'static str, String)> {
    let bearer = |key: &Key| ("authorization", format!("Bearer {}", key.value()));
    match format {
        Format::Openai | Format::OpenaiResponses | Format::Ollama => key.map(bearer).into_iter().collect(),
        Format::Anthropic => {
            let key = key.map(|key| ("x-api-key", key.value().to_owned()));
            key.into_iter().chain([("anthropic-version", "2023-06-01".to_owned())]).collect()
        }
        Format::Gemini => key.map(|key| ("x-goog-api-key", key.value().to_owned())).into_iter().collect(),
    }
}

/// How a streamed answer is cut into pieces.
pub(crate) fn framing(format: Format) -> Framing {
    match format {
        Format::Openai | Format::OpenaiResponses | Format::Anthropic | Format::Gemini => Framing::Events,
        Format::Ollama => Framing::Lines,
    }
}

/// The body of a request.
pub(crate) fn body(format: Format, ask: &Ask<'_>) -> Value {
    match format {
        Format::Openai => openai::body(ask),
        Format::OpenaiResponses => responses::body(ask),
        Format::Anthropic => anthropic::body(ask),
        Format::Gemini => gemini::body(ask),
        Format::Ollama => ollama::body(ask),
    }
}

/// What an answer to this is gathered in.
pub(crate) fn gathering(format: Format, ask: &Ask<'_>) -> Gathered {
    let answer_tool = match format {
        Format::Anthropic => anthropic::answer_tool(ask),
        Format::Openai | Format::OpenaiResponses | Format::Gemini | Format::Ollama => None,
    };
    Gathered::new(answer_tool, ask.request.output_tokens)
}

/// Reads an answer that came whole.
pub(crate) fn whole(format: Format, text: &str, into: &mut Gathered) -> Result<(), Problem> {
    if let Some(complaint) = crate::trouble::complaint(text) {
        return Err(Problem::Complaint(complaint));
    }
    match format {
        Format::Openai => openai::whole(text, into),
        Format::OpenaiResponses => responses::whole(text, into),
        Format::Anthropic => anthropic::whole(text, into),
        Format::Gemini => gemini::chunk(text, into).map(drop),
        Format::Ollama => ollama::chunk(text, into).map(drop),
    }
}

/// Reads a piece of an answer that streams.
pub(crate) fn event(format: Format, frame: &Frame, into: &mut Gathered) -> Result<Flow, Problem> {
    match format {
        Format::Openai => openai::event(frame, into),
        Format::OpenaiResponses => responses::event(frame, into),
        Format::Anthropic => anthropic::event(frame, into),
        Format::Gemini => gemini::chunk(&frame.data, into),
        Format::Ollama => ollama::chunk(&frame.data, into),
    }
}

/// An error that stands where a piece of an answer was expected.
fn complained(data: &str) -> Result<(), Problem> {
    // Looked for only where the word stands at all: pieces are many and small.
    if !data.contains("\"error\"") {
        return Ok(());
    }
    crate::trouble::complaint(data).map_or(Ok(()), |complaint| Err(Problem::Complaint(complaint)))
}

/// A temperature as servers take it.
fn temperature(ask: &Ask<'_>) -> Option<Value> {
    let ppm = ask.request.temperature?.0;
    let millionths = i32::try_from(ppm).ok()?;
    Some(json!(f64::from(millionths) / 1_000_000.0))
}

/// All standing instructions, as one text.
fn system(request: &Request) -> String {
    let texts = request.messages.iter().filter_map(|said| match said {
        Said::System(text) => Some(text.as_str()),
        Said::User(_) | Said::Assistant { .. } | Said::ToolResult { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// Bad news, for formats that have no word for it.
fn told(output: &str, is_error: bool) -> String {
    if is_error { format!("error: {output}") } else { output.to_owned() }
}

/// The tool a call asked for, by the call's id.
fn tool_of<'a>(request: &'a Request, id: &str) -> Option<&'a str> {
    request.messages.iter().find_map(|said| match said {
        Said::Assistant { calls, .. } => {
            calls.iter().find(|call| call.id == id).map(|call| call.tool.as_str())
        }
        Said::System(_) | Said::User(_) | Said::ToolResult { .. } => None,
    })
}

/// Sets a member where there is something to set.
fn set(body: &mut Value, key: &str, value: Option<Value>) {
    if let (Some(body), Some(value)) = (body.as_object_mut(), value) {
        body.insert(key.to_owned(), value);
    }
}

/// A list that is left out where it is empty.
fn list(items: Vec<Value>) -> Option<Value> {
    if items.is_empty() { None } else { Some(Value::Array(items)) }
}

#[cfg(test)]
pub(crate) mod tests;
