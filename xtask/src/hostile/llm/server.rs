//! A model server that plays a line: no sockets, on the clock the client waits by.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use bowline::remote::Network;
use bowline_net::{Dial, Dialed, Resolve, ResolveError, Trust};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::form::{Begins, Exchange, Framing, Line, Side};
use super::part::{Action, Actions, Ending, Part};

const PIPE: usize = 64 * 1024;
const HEAD_MAX: usize = 128 * 1024;

/// Where the model is: in a network of its own, so that no certificate is needed.
pub(crate) const HOST: &str = "10.0.0.7:8000";

/// A request as it arrived.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Plays a line behind every address.
pub(crate) struct Server {
    stage: Arc<Stage>,
    connections: Mutex<JoinSet<()>>,
}

struct Stage {
    line: Arc<Line>,
    /// The request during which the process dies: it is not answered.
    dies_at: Option<usize>,
    asked: Mutex<Vec<Asked>>,
    strangers: Mutex<u64>,
    arrived: Notify,
}

impl Server {
    pub(crate) fn new(line: Arc<Line>) -> Arc<Self> {
        let dies_at = line.setup.crash.map(|crash| crash.during_request);
        let stage = Stage {
            line,
            dies_at,
            asked: Mutex::default(),
            strangers: Mutex::default(),
            arrived: Notify::new(),
        };
        Arc::new(Self { stage: Arc::new(stage), connections: Mutex::default() })
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        locked(&self.stage.asked).clone()
    }

    /// How often another host was looked up or reached.
    pub(crate) fn strangers(&self) -> u64 {
        *locked(&self.stage.strangers)
    }

    pub(crate) fn network(self: &Arc<Self>) -> Network {
        let (resolver, dial) = (Arc::new(Nowhere(Arc::clone(&self.stage))), self.clone());
        Network { resolver, dial, trust: Trust::public(), ..Network::default() }
    }

    /// Comes back once so many requests have arrived.
    pub(crate) async fn reached(&self, count: usize) {
        loop {
            let arrived = self.stage.arrived.notified();
            if locked(&self.stage.asked).len() >= count {
                return;
            }
            arrived.await;
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// There are no names here: whoever looks one up asks for another host.
struct Nowhere(Arc<Stage>);

#[async_trait]
impl Resolve for Nowhere {
    async fn resolve(&self, _: &bowline_net::Name) -> Result<Vec<IpAddr>, ResolveError> {
        *locked(&self.0.strangers) += 1;
        Ok(vec![IpAddr::from([93, 184, 216, 34])])
    }
}

#[async_trait]
impl Dial for Server {
    async fn dial(&self, to: SocketAddr) -> io::Result<Dialed> {
        if to.to_string() != HOST {
            *locked(&self.stage.strangers) += 1;
        }
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let is_reset = Arc::new(AtomicBool::new(false));
        let wire = Wire { pipe: ours, is_reset: Arc::clone(&is_reset) };
        let stage = Arc::clone(&self.stage);
        let mut connections = locked(&self.connections);
        while connections.try_join_next().is_some() {}
        connections.spawn(async move {
            // A client that leaves early is what half the cases are about.
            if matches!(stage.serve(theirs, &is_reset).await, Ok(Ending::Hang)) {
                std::future::pending::<()>().await;
            }
        });
        Ok(Dialed { stream: Box::new(wire), peer: to })
    }

    fn is_own(&self, address: IpAddr) -> bool {
        address.is_loopback()
    }
}

/// The client's end, which can be reset.
struct Wire {
    pipe: DuplexStream,
    is_reset: Arc<AtomicBool>,
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.pipe).poll_read(cx, into);
        match read {
            // What was on its way is let through first.
            Poll::Ready(Ok(())) if into.filled().len() == before && self.is_reset.load(Ordering::Relaxed) => {
                Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()))
            }
            read => read,
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.pipe).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_shutdown(cx)
    }
}

impl Stage {
    /// One request; tells how the answer ended. A pipe that hangs is kept by whoever waits.
    async fn serve(&self, mut pipe: DuplexStream, is_reset: &AtomicBool) -> io::Result<Ending> {
        let head = read_head(&mut pipe).await?;
        if !head.lines().any(|line| line.to_ascii_lowercase() == format!("host: {HOST}")) {
            *locked(&self.strangers) += 1;
        }
        let number = {
            let mut asked = locked(&self.asked);
            asked.push(Asked { head: head.clone(), body: String::new() });
            asked.len() - 1
        };
        let exchange = self.line.exchange(number);
        if exchange.is_none_or(|exchange| exchange.answer == Begins::AfterRequest) {
            let body = read_body(&mut pipe, &head).await?;
            locked(&self.asked).get_mut(number).into_iter().for_each(|asked| asked.body.clone_from(&body));
        }
        self.arrived.notify_waiters();
        if self.dies_at == Some(number + 1) {
            std::future::pending::<()>().await;
        }
        let Some(exchange) = exchange else { return Ok(Ending::Close) };
        let ending = perform(exchange, number + 1, &mut pipe).await?;
        match ending {
            Ending::Hang => std::future::pending().await,
            Ending::Reset => is_reset.store(true, Ordering::Relaxed),
            Ending::End | Ending::Close => {
                pipe.shutdown().await?;
                // Until the client goes, so that what it still sends is not an error to it.
                if exchange.answer == Begins::AfterRequest {
                    let _ = pipe.read(&mut [0; 64]).await;
                }
            }
        }
        Ok(ending)
    }
}

