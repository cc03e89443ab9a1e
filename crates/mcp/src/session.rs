//! One connection to a server: opened, asked for its tools, ended.
//!
//! It is opened with `server/discover`; a server that does not know it is opened
//! the older way, on the same connection where that is possible and on a new one
//! where the question alone confused it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bowline_core::agent::server::{Given, Reach, Server};
use bowline_core::untrusted::escape_line;
use bowline_tools::{Hosted, Served, ServedPipes};
use http::{HeaderName, HeaderValue};
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, ProtocolVersion, SubscriptionFilter};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, RunningService};
use rmcp::transport::Transport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig, StreamableHttpError,
};
use rmcp::{ClientHandler, Peer, RoleClient, ServiceError};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::error::{Fault, McpError, Stage};
use crate::limits::{END_GRACE, OPEN_MAX, STREAM_TRIES};
use crate::listing::{self, Listed, NotListed};
use crate::secret::{self, Secrets};
use crate::servers::Surroundings;
use crate::transport::http::{GatedHttp, HttpError};
use crate::transport::{Pipes, Screen, Seen, Tail};

/// Longer than any call by this much: the call's own deadline comes first.
const ANSWER_SLACK: Duration = Duration::from_secs(5);

/// What the other side gets to know of us. It offers nothing: whoever asks us for
/// a model, a person or a folder is refused.
#[derive(Clone, Debug)]
pub(crate) struct Ourselves;

impl ClientHandler for Ourselves {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("bowline", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}

/// An open connection. Dropping it ends it, and the server's program with it.
pub(crate) struct Session {
    // In the order in which they must go.
    listening: Option<Listening>,
    service: RunningService<RoleClient, Ourselves>,
    hosted: Option<Hosted>,
    tail: Option<Tail>,
    seen: Arc<Seen>,
    secrets: Secrets,
    server: Server,
}

/// The stream on which a server tells of changes; read until dropped.
struct Listening(JoinHandle<()>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// How a connection is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    /// With `server/discover`, then the older way.
    Newest,
    /// The older way only.
    Older,
}

impl Opening {
    fn lifecycle(self) -> ClientLifecycleMode {
        match self {
            Self::Newest => ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
                legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
            },
            Self::Older => ClientLifecycleMode::Initialize,
        }
    }
}

impl Session {
    /// Opens a connection.
    pub(crate) async fn open(server: &Server, around: &Surroundings) -> Result<Self, McpError> {
        let late = |_| McpError::Late {
            server: server.name.clone(),
            stage: Stage::Opening,
            waited: OPEN_MAX,
            complaint: String::new(),
        };
        let both = async {
            match Self::try_open(server, around, Opening::Newest).await {
                Err(NotOpen { may_be_older: true, .. }) => {
                    Self::try_open(server, around, Opening::Older).await
                }
                other => other,
            }
        };
        timeout(OPEN_MAX, both).await.map_err(late)?.map_err(|not_open| not_open.why)
    }

    async fn try_open(server: &Server, around: &Surroundings, opening: Opening) -> Result<Self, NotOpen> {
        match &server.how {
            Reach::Stdio { argv, env } => start(server, around, (argv, env), opening).await,
            Reach::Http { url, headers } => reach(server, around, (url, headers), opening).await,
        }
    }

    /// For requests.
    pub(crate) fn peer(&self) -> Peer<RoleClient> {
        self.service.peer().clone()
    }

    /// The version that was settled on.
    pub(crate) fn version(&self) -> String {
        let info = self.service.peer().peer_info();
        info.map(|info| info.protocol_version.to_string()).unwrap_or_default()
    }

    /// Whether nothing can be asked any more.
    pub(crate) fn is_over(&self) -> bool {
        self.service.is_closed() || self.service.peer().is_transport_closed()
    }

    /// What was seen besides answers.
    pub(crate) fn seen(&self) -> &Arc<Seen> {
        &self.seen
    }

    /// What must not be shown.
    pub(crate) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// The list of tools as it is now. Also sees to it that we hear of changes.
    pub(crate) async fn list(&mut self, max: Duration) -> Result<Vec<Listed>, McpError> {
        self.listen();
        // Before the question: what changes after it must count as a change.
        self.seen.take_list_changed();
        let peer = self.peer();
        match timeout(max, listing::list(&peer, max)).await {
            Ok(Ok(tools)) => Ok(tools.into_iter().map(|tool| tool.masked(&self.secrets)).collect()),
            Ok(Err(NotListed::Unusable(why))) => {
                let why = self.secrets.mask(&why);
                Err(McpError::List { server: self.server.name.clone(), why })
            }
            Ok(Err(NotListed::Service(error))) => Err(self.error(&error, Stage::Listing, max)),
            Err(_) => Err(self.late(Stage::Listing, max)),
        }
    }

