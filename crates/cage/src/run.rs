//! The plain way to run a caged command: until it ends, its time is up, or it
//! has printed too much. Nothing of it is alive afterwards.

use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::cage::Caged;
use crate::report::Report;

/// How often, and how far apart, it is asked whether bubblewrap has ended: 2 s in all.
const END_TRIES: u32 = 400;
const END_PAUSE: Duration = Duration::from_millis(5);

/// How long and how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// After this long it is killed.
    pub deadline: Duration,
    /// After this much on one stream it is killed.
    pub output_bytes: usize,
}

/// A command that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// How it ended.
    pub ended: Ended,
    /// How far it got.
    pub report: Report,
    /// Its standard output, as far as it was taken.
    pub output: Vec<u8>,
    /// Its standard error, as far as it was taken.
    pub errors: Vec<u8>,
}

/// How a command ended. A signal that ended it shows as its number plus 128.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With this code.
    Exited(i32),
    /// Bubblewrap itself was killed, not by us.
    Killed(i32),
    /// Killed by us: its time was up.
    TimedOut,
    /// Killed by us: it printed too much.
    Flooded,
}

impl Caged {
    /// Runs it within these bounds.
    pub fn run(mut self, bounds: Bounds) -> io::Result<Ran> {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().inspect_err(|_| self.hold.gone())?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let (flooded, floods) = sync_channel::<()>(2);
        let (output, errors, stop) = std::thread::scope(|scope| {
            let flooded_too = flooded.clone();
            let output = scope.spawn(move || take(stdout, bounds.output_bytes, &flooded));
            let errors = scope.spawn(move || take(stderr, bounds.output_bytes, &flooded_too));
            let stop = floods.recv_timeout(bounds.deadline);
            if !matches!(stop, Err(RecvTimeoutError::Disconnected)) {
                self.hold.end();
                if !ends_soon(&mut child) {
                    kill_group(&child);
                }
            }
            (output.join().unwrap_or_default(), errors.join().unwrap_or_default(), stop)
        });
        let status = child.wait()?;
        if status.code().is_some() {
            self.hold.gone();
        }
        let ended = match stop {
            Ok(()) => Ended::Flooded,
            Err(RecvTimeoutError::Timeout) => Ended::TimedOut,
            Err(RecvTimeoutError::Disconnected) => ended(status),
        };
        Ok(Ran { ended, report: self.hold.report(), output, errors })
    }
}

/// What a program prints on its standard output, if it ends within this time.
pub(crate) fn said_within(mut command: Command, within: Duration) -> io::Result<Vec<u8>> {
    const SAID_MAX: usize = 256 * 1024;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let stdout = child.stdout.take();
    let (ended, ends) = sync_channel::<()>(2);
    let reading = std::thread::spawn(move || take(stdout, SAID_MAX, &ended));
    let stop = ends.recv_timeout(within);
    if !matches!(stop, Err(RecvTimeoutError::Disconnected)) {
        kill_group(&child);
    }
    let said = reading.join().unwrap_or_default();
    child.wait()?;
    match stop {
        Err(RecvTimeoutError::Disconnected) => Ok(said),
        Ok(()) | Err(RecvTimeoutError::Timeout) => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// Whether bubblewrap ends by itself, now that its launcher was told to.
fn ends_soon(child: &mut Child) -> bool {
    for _ in 0..END_TRIES {
        match child.try_wait() {
            Ok(Some(_)) => return true,
            Ok(None) => std::thread::sleep(END_PAUSE),
            Err(_) => return false,
        }
    }
    false
}

/// Kills bubblewrap and what it has started so far. The first process inside dies
/// with it, or with the [`Hold`](crate::Hold) if it was only just being born; all
/// others die with the first.
fn kill_group(child: &Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // Not reaped yet, so the number is still this child's. Gone is fine.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Reads to the end, or until there is too much.
fn take(stream: Option<impl Read>, max: usize, flooded: &SyncSender<()>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let Some(stream) = stream else { return bytes };
    let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    // A stream that breaks is a stream that ends.
    let _ = stream.take(limit).read_to_end(&mut bytes);
    if bytes.len() > max {
        bytes.truncate(max);
        let _ = flooded.try_send(());
    }
    bytes
}

fn ended(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Exited(code),
        (None, signal) => Ended::Killed(signal.unwrap_or_default()),
    }
}
