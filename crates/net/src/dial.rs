//! From an address to a connection: the seam to the sockets.

use std::io;
use std::net::SocketAddr;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// Bytes in both directions.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// An open connection.
pub struct Dialed {
    /// The bytes.
    pub stream: Box<dyn Stream>,
    /// Who is at the other end, as the socket says.
    pub peer: SocketAddr,
}

/// Opens connections.
#[async_trait]
pub trait Dial: Send + Sync {
    /// Connects to exactly this address.
    async fn dial(&self, to: SocketAddr) -> io::Result<Dialed>;
}

/// TCP sockets of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemDial;

#[async_trait]
impl Dial for SystemDial {
    async fn dial(&self, to: SocketAddr) -> io::Result<Dialed> {
        let stream = TcpStream::connect(to).await?;
        stream.set_nodelay(true)?;
        let peer = stream.peer_addr()?;
        Ok(Dialed { stream: Box::new(stream), peer })
    }
}