    /// What an error of the service means, with what the program said about it.
    pub(crate) fn error(&mut self, error: &ServiceError, stage: Stage, waited: Duration) -> McpError {
        match error {
            ServiceError::McpError(error) => {
                listing::refusal(&self.server.name, stage, error).masked(&self.secrets)
            }
            ServiceError::Timeout { .. } => self.late(stage, waited),
            ServiceError::TransportSend(sent) => match http_error(sent.error.as_ref()) {
                Some(fault) => self.broken(fault),
                None => self.broken(Fault::Closed),
            },
            ServiceError::UnexpectedResponse => self.broken(Fault::Answer),
            _ => self.broken(Fault::Closed),
        }
    }

    /// It took too long.
    pub(crate) fn late(&self, stage: Stage, waited: Duration) -> McpError {
        McpError::Late { server: self.server.name.clone(), stage, waited, complaint: self.complaint() }
    }

    fn broken(&mut self, otherwise: Fault) -> McpError {
        let ended = self.hosted.as_mut().and_then(Hosted::ended);
        let fault = match (self.seen.fault(), ended) {
            (Some(fault @ (Fault::Oversized { .. } | Fault::Nested { .. } | Fault::Nonsense { .. })), _) => {
                fault
            }
            (_, Some(how)) => Fault::Ended { how },
            (Some(fault), None) => fault,
            (None, None) => otherwise,
        };
        let broken =
            McpError::Broken { server: self.server.name.clone(), fault, complaint: self.complaint() };
        broken.masked(&self.secrets)
    }

    fn complaint(&self) -> String {
        self.tail.as_ref().map(|tail| self.secrets.mask(&tail.text())).unwrap_or_default()
    }

    /// Newer servers tell of changes only on a stream that was asked for. When the
    /// stream ends, nobody knows what was missed: the list is read again.
    fn listen(&mut self) {
        if self.listening.as_ref().is_some_and(|listening| !listening.0.is_finished()) {
            return;
        }
        let peer = self.peer();
        let tells = peer.peer_info().is_some_and(|info| {
            let changes = info.capabilities.tools.as_ref().and_then(|tools| tools.list_changed);
            changes == Some(true) && !info.protocol_version.has_initialize()
        });
        if !tells {
            return;
        }
        let seen = Arc::clone(&self.seen);
        self.listening = Some(Listening(tokio::spawn(async move {
            let filter = SubscriptionFilter::builder().tools_list_changed().build();
            if let Ok(mut news) = peer.listen(filter).await {
                while let Ok(Some(_)) = news.next().await {}
                seen.list_changed();
            }
        })));
    }

    /// Ends it politely: says so, closes the pipes, and waits a moment.
    pub(crate) async fn end(mut self) {
        self.listening = None;
        // Also when it does not end in time: then it is dropped.
        let _ = self.service.close_with_timeout(END_GRACE).await;
        if let Some(hosted) = self.hosted.take() {
            hosted.end(END_GRACE).await;
        }
    }
}

/// A connection that did not come up.
struct NotOpen {
    why: McpError,
    /// The other side went away, or answered nonsense, when it was asked the newest way.
    may_be_older: bool,
}

impl From<McpError> for NotOpen {
    fn from(why: McpError) -> Self {
        Self { why, may_be_older: false }
    }
}

async fn start(
    server: &Server,
    around: &Surroundings,
    (argv, env): (&[String], &BTreeMap<String, Given>),
    opening: Opening,
) -> Result<Session, NotOpen> {
    let (values, secrets) = secret::resolve(server, env)?;
    let variables = values.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    let program = Served { argv, folder: &around.folder, sandbox: &around.sandbox, variables };
    let started = program.start().await;
    let (mut hosted, pipes) = started.map_err(|why| McpError::Start { server: server.name.clone(), why })?;
    let ServedPipes { input, output, errors } = pipes;
    let (seen, tail) = (Arc::<Seen>::default(), Tail::of(errors));
    let transport = Pipes::new(output, input, Arc::clone(&seen));
    match serve(transport, &seen, opening).await {
        Ok(service) => Ok(Session {
            listening: None,
            service,
            hosted: Some(hosted),
            tail: Some(tail),
            seen,
            secrets,
            server: server.clone(),
        }),
        Err(error) => {
            // It may be on its way out; how it ended says more than that it did.
            tokio::task::yield_now().await;
            let complaint = || secrets.mask(&tail.text());
            let mut not_open = not_open(server, error, &seen, complaint());
            if let (McpError::Broken { fault: fault @ Fault::Closed, .. }, Some(how)) =
                (&mut not_open.why, ended_soon(&mut hosted).await)
            {
                *fault = Fault::Ended { how };
            }
            if let McpError::Broken { complaint: said, .. } = &mut not_open.why {
                *said = complaint();
            }
            hosted.end(Duration::ZERO).await;
            not_open.why = not_open.why.masked(&secrets);
            Err(not_open)
        }
    }
}

