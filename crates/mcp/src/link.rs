//! The way to a server for as long as a run lasts, over as many connections as
//! it takes.
//!
//! Before each call the way is made ready: a connection that is gone is made
//! again, and a server that is back, or says that something changed, or let a
//! call time out, is asked for its list. Any list but the agreed one ends the
//! use of its tools.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bowline_core::agent::server::Server;
use bowline_core::provenance::Digest;
use bowline_core::tool::Repeat;
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use rmcp::{Peer, RoleClient, ServiceError};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::difference::Difference;
use crate::error::{Fault, McpError, Stage};
use crate::limits::{ALIVE_MAX, LIST_MAX};
use crate::listing::{self, Listed};
use crate::secret::Secrets;
use crate::servers::Surroundings;
use crate::session::Session;
use crate::transport::http::{Delivery, HttpError};

/// Times a call is sent: once, and once more where that can do no harm.
const SENDS_MAX: u32 = 2;

/// The way to one server.
pub(crate) struct Link {
    server: Server,
    around: Surroundings,
    agreed: Vec<Listed>,
    digest: Digest,
    // Held while a connection is made; who has an answer, or no time left, does not
    // wait for that.
    state: Mutex<State>,
    /// A call timed out or got lost: the server must show that it lives, and its list.
    suspect: AtomicBool,
    secrets: std::sync::Mutex<Secrets>,
}

struct State {
    session: Option<Session>,
    ended: Option<Ended>,
}

/// Why there are no more calls.
#[derive(Clone)]
enum Ended {
    Changed(String),
    Closed,
}

/// What came of a call.
pub(crate) enum Called {
    /// The server answered.
    Answered(CallToolResponse),
    /// It answered with an error, or the call never left.
    Failed(McpError),
    /// Nobody knows.
    Lost(McpError),
    /// Nobody knows, and the time is up.
    Late(McpError),
}

/// A try that brought no answer.
enum Miss {
    /// It had no effect and may be made again.
    Unsent(McpError),
    /// It may have had an effect.
    Unknown(McpError),
    /// The server said no.
    Refused(McpError),
}

impl Link {
    /// A way that begins with this connection.
    pub(crate) fn new(server: Server, around: Surroundings, session: Session, agreed: Vec<Listed>) -> Self {
        let digest = listing::digest(&agreed);
        let secrets = std::sync::Mutex::new(session.secrets().clone());
        let state = Mutex::new(State { session: Some(session), ended: None });
        Self { server, around, agreed, digest, state, suspect: AtomicBool::new(false), secrets }
    }

    /// Makes a call, which ends then; that is told as this long. Dropping the future
    /// tells the server that nobody waits.
    pub(crate) async fn call(
        &self,
        params: CallToolRequestParams,
        repeat: Repeat,
        (until, max): (Instant, Duration),
    ) -> Called {
        let mut sends = 0;
        let mut may_have_arrived = false;
        loop {
            let not_ready =
                |error| if may_have_arrived { Called::Lost(error) } else { Called::Failed(error) };
            let ready = match timeout_at(until, self.ready()).await {
                Ok(Ok(peer)) => peer,
                Ok(Err(error)) => return not_ready(error),
                Err(_) => return not_ready(self.late(Stage::Opening, max)),
            };
            sends += 1;
            let Ok(answer) = timeout_at(until, ready.call_tool_once(params.clone())).await else {
                return Called::Late(self.timed_out(max));
            };
            let miss = match answer {
                Ok(answer) => return Called::Answered(answer),
                Err(error) => self.missed(&error, max),
            };
            match miss {
                Miss::Refused(error) => return Called::Failed(error),
                Miss::Unsent(_) | Miss::Unknown(_) if sends >= SENDS_MAX => return miss.last(),
                Miss::Unsent(_) => {}
                Miss::Unknown(_) => match repeat {
                    Repeat::Freely | Repeat::WithSameKey => may_have_arrived = true,
                    Repeat::Never => return miss.last(),
                },
            }
        }
    }