async fn read_head(pipe: &mut DuplexStream) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > HEAD_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        head.push(pipe.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

async fn read_body(pipe: &mut DuplexStream, head: &str) -> io::Result<String> {
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok()).flatten()
    });
    let mut body = vec![0; length.unwrap_or(0_usize)];
    pipe.read_exact(&mut body).await?;
    Ok(String::from_utf8_lossy(&body).into_owned())
}

async fn perform(exchange: &Exchange, nth: usize, pipe: &mut DuplexStream) -> io::Result<Ending> {
    play(&exchange.before, nth, false, pipe).await?;
    pipe.write_all(&head_of(exchange, nth)).await?;
    let chunked = exchange.framing == Framing::Chunked;
    let ending = play(&exchange.body, nth, chunked, pipe).await?;
    if chunked && ending == Ending::End {
        let mut last = b"0\r\n".to_vec();
        pairs(exchange.trailers.as_deref().unwrap_or_default(), nth, &mut last);
        last.extend_from_slice(b"\r\n");
        pipe.write_all(&last).await?;
    }
    pipe.flush().await?;
    Ok(ending)
}

async fn play(parts: &[Part], nth: usize, chunked: bool, pipe: &mut DuplexStream) -> io::Result<Ending> {
    for action in Actions::new(parts, nth) {
        match action {
            Action::Send(bytes) if chunked => {
                let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
                framed.extend_from_slice(&bytes);
                framed.extend_from_slice(b"\r\n");
                pipe.write_all(&framed).await?;
            }
            Action::Send(bytes) => pipe.write_all(&bytes).await?,
            Action::SleepMs(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
            Action::Ending(ending) => return Ok(ending),
        }
    }
    Ok(Ending::End)
}

fn head_of(exchange: &Exchange, nth: usize) -> Vec<u8> {
    if let Some(parts) = &exchange.head {
        return side_bytes(parts, nth);
    }
    let Some(status) = exchange.status.flatten() else { return Vec::new() };
    let reason = exchange.reason.as_deref().unwrap_or(reason(status));
    let mut head = format!("HTTP/1.1 {status} {reason}\r\n").into_bytes();
    pairs(exchange.headers.as_deref().unwrap_or_default(), nth, &mut head);
    match exchange.framing {
        Framing::ContentLength => {
            let length: u64 = exchange.body.iter().map(|part| part.size(nth)).sum();
            head.extend_from_slice(format!("content-length: {length}\r\n").as_bytes());
        }
        Framing::Chunked => head.extend_from_slice(b"transfer-encoding: chunked\r\n"),
        Framing::None => {}
    }
    head.extend_from_slice(b"connection: close\r\n\r\n");
    head
}

fn pairs(pairs: &[(Side, Side)], nth: usize, out: &mut Vec<u8>) {
    let bytes = |side: &Side| match side {
        Side::Text(text) => text.clone().into_bytes(),
        Side::Parts(parts) => side_bytes(parts, nth),
    };
    for (name, value) in pairs {
        out.extend(bytes(name));
        out.extend_from_slice(b": ");
        out.extend(bytes(value));
        out.extend_from_slice(b"\r\n");
    }
}

fn side_bytes(parts: &[Part], nth: usize) -> Vec<u8> {
    let bytes = parts.iter().filter_map(|part| match part {
        Part::Data { bytes, .. } => Some(bytes.bytes(nth)),
        Part::Seq(..) | Part::SleepMs(_) | Part::Ending(_) => None,
    });
    bytes.flatten().collect()
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        302 => "Found",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "Played",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(text: &str) -> Exchange {
        serde_json::from_str(text).unwrap()
    }

    async fn wire(text: &str) -> (String, Ending) {
        let (mut ours, mut theirs) = tokio::io::duplex(1 << 20);
        let ending = perform(&exchange(text), 3, &mut theirs).await.unwrap();
        drop(theirs);
        let mut bytes = Vec::new();
        ours.read_to_end(&mut bytes).await.unwrap();
        (String::from_utf8(bytes).unwrap(), ending)
    }

    #[tokio::test]
    async fn an_answer_goes_out_as_the_form_says() {
        let whole = r#"{"before": [{"text": "!"}], "status": 200, "headers": [["a", [{"nth": true}]]],
            "framing": "content-length", "body": [{"text": "hi"}, {"text": "ho", "repeat": 2}]}"#;
        assert_eq!(
            wire(whole).await.0,
            "!HTTP/1.1 200 OK\r\na: 3\r\ncontent-length: 6\r\nconnection: close\r\n\r\nhihoho"
        );
        let chunked = r#"{"status": 500, "reason": "No", "framing": "chunked",
            "body": [{"text": "ab", "every_byte": true}], "trailers": [["t", "v"]]}"#;
        assert_eq!(
            wire(chunked).await.0,
            "HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n\
             1\r\na\r\n1\r\nb\r\n0\r\nt: v\r\n\r\n"
        );
        let cut = r#"{"status": 200, "framing": "chunked", "body": [{"text": "ab"}, {"close": true}]}"#;
        let (sent, ending) = wire(cut).await;
        assert!(sent.ends_with("\r\n\r\n2\r\nab\r\n") && ending == Ending::Close, "{sent:?}");
        let raw = r#"{"head": [{"text": "HTTP/9 what\n\n"}], "framing": "none", "body": [{"reset": true}]}"#;
        assert_eq!(wire(raw).await, ("HTTP/9 what\n\n".to_owned(), Ending::Reset));
        let none = r#"{"status": null, "framing": "none", "body": [{"text": "x"}, {"hang": true}]}"#;
        assert_eq!(wire(none).await, ("x".to_owned(), Ending::Hang));
    }
}