/// How a program ended whose pipes are closed: it takes a moment to be known.
async fn ended_soon(hosted: &mut Hosted) -> Option<String> {
    for _ in 0..50 {
        if let Some(how) = hosted.ended() {
            return Some(how);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    None
}

async fn reach(
    server: &Server,
    around: &Surroundings,
    (url, headers): (&str, &BTreeMap<String, Given>),
    opening: Opening,
) -> Result<Session, NotOpen> {
    let Some(network) = &around.network else {
        return Err(McpError::NoNetwork { server: server.name.clone() }.into());
    };
    let (values, secrets) = secret::resolve(server, headers)?;
    let unusable = |why: String, remedy| McpError::Broken {
        server: server.name.clone(),
        fault: Fault::Http { why, remedy },
        complaint: String::new(),
    };
    let slowest = server.rules.values().filter_map(|rules| rules.timeout_ms).max().unwrap_or_default();
    let answer_max = Duration::from_millis(server.timeout_ms.max(slowest)) + ANSWER_SLACK;
    let client = GatedHttp::new(network.gate.clone(), &network.trust, answer_max)
        .map_err(|bad| unusable(bad.to_string(), bad.remedy()))?;
    let config = config(url, &values).map_err(|name| {
        unusable(format!("the header {name:?} cannot be sent"), "write it as a plain line")
    })?;
    let seen = Arc::<Seen>::default();
    let transport = StreamableHttpClientTransport::with_client(client, config);
    match serve(transport, &seen, opening).await {
        Ok(service) => {
            let server = server.clone();
            Ok(Session { listening: None, service, hosted: None, tail: None, seen, secrets, server })
        }
        Err(error) => {
            let mut not_open = not_open(server, error, &seen, String::new());
            not_open.why = not_open.why.masked(&secrets);
            Err(not_open)
        }
    }
}

fn config(url: &str, headers: &[(String, String)]) -> Result<StreamableHttpClientTransportConfig, String> {
    let mut custom = HashMap::new();
    for (name, value) in headers {
        let bad = |()| name.clone();
        let parsed: HeaderName = name.parse().map_err(|_| bad(()))?;
        let mut value: HeaderValue = value.parse().map_err(|_| bad(()))?;
        value.set_sensitive(true);
        custom.insert(parsed, value);
    }
    let mut retry = ExponentialBackoff::default();
    retry.max_times = Some(STREAM_TRIES);
    // A session that is gone is for us to open again: its tools may be other ones.
    let mut config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(custom)
        .reinit_on_expired_session(false);
    config.retry_config = Arc::new(retry);
    Ok(config)
}

async fn serve<T: Transport<RoleClient> + 'static>(
    transport: T,
    seen: &Arc<Seen>,
    opening: Opening,
) -> Result<RunningService<RoleClient, Ourselves>, ClientInitializeError> {
    let screened = Screen::new(transport, Arc::clone(seen));
    Ourselves.serve_with_lifecycle(screened, opening.lifecycle()).await
}

fn not_open(server: &Server, error: ClientInitializeError, seen: &Seen, complaint: String) -> NotOpen {
    let name = server.name.clone();
    let error = match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => *fallback,
        other => other,
    };
    let broken = |fault| McpError::Broken { server: name.clone(), fault, complaint };
    match error {
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let theirs: Vec<String> = server_supported.iter().map(ToString::to_string).collect();
            let may_be_older = server_supported.iter().any(ProtocolVersion::has_initialize);
            let theirs = escape_line(&theirs.join(", ")).chars().take(200).collect();
            NotOpen { why: McpError::Version { server: name, theirs }, may_be_older }
        }
        ClientInitializeError::JsonRpcError(error) => {
            NotOpen::from(listing::refusal(&name, Stage::Opening, &error))
        }
        ClientInitializeError::TransportError { error, .. } => {
            let fault = http_error(error.error.as_ref()).or_else(|| seen.fault());
            let may_be_older = fault.is_none() || fault == Some(Fault::Closed);
            NotOpen { why: broken(fault.unwrap_or(Fault::Closed)), may_be_older }
        }
        ClientInitializeError::ConnectionClosed(_) => {
            let fault = seen.fault().unwrap_or(Fault::Closed);
            NotOpen { may_be_older: fault == Fault::Closed, why: broken(fault) }
        }
        // Some servers answer everything they do not know with an empty result.
        ClientInitializeError::ExpectedInitResult(_) => {
            NotOpen { why: broken(Fault::Answer), may_be_older: true }
        }
        _ => NotOpen::from(broken(seen.fault().unwrap_or(Fault::Answer))),
    }
}

/// What went wrong over HTTP, if that is what went wrong.
fn http_error(error: &(dyn std::error::Error + 'static)) -> Option<Fault> {
    let error = error.downcast_ref::<StreamableHttpError<HttpError>>()?;
    Some(match error {
        StreamableHttpError::Client(error) => Fault::Http { why: error.to_string(), remedy: error.remedy() },
        StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_) => Fault::Http {
            why: "it wants to know who we are".to_owned(),
            remedy: "give the server's declaration a header with a valid secret",
        },
        other => Fault::Http { why: escape_line(&other.to_string()), remedy: "try again later" },
    })
}
