//! One model on one server: sends a request, reads one answer.
//!
//! Dropping the call closes the connection. Every wait has an end: for the first byte,
//! for the next one, and for all of them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bowline_core::budget::Price;
use bowline_core::task::{Format, ModelChoice, Tariff};
use bowline_models::{Answer, Model, ModelError, Request, Watcher};
use bowline_net::{Fetch, FetchError, FetchLimits, Gate, GateError, Response, Stage, retry};
use tokio::time::timeout;

use crate::error::{BadPlace, RemoteError};
use crate::format::{self, Ask, Flow, Problem};
use crate::frames::{Frames, LINE_MAX, Misframed};
use crate::gather::{Asked, Gathered, Unusable};
use crate::key::Key;
use crate::known::Known;
use crate::names::Names;
use crate::open::Network;
use crate::place::Place;
use crate::prices;
use crate::trouble::{self, Who};

/// Most bytes of an answer that comes whole, which is held.
const WHOLE_MAX: usize = 16 << 20;
/// Most bytes of an answer that streams, of which a line is held.
const STREAM_MAX: usize = 64 << 20;
/// Most bytes that are read of an answer that is an error.
const ERROR_MAX: usize = 64 << 10;
/// Bytes a token stands for at the very most: a prompt that is too long by this measure
/// is so by any.
const BYTES_A_TOKEN_MAX: u64 = 6;

/// How long a server is waited for. The core's own deadline of a step comes on top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For the first byte of an answer that streams.
    pub first_byte: Duration,
    /// For the first byte of an answer that comes whole, or of a server that loads a model first.
    pub whole: Duration,
    /// For the next byte.
    pub idle: Duration,
    /// For all of them.
    pub total: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            first_byte: Duration::from_secs(60),
            whole: Duration::from_secs(300),
            idle: Duration::from_secs(60),
            total: Duration::from_secs(24 * 60 * 60),
        }
    }
}

/// A model on a server.
pub struct Remote {
    choice: ModelChoice,
    place: Place,
    key: Option<Key>,
    price: Option<Price>,
    fetch: Fetch,
    patience: Patience,
    /// It has refused to tell how likely the model finds its words.
    untold: AtomicBool,
    /// What it was told before, and may have in a cache.
    known: Mutex<Known>,
}

impl Remote {
    pub(crate) fn new(
        choice: ModelChoice,
        place: Place,
        key: Option<Key>,
        network: &Network,
        patience: Patience,
    ) -> Result<Self, BadPlace> {
        let gate = Gate::over(place.policy(), network.waits, network.resolver.clone(), network.dial.clone());
        let gate =
            gate.map_err(|refused| BadPlace::Address { url: place.url.clone(), why: refused.to_string() })?;
        let fetch = Fetch::new(gate, FetchLimits::default(), network.trust.clone())?;
        let price = match choice.tariff {
            Tariff::Free => Some(Price::FREE),
            Tariff::Priced(price) => Some(price),
            Tariff::Listed if !place.is_remote => Some(Price::FREE),
            Tariff::Listed if place.is_own => {
                prices::listed(choice.format, &choice.name).map(|listed| listed.price)
            }
            Tariff::Listed => None,
        };
        Ok(Self {
            choice,
            place,
            key,
            price,
            fetch,
            patience,
            untold: AtomicBool::new(false),
            known: Mutex::default(),
        })
    }

