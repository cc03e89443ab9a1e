//! The client: one request, over as many hops as the limits and the gate allow.
//!
//! Every hop is judged, looked up, checked and connected anew; no connection is
//! kept. A redirect that may not be followed is an error, never an answer.

use std::sync::Arc;

use http::header::{self, HeaderValue};
use http_body_util::Full;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;

use super::body::Response;
use super::redirect::{self, Outgoing};
use super::{BadTrust, FetchError, FetchLimits, Request, Stage, Trust};
use crate::dial::Stream;
use crate::exchange::{self, Driven};
use crate::gate::{Gate, GateError};
use crate::policy::{Host, Malformed, Refusal, Scheme, Target};

const USER_AGENT: HeaderValue = HeaderValue::from_static(concat!("bowline/", env!("CARGO_PKG_VERSION")));
const ENCODINGS: HeaderValue = HeaderValue::from_static("gzip, deflate");

/// A part of a compressed body cannot be inflated.
const PLAIN: HeaderValue = HeaderValue::from_static("identity");

/// An HTTP client that goes through the gate.
#[derive(Clone)]
pub struct Fetch {
    gate: Gate,
    limits: FetchLimits,
    tls: Arc<ClientConfig>,
}

impl Fetch {
    /// A client on this gate.
    pub fn new(gate: Gate, limits: FetchLimits, trust: Trust) -> Result<Self, BadTrust> {
        Ok(Self { gate, limits, tls: trust.config()? })
    }

    /// The same client within other limits.
    #[must_use]
    pub fn within(&self, limits: FetchLimits) -> Self {
        Self { limits, ..self.clone() }
    }

    /// What the client goes by.
    #[must_use]
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Sends the request, follows redirects, and gives back the head of the
    /// answer; the body is read from it. The total deadline runs from here to the
    /// last byte.
    pub async fn send(&self, request: Request) -> Result<Response, FetchError> {
        let until = Instant::now() + self.limits.total;
        match timeout_at(until, self.follow(request, until)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(FetchError::Deadline { stage: Stage::Total, waited: self.limits.total }),
        }
    }

    /// Sends the request and reads the whole answer, as far as the limits go.
    pub async fn fetch(&self, request: Request) -> Result<super::Fetched, FetchError> {
        self.send(request).await?.read().await
    }

    async fn follow(&self, request: Request, until: Instant) -> Result<Response, FetchError> {
        let Request { method, url, headers, body, .. } = request;
        let mut outgoing = Outgoing { method, headers, body };
        let mut target = self.gate.policy().judge(&url)?;
        let mut hop = 0;
        loop {
            let answer = self.exchange(&target, &outgoing).await.map_err(|error| on_hop(error, hop))?;
            hop += 1;
            let Some(place) = redirect::location(answer.status(), answer.headers(), hop)? else {
                let head = outgoing.method == http::Method::HEAD;
                return Response::new(answer, target, head, self.limits, until);
            };
            if hop > self.limits.redirects_max {
                return Err(FetchError::RedirectLimit { max: self.limits.redirects_max });
            }
            let refused = |refusal| FetchError::Redirect { hop, source: GateError::Refused(refusal) };
            let next = self.gate.policy().follow(&target, place).map_err(refused)?;
            outgoing.moved(answer.status(), next.is_same_origin(&target), hop)?;
            target = next;
        }
    }

    async fn exchange(
        &self,
        target: &Target,
        outgoing: &Outgoing,
    ) -> Result<http::Response<Driven>, FetchError> {
        let checked = self.gate.admit(target.clone()).await?;
        let stream = self.gate.connect(&checked).await?;
        let stream = match target.scheme() {
            Scheme::Http => stream,
            Scheme::Https => self.handshake(target.host(), stream).await?,
        };
        let request = written(target, outgoing)?;
        let waited = self.limits.first_byte;
        match timeout(waited, exchange::send(stream, request)).await {
            Ok(answer) => {
                answer.map_err(|source| FetchError::Exchange { host: target.host().clone(), source })
            }
            Err(_) => Err(FetchError::Deadline { stage: Stage::FirstByte, waited }),
        }
    }

    async fn handshake(&self, host: &Host, stream: Box<dyn Stream>) -> Result<Box<dyn Stream>, FetchError> {
        let name = match host {
            Host::Address(address) => ServerName::from(*address),
            Host::Name(name) => ServerName::try_from(name.as_str().to_owned()).map_err(|_| {
                FetchError::Tls { host: host.clone(), source: std::io::ErrorKind::InvalidInput.into() }
            })?,
        };
        let waited = self.limits.handshake;
        match timeout(waited, TlsConnector::from(Arc::clone(&self.tls)).connect(name, stream)).await {
            Ok(Ok(stream)) => Ok(Box::new(stream)),
            Ok(Err(source)) => Err(FetchError::Tls { host: host.clone(), source }),
            Err(_) => Err(FetchError::Deadline { stage: Stage::Handshake, waited }),
        }
    }
}

/// The request as it goes over the wire, with the headers that are ours to write.
fn written(target: &Target, outgoing: &Outgoing) -> Result<http::Request<Full<bytes::Bytes>>, FetchError> {
    let mut request = http::Request::new(Full::new(outgoing.body.clone()));
    *request.method_mut() = outgoing.method.clone();
    *request.uri_mut() = target.place().map_err(Refusal::Malformed)?;
    *request.headers_mut() = outgoing.headers.clone();
    let headers = request.headers_mut();
    let host = target.authority().parse().map_err(|_| Refusal::Malformed(Malformed::Character))?;
    headers.insert(header::HOST, host);
    headers.entry(header::USER_AGENT).or_insert(USER_AGENT);
    let encodings = if headers.contains_key(header::RANGE) { PLAIN } else { ENCODINGS };
    headers.insert(header::ACCEPT_ENCODING, encodings);
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    Ok(request)
}

/// After a redirect, a shut gate is the redirect's fault.
fn on_hop(error: FetchError, hop: u32) -> FetchError {
    match error {
        FetchError::Gate(source) if hop > 0 => FetchError::Redirect { hop, source },
        other => other,
    }
}
