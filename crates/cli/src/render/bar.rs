//! A bar that fills while something long is done: on standard error, and only
//! if that is a terminal.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};

/// Cells of the bar.
const CELLS: u64 = 30;
/// How often it may be drawn over its whole length.
const STEPS: u64 = 200;

/// A bar at some point between empty and full.
pub(crate) struct Bar {
    shown: bool,
    /// How far it was when it was last drawn; each step is drawn once.
    drawn: AtomicU64,
}

impl Bar {
    /// An empty bar.
    pub(crate) fn new() -> Self {
        Self { shown: io::stderr().is_terminal(), drawn: AtomicU64::new(u64::MAX) }
    }

    /// So much is done, of so much, and this is what it is.
    pub(crate) fn at(&self, done: u64, of: u64, what: &str) {
        let step = done.saturating_mul(STEPS) / of.max(1);
        if !self.shown || self.drawn.swap(step, Ordering::Relaxed) == step {
            return;
        }
        let full = (done.saturating_mul(CELLS) / of.max(1)).min(CELLS);
        let cells: String = (0..CELLS).map(|cell| if cell < full { '█' } else { '░' }).collect();
        let percent = (done.saturating_mul(100) / of.max(1)).min(100);
        draw(&format!("\r\u{1b}[2K{cells} {percent:>3} %  {what}"));
    }

    /// Takes it away.
    pub(crate) fn clear(&self) {
        if self.shown {
            draw("\r\u{1b}[2K");
        }
    }
}

fn draw(text: &str) {
    // Nobody looks: nothing to be done.
    let _unread = io::stderr().write_all(text.as_bytes());
}
