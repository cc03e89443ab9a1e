//! A network without sockets, with one server behind every address.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use rustls::ServerConfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;

use crate::dial::{Dial, Dialed, Stream};

const PIPE: usize = 64 * 1024;
const HEAD_MAX: usize = 128 * 1024;
const GZIP_HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// What the server does with one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Play {
    /// Answers 200 with this body.
    Body(String),
    /// Answers 302 to this place.
    Redirect(String),
    /// Sends these bytes, whatever they are, and closes.
    Raw(Vec<u8>),
    /// Sends a body in chunks and never stops.
    Endless,
    /// Sends a byte a second and never stops.
    Slow,
    /// Sends a few bytes that inflate without end.
    Inflating,
    /// Reads the request and says nothing.
    Silent,
    /// Sends back every byte, without reading HTTP.
    Echo,
}

/// A network whose every address is the same server.
pub struct Wire {
    server: Arc<Server>,
    dialed: Mutex<Vec<SocketAddr>>,
    unreachable: Vec<SocketAddr>,
    peer: Option<SocketAddr>,
    own: Vec<IpAddr>,
    connections: Mutex<JoinSet<()>>,
}

struct Server {
    tls: Option<Arc<ServerConfig>>,
    plays: Vec<Play>,
    heads: Mutex<Vec<String>>,
}

impl Wire {
    /// A server that goes through these plays, one for each request; the last
    /// one stays.
    #[must_use]
    pub fn new(plays: Vec<Play>) -> Self {
        let server = Server { tls: None, plays, heads: Mutex::default() };
        Self {
            server: Arc::new(server),
            dialed: Mutex::default(),
            unreachable: Vec::new(),
            peer: None,
            own: Vec::new(),
            connections: Mutex::default(),
        }
    }

    /// The same, speaking TLS on port 443.
    #[must_use]
    pub fn with_tls(self, tls: Arc<ServerConfig>) -> Self {
        let Server { plays, .. } = &*self.server;
        let server = Server { tls: Some(tls), plays: plays.clone(), heads: Mutex::default() };
        Self { server: Arc::new(server), ..self }
    }

    /// The same, with nobody at this address.
    #[must_use]
    pub fn without(mut self, address: SocketAddr) -> Self {
        self.unreachable.push(address);
        self
    }

    /// The same, on a machine where somebody else answers every connection.
    #[must_use]
    pub fn hijacked_by(mut self, peer: SocketAddr) -> Self {
        self.peer = Some(peer);
        self
    }

    /// The same, on a machine that answers to this address itself.
    #[must_use]
    pub fn on_machine(mut self, own: IpAddr) -> Self {
        self.own.push(own);
        self
    }

    /// The addresses that were dialled, in order.
    #[must_use]
    pub fn dialed(&self) -> Vec<SocketAddr> {
        self.dialed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The heads of the requests that arrived, in order.
    #[must_use]
    pub fn heads(&self) -> Vec<String> {
        self.server.heads.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Dial for Wire {
    async fn dial(&self, to: SocketAddr) -> io::Result<Dialed> {
        self.dialed.lock().unwrap_or_else(PoisonError::into_inner).push(to);
        if self.unreachable.contains(&to) {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let server = Arc::clone(&self.server);
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        while connections.try_join_next().is_some() {}
        connections.spawn(async move {
            // A client that leaves early is what half the tests are about.
            drop(server.serve(theirs, to.port()).await);
        });
        Ok(Dialed { stream: Box::new(ours), peer: self.peer.unwrap_or(to) })
    }

    fn is_own(&self, address: IpAddr) -> bool {
        self.own.contains(&address)
    }
}

impl Server {
    async fn serve(&self, pipe: DuplexStream, port: u16) -> io::Result<()> {
        let mut stream: Box<dyn Stream> = match &self.tls {
            Some(tls) if port == 443 => Box::new(TlsAcceptor::from(Arc::clone(tls)).accept(pipe).await?),
            _ => Box::new(pipe),
        };
        if self.plays.last() == Some(&Play::Echo) {
            let (mut from, mut to) = tokio::io::split(stream);
            tokio::io::copy(&mut from, &mut to).await?;
            return to.shutdown().await;
        }
        let head = read_head(&mut stream).await?;
        let play = self.next(head);
        perform(play, &mut stream).await?;
        stream.shutdown().await
    }

    fn next(&self, head: String) -> Play {
        let mut heads = self.heads.lock().unwrap_or_else(PoisonError::into_inner);
        let play = self.plays.get(heads.len()).or_else(|| self.plays.last());
        heads.push(head);
        play.cloned().unwrap_or(Play::Silent)
    }
}

async fn read_head(stream: &mut Box<dyn Stream>) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > HEAD_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        head.push(stream.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

async fn perform(play: Play, stream: &mut Box<dyn Stream>) -> io::Result<()> {
    match play {
        Play::Body(body) => {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            stream.write_all(head.as_bytes()).await
        }
        Play::Redirect(place) => {
            let head = format!("HTTP/1.1 302 Found\r\nlocation: {place}\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(head.as_bytes()).await
        }
        Play::Raw(bytes) => stream.write_all(&bytes).await,
        Play::Endless => {
            let piece = "x".repeat(0x4000);
            endlessly(stream, "", piece.as_bytes(), Duration::ZERO).await
        }
        Play::Slow => endlessly(stream, "", b"x", Duration::from_secs(1)).await,
        Play::Inflating => {
            let piece = deflated_zeros()?;
            endlessly(stream, "content-encoding: gzip\r\n", &piece, Duration::ZERO).await
        }
        Play::Silent | Play::Echo => std::future::pending().await,
    }
}

async fn endlessly(
    stream: &mut Box<dyn Stream>,
    encoding: &str,
    piece: &[u8],
    pause: Duration,
) -> io::Result<()> {
    let head = format!("HTTP/1.1 200 OK\r\n{encoding}transfer-encoding: chunked\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    if !encoding.is_empty() {
        write_chunk(stream, &GZIP_HEAD).await?;
    }
    loop {
        write_chunk(stream, piece).await?;
        sleep(pause).await;
    }
}

async fn write_chunk(stream: &mut Box<dyn Stream>, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(format!("{:x}\r\n", bytes.len()).as_bytes()).await?;
    stream.write_all(bytes).await?;
    stream.write_all(b"\r\n").await?;
    stream.flush().await
}

/// A mebibyte of zeros as whole deflate blocks, which may follow each other forever.
fn deflated_zeros() -> io::Result<Vec<u8>> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    io::Write::write_all(&mut encoder, &vec![0; 1024 * 1024])?;
    io::Write::flush(&mut encoder)?;
    Ok(encoder.get_ref().clone())
}
