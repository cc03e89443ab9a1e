//! What was undone of what a run did, in words and as a list.

use std::collections::BTreeMap;

use serde::Serialize;

use super::first_line;
use crate::event::{Event, RestoreOutcome, UndoOutcome};
use crate::id::ActionId;

/// What became of one call that was to be undone: the last word about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Undone {
    /// It is made up for.
    Compensated,
    /// It had not happened, or was undone before.
    WasAsBefore,
    /// Nothing undoes it, or what is needed for that is not known.
    CannotBeUndone(String),
    /// Somebody changed what it did since; that was left alone.
    ChangedSince,
    /// It was tried and did not work.
    Failed(String),
}

impl Undone {
    /// In words.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Compensated => "undone".into(),
            Self::WasAsBefore => "was as before".into(),
            Self::CannotBeUndone(why) => format!("cannot be undone: {why}"),
            Self::ChangedSince => "changed since by somebody else, left alone".into(),
            Self::Failed(why) => format!("could not be undone: {why}"),
        }
    }
}

/// What became of every call that was to be undone, by action.
#[must_use]
pub fn undone<'a>(events: impl IntoIterator<Item = &'a Event>) -> BTreeMap<ActionId, Undone> {
    let mut found = BTreeMap::new();
    for event in events {
        if let Event::RollbackStarted { remains, .. } | Event::UndoStarted { remains, .. } = event {
            let nothing = || Undone::CannotBeUndone("its tool declares no undo".into());
            found.extend(remains.iter().map(|action| (*action, nothing())));
        }
        if let Event::Restored { action, outcome } = event {
            found.insert(*action, of_file(outcome));
        }
        if let Event::Compensated { action, outcome } = event {
            found.insert(*action, of_call(outcome));
        }
    }
    found
}

fn of_file(outcome: &RestoreOutcome) -> Undone {
    match outcome {
        RestoreOutcome::Restored => Undone::Compensated,
        RestoreOutcome::AlreadyAsBefore => Undone::WasAsBefore,
        RestoreOutcome::ChangedSince => Undone::ChangedSince,
        RestoreOutcome::Failed(why) => Undone::Failed(why.clone()),
    }
}

fn of_call(outcome: &UndoOutcome) -> Undone {
    match outcome {
        UndoOutcome::Compensated => Undone::Compensated,
        UndoOutcome::WasAsBefore => Undone::WasAsBefore,
        UndoOutcome::CannotBeUndone(why) => Undone::CannotBeUndone(why.clone()),
        UndoOutcome::Failed(why) => Undone::Failed(why.clone()),
    }
}

/// One line about an event of undoing; nothing about any other.
pub(super) fn line(event: &Event) -> String {
    if let Event::RollbackStarted { remains, .. } = event {
        return format!("rolling back{}", cannot(remains));
    }
    if let Event::UndoStarted { by, to, remains } = event {
        let to = if *to == 0 { String::new() } else { format!(" back to event {to}") };
        return format!("{by} undoes it{to}{}", cannot(remains));
    }
    if let Event::Restored { action, outcome } = event {
        return match outcome {
            RestoreOutcome::Restored => format!("{action}: file restored"),
            RestoreOutcome::AlreadyAsBefore => format!("{action}: nothing to restore"),
            RestoreOutcome::ChangedSince => format!("{action}: changed since by somebody else, left alone"),
            RestoreOutcome::Failed(why) => format!("{action}: could not be restored: {}", first_line(why)),
        };
    }
    if let Event::CompensationStarted { action, attempt, .. } = event {
        let again = if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
        return format!("{action}: is undone{again}");
    }
    if let Event::CompensationTroubled { action, message, .. } = event {
        return format!("{action}: cannot be undone now, tries again: {}", first_line(message));
    }
    if let Event::Compensated { action, outcome } = event {
        return format!("{action}: {}", first_line(&of_call(outcome).words()));
    }
    if let Event::AlertRaised { actions } = event {
        return format!("ALERT: {} could not be undone, a person must look at it", list(actions));
    }
    if let Event::AlertTold { problem } = event {
        return match problem {
            None => "the command for alerts was run".into(),
            Some(why) => format!("the command for alerts did not work: {}", first_line(why)),
        };
    }
    if let Event::UndoFinished { undone, not_undone } = event {
        let not = if not_undone.is_empty() { String::new() } else { format!(", not {}", list(not_undone)) };
        return format!("undone: {undone} calls{not}");
    }
    String::new()
}

fn cannot(remains: &[ActionId]) -> String {
    if remains.is_empty() { String::new() } else { format!("; nothing undoes {}", list(remains)) }
}

fn list(actions: &[ActionId]) -> String {
    let shown: Vec<String> = actions.iter().take(10).map(ActionId::to_string).collect();
    let more = actions.len().saturating_sub(shown.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}
