//! A tool of a server, as every other tool is used.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bowline_core::agent::server::{Server, ServerName};
use bowline_core::input::Returned;
use bowline_core::tool::{Consent, Invocation, Need, Repeat, ToolSpec, Touch};
use bowline_core::undo::{How, Undo};
use bowline_tools::{CallContext, Tool, ToolOutput, cap_output};
use rmcp::model::{CallToolRequestParams, CallToolResponse, JsonObject, MetaObject, RequestMetaObject};
use serde_json::Value;
use tokio::time::Instant;

use crate::answer;
use crate::limits::MESSAGE_BYTES_MAX;
use crate::link::{Called, Link};
use crate::listing::Listed;
use crate::name::tool_name;

/// Where a server finds the key by which it can tell a repetition from a new call.
pub(crate) const KEY: &str = "bowline/idempotency-key";
/// Which run and which action of it a call belongs to.
const RUN: &str = "bowline/run";
const ACTION: &str = "bowline/action";

/// Times a server may want something before it answers.
const ROUNDS_MAX: u32 = 4;

/// One tool.
#[derive(Clone)]
pub(crate) struct ServerTool {
    spec: ToolSpec,
    raw: String,
    link: Arc<Link>,
}

impl ServerTool {
    pub(crate) fn new(spec: ToolSpec, raw: String, link: Arc<Link>) -> Self {
        Self { spec, raw, link }
    }

    fn params(&self, args: Value, ctx: &CallContext) -> CallToolRequestParams {
        let mut meta = JsonObject::new();
        meta.insert(KEY.to_owned(), ctx.key.to_string().into());
        meta.insert(RUN.to_owned(), ctx.run.to_string().into());
        meta.insert(ACTION.to_owned(), ctx.action.to_string().into());
        let mut params = CallToolRequestParams::new(self.raw.clone());
        params.meta = Some(RequestMetaObject(MetaObject(meta)));
        params.arguments = match args {
            Value::Object(arguments) => Some(arguments),
            _ => None,
        };
        params
    }

    /// Makes the call, saying no to whatever the server wants first. With the answer
    /// comes what it wanted.
    async fn call(&self, mut params: CallToolRequestParams, max: Duration) -> (Called, Option<String>) {
        let until = Instant::now() + max;
        let mut asked = None;
        for _ in 1..ROUNDS_MAX {
            let called = self.link.call(params.clone(), self.spec.repeat, (until, max)).await;
            let Called::Answered(CallToolResponse::InputRequired(required)) = &called else {
                return (called, asked);
            };
            let Some(refusal) = answer::refusal(required) else { return (called, asked) };
            asked = Some(answer::asked_for(required));
            params.input_responses = (!refusal.is_empty()).then_some(refusal);
            params.request_state.clone_from(&required.request_state);
        }
        (self.link.call(params, self.spec.repeat, (until, max)).await, asked)
    }

    /// Nobody knows whether it happened: what may be done about that is the run's to say.
    fn lost(text: String) -> ToolOutput {
        ToolOutput { how: Returned::Unknown, text, spent: None }
    }
}

/// What a tool is and by what rules it runs. What the server claims is a first
/// guess where the manifest says nothing; without a claim the worst is assumed.
pub(crate) fn spec(server: &Server, listed: &Listed, name: bowline_core::id::ToolName) -> ToolSpec {
    let rules = server.rules.get(&listed.name).cloned().unwrap_or_default();
    // Where nobody is asked, nothing rests on what the server claims.
    let is_believed = rules.consent != Some(Consent::NotNeeded);
    let looks_only = is_believed && listed.claims("readOnlyHint");
    let touch = if looks_only { Touch::Read } else { Touch::Exec };
    let repeat = if looks_only {
        Repeat::Freely
    } else if is_believed && listed.claims("idempotentHint") {
        Repeat::WithSameKey
    } else {
        Repeat::Never
    };
    ToolSpec {
        name,
        description: listed.description.clone(),
        schema: listed.schema.clone(),
        touch: rules.touch.unwrap_or(touch),
        repeat: rules.repeat.unwrap_or(repeat),
        // No server decides that nobody is asked.
        consent: rules.consent.unwrap_or(Consent::Ask),
        probes: false,
        timeout_ms: rules.timeout_ms.unwrap_or(server.timeout_ms),
        effect: rules.effect,
        given: false,
        invocation: Invocation::default(),
        undo: rules.undo.as_deref().map(|undo| Box::new(renamed(&server.name, undo))),
        needs: Some(Need::Mcp { server: server.name.to_string(), tool: listed.name.clone() }),
    }
}

/// An undo whose tools are named as a model is told them. A name that is none stays as it
/// is, and no tool is found under it.
fn renamed(server: &ServerName, undo: &Undo) -> Undo {
    let told = |raw: &str| tool_name(server, raw).map_or_else(|_| raw.to_owned(), |name| name.to_string());
    let mut undo = undo.clone();
    if let How::Tool { name, probe } = &mut undo.how {
        *name = told(name);
        probe.iter_mut().for_each(|look| look.tool = told(&look.tool));
    }
    undo
}

#[async_trait]
impl Tool for ServerTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, args: Value, ctx: &CallContext) -> ToolOutput {
        let max = ctx.timeout.min(Duration::from_millis(self.spec.timeout_ms));
        let (called, asked) = self.call(self.params(args, ctx), max).await;
        let mut output = match called {
            Called::Answered(CallToolResponse::Complete(result)) => {
                let told = asked.map(|asked| format!("[the server asked for {asked} and was refused]\n"));
                let text = format!("{}{}", told.unwrap_or_default(), answer::text(&result));
                if result.is_error == Some(true) { ToolOutput::error(text) } else { ToolOutput::ok(text) }
            }
            Called::Answered(CallToolResponse::InputRequired(required)) => ToolOutput::error(format!(
                "the server wants {} before it goes on, and that is refused; the call was not completed",
                answer::asked_for(&required)
            )),
            // We never said that we would wait for one.
            Called::Answered(_) => {
                Self::lost("the server put the call off, and nobody follows it up".to_owned())
            }
            Called::Failed(error) => ToolOutput::error(format!("{error}; {}", error.remedy())),
            Called::Lost(error) => Self::lost(format!("{error}; nobody knows whether the call happened")),
            Called::Late(error) => ToolOutput::timed_out(self.spec.repeat, error.to_string()),
        };
        output.text = cap_output(&self.link.masked(&output.text), MESSAGE_BYTES_MAX).into_owned();
        output
    }

    fn under(&self, spec: &ToolSpec) -> Option<Arc<dyn Tool>> {
        Some(Arc::new(Self { spec: spec.clone(), ..self.clone() }))
    }
}