    /// Takes secrets out of what a server said, also one that is gone by now.
    pub(crate) fn masked(&self, text: &str) -> String {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner).mask(text)
    }

    /// Ends the connection for good.
    pub(crate) async fn close(&self) {
        let session = {
            let mut state = self.state.lock().await;
            state.ended.get_or_insert(Ended::Closed);
            state.session.take()
        };
        if let Some(session) = session {
            session.end().await;
        }
    }

    /// A peer whose tools are the agreed ones.
    async fn ready(&self) -> Result<Peer<RoleClient>, McpError> {
        let mut state = self.state.lock().await;
        if let Some(ended) = &state.ended {
            return Err(self.over(ended.clone()));
        }
        if let Some(session) = state.session.take_if(|session| session.is_over()) {
            session.end().await;
        }
        // Suspect until a list has come back: whoever asks may be dropped before that.
        if state.session.as_ref().is_some_and(|session| session.seen().take_list_changed()) {
            self.suspect.store(true, Ordering::Release);
        }
        if let Some(session) = state.session.as_mut() {
            if !self.suspect.load(Ordering::Acquire) {
                return Ok(session.peer());
            }
            if let Ok(tools) = session.list(ALIVE_MAX).await {
                return self.agree(&mut state, &tools);
            }
            if let Some(session) = state.session.take() {
                session.end().await;
            }
        }
        let mut session = Session::open(&self.server, &self.around).await?;
        let tools = session.list(LIST_MAX).await?;
        *self.secrets.lock().unwrap_or_else(PoisonError::into_inner) = session.secrets().clone();
        state.session = Some(session);
        self.agree(&mut state, &tools)
    }

    fn agree(&self, state: &mut State, tools: &[Listed]) -> Result<Peer<RoleClient>, McpError> {
        match &state.session {
            Some(session) if listing::digest(tools) == self.digest => {
                self.suspect.store(false, Ordering::Release);
                Ok(session.peer())
            }
            _ => {
                let ended = Ended::Changed(Difference::between(&self.agreed, tools).to_string());
                state.ended = Some(ended.clone());
                state.session = None;
                Err(self.over(ended))
            }
        }
    }

    fn over(&self, ended: Ended) -> McpError {
        let server = self.server.name.clone();
        match ended {
            Ended::Changed(summary) => McpError::ChangedMeanwhile { server, summary },
            Ended::Closed => McpError::Closed { server },
        }
    }

    fn late(&self, stage: Stage, waited: Duration) -> McpError {
        McpError::Late { server: self.server.name.clone(), stage, waited, complaint: String::new() }
    }

    fn timed_out(&self, max: Duration) -> McpError {
        self.suspect.store(true, Ordering::Release);
        let state = self.state.try_lock().ok();
        let session = state.as_ref().and_then(|state| state.session.as_ref());
        session.map_or_else(|| self.late(Stage::Calling, max), |session| session.late(Stage::Calling, max))
    }

    /// What an error means for the call.
    fn missed(&self, error: &ServiceError, max: Duration) -> Miss {
        let told = match self.state.try_lock() {
            Ok(mut state) => state.session.as_mut().map(|session| session.error(error, Stage::Calling, max)),
            Err(_) => None,
        };
        let told = told.unwrap_or_else(|| McpError::Broken {
            server: self.server.name.clone(),
            fault: Fault::Closed,
            complaint: String::new(),
        });
        if let ServiceError::McpError(error) = error {
            return Miss::Refused(listing::refusal(&self.server.name, Stage::Calling, error));
        }
        self.suspect.store(true, Ordering::Release);
        let ServiceError::TransportSend(sent) = error else { return Miss::Unknown(told) };
        match sent.error.downcast_ref::<StreamableHttpError<HttpError>>() {
            Some(StreamableHttpError::SessionExpired) => Miss::Unsent(told),
            Some(StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_)) => {
                Miss::Refused(told)
            }
            Some(StreamableHttpError::Client(error)) if error.delivery() == Delivery::No => {
                Miss::Refused(told)
            }
            _ => Miss::Unknown(told),
        }
    }
}

impl Miss {
    fn last(self) -> Called {
        match self {
            Self::Unsent(error) | Self::Refused(error) => Called::Failed(error),
            Self::Unknown(error) => Called::Lost(error),
        }
    }
}
