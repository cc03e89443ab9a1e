//! The only way out there can be: connections to one loopback port are carried,
//! byte by byte, to the proxy's Unix socket. What goes where is the proxy's to
//! decide; nothing is read or understood here.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

use rustix::process::setpriority_process;

/// Connections at a time; more are closed at once.
const CONNECTIONS_MAX: usize = 64;

/// Enough for the copying a thread does here.
const STACK_BYTES: usize = 128 * 1024;

const BUFFER_BYTES: usize = 16 * 1024;

/// A port that is listened on.
pub(super) struct Forward {
    listener: TcpListener,
    socket: PathBuf,
}

impl Forward {
    /// Listens, so that no command can be too early; carries nothing yet.
    pub(super) fn listen(port: u16, socket: &Path) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind((Ipv4Addr::LOCALHOST, port))?, socket: socket.to_owned() })
    }

    /// Carries connections from now on, until this process ends.
    pub(super) fn serve(self) {
        // Without a thread the port stays silent: no network, which is safe.
        let _ = Builder::new().stack_size(STACK_BYTES).spawn(move || self.accept());
    }

    fn accept(self) {
        // The watch comes first, not the command's traffic; threads made here inherit this.
        let _ = setpriority_process(None, super::limits::YIELD);
        let open = Arc::new(AtomicUsize::new(0));
        for inside in self.listener.incoming().flatten() {
            let place = Place::take(&open);
            let Some(place) = place else { continue };
            let Ok(outside) = UnixStream::connect(&self.socket) else { continue };
            let _ = Builder::new().stack_size(STACK_BYTES).spawn(move || {
                carry(&inside, &outside);
                drop(place);
            });
        }
    }
}

/// One of the connections there may be.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(open: &Arc<AtomicUsize>) -> Option<Self> {
        if open.fetch_add(1, Ordering::AcqRel) < CONNECTIONS_MAX {
            return Some(Self(Arc::clone(open)));
        }
        open.fetch_sub(1, Ordering::AcqRel);
        None
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Both directions, each until its sender is done.
fn carry(inside: &TcpStream, outside: &UnixStream) {
    std::thread::scope(|scope| {
        let back = Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, || {
            copy(outside, inside);
            let _ = inside.shutdown(Shutdown::Write);
        });
        if back.is_ok() {
            copy(inside, outside);
        }
        let _ = outside.shutdown(if back.is_ok() { Shutdown::Write } else { Shutdown::Both });
    });
}

fn copy(mut from: impl Read, mut to: impl Write) {
    let mut buffer = [0_u8; BUFFER_BYTES];
    // A connection that breaks is a connection that ends.
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if to.write_all(buffer.get(..count).unwrap_or_default()).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn both_ends_hear_each_other_and_the_end() {
        let place = tempfile::tempdir().unwrap();
        let socket = place.path().join("proxy");
        let proxy = UnixListener::bind(&socket).unwrap();
        let forward = Forward::listen(0, &socket).unwrap();
        let address = forward.listener.local_addr().unwrap();
        forward.serve();
        let upper = std::thread::spawn(move || {
            let (mut stream, _) = proxy.accept().unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            stream.write_all(text.to_uppercase().as_bytes()).unwrap();
        });
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"hello").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        upper.join().unwrap();
        assert_eq!(answer, "HELLO");
    }

    #[test]
    fn there_are_only_so_many_places() {
        let open = Arc::new(AtomicUsize::new(0));
        let held: Vec<Place> = std::iter::from_fn(|| Place::take(&open)).collect();
        assert_eq!(held.len(), CONNECTIONS_MAX);
        drop(held);
        assert!(Place::take(&open).is_some());
    }
}
