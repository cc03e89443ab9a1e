//! HTTP through the gate, for the protocol's own transport.
//!
//! Every request is a connection of its own that the gate has checked, redirects
//! included; nothing is retried here. An answer has a size and a deadline, also
//! when it is a stream.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bowline_net::{BadTrust, Fetch, FetchError, FetchLimits, Gate, Request, Response, Trust};
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{BoxStream, unfold};
use http::{HeaderName, HeaderValue, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use crate::limits::{MESSAGE_BYTES_MAX, STREAM_MAX, STREAM_PAUSE, STREAMS_AT_ONCE};

/// What of an unhappy answer is told, in characters.
const BODY_TOLD: usize = 300;

/// The client.
#[derive(Clone)]
pub(crate) struct GatedHttp {
    /// For questions, which have a time.
    short: Fetch,
    /// For streams on which a server tells of changes.
    long: Fetch,
    streams: Arc<AtomicU32>,
}

/// A request that brought no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    #[error("{}", chain(.0))]
    Fetch(#[from] FetchError),
    #[error("it answered with more than {MESSAGE_BYTES_MAX} bytes")]
    TooLarge,
    #[error("it answered with status {status}{}", told(body))]
    Status { status: u16, body: String },
    #[error("it answered with something that is no message: {why}")]
    NoMessage { why: String },
}

/// Whether a request got to the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// It did not, or was turned away unread.
    No,
    /// It may have.
    Perhaps,
}

impl HttpError {
    /// Whether the request may have had an effect.
    pub(crate) fn delivery(&self) -> Delivery {
        match self {
            Self::Fetch(error) => match error {
                FetchError::Request(_) | FetchError::Gate(_) | FetchError::Tls { .. } => Delivery::No,
                FetchError::Deadline { stage: bowline_net::Stage::Handshake, .. } => Delivery::No,
                // Who redirects has read the request, and may have acted on it.
                FetchError::Redirect { .. }
                | FetchError::RedirectLimit { .. }
                | FetchError::Location { .. }
                | FetchError::RedirectBody { .. }
                | FetchError::Exchange { .. }
                | FetchError::Encoding { .. }
                | FetchError::Deadline { .. } => Delivery::Perhaps,
            },
            // Turned away, but for 408: it gave up waiting, perhaps after the request was read.
            Self::Status { status: 400..=407 | 409..=499, .. } => Delivery::No,
            Self::Status { .. } | Self::TooLarge | Self::NoMessage { .. } => Delivery::Perhaps,
        }
    }

    /// What to do about it.
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            Self::Fetch(error) => error.remedy(),
            Self::TooLarge => "ask the server for less at a time",
            Self::Status { status: 401 | 403, .. } => {
                "give the server's declaration a header with a valid secret"
            }
            Self::Status { status: 404 | 405, .. } => "check the server's address",
            Self::Status { .. } => "try again later",
            Self::NoMessage { .. } => "check the server's address; what answered there does not speak MCP",
        }
    }
}

/// An error with its causes, which carry the point.
fn chain(error: &FetchError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

fn told(body: &str) -> String {
    match body.trim() {
        "" => String::new(),
        body => format!(": {body}"),
    }
}

impl From<HttpError> for StreamableHttpError<HttpError> {
    fn from(error: HttpError) -> Self {
        Self::Client(error)
    }
}

type Outcome<T> = Result<T, StreamableHttpError<HttpError>>;
type Headers = HashMap<HeaderName, HeaderValue>;

impl GatedHttp {
    /// A client on this gate, whose answers take at most so long.
    pub(crate) fn new(gate: Gate, trust: &Trust, answer_max: Duration) -> Result<Self, BadTrust> {
        let limits = |total: Duration| FetchLimits {
            first_byte: total,
            total,
            bytes_max: MESSAGE_BYTES_MAX,
            ..FetchLimits::default()
        };
        Ok(Self {
            short: Fetch::new(gate.clone(), limits(answer_max), trust.clone())?,
            long: Fetch::new(gate, limits(STREAM_MAX), trust.clone())?,
            streams: Arc::default(),
        })
    }

    async fn post(&self, uri: &str, message: &ClientJsonRpcMessage, headers: Sent) -> Outcome<Response> {
        let body = serde_json::to_vec(message)?;
        let request = Request::new("POST", uri).map_err(FetchError::from).map_err(HttpError::from)?;
        let accept = format!("{JSON_MIME_TYPE}, {EVENT_STREAM_MIME_TYPE}");
        let request = headers.on(request, &[("content-type", JSON_MIME_TYPE), ("accept", &accept)])?;
        let fetch = if is_listening(message) { &self.long } else { &self.short };
        Ok(fetch.send(request.body(body)).await.map_err(HttpError::from)?)
    }

    /// A server that sends its listeners away at once gets them back more slowly.
    async fn pace(&self) {
        if self.streams.fetch_add(1, Ordering::Relaxed) >= STREAMS_AT_ONCE {
            tokio::time::sleep(STREAM_PAUSE).await;
        }
    }
}

/// What goes along with a request.
struct Sent {
    session: Option<Arc<str>>,
    bearer: Option<String>,
    headers: Headers,
}

impl Sent {
    fn on(self, mut request: Request, own: &[(&str, &str)]) -> Result<Request, HttpError> {
        let bearer = self.bearer.map(|bearer| format!("Bearer {bearer}"));
        let mut all: Vec<(&str, &str)> = own.to_vec();
        all.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
        all.extend(self.session.as_deref().map(|session| (HEADER_SESSION_ID, session)));
        for (name, value) in &self.headers {
            let value =
                value.to_str().map_err(|_| HttpError::NoMessage { why: format!("{name} is no text") })?;
            all.push((name.as_str(), value));
        }
        for (name, value) in all {
            request = request.header(name, value).map_err(FetchError::from)?;
        }
        Ok(request)
    }
}

fn is_listening(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, JsonRpcMessage::Request(request)
        if matches!(request.request, ClientRequest::SubscriptionsListenRequest(_)))
}

