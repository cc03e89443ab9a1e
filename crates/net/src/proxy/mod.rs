//! The way out for programs in a cage: a forward proxy on a socket of the
//! caller's, which puts every request to the gate.
//!
//! It speaks CONNECT and plain-HTTP proxying. A tunnel goes to the checked
//! address of the name in the CONNECT line; what the bytes inside claim (SNI,
//! `Host`) opens nothing. No redirect is followed: the program asks again, and is
//! judged again.
//!
//! Invariants
//! - Every decision is told to the caller's callback before it takes effect.
//! - Connections, bytes, silence and lifetime are bounded.
//! - Dropping the [`Proxy`] ends it and everything that goes through it.

mod forward;
mod meter;
mod serve;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::{JoinHandle, JoinSet};

use crate::dial::Stream;
use crate::gate::Gate;
use serve::Counter;

/// How much may go through a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyLimits {
    /// Connections at the same time; further ones wait to be accepted.
    pub connections_max: usize,
    /// For a request's head to arrive, and between two requests.
    pub head: Duration,
    /// From a forwarded request to the head of its answer.
    pub first_byte: Duration,
    /// Silence on an outbound connection.
    pub idle: Duration,
    /// Life of a connection to the proxy.
    pub lifetime: Duration,
    /// Bytes over an outbound connection, both directions together.
    pub bytes_max: u64,
}

impl Default for ProxyLimits {
    fn default() -> Self {
        Self {
            connections_max: 64,
            head: Duration::from_secs(10),
            first_byte: Duration::from_secs(60),
            idle: Duration::from_secs(60),
            lifetime: Duration::from_secs(3600),
            bytes_max: 1024 * 1024 * 1024,
        }
    }
}

/// Where the proxy listens. The caller makes the socket and owns its file.
#[derive(Debug)]
pub enum Listener {
    /// A Unix socket, for a cage without a network.
    Unix(UnixListener),
    /// A TCP socket; only on loopback.
    Loopback(TcpListener),
}

/// A proxy that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// Others could use it.
    #[error("the proxy would listen on {address}, which others can reach")]
    NotLoopback {
        /// Where.
        address: SocketAddr,
    },
    /// The listener is not usable.
    #[error("cannot listen for the proxy")]
    Listen {
        /// Why.
        source: io::Error,
    },
}

impl ProxyError {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::NotLoopback { .. } => "bind the listener to 127.0.0.1 or ::1, or use a Unix socket",
            Self::Listen { .. } => "bind the listener anew",
        }
    }
}

/// What was asked of the proxy and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// `CONNECT` or the method of the request.
    pub method: String,
    /// Host and port, without path, query or user: fit for a log.
    pub asked: String,
    /// Whether it was let through.
    pub outcome: Outcome,
}

/// Whether a request was let through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Connected to a checked address of it.
    Allowed {
        /// Every address that was checked.
        addresses: Vec<SocketAddr>,
    },
    /// Not let through.
    Refused {
        /// One word.
        reason: &'static str,
        /// A sentence.
        message: String,
    },
}

/// Told of every decision. It is called on the connection's task and must not wait.
pub type Log = Arc<dyn Fn(&Decision) + Send + Sync>;

/// A running proxy; ends when it is dropped.
#[derive(Debug)]
pub struct Proxy {
    accepting: JoinHandle<()>,
    stop: Option<oneshot::Sender<()>>,
}

impl Proxy {
    /// Starts it on the current runtime. There is no gate in the sovereign tier,
    /// and so no proxy.
    pub fn start(gate: Gate, listener: Listener, limits: ProxyLimits, log: Log) -> Result<Self, ProxyError> {
        if let Listener::Loopback(tcp) = &listener {
            let address = tcp.local_addr().map_err(|source| ProxyError::Listen { source })?;
            if !address.ip().is_loopback() {
                return Err(ProxyError::NotLoopback { address });
            }
        }
        let counter = Arc::new(Counter { gate, limits, log });
        let (stop, stopped) = oneshot::channel();
        Ok(Self { accepting: tokio::spawn(accept(listener, counter, stopped)), stop: Some(stop) })
    }

    /// Ends it and waits until nothing goes through any more.
    pub async fn close(mut self) {
        drop(self.stop.take());
        // It ends when its last connection has: there is nothing else to learn from it.
        drop((&mut self.accepting).await);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Accepts until it is told to stop, and then ends every connection before it ends.
async fn accept(listener: Listener, counter: Arc<Counter>, stopped: oneshot::Receiver<()>) {
    let mut connections = JoinSet::new();
    tokio::select! {
        () = accept_all(&listener, &counter, &mut connections) => {}
        // An owner that is gone has stopped it too.
        _ = stopped => {}
    }
    drop(listener);
    connections.shutdown().await;
}

/// Accepts as long as there is room.
async fn accept_all(listener: &Listener, counter: &Arc<Counter>, connections: &mut JoinSet<()>) {
    const PAUSE: Duration = Duration::from_millis(50);
    let room = Arc::new(Semaphore::new(counter.limits.connections_max.max(1)));
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.next().await {
            Ok(stream) => {
                let counter = Arc::clone(counter);
                connections.spawn(async move {
                    let _place = place;
                    counter.serve(stream).await;
                });
            }
            // Out of descriptors, or the peer left early: neither ends the proxy.
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

impl Listener {
    async fn next(&self) -> io::Result<Box<dyn Stream>> {
        match self {
            Self::Unix(listener) => Ok(Box::new(listener.accept().await?.0)),
            Self::Loopback(listener) => Ok(Box::new(listener.accept().await?.0)),
        }
    }
}
