//! Takes hold of one thread of a process that runs already.
//!
//! `strace` counts calls for each thread, from the moment it takes hold. To count
//! the journal's writes alone, the process is stopped as soon as the store's
//! thread exists, that thread is traced, and the process goes on.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::error::KillError;
use super::moment::STORE_THREAD;

/// How often the process is looked at.
const POLL: Duration = Duration::from_micros(100);
/// How often at most, until a tracer has taken hold: five seconds or more.
const POLLS_MAX: u32 = 50_000;

/// Waits for the store's thread and has `tracer` take hold of it. `None` when
/// the process ended before.
pub(super) fn to_the_store_thread(
    child: &mut Child,
    mut tracer: Command,
) -> Result<Option<Child>, KillError> {
    let program = || PathBuf::from("strace");
    let failed = |source| KillError::Program { program: program(), source };
    let Some(thread) = find(child).map_err(failed)? else { return Ok(None) };
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(KillError::NotHeld)?;
    // A process that is gone by now needs neither signal.
    let _stopped = kill_process(pid, Signal::STOP);
    let held = tracer.arg("-p").arg(thread.to_string()).spawn();
    let is_held = held.is_ok() && is_traced(child.id(), thread);
    let _goes_on = kill_process(pid, Signal::CONT);
    let mut held = held.map_err(failed)?;
    if is_held || child.try_wait().map_err(failed)?.is_some() {
        return Ok(Some(held));
    }
    held.kill().and_then(|()| held.wait()).map_err(failed)?;
    Err(KillError::NotHeld)
}

/// The number of the store's thread, once it exists.
fn find(child: &mut Child) -> std::io::Result<Option<u32>> {
    let tasks = format!("/proc/{}/task", child.id());
    for _ in 0..POLLS_MAX {
        // A thread that ends while it is looked at is not the one.
        for task in fs::read_dir(&tasks).into_iter().flatten().flatten() {
            let name = fs::read_to_string(task.path().join("comm")).unwrap_or_default();
            if name.trim_end() == STORE_THREAD {
                return Ok(task.file_name().to_string_lossy().parse().ok());
            }
        }
        if child.try_wait()?.is_some() {
            return Ok(None);
        }
        thread::sleep(POLL);
    }
    Ok(None)
}

fn is_traced(process: u32, thread: u32) -> bool {
    let status = format!("/proc/{process}/task/{thread}/status");
    for _ in 0..POLLS_MAX {
        let Ok(text) = fs::read_to_string(&status) else { return false };
        let tracer = text.lines().find_map(|line| line.strip_prefix("TracerPid:"));
        if tracer.is_some_and(|tracer| tracer.trim() != "0") {
            return true;
        }
        thread::sleep(POLL);
    }
    false
}
