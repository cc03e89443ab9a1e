//! From a conversation to the prompt of a model, by the chat template its file carries.
//!
//! Templates are Jinja written for Python; a stranger wrote them, so they run with a
//! bound on their work and see nothing but the conversation. A template that knows about
//! tools is given them; for one that does not, they are written into the system text in
//! the form most small models have seen (`<tools>`, `<tool_call>`, `<tool_response>`).

use bowline_core::tool::ToolSpec;
use bowline_models::Said;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, Error, ErrorKind, Value as Jinja, context};
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::LoadError;
use crate::gguf::Gguf;

/// Most work of a template: instructions of its interpreter.
const FUEL: u64 = 20_000_000;

/// What begins a call in the text of a model.
pub(crate) const CALL_BEGINS: &str = "<tool_call>";
/// What ends it.
pub(crate) const CALL_ENDS: &str = "</tool_call>";

/// A chat template, compiled.
#[derive(Debug)]
pub struct Template {
    environment: Environment<'static>,
    knows_tools: bool,
}

/// A conversation could not be written as a prompt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the chat template of the model refuses this conversation: {what}")]
pub struct BadConversation {
    /// In the template's words.
    pub what: String,
}

#[derive(Serialize)]
struct Message {
    role: &'static str,
    content: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Value>,
}

impl Template {
    /// Compiles the template of a file.
    pub fn read(file: &Gguf) -> Result<Self, LoadError> {
        let source = file.text("tokenizer.chat_template").map_err(|_| LoadError::Template {
            path: file.path().to_owned(),
            what: "there is none".to_owned(),
        })?;
        Self::compile(source)
            .map_err(|error| LoadError::Template { path: file.path().to_owned(), what: error.to_string() })
    }

    /// Compiles a template.
    pub fn compile(source: &str) -> Result<Self, Error> {
        let mut environment = Environment::new();
        environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
        environment.set_fuel(Some(FUEL));
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_function("raise_exception", |message: String| -> Result<Jinja, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, message))
        });
        environment.add_filter("tojson", |value: Jinja| -> Result<String, Error> {
            spaced(&value).map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))
        });
        environment.add_template_owned("chat".to_owned(), source.to_owned())?;
        Ok(Self { environment, knows_tools: source.contains("tools") })
    }

    /// Writes a conversation down, up to where the model speaks. `disarm` is applied to
    /// every text that is not the template's own.
    pub fn render(
        &self,
        messages: &[&Said],
        tools: &[ToolSpec],
        disarm: impl Fn(&str) -> String,
    ) -> Result<String, BadConversation> {
        let refuse = |error: Error| BadConversation { what: error.to_string() };
        let described: Vec<Value> = tools.iter().map(|tool| described(tool, &disarm)).collect();
        let messages =
            if self.knows_tools { plain(messages, &disarm) } else { hermes(messages, &described, &disarm) };
        let tools = (self.knows_tools && !described.is_empty()).then_some(described);
        let (messages, tools) = (Jinja::from(Serde(messages)), Jinja::from(Serde(tools)));
        let template = self.environment.get_template("chat").map_err(refuse)?;
        template
            .render(
                context! { messages, tools, add_generation_prompt => true, bos_token => "", eos_token => "" },
            )
            .map_err(refuse)
    }
}

/// JSON with a space after `:` and `,`, as Python writes it and models have read it.
fn spaced(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut bytes = Vec::new();
    let mut writer = serde_json::Serializer::with_formatter(&mut bytes, Spaced);
    value.serialize(&mut writer)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

struct Spaced;

impl serde_json::ser::Formatter for Spaced {
    fn begin_array_value<W: ?Sized + std::io::Write>(
        &mut self,
        to: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        to.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(
        &mut self,
        to: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        to.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(&mut self, to: &mut W) -> std::io::Result<()> {
        to.write_all(b": ")
    }
}

fn described(tool: &ToolSpec, disarm: &impl Fn(&str) -> String) -> Value {
    let schema = disarm(&tool.schema.to_string());
    json!({
        "type": "function",
        "function": {
            "name": tool.name.as_str(),
            "description": disarm(&tool.description),
            "parameters": serde_json::from_str::<Value>(&schema).unwrap_or_else(|_| tool.schema.clone()),
        }
    })
}

/// For templates that know roles and calls of tools.
fn plain(messages: &[&Said], disarm: &impl Fn(&str) -> String) -> Vec<Message> {
    let speak = |role, text: &str| Message { role, content: disarm(text), tool_calls: Vec::new() };
    messages
        .iter()
        .map(|said| match said {
            Said::System(text) => speak("system", text),
            Said::User(text) => speak("user", text),
            Said::ToolResult { output, .. } => speak("tool", output),
            Said::Assistant { text, calls } => {
                let calls = calls.iter().map(|call| {
                    let name = disarm(&call.tool);
                    let arguments = arguments(&disarm(&call.args));
                    json!({"type": "function", "function": {"name": name, "arguments": arguments}})
                });
                Message { role: "assistant", content: disarm(text), tool_calls: calls.collect() }
            }
        })
        .collect()
}

/// For templates that know texts only.
fn hermes(messages: &[&Said], tools: &[Value], disarm: &impl Fn(&str) -> String) -> Vec<Message> {
    let mut written: Vec<Message> = Vec::new();
    let mut put = |role: &'static str, text: String, joins: bool| match written.last_mut() {
        // Results of one batch stand in one turn: some templates want turns to alternate.
        Some(last) if joins && last.role == role => {
            last.content.push('\n');
            last.content.push_str(&text);
        }
        _ => written.push(Message { role, content: text, tool_calls: Vec::new() }),
    };
    let mut manual = if tools.is_empty() { None } else { Some(manual(tools)) };
    if !matches!(messages.first(), Some(Said::System(_)))
        && let Some(manual) = manual.take()
    {
        put("system", manual, false);
    }
    for said in messages {
        match said {
            Said::System(text) => {
                let mut text = disarm(text);
                if let Some(manual) = manual.take() {
                    text.push_str("\n\n");
                    text.push_str(&manual);
                }
                put("system", text, false);
            }
            Said::User(text) => put("user", disarm(text), false),
            Said::ToolResult { output, .. } => {
                put("user", format!("<tool_response>\n{}\n</tool_response>", disarm(output)), true);
            }
            Said::Assistant { text, calls } => {
                let mut spoken = disarm(text);
                for call in calls {
                    if !spoken.is_empty() {
                        spoken.push('\n');
                    }
                    let arguments = arguments(&disarm(&call.args));
                    let body = spaced(&json!({"name": disarm(&call.tool), "arguments": arguments}));
                    spoken.push_str(&format!("{CALL_BEGINS}\n{}\n{CALL_ENDS}", body.unwrap_or_default()));
                }
                put("assistant", spoken, false);
            }
        }
    }
    written
}

fn manual(tools: &[Value]) -> String {
    let lines: Vec<String> = tools.iter().filter_map(|tool| spaced(tool).ok()).collect();
    format!(
        "You may call tools. The tools are:\n<tools>\n{}\n</tools>\n\nTo call one, answer with its name and \
         arguments as JSON:\n{CALL_BEGINS}\n{{\"name\": NAME, \"arguments\": ARGUMENTS}}\n{CALL_ENDS}",
        lines.join("\n")
    )
}

/// Arguments as JSON where they are JSON, as text where not: the model wrote them.
fn arguments(raw: &str) -> Value {
    serde_json::from_str(raw).unwrap_or_else(|_| Value::String(raw.to_owned()))
}

#[cfg(test)]
mod tests;
