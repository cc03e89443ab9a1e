//! Tools in trouble, in words.

use super::first_line;
use crate::event::{CallTrouble, Event};

/// One line about an attempt that met trouble.
pub(super) fn attempt_line(event: &Event) -> String {
    let Event::CallTroubled { action, attempt, why, message, .. } = event else { return String::new() };
    let why = match why {
        CallTrouble::Unavailable => "not available",
        CallTrouble::TimedOut => "no answer in time",
    };
    format!("{action}: attempt {attempt} met trouble ({why}), tries again: {}", first_line(message))
}

/// One line about a tool that is left alone, or is not any more.
pub(super) fn breaker_line(event: &Event) -> String {
    if let Event::BreakerOpened { tool, failures, .. } = event {
        return format!("{tool}: failed {failures} times in a row, not called for a while");
    }
    let Event::BreakerClosed { tool } = event else { return String::new() };
    format!("{tool}: answers again, called as before")
}
