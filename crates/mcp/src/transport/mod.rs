//! How messages get to a server and back.
//!
//! [`Pipes`] reads and writes the lines of a program, [`http`] speaks HTTP through
//! the gate, [`Screen`] stands before either and lets through what a caller waits
//! for. [`Seen`] is what they learn on the way.

pub(crate) mod http;
mod pipes;
mod screen;
mod tail;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

pub(crate) use pipes::Pipes;
pub(crate) use screen::Screen;
pub(crate) use tail::Tail;

use crate::error::Fault;

/// What was seen on a connection besides answers.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The server says that its tools are other ones now, or could not tell us.
    list_changed: AtomicBool,
    /// Questions of the server that are being answered.
    questions: AtomicUsize,
    fault: Mutex<Option<Fault>>,
}

impl Seen {
    /// The list of tools may not be what it was.
    pub(crate) fn list_changed(&self) {
        self.list_changed.store(true, Ordering::Release);
    }

    /// Whether that was said since the last time somebody asked.
    pub(crate) fn take_list_changed(&self) -> bool {
        self.list_changed.swap(false, Ordering::AcqRel)
    }

    /// Keeps the first thing that went wrong: the others follow from it.
    pub(crate) fn broke(&self, fault: Fault) {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
    }

    /// What went wrong, if anything.
    pub(crate) fn fault(&self) -> Option<Fault> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