/// A server from before `server/discover` turns it away at the door; what it
/// answered is handed on as a message, so that the older opening is tried.
fn turned_away(
    message: &ClientJsonRpcMessage,
    status: StatusCode,
    body: &str,
) -> Option<ServerJsonRpcMessage> {
    let JsonRpcMessage::Request(request) = message else { return None };
    let asks = matches!(request.request, ClientRequest::DiscoverRequest(_));
    let is_old = status.is_client_error() && !matches!(status.as_u16(), 401 | 403 | 429);
    if !asks || !is_old {
        return None;
    }
    let error = match serde_json::from_str::<ServerJsonRpcMessage>(body) {
        Ok(JsonRpcMessage::Error(error)) => error.error,
        _ => ErrorData::invalid_request(format!("status {status}"), None),
    };
    Some(ServerJsonRpcMessage::error(error, Some(request.id.clone())))
}

fn has_type(response: &Response, kind: &str) -> bool {
    let named = response.headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    named.is_some_and(|named| named.trim_start().to_ascii_lowercase().starts_with(kind))
}

fn header(response: &Response, name: &str) -> Option<String> {
    response.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

async fn body(response: Response) -> Result<Vec<u8>, HttpError> {
    let fetched = response.read().await?;
    if fetched.cut { Err(HttpError::TooLarge) } else { Ok(fetched.body) }
}

async fn unhappy(
    message: &ClientJsonRpcMessage,
    response: Response,
    with_session: bool,
) -> Outcome<StreamableHttpPostResponse> {
    let status = response.status;
    if status == StatusCode::NOT_FOUND && with_session {
        return Err(StreamableHttpError::SessionExpired);
    }
    if status == StatusCode::UNAUTHORIZED
        && let Some(challenge) = header(&response, "www-authenticate")
    {
        return Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge)));
    }
    let text = String::from_utf8_lossy(&body(response).await.unwrap_or_default()).into_owned();
    if !with_session && let Some(answer) = turned_away(message, status, &text) {
        return Ok(StreamableHttpPostResponse::Json(answer, None));
    }
    // A status may come with the protocol's own error, which says more.
    if let Ok(answer @ JsonRpcMessage::Error(_)) = serde_json::from_str::<ServerJsonRpcMessage>(&text)
        && let JsonRpcMessage::Error(error) = &answer
        && error.id.is_some()
    {
        return Ok(StreamableHttpPostResponse::Json(answer, None));
    }
    let body = bowline_core::untrusted::escape_line(&text).chars().take(BODY_TOLD).collect();
    Err(HttpError::Status { status: status.as_u16(), body }.into())
}

/// The body as events. Cut off at its limit, it ends with an error.
fn events(response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
    let chunks = unfold(Some(response), |state| async move {
        let mut response = state?;
        match response.chunk().await {
            Ok(Some(bytes)) => Some((Ok::<Bytes, HttpError>(bytes), Some(response))),
            Ok(None) if response.is_cut() => Some((Err(HttpError::TooLarge), None)),
            Ok(None) => None,
            Err(error) => Some((Err(error.into()), None)),
        }
    });
    SseStream::from_bytes_stream(chunks.boxed()).boxed()
}

impl StreamableHttpClient for GatedHttp {
    type Error = HttpError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Outcome<StreamableHttpPostResponse> {
        let with_session = session_id.is_some();
        let sent = Sent { session: session_id, bearer: auth_header, headers: custom_headers };
        let response = self.post(&uri, &message, sent).await?;
        if matches!(response.status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !response.status.is_success() {
            return unhappy(&message, response, with_session).await;
        }
        let session = header(&response, HEADER_SESSION_ID);
        if has_type(&response, EVENT_STREAM_MIME_TYPE) {
            return Ok(StreamableHttpPostResponse::Sse(events(response), session));
        }
        let bytes = body(response).await?;
        match serde_json::from_slice(&bytes) {
            Ok(answer) => Ok(StreamableHttpPostResponse::Json(answer, session)),
            // Nobody waits for an answer to an answer, whatever it is.
            Err(_) if !matches!(message, JsonRpcMessage::Request(_)) => {
                Ok(StreamableHttpPostResponse::Accepted)
            }
            Err(error) => Err(HttpError::NoMessage { why: error.to_string() }.into()),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Outcome<()> {
        let sent = Sent { session: Some(session_id), bearer: auth_header, headers: custom_headers };
        let request = Request::new("DELETE", &uri).map_err(FetchError::from).map_err(HttpError::from)?;
        let response = self.short.send(sent.on(request, &[])?).await.map_err(HttpError::from)?;
        match response.status {
            StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportDeleteSession),
            _ => Ok(()),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Outcome<BoxStream<'static, Result<Sse, SseError>>> {
        self.pace().await;
        let sent = Sent { session: session_id, bearer: auth_header, headers: custom_headers };
        let mut own = vec![("accept", EVENT_STREAM_MIME_TYPE)];
        own.extend(last_event_id.as_deref().map(|id| (HEADER_LAST_EVENT_ID, id)));
        let request = sent.on(Request::get(&uri), &own)?;
        let response = self.long.send(request).await.map_err(HttpError::from)?;
        match response.status {
            StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportSse),
            status if !status.is_success() => {
                Err(HttpError::Status { status: status.as_u16(), body: String::new() }.into())
            }
            _ if has_type(&response, EVENT_STREAM_MIME_TYPE) => Ok(events(response)),
            _ => Err(StreamableHttpError::UnexpectedContentType(None)),
        }
    }
}
