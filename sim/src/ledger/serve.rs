//! The ledger's process: a socket, a fixed crew of threads, one book.
//!
//! Each thread serves one connection at a time; more callers than threads wait
//! in the socket's queue. A thread never sleeps with the book in its hands, so a
//! slow reply delays nobody else.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::book::{Book, BookError};
use super::wire::{DELAY_MS_MAX, LINE_MAX, Operation, Reply, Request};
use super::{FILE, SOCKET};
use crate::clock::now_ms;

/// Connections served at once.
const CREW: usize = 32;
/// How often a waiting thread looks whether the ledger is closing.
const TICK: Duration = Duration::from_millis(250);
/// Ticks after which a silent connection is closed: one minute.
const SILENT_TICKS: u32 = 240;
/// How long a caller may take to read its reply.
const WRITE_DEADLINE: Duration = Duration::from_secs(5);

/// Why the ledger does not serve (any more).
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The file.
    #[error(transparent)]
    Book(#[from] BookError),
    /// The socket.
    #[error("socket {path} cannot be used")]
    Socket {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl ServeError {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Book(error) => error.remedy(),
            Self::Socket { .. } => "use a folder that is writable and whose path is shorter than 90 bytes",
        }
    }
}

/// Serves `folder` until a holder lets go or the disk fails. `ready` is called
/// once callers can connect.
pub fn serve(folder: &Path, ready: impl FnOnce()) -> Result<(), ServeError> {
    let book = Book::open(&folder.join(FILE))?;
    let path = folder.join(SOCKET);
    let socket = |source| ServeError::Socket { path: path.clone(), source };
    // The book's lock is ours, so a socket that is left here belongs to nobody.
    match std::fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => return Err(socket(source)),
        Ok(()) | Err(_) => {}
    }
    let listener = UnixListener::bind(&path).map_err(socket)?;
    let counter = Counter {
        book: Mutex::new(book),
        listener,
        path: path.clone(),
        state: Mutex::new(State::Open),
        changed: Condvar::new(),
    };
    ready();
    thread::scope(|crew| {
        for _ in 0..CREW {
            crew.spawn(|| counter.work());
        }
    });
    // Nobody can connect any more; a stale name would only mislead.
    let removed = std::fs::remove_file(&path);
    match counter.state.into_inner().unwrap_or_else(PoisonError::into_inner) {
        State::Failed(error) => Err(error),
        State::Open | State::Closing => removed.map_err(socket),
    }
}

/// Whether the ledger still serves.
enum State {
    Open,
    Closing,
    Failed(ServeError),
}

/// What the crew shares.
struct Counter {
    book: Mutex<Book>,
    listener: UnixListener,
    path: PathBuf,
    state: Mutex<State>,
    changed: Condvar,
}

/// How a reply goes out.
#[derive(Clone, Copy, Default)]
struct Delivery {
    delay_ms: u64,
    is_dropped: bool,
}

impl Counter {
    fn work(&self) {
        while !self.is_closing() {
            let outcome = match self.listener.accept() {
                Ok((stream, _)) => self.converse(&stream),
                Err(source) => Err(ServeError::Socket { path: self.path.clone(), source }),
            };
            if let Err(error) = outcome {
                self.close(State::Failed(error));
            }
        }
    }

    /// Answers one caller until it goes, is silent too long, or must not be answered.
    fn converse(&self, stream: &UnixStream) -> Result<(), ServeError> {
        if stream.set_read_timeout(Some(TICK)).is_err()
            || stream.set_write_timeout(Some(WRITE_DEADLINE)).is_err()
        {
            return Ok(());
        }
        let mut reader = BufReader::new(stream);
        while let Some(line) = self.next_line(&mut reader, SILENT_TICKS) {
            let (reply, delivery) = match serde_json::from_slice(&line) {
                Ok(Request::Hold) => {
                    self.hold(stream, &mut reader);
                    return Ok(());
                }
                Ok(request) => self.answer(request)?,
                Err(error) => (Reply::Refused { why: error.to_string() }, Delivery::default()),
            };
            self.pause(delivery.delay_ms);
            if delivery.is_dropped || send(stream, &reply).is_err() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn answer(&self, request: Request) -> Result<(Reply, Delivery), ServeError> {
        let mut delivery = Delivery::default();
        let reply = match request {
            Request::Act { operation, caller, args } => {
                delivery = match delivery_of(operation, &args) {
                    Ok(delivery) => delivery,
                    Err(why) => return Ok((Reply::Refused { why }, delivery)),
                };
                self.book()?.act(operation, &caller, &args, now_ms())?
            }
            Request::Look { operation, caller, args } => {
                self.book()?.look(operation, &caller, args.as_ref(), now_ms())?
            }
            Request::Dump => Reply::Entries(self.book()?.entries().to_vec()),
            Request::Hold => Reply::Held,
        };
        Ok((reply, delivery))
    }

    /// Keeps the ledger alive until this caller goes.
    fn hold(&self, stream: &UnixStream, reader: &mut BufReader<&UnixStream>) {
        if send(stream, &Reply::Held).is_ok() {
            while self.next_line(reader, u32::MAX).is_some() {}
        }
        self.close(State::Closing);
    }

    fn book(&self) -> Result<MutexGuard<'_, Book>, BookError> {
        self.book.lock().map_err(|_| BookError::Closed)
    }

    /// The next whole line; `None` when the caller is gone, silent or endless,
    /// or the ledger is closing.
    fn next_line(&self, reader: &mut BufReader<&UnixStream>, ticks: u32) -> Option<Vec<u8>> {
        let mut line = Vec::new();
        for _ in 0..ticks {
            let room = LINE_MAX.saturating_sub(line.len() as u64);
            match reader.by_ref().take(room).read_until(b'\n', &mut line) {
                Ok(_) if line.last() == Some(&b'\n') => return Some(line),
                Ok(_) => return None,
                Err(error) if is_tick(&error) && !self.is_closing() => {}
                Err(_) => return None,
            }
        }
        None
    }

    /// Waits, but not for a ledger that is closing.
    fn pause(&self, delay_ms: u64) {
        if delay_ms > 0 {
            let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let wait = Duration::from_millis(delay_ms);
            drop(self.changed.wait_timeout_while(state, wait, |state| matches!(state, State::Open)));
        }
    }

    fn is_closing(&self) -> bool {
        !matches!(*self.state.lock().unwrap_or_else(PoisonError::into_inner), State::Open)
    }

    /// The first reason stays; every thread that waits for a caller is woken.
    fn close(&self, reason: State) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::Open) {
            *state = reason;
        }
        drop(state);
        self.changed.notify_all();
        for _ in 0..CREW {
            // A thread that finds nobody at the other end goes on to look at the state.
            let _woken = UnixStream::connect(&self.path);
        }
    }
}

fn is_tick(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn delivery_of(operation: Operation, args: &Value) -> Result<Delivery, String> {
    match operation {
        Operation::SlowPay => {
            let delay_ms = args.get("delay_ms").and_then(Value::as_u64).unwrap_or(0);
            if delay_ms > DELAY_MS_MAX {
                return Err(format!("delay_ms {delay_ms} is over {DELAY_MS_MAX}"));
            }
            let is_dropped = args.get("drop_reply").and_then(Value::as_bool).unwrap_or(false);
            Ok(Delivery { delay_ms, is_dropped })
        }
        Operation::Pay | Operation::Put | Operation::Reserve | Operation::Release | Operation::Tell => {
            Ok(Delivery::default())
        }
    }
}

fn send(mut stream: &UnixStream, reply: &Reply) -> io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    stream.write_all(&line)
}
