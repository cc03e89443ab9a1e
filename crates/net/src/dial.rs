//! From an address to a connection: the seam to the sockets.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

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

    /// Whether this machine itself would answer at the address. Nothing is sent.
    fn is_own(&self, address: IpAddr) -> bool;
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

    /// The kernel says from which address it would speak to this one; only to
    /// itself does it speak from the same. An unconnected route is not ours.
    fn is_own(&self, address: IpAddr) -> bool {
        const ANY_PORT: u16 = 9;
        let from: IpAddr = match address {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let speaks_from = || {
            let socket = UdpSocket::bind((from, 0))?;
            socket.connect((address, ANY_PORT))?;
            socket.local_addr()
        };
        speaks_from().is_ok_and(|own| own.ip() == address)
    }
}
