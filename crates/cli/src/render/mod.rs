//! Everything that is printed, and the only place that prints.
//!
//! Standard output carries results, standard error carries notes and errors.
//! Texts of models, tools and people are escaped before they reach a terminal.
//! A closed pipe silences the screen; nothing here panics.

pub(crate) mod bar;
pub(crate) mod diff;
pub(crate) mod escape;
pub(crate) mod live;
pub(crate) mod next;
pub(crate) mod progress;
pub(crate) mod result;
mod screen;
pub(crate) mod story;
pub(crate) mod table;
pub(crate) mod upgrade;
pub(crate) mod words;

pub(crate) use screen::{Look, Screen};

use std::io::Write as _;

use crate::exit::Exit;

/// What clap has to say: help on standard output, usage errors on standard error.
pub(crate) fn usage(said: &clap::Error) -> Exit {
    // Nobody reads it: nothing to be done.
    let _unread = said.print();
    if said.use_stderr() { Exit::Refused } else { Exit::Committed }
}

/// A bug: short, and with what to do.
pub(crate) fn broke_down(what: &str) {
    let text = format!(
        "internal error: {}\n  → this is a bug in Bowline; please report it with these lines. \
         Everything acknowledged is in the store; `bowline resume` goes on with it\n",
        escape::multiline(what)
    );
    let _unread = std::io::stderr().write_all(text.as_bytes());
}
