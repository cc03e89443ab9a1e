//! Model servers for tests: no sockets, and no time with a paused clock.
//!
//! A [`Server`] stands behind every address, goes through its plays, one for each
//! request, and writes down what it was asked.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bowline_net::{Dial, Dialed, Resolve, ResolveError, Stream, Trust};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use crate::open::Network;

type Pipe = Box<dyn Stream>;

const PIPE: usize = 64 * 1024;
const HEAD_MAX: usize = 128 * 1024;

/// What the server does with one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Play {
    /// The status of the answer.
    pub status: u16,
    /// Its headers, besides those that say how long it is.
    pub headers: Vec<(String, String)>,
    /// Its body, in pieces, each after a pause.
    pub pieces: Vec<(Duration, Vec<u8>)>,
    /// What comes after the last piece.
    pub then: Then,
}

/// How an answer ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Then {
    /// As it should.
    End,
    /// The connection closes in the middle of the body.
    Cut,
    /// Nothing more comes, and the connection stays.
    Silence,
    /// This comes again and again, each after a pause.
    Forever(Duration, Vec<u8>),
    /// The connection closes before the answer begins.
    Nothing,
}

impl Play {
    /// A whole answer of JSON.
    #[must_use]
    pub fn json(status: u16, body: &str) -> Self {
        Self {
            status,
            headers: vec![("content-type".into(), "application/json".into())],
            pieces: vec![(Duration::ZERO, body.as_bytes().to_vec())],
            then: Then::End,
        }
    }

    /// A stream of these bytes, in pieces of that many.
    #[must_use]
    pub fn stream(bytes: &[u8], size: usize) -> Self {
        let pieces = bytes.chunks(size.max(1)).map(|piece| (Duration::ZERO, piece.to_vec()));
        Self {
            status: 200,
            headers: vec![("content-type".into(), "text/event-stream".into())],
            pieces: pieces.collect(),
            then: Then::End,
        }
    }

    /// The same with another end.
    #[must_use]
    pub fn then(mut self, then: Then) -> Self {
        self.then = then;
        self
    }

    /// The same with a header set.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// A request as it arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Where it was sent.
    pub to: SocketAddr,
    /// Its first line and its headers.
    pub head: String,
    /// Its body.
    pub body: String,
}

/// A server behind every address.
pub struct Server {
    plays: Arc<Plays>,
    connections: Mutex<JoinSet<()>>,
}

struct Plays {
    tls: Option<TlsAcceptor>,
    plays: Vec<Play>,
    seen: Mutex<Vec<Seen>>,
}

impl Server {
    /// A server that goes through these plays; the last one stays.
    #[must_use]
    pub fn new(plays: Vec<Play>) -> Arc<Self> {
        Self::speaking(plays, None)
    }

    /// The same, speaking TLS on port 443.
    #[must_use]
    pub fn with_tls(plays: Vec<Play>, tls: Arc<ServerConfig>) -> Arc<Self> {
        Self::speaking(plays, Some(tls.into()))
    }

    fn speaking(plays: Vec<Play>, tls: Option<TlsAcceptor>) -> Arc<Self> {
        let plays = Arc::new(Plays { tls, plays, seen: Mutex::default() });
        Arc::new(Self { plays, connections: Mutex::default() })
    }

    /// What it was asked, in order.
    #[must_use]
    pub fn seen(&self) -> Vec<Seen> {
        self.plays.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The network it is on: every name leads to it, and these authorities are believed.
    #[must_use]
    pub fn network(self: &Arc<Self>, trust: Trust) -> Network {
        Network { resolver: Arc::new(Anywhere), dial: self.clone(), trust, ..Network::default() }
    }
}

/// Every name has one address, which is nobody's.
struct Anywhere;

#[async_trait]
impl Resolve for Anywhere {
    async fn resolve(&self, _: &bowline_net::Name) -> Result<Vec<IpAddr>, ResolveError> {
        Ok(vec![IpAddr::from([93, 184, 216, 34])])
    }
}

#[async_trait]
impl Dial for Server {
    async fn dial(&self, to: SocketAddr) -> io::Result<Dialed> {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let plays = Arc::clone(&self.plays);
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        while connections.try_join_next().is_some() {}
        connections.spawn(async move {
            // A client that leaves early is what half the tests are about.
            drop(plays.serve(theirs, to).await);
        });
        Ok(Dialed { stream: Box::new(ours), peer: to })
    }

    fn is_own(&self, address: IpAddr) -> bool {
        address.is_loopback()
    }
}

impl Plays {
    async fn serve(&self, pipe: DuplexStream, to: SocketAddr) -> io::Result<()> {
        let mut pipe: Pipe = match &self.tls {
            Some(tls) if to.port() == 443 => Box::new(tls.accept(pipe).await?),
            Some(_) | None => Box::new(pipe),
        };
        let (head, body) = read_request(&mut pipe).await?;
        let play = {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            let play = self.plays.get(seen.len()).or_else(|| self.plays.last()).cloned();
            seen.push(Seen { to, head, body });
            play
        };
        match play {
            Some(play) => perform(&play, &mut pipe).await,
            None => Ok(()),
        }
    }
}

async fn read_request(pipe: &mut Pipe) -> io::Result<(String, String)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > HEAD_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        head.push(pipe.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok()).flatten()
    });
    let mut body = vec![0; length.unwrap_or(0_usize)];
    pipe.read_exact(&mut body).await?;
    Ok((head, String::from_utf8_lossy(&body).into_owned()))
}

async fn perform(play: &Play, pipe: &mut Pipe) -> io::Result<()> {
    if play.then == Then::Nothing {
        return Ok(());
    }
    let mut head = format!("HTTP/1.1 {} Played\r\ntransfer-encoding: chunked\r\n", play.status);
    for (name, value) in &play.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    pipe.write_all(head.as_bytes()).await?;
    for (pause, piece) in &play.pieces {
        write_piece(pipe, *pause, piece).await?;
    }
    match &play.then {
        Then::End => pipe.write_all(b"0\r\n\r\n").await?,
        Then::Cut | Then::Nothing => return pipe.flush().await,
        Then::Silence => {
            pipe.flush().await?;
            std::future::pending().await
        }
        Then::Forever(pause, piece) => loop {
            write_piece(pipe, *pause, piece).await?;
        },
    }
    pipe.shutdown().await
}

async fn write_piece(pipe: &mut Pipe, pause: Duration, piece: &[u8]) -> io::Result<()> {
    if !pause.is_zero() {
        tokio::time::sleep(pause).await;
    }
    if piece.is_empty() {
        return Ok(());
    }
    pipe.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await?;
    pipe.write_all(piece).await?;
    pipe.write_all(b"\r\n").await?;
    pipe.flush().await
}
