//! Tools that speak HTTP with granted hosts: `fetch` looks, `http_request` acts.
//!
//! Both go through the run's [`Reach`]; where a request may go, and every redirect
//! of it, is decided there. A model brings no credentials: headers that carry them
//! are refused. Whether a request that broke off did something at the other end,
//! nobody knows, and so it is told.

mod answer;

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

use async_trait::async_trait;
use bowline_core::input::Returned;
use bowline_core::tool::{Repeat, ToolSpec};
use bowline_net::{FetchError, FetchLimits, Request, Stage, StatusCode, retry};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::files::typed;
use crate::{CallContext, Tool, ToolOutput};

pub(crate) use answer::text_of;

const URL_MAX: usize = 8192;
const HEADERS_MAX: usize = 32;
const HEADER_MAX: usize = 4096;

/// They carry credentials, or a key that is not the model's to choose.
const REFUSED: [&str; 5] = ["authorization", "cookie", "idempotency-key", "proxy-authorization", "x-api-key"];

pub(crate) const FETCH: &str = "Read a web page or file over HTTP (GET, or HEAD for the headers alone) from a host the \
task allows. Redirects are followed. The answer begins with its status and headers. Texts are shown, other content is \
only measured.";

pub(crate) const REQUEST: &str = "Send an HTTP request that changes something (POST, PUT, PATCH, DELETE, OPTIONS) to a \
host the task allows, and read the answer. To read a page, use fetch.";

pub(crate) fn fetch_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "url": {"type": "string", "minLength": 1, "maxLength": URL_MAX, "description": "The whole URL."},
            "method": {"enum": ["GET", "HEAD"], "description": "Default: GET."},
            "headers": headers_schema()
        },
        "required": ["url"],
        "additionalProperties": false
    })
}

pub(crate) fn request_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "url": {"type": "string", "minLength": 1, "maxLength": URL_MAX, "description": "The whole URL."},
            "method": {"enum": ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]},
            "headers": headers_schema(),
            "body": {"type": "string", "description": "What is sent. Default: nothing."}
        },
        "required": ["url", "method"],
        "additionalProperties": false
    })
}

fn headers_schema() -> Value {
    json!({
        "type": "object",
        "maxProperties": HEADERS_MAX,
        "additionalProperties": {"type": "string", "maxLength": HEADER_MAX},
        "description": "Headers besides the usual ones, as in {\"accept\": \"text/html\"}. Not for credentials."
    })
}

#[derive(Deserialize)]
struct Args {
    url: String,
    method: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: String,
}

impl Args {
    fn request(self) -> Result<Request, String> {
        let method = self.method.as_deref().unwrap_or("GET");
        let mut request = Request::new(method, &self.url).map_err(|bad| bad.to_string())?;
        for (name, value) in &self.headers {
            if REFUSED.iter().any(|refused| name.trim().eq_ignore_ascii_case(refused)) {
                return Err(format!(
                    "the header {name:?} cannot be sent: credentials are not the model's to bring"
                ));
            }
            request = request.header(name, value).map_err(|bad| format!("{bad}; {}", bad.remedy()))?;
        }
        Ok(request.body(self.body))
    }
}

/// `fetch`.
pub(crate) struct Fetch {
    spec: ToolSpec,
}

impl Fetch {
    pub(crate) fn new(spec: ToolSpec) -> Self {
        Self { spec }
    }
}

#[async_trait]
impl Tool for Fetch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, args: Value, ctx: &CallContext) -> ToolOutput {
        match typed::<Args>(args).and_then(Args::request) {
            Ok(request) => exchange(&self.spec, request, ctx).await,
            Err(problem) => ToolOutput::error(problem),
        }
    }
}

/// `http_request`.
pub(crate) struct HttpRequest {
    spec: ToolSpec,
}

impl HttpRequest {
    pub(crate) fn new(spec: ToolSpec) -> Self {
        Self { spec }
    }
}

#[async_trait]
impl Tool for HttpRequest {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, args: Value, ctx: &CallContext) -> ToolOutput {
        let request = typed::<Args>(args).and_then(Args::request).and_then(|request| {
            // The same for every attempt, so a service that knows such keys acts once.
            request.header("idempotency-key", &ctx.key.to_string()).map_err(|bad| bad.to_string())
        });
        match request {
            Ok(request) => exchange(&self.spec, request, ctx).await,
            Err(problem) => ToolOutput::error(problem),
        }
    }
}

async fn exchange(spec: &ToolSpec, request: Request, ctx: &CallContext) -> ToolOutput {
    let response = match ctx.reach.send(request, limits(ctx.timeout)).await {
        Ok(response) => response,
        Err(error) => return failed(spec.repeat, &error),
    };
    let (status, wait) = (response.status, retry::after_ms(&response.headers).map(Duration::from_millis));
    let head = answer::head(response.status, response.headers.clone(), &response.url);
    let text = match response.read().await {
        Ok(fetched) => format!("{head}\n{}", answer::body(&fetched)),
        // It was answered: what it did is known, even if not everything it said is.
        Err(error) => format!("{head}\n[the body was not read to its end: {}]", chain(&error)),
    };
    if is_turned_away(spec.repeat, status, wait) {
        return ToolOutput::trouble(text, wait);
    }
    if head.is_success { ToolOutput::ok(text) } else { ToolOutput::error(text) }
}

/// The server did not look at the request, and says that it may later. One that is
/// unavailable may have done part of it: that is believed of what may be repeated only.
fn is_turned_away(repeat: Repeat, status: StatusCode, wait: Option<Duration>) -> bool {
    match repeat {
        _ if status == StatusCode::TOO_MANY_REQUESTS => true,
        Repeat::Freely | Repeat::WithSameKey => status == StatusCode::SERVICE_UNAVAILABLE && wait.is_some(),
        Repeat::Never => false,
    }
}

/// As much time as the call has.
pub(crate) fn limits(timeout: Duration) -> FetchLimits {
    let usual = FetchLimits::default();
    FetchLimits { total: timeout, first_byte: timeout.min(usual.first_byte), ..usual }
}

/// What a request that brought nothing back is told as. Once it was sent, only a
/// request that may be repeated has a known outcome.
fn failed(repeat: Repeat, error: &FetchError) -> ToolOutput {
    let text = format!("{}; {}", chain(error), error.remedy());
    match error {
        FetchError::Request(_)
        | FetchError::Gate(_)
        | FetchError::Tls { .. }
        | FetchError::Deadline { stage: Stage::Handshake, .. }
        // Answered, with a redirect that was not followed.
        | FetchError::Redirect { .. }
        | FetchError::RedirectLimit { .. }
        | FetchError::Location { .. }
        | FetchError::RedirectBody { .. } => ToolOutput::error(text),
        FetchError::Deadline { stage: Stage::FirstByte | Stage::Total, .. } => ToolOutput::timed_out(repeat, text),
        FetchError::Exchange { .. } | FetchError::Encoding { .. } => match repeat {
            Repeat::Freely | Repeat::WithSameKey => ToolOutput::error(text),
            Repeat::Never => ToolOutput { how: Returned::Unknown, text, spent: None },
        },
    }
}

/// An error with everything that led to it.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        // Errors that pass another through say the same twice.
        if !text.ends_with(&said) {
            text = format!("{text}: {said}");
        }
        next = cause.source();
    }
    text
}
