//! The command line's own look at the clock, for ages in listings and for the
//! moments of signals.

use bowline::{Clock as _, SystemClock};
use bowline_core::id::Millis;

/// The time now.
pub(crate) fn now() -> Millis {
    SystemClock::default().now()
}
