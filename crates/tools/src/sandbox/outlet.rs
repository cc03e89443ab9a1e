//! The way out of the cages of one run: a proxy that asks the gate for every host.
//!
//! It is started when the first program needs it and listens on a Unix socket in a
//! folder nobody else can enter; a cage carries one loopback port of its own to
//! that socket. [`Outlet::close`] ends it and waits for it; dropping the last
//! clone ends it too. A run that is granted nothing has none.

use std::fmt;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bowline_net::{Decision, Gate, Listener, Proxy, ProxyLimits};
use tempfile::TempDir;
use tokio::net::UnixListener;
use tokio::sync::Mutex;

use crate::background;
use crate::reach::Reach;

const SOCKET: &str = "proxy";

/// The way out. Clones are one.
#[derive(Clone)]
pub struct Outlet(Arc<Inner>);

struct Inner {
    gate: Gate,
    loopback: bool,
    state: Mutex<State>,
}

enum State {
    NotYet,
    Open(Open),
    Closed,
}

/// Fields are dropped in this order: first the proxy, then its folder.
struct Open {
    proxy: Proxy,
    socket: PathBuf,
    _folder: TempDir,
}

impl Outlet {
    /// The way to what a run may reach; `None` if that is nothing.
    pub(super) fn of(reach: &Reach) -> Option<Self> {
        let gate = reach.gate()?.clone();
        let loopback = reach.grants_loopback();
        Some(Self(Arc::new(Inner { gate, loopback, state: Mutex::new(State::NotYet) })))
    }

    /// The socket of the proxy, which is started if it was not.
    pub(super) async fn socket(&self) -> Result<PathBuf, String> {
        let mut state = self.0.state.lock().await;
        match &*state {
            State::Open(open) => return Ok(open.socket.clone()),
            State::Closed => return Err("the network of this run is closed".to_owned()),
            State::NotYet => {}
        }
        let open = open(self.0.gate.clone()).await?;
        let socket = open.socket.clone();
        *state = State::Open(open);
        Ok(socket)
    }

    /// Whether services of this machine are granted.
    pub(super) fn grants_loopback(&self) -> bool {
        self.0.loopback
    }

    /// Ends it, and every connection through it, and waits until nothing is left.
    pub(super) async fn close(&self) {
        let mut state = self.0.state.lock().await;
        if let State::Open(open) = std::mem::replace(&mut *state, State::Closed) {
            open.proxy.close().await;
        }
    }
}

impl fmt::Debug for Outlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Outlet")
    }
}

async fn open(gate: Gate) -> Result<Open, String> {
    let cannot = |error: &dyn fmt::Display| format!("the sandbox has no way to the network: {error}");
    let limit = background::FILE_WORK_MAX;
    let bound =
        background::run(limit, |_| bind()).await.map_err(|not_done| cannot(&not_done.message(limit)))?;
    let (folder, listener) = bound.map_err(|error| cannot(&error))?;
    let listener = UnixListener::from_std(listener).map_err(|error| cannot(&error))?;
    // Whoever is refused reads why in the proxy's answer.
    let log = Arc::new(|_: &Decision| {});
    let proxy = Proxy::start(gate, Listener::Unix(listener), ProxyLimits::default(), log);
    let proxy = proxy.map_err(|error| cannot(&error))?;
    Ok(Open { proxy, socket: folder.path().join(SOCKET), _folder: folder })
}

/// A socket in a folder of its own, which only we may enter. Blocks.
fn bind() -> io::Result<(TempDir, std::os::unix::net::UnixListener)> {
    let folder = tempfile::Builder::new().prefix("bowline-net-").tempdir()?;
    // By the open folder: the name of a socket may not be long, that of the folder may.
    let opened = std::fs::File::open(folder.path())?;
    let name = Path::new("/proc/self/fd").join(opened.as_raw_fd().to_string()).join(SOCKET);
    let listener = std::os::unix::net::UnixListener::bind(name)?;
    listener.set_nonblocking(true)?;
    Ok((folder, listener))
}
