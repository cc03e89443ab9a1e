//! Standard output and standard error, and the line that lives at the bottom of
//! a terminal.

use std::io::{self, IsTerminal as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bowline_core::untrusted::escape_json;
use serde::Serialize;

use super::escape;
use crate::error::CliError;
use crate::output::{Failed, Problem};

/// Widths of terminals that do not tell theirs.
const WIDTH: usize = 80;

/// Where everything is printed. Cheap to clone; all clones are one screen.
#[derive(Clone)]
pub(crate) struct Screen {
    inner: Arc<Inner>,
}

struct Inner {
    json: bool,
    terminal: bool,
    colour: bool,
    closed: AtomicBool,
    /// Whether a live line stands at the bottom.
    live: Mutex<bool>,
}

/// How a piece of text looks on a terminal that has colours.
#[derive(Clone, Copy)]
pub(crate) enum Look {
    Strong,
    Dim,
    Good,
    Bad,
    Open,
}

impl Screen {
    /// The process's own.
    pub(crate) fn new(json: bool) -> Self {
        let terminal = io::stdout().is_terminal();
        let plain = std::env::var_os("NO_COLOR").is_some_and(|set| !set.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self {
            inner: Arc::new(Inner {
                json,
                terminal,
                colour: terminal && !plain && !json,
                closed: AtomicBool::new(false),
                live: Mutex::new(false),
            }),
        }
    }

    /// Whether the output is for machines.
    pub(crate) fn is_json(&self) -> bool {
        self.inner.json
    }

    /// Whether somebody looks at a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.inner.terminal
    }

    /// Whether a question would be seen and could be answered.
    pub(crate) fn can_ask(&self) -> bool {
        self.inner.terminal && !self.inner.json && io::stdin().is_terminal()
    }

    /// Whether nobody reads standard output any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.inner.closed.load(Ordering::Relaxed)
    }

    /// A line of the result.
    pub(crate) fn line(&self, text: &str) {
        self.print(&format!("{text}\n"));
    }

    /// An object of the result, on a line of its own, whatever is in its texts.
    pub(crate) fn json(&self, line: &impl Serialize) {
        // What is printed has texts for keys and cannot fail to serialise.
        let text = serde_json::to_string(line).unwrap_or_default();
        self.print(&format!("{}\n", escape_json(&text)));
    }

    /// A remark that is no part of the result.
    pub(crate) fn note(&self, text: &str) {
        self.clear_live();
        complain(&format!("{text}\n"));
    }

    /// The whole text of an error: what, where, and what to do.
    pub(crate) fn failed(&self, error: &CliError) {
        let (what, remedy, details) = (chain(error), error.remedy(), error.details());
        if self.inner.json {
            let told = details.iter().cloned().map(|(what, remedy)| Problem { what, remedy });
            let (error_text, exit) = (what.clone(), error.exit().code());
            self.json(&Failed { error: error_text, remedy: remedy.clone(), exit, problems: told.collect() });
        }
        let mut text = format!("error: {}\n", escape::multiline(&what));
        for (what, remedy) in details {
            text.push_str(&format!("  {}\n    → {}\n", escape::line(&what), escape::line(&remedy)));
        }
        text.push_str(&format!("  → {}\n", escape::multiline(&remedy)));
        self.clear_live();
        complain(&text);
    }

    /// Draws the live line, cut to the terminal. Nothing on anything else.
    pub(crate) fn live(&self, text: &str) {
        if !self.inner.terminal || self.is_closed() {
            return;
        }
        let text = escape::cut(&escape::line(text), self.width().saturating_sub(1));
        let mut live = self.lock_live();
        self.write(&format!("\r\u{1b}[2K{}", self.paint(Look::Dim, &text)));
        *live = true;
    }

    /// Takes the live line away.
    pub(crate) fn clear_live(&self) {
        let mut live = self.lock_live();
        if *live {
            self.write("\r\u{1b}[2K");
            *live = false;
        }
    }

    /// A question without a line end, so that the answer stands beside it.
    pub(crate) fn ask(&self, text: &str) {
        self.print(text);
    }

    /// The text in a colour, where there are colours.
    pub(crate) fn paint(&self, look: Look, text: &str) -> String {
        if !self.inner.colour {
            return text.into();
        }
        let code = match look {
            Look::Strong => "1",
            Look::Dim => "2",
            Look::Good => "32",
            Look::Bad => "31",
            Look::Open => "33",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// How many characters fit on a line.
    pub(crate) fn width(&self) -> usize {
        if !self.inner.terminal {
            return usize::MAX;
        }
        match rustix::termios::tcgetwinsize(io::stdout()) {
            Ok(size) if size.ws_col > 0 => usize::from(size.ws_col),
            Ok(_) | Err(_) => WIDTH,
        }
    }

    fn print(&self, text: &str) {
        self.clear_live();
        self.write(text);
    }

    fn write(&self, text: &str) {
        if self.is_closed() {
            return;
        }
        let mut out = io::stdout().lock();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        if let Err(error) = written {
            self.inner.closed.store(true, Ordering::Relaxed);
            // A reader that left is no error; a full disk behind `>` is worth a word.
            if error.kind() != io::ErrorKind::BrokenPipe {
                complain(&format!("warning: standard output cannot be written: {error}\n"));
            }
        }
    }

    fn lock_live(&self) -> std::sync::MutexGuard<'_, bool> {
        self.inner.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn complain(text: &str) {
    // If even this cannot be written there is nobody to tell.
    let _unread = io::stderr().write_all(text.as_bytes());
}

/// An error with its causes.
fn chain(error: &CliError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let words = cause.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        source = cause.source();
    }
    text
}
