//! How a run is over, in words.

use super::{finding_line, first_line};
use crate::budget::amount;
use crate::event::{Ending, FailReason, HaltReason};
use crate::id::SubtaskId;

/// One line about an ending.
#[must_use]
pub fn ending_line(ending: &Ending) -> String {
    match ending {
        Ending::Committed { provenance, missing, .. } if missing.is_empty() => {
            format!("committed, provenance {}", provenance.short())
        }
        Ending::Committed { provenance, missing, .. } => {
            let missing: Vec<&str> = missing.iter().map(SubtaskId::as_str).collect();
            format!("committed IN PART, without {}, provenance {}", missing.join(", "), provenance.short())
        }
        Ending::Failed { why, .. } => format!("failed: {}", failure(why)),
        Ending::Halted { why, .. } => format!("halted: {}", halt(why)),
    }
}

/// Why a run fails.
pub(crate) fn failure(why: &FailReason) -> String {
    match why {
        FailReason::EvidenceMissing { path, message } => format!("evidence {path}: {message}"),
        FailReason::RepairsExhausted { rounds } => format!("the checks still fail after {rounds} repairs"),
        FailReason::Undecided => "two different answers hold: the checks do not tell which is right".into(),
        FailReason::Truncated { in_a_row } => format!("{in_a_row} cut replies in a row"),
        FailReason::ModelRefused { message } => format!("the model refused: {}", first_line(message)),
        FailReason::NoPlan { message } => format!("no plan: {}", first_line(message)),
        FailReason::OutputDenied { by, reason } => format!("output denied by {by}: {reason}"),
        FailReason::ApprovalExpired => "nobody answered in time".into(),
    }
}

/// Why a run halts.
pub(crate) fn halt(why: &HaltReason) -> String {
    match why {
        HaltReason::Cancelled { by } => format!("cancelled by {by}"),
        HaltReason::LimitReached(why) => {
            let (wanted, allowed) = (amount(&why.limit, why.wanted), amount(&why.limit, why.allowed));
            let of = why.of.as_ref().map_or(String::new(), |run| format!(" by run {run}"));
            format!("{} would be {wanted}, allowed{of} are {allowed}", why.limit.word())
        }
        HaltReason::Looping(why) => format!("going in circles: {}", finding_line(why)),
        HaltReason::ModelUnavailable { message } => {
            format!("the model is unavailable: {}", first_line(message))
        }
        HaltReason::ContextFull(full) => super::left_out::full(full),
        HaltReason::RepairStuck { why } => format!("repairing does not help: {why}"),
    }
}
