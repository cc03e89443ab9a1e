//! Ties a program's life to ours: it dies when we do, even by `kill -9`.
//!
//! Otherwise a tool of a killed run would go on working beside the worker that
//! takes the run over. Holds for the program itself, not for what it starts.

use std::io;

use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use tokio::process::Command;

/// Makes the kernel kill the program when the thread that starts it ends.
#[expect(unsafe_code, reason = "the child must ask for this between fork and exec")]
pub(crate) fn tie(command: &mut Command) {
    let parent = getpid();
    let ask = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // We may have died before the kernel knew that the child wants to follow.
        if getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
    };
    // SAFETY: the closure runs in the child between fork and exec, where only
    // async-signal-safe calls are allowed. It makes two system calls directly,
    // allocates nothing, takes no lock and touches no memory of other threads.
    unsafe {
        command.pre_exec(ask);
    }
}