    /// Where it is.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    fn who(&self) -> Who<'_> {
        Who { host: &self.place.host, model: &self.choice.name, key: self.key.as_ref() }
    }

    fn host(&self) -> String {
        self.place.host.clone()
    }

    async fn ask(&self, request: Request, watch: &dyn Watcher) -> Result<Answer, RemoteError> {
        let names = Names::of(&request);
        let streaming = !self.choice.whole;
        let most = self.choice.output_tokens.unwrap_or(u64::MAX);
        let likelihood = request.likelihood && self.choice.likelihood && !self.untold.load(Ordering::Relaxed);
        let ask = Ask {
            model: &self.choice.name,
            request: &request,
            names: &names,
            output_tokens: request.output_tokens.min(most),
            context_tokens: self.choice.context_tokens,
            streaming,
            likelihood,
            is_own: self.place.is_own,
        };
        let body = format::body(self.choice.format, &ask).to_string();
        let body_bytes = body.len();
        self.refuse_what_cannot_fit(body_bytes)?;
        let mut gathered = format::gathering(self.choice.format, &ask);
        let unheard = self.known.lock().unwrap_or_else(PoisonError::into_inner).hear(&request);
        let response = self.send(body, &ask).await?;
        if streaming && !is_json(&response) {
            self.read_stream(response, &mut gathered, watch).await?;
        } else {
            self.read_whole(response, &mut gathered).await?;
        }
        let price = self.price.unwrap_or_default();
        let shown = gathered.shown();
        let asked = Asked { request: &request, names: &names, price, body_bytes, unheard, likelihood };
        let answer = gathered.answer(&asked);
        let answer = answer.map_err(|unusable| self.unusable(unusable))?;
        if let Some(rest) = answer.text.get(shown..).filter(|rest| !rest.is_empty()) {
            watch.text(rest);
        }
        Ok(answer)
    }

    fn refuse_what_cannot_fit(&self, bytes: usize) -> Result<(), RemoteError> {
        let least = u64::try_from(bytes).unwrap_or(u64::MAX) / BYTES_A_TOKEN_MAX;
        match self.choice.context_tokens {
            Some(fits) if least > fits => Err(RemoteError::TooLong {
                model: self.choice.name.clone(),
                said: format!("it has at least {least} tokens, and {fits} fit"),
            }),
            Some(_) | None => Ok(()),
        }
    }

    async fn send(&self, body: String, ask: &Ask<'_>) -> Result<Response, RemoteError> {
        let streaming = ask.streaming;
        let path = format::path(self.choice.format, &self.choice.name, streaming);
        let request = bowline_net::Request::new("POST", &format!("{}{path}", self.place.url));
        let mut request = request.map_err(|bad| self.unsent(FetchError::from(bad)))?;
        let accept = if streaming {
            "text/event-stream, application/x-ndjson, application/json"
        } else {
            "application/json"
        };
        let own = [("content-type", "application/json".to_owned()), ("accept", accept.to_owned())];
        for (name, value) in own.into_iter().chain(format::headers(self.choice.format, self.key.as_ref())) {
            request = request.header(name, &value).map_err(|bad| self.unsent(FetchError::from(bad)))?;
        }
        let loads = self.choice.format == Format::Ollama;
        let limits = FetchLimits {
            first_byte: if streaming && !loads { self.patience.first_byte } else { self.patience.whole },
            total: self.patience.total,
            redirects_max: 0,
            bytes_max: if streaming { STREAM_MAX } else { WHOLE_MAX },
            ..FetchLimits::default()
        };
        let sent = self.fetch.within(limits).send(request.body(body)).await;
        let response = sent.map_err(|error| self.unsent(error))?;
        let status = response.status.as_u16();
        if (200..300).contains(&status) {
            return Ok(response);
        }
        let wait = retry::after_ms(&response.headers);
        let said = self.read_error(response).await;
        if let Some(untold) = trouble::untold(self.who(), status, &said).filter(|_| ask.likelihood) {
            // The core tries again, and counts it; that attempt does without.
            self.untold.store(true, Ordering::Relaxed);
            return Err(untold);
        }
        Err(trouble::of_status(self.who(), status, &said, wait))
    }

    /// As much of an error as anybody reads; what does not come in time is left.
    async fn read_error(&self, mut response: Response) -> String {
        let mut bytes = Vec::new();
        while bytes.len() < ERROR_MAX {
            match timeout(self.patience.idle, response.chunk()).await {
                Ok(Ok(Some(chunk))) => bytes.extend_from_slice(&chunk),
                Ok(Ok(None) | Err(_)) | Err(_) => break,
            }
        }
        bytes.truncate(ERROR_MAX);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    async fn next(&self, response: &mut Response) -> Result<Option<Vec<u8>>, RemoteError> {
        match timeout(self.patience.idle, response.chunk()).await {
            Ok(Ok(Some(chunk))) => Ok(Some(chunk.to_vec())),
            Ok(Ok(None)) if response.is_cut() => {
                let max = if self.choice.whole { WHOLE_MAX } else { STREAM_MAX };
                Err(RemoteError::TooLarge { host: self.host(), what: "a body", max })
            }
            Ok(Ok(None)) => Ok(None),
            Ok(Err(FetchError::Deadline { waited, .. })) => {
                Err(RemoteError::Silent { host: self.host(), seconds: waited.as_secs() })
            }
            Ok(Err(error)) => Err(RemoteError::BrokenOff { host: self.host(), why: self.chain(&error) }),
            Err(_) => Err(RemoteError::Silent { host: self.host(), seconds: self.patience.idle.as_secs() }),
        }
    }

    async fn read_whole(&self, mut response: Response, into: &mut Gathered) -> Result<(), RemoteError> {
        let mut bytes = Vec::new();
        while let Some(chunk) = self.next(&mut response).await? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > WHOLE_MAX {
                return Err(RemoteError::TooLarge { host: self.host(), what: "a body", max: WHOLE_MAX });
            }
        }
        let text = str::from_utf8(&bytes).map_err(|_| self.unreadable("it is no text".to_owned()))?;
        format::whole(self.choice.format, text, into).map_err(|problem| self.problem(problem))
    }

    async fn read_stream(
        &self,
        mut response: Response,
        into: &mut Gathered,
        watch: &dyn Watcher,
    ) -> Result<(), RemoteError> {
        let mut frames = Frames::new(format::framing(self.choice.format));
        loop {
            let chunk = match self.next(&mut response).await {
                Ok(chunk) => chunk,
                // It had said that it was done: what is missing is nothing anybody needs.
                Err(_) if into.is_over() => return Ok(()),
                Err(error) => return Err(error),
            };
            let is_last = chunk.is_none();
            let whole = match chunk {
                Some(bytes) => frames.feed(&bytes),
                None => frames.finish().map(|frame| frame.into_iter().collect()),
            };
            for frame in whole.map_err(|bad| self.misframed(bad))? {
                let read = format::event(self.choice.format, &frame, into);
                let flow = match read {
                    Ok(flow) => flow,
                    Err(_) if into.is_over() => return Ok(()),
                    Err(problem) => return Err(self.problem(problem)),
                };
                let piece = into.unshown();
                if !piece.is_empty() {
                    watch.text(piece);
                }
                if flow == Flow::Done || into.is_full() {
                    return Ok(());
                }
            }
            if is_last {
                return Ok(());
            }
        }
    }

    fn unsent(&self, error: FetchError) -> RemoteError {
        let host = self.host();
        let lasting = match &error {
            FetchError::RedirectLimit { .. }
            | FetchError::Redirect { .. }
            | FetchError::Location { .. }
            | FetchError::RedirectBody { .. } => return RemoteError::Redirected { host },
            FetchError::Deadline { stage: Stage::FirstByte | Stage::Total, waited } => {
                return RemoteError::Silent { host, seconds: waited.as_secs() };
            }
            // What was sent may have been read, and answered to nobody.
            FetchError::Exchange { .. } | FetchError::Encoding { .. } => {
                return RemoteError::BrokenOff { host, why: self.chain(&error) };
            }
            FetchError::Request(_) | FetchError::Tls { .. } | FetchError::Gate(GateError::Refused(_)) => true,
            FetchError::Gate(_) | FetchError::Deadline { stage: Stage::Handshake, .. } => false,
        };
        RemoteError::Unreached { host, why: self.chain(&error), remedy: error.remedy(), lasting }
    }

    /// An error with its causes, which carry the point.
    fn chain(&self, error: &FetchError) -> String {
        let mut text = error.to_string();
        let mut source = std::error::Error::source(error);
        while let Some(cause) = source {
            text.push_str(": ");
            text.push_str(&cause.to_string());
            source = cause.source();
        }
        self.who().quote(&text)
    }

    fn unreadable(&self, why: String) -> RemoteError {
        RemoteError::Unreadable { host: self.host(), why: self.who().quote(&why) }
    }

    fn misframed(&self, bad: Misframed) -> RemoteError {
        match bad {
            Misframed::TooLong => RemoteError::TooLarge { host: self.host(), what: "a line", max: LINE_MAX },
            Misframed::NotText => self.unreadable("it is no text".to_owned()),
        }
    }

    fn problem(&self, problem: Problem) -> RemoteError {
        match problem {
            Problem::Unreadable(why) => self.unreadable(why),
            Problem::Complaint(complaint) => complaint.in_answer(self.who()),
        }
    }

    fn unusable(&self, unusable: Unusable) -> RemoteError {
        let host = self.host();
        match unusable {
            Unusable::Cut => RemoteError::Cut { host },
            Unusable::NoCall => RemoteError::NoCall { host },
            Unusable::Unfinished(why) => RemoteError::Unfinished { host, said: self.who().quote(&why) },
            Unusable::TooLarge => {
                RemoteError::TooLarge { host, what: "calls", max: crate::gather::CALLS_BYTES_MAX }
            }
        }
    }
}

/// Whether the answer is one JSON value although a stream was asked for.
fn is_json(response: &Response) -> bool {
    let kind = response.headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json"
}

#[async_trait]
impl Model for Remote {
    async fn call(&self, request: Request, watch: &dyn Watcher) -> Result<Answer, ModelError> {
        self.ask(request, watch).await.map_err(ModelError::from)
    }

    fn price(&self) -> Option<Price> {
        self.price
    }

    fn context_tokens(&self) -> Option<u64> {
        self.choice.context_tokens
    }

    fn is_remote(&self) -> bool {
        self.place.is_remote
    }

    fn secrets(&self) -> Vec<(String, String)> {
        let key = self.key.iter().map(|key| (key.variable().to_owned(), key.value().to_owned()));
        key.collect()
    }
}
