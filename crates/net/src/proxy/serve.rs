//! One connection to the proxy, from its first request to its last byte.

use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use http::{Method, StatusCode};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::time::timeout;

use super::meter::{Activity, Metered};
use super::{Decision, Log, Outcome, ProxyLimits, forward};
use crate::dial::Stream;
use crate::exchange::{self, Driven};
use crate::gate::{Gate, GateError};
use crate::policy::{Checked, Malformed, Refusal, Scheme, Target};

/// Most bytes of a request's head.
const HEAD_MAX: usize = 64 * 1024;

type Answer = http::Response<Either<Driven, Full<Bytes>>>;

/// What every connection works with.
pub(super) struct Counter {
    pub(super) gate: Gate,
    pub(super) limits: ProxyLimits,
    pub(super) log: Log,
}

/// A tunnel that was granted and waits for the connection to be handed over.
struct Granted {
    inner: OnUpgrade,
    outer: Metered,
}

/// At most one: a connection that became a tunnel stays one.
type Slot = Mutex<Option<Granted>>;

impl Counter {
    /// Serves one connection to its end.
    pub(super) async fn serve(&self, stream: Box<dyn Stream>) {
        let activity = Activity::default();
        let served = timeout(self.limits.lifetime, self.serve_unhurried(stream, &activity));
        // Too long a life, or too long a silence, ends like any other broken connection.
        tokio::select! {
            served = served => drop(served),
            () = activity.silent_for(self.limits.idle) => {}
        }
    }

    async fn serve_unhurried(&self, stream: Box<dyn Stream>, activity: &Activity) {
        let slot = Slot::default();
        let answered =
            service_fn(|request| async { Ok::<_, Infallible>(self.answer(request, &slot, activity).await) });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(self.limits.head).max_buf_size(HEAD_MAX);
        // A client that breaks off or talks nonsense gets no further; nobody else is concerned.
        drop(http.serve_connection(TokioIo::new(stream), answered).with_upgrades().await);
        let granted = slot.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(Granted { inner, mut outer }) = granted
            && let Ok(inner) = inner.await
        {
            activity.begin();
            drop(tokio::io::copy_bidirectional(&mut TokioIo::new(inner), &mut outer).await);
        }
    }

    async fn answer(&self, request: http::Request<Incoming>, slot: &Slot, activity: &Activity) -> Answer {
        let method = request.method().clone();
        let asked = asked(request.uri());
        let outcome = if method == Method::CONNECT {
            self.tunnel(request, &asked, slot, activity).await
        } else {
            self.forward(request, &asked, activity).await
        };
        outcome.unwrap_or_else(|(status, message)| said(status, message))
    }

    async fn tunnel(
        &self,
        mut request: http::Request<Incoming>,
        asked: &str,
        slot: &Slot,
        activity: &Activity,
    ) -> Result<Answer, (StatusCode, String)> {
        let authority = request.uri().authority().map(ToString::to_string).unwrap_or_default();
        let judged = self.gate.policy().tunnel(&authority);
        let checked = self.decide(&Method::CONNECT, asked, judged).await?;
        let outer = self.connect(&checked, activity).await?;
        let granted = Granted { inner: hyper::upgrade::on(&mut request), outer };
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(granted);
        Ok(said(StatusCode::OK, String::new()))
    }

    async fn forward(
        &self,
        request: http::Request<Incoming>,
        asked: &str,
        activity: &Activity,
    ) -> Result<Answer, (StatusCode, String)> {
        let judged = self.gate.policy().judge(&request.uri().to_string()).and_then(clear_text);
        let checked = self.decide(request.method(), asked, judged).await?;
        let request = forward::rewrite(request, checked.target())
            .map_err(|malformed| (StatusCode::BAD_REQUEST, malformed.to_string()))?;
        let outer = self.connect(&checked, activity).await?;
        let sent = timeout(self.limits.first_byte, exchange::send(Box::new(outer), request)).await;
        let answer = sent
            .map_err(|_| (StatusCode::GATEWAY_TIMEOUT, "the server took too long to answer".to_owned()))?
            .map_err(|error| (StatusCode::BAD_GATEWAY, format!("the exchange broke off: {error}")))?;
        // Until here the wait for the head was the limit.
        activity.begin();
        let (mut head, body) = answer.into_parts();
        forward::strip(&mut head.headers);
        Ok(http::Response::from_parts(head, Either::Left(body)))
    }

    /// Has the addresses checked and tells the log what came of it all.
    async fn decide(
        &self,
        method: &Method,
        asked: &str,
        judged: Result<Target, Refusal>,
    ) -> Result<Checked, (StatusCode, String)> {
        let outcome = match judged {
            Ok(target) => self.gate.admit(target).await,
            Err(refusal) => Err(refusal.into()),
        };
        let told = match &outcome {
            Ok(checked) => Outcome::Allowed { addresses: checked.addresses().to_vec() },
            Err(error) => Outcome::Refused { reason: error.reason(), message: error.to_string() },
        };
        (self.log)(&Decision { method: method.to_string(), asked: asked.to_owned(), outcome: told });
        outcome.map_err(|error| shown(&error))
    }

    async fn connect(&self, checked: &Checked, activity: &Activity) -> Result<Metered, (StatusCode, String)> {
        let stream = self.gate.connect(checked).await.map_err(|error| shown(&error))?;
        Ok(Metered::new(stream, self.limits.bytes_max, activity.clone()))
    }
}

/// TLS is the client's to speak, through a tunnel.
fn clear_text(target: Target) -> Result<Target, Refusal> {
    match target.scheme() {
        Scheme::Http => Ok(target),
        Scheme::Https => Err(Refusal::Scheme { scheme: "https without CONNECT".into() }),
    }
}

/// Host and port for the log.
fn asked(uri: &http::Uri) -> String {
    let Some(authority) = uri.authority() else { return Malformed::NoHost.to_string() };
    let port = authority.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}{port}", authority.host()).chars().take(300).collect()
}

fn shown(error: &GateError) -> (StatusCode, String) {
    let status = match error {
        GateError::Refused(_) => StatusCode::FORBIDDEN,
        GateError::Resolve { .. } | GateError::Connect { .. } | GateError::Peer { .. } => {
            StatusCode::BAD_GATEWAY
        }
        GateError::ResolveDeadline { .. } => StatusCode::GATEWAY_TIMEOUT,
    };
    (status, format!("{error}; {}", error.remedy()))
}

fn said(status: StatusCode, message: String) -> Answer {
    let text = if message.is_empty() { message } else { format!("bowline: {message}\n") };
    let mut answer = http::Response::new(Either::Right(Full::new(Bytes::from(text))));
    *answer.status_mut() = status;
    answer
}
