//! Tools in trouble and calls in doubt, in words.

use super::first_line;
use crate::event::{Ask, CallTrouble, Doubt, Event, FromBackup, Settlement};
use crate::id::ActionId;

/// One line about an attempt that met trouble.
pub(super) fn attempt_line(event: &Event) -> String {
    let Event::CallTroubled { action, attempt, why, message, .. } = event else { return String::new() };
    let why = match why {
        CallTrouble::Unavailable => "not available",
        CallTrouble::TimedOut => "no answer in time",
        CallTrouble::Lost => "the process died",
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

/// One line about a call nobody knows of.
pub(super) fn doubt_line(action: ActionId, why: Doubt, ask: Ask) -> String {
    let why = match why {
        Doubt::Crash => "the process died",
        Doubt::Cancelled => "the run was cancelled",
        Doubt::LostReply => "no reply came",
        Doubt::Restored => "it may have been made elsewhere since the backup",
    };
    let ask = match ask {
        Ask::Probe => "its probe is asked",
        Ask::Person => "a person must decide",
    };
    format!("{action}: in doubt, {why}; {ask}")
}

/// One line about the end of a doubt.
pub(super) fn settled_line(action: ActionId, settlement: &Settlement, by: &str) -> String {
    let how = match settlement {
        Settlement::Happened { .. } => "it happened",
        Settlement::DidNotHappen => "it did not happen, so it is made now",
        Settlement::GivenUp { .. } => "given up, never repeated",
    };
    format!("{action}: settled by {by}: {how}")
}

/// One line about a journal that was brought back.
pub(super) fn backup_line(what: &FromBackup) -> String {
    match what {
        FromBackup::Restored { by, .. } => {
            format!("brought back from a backup by {by}; what was done elsewhere since is not known")
        }
        FromBackup::TakenUp { by } => format!("taken up here by {by}"),
    }
}
