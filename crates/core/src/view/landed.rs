//! What became of a run's changes, in words.

use super::first_line;
use crate::event::{Event, LandOutcome, MovedOn};

/// Files named in one line.
const NAMED: usize = 3;

/// One line about an event of landing; nothing about any other.
pub(super) fn line(event: &Event) -> String {
    if let Event::LandingStarted { by } = event {
        return match by {
            None => "applies its changes".into(),
            Some(by) => format!("{by} applies its changes"),
        };
    }
    if let Event::ChangesFound(changes) = event {
        return match changes.files {
            0 => "it changed no files".into(),
            1 => "it changed 1 file".into(),
            files => format!("it changed {files} files"),
        };
    }
    if let Event::Landed { outcome } = event {
        return landed(outcome);
    }
    String::new()
}

/// How it went, in a line.
#[must_use]
pub fn landed(outcome: &LandOutcome) -> String {
    match outcome {
        LandOutcome::Landed => "changes applied".into(),
        LandOutcome::MovedOn(moved) => format!("NOT APPLIED: changed meanwhile: {}", names(moved)),
        LandOutcome::Not(why) => format!("NOT APPLIED: {}", first_line(why)),
        LandOutcome::Torn(why) => {
            format!("HALF APPLIED, applying again goes on with it: {}", first_line(why))
        }
    }
}

fn names(moved: &[MovedOn]) -> String {
    let shown: Vec<&str> = moved.iter().take(NAMED).map(|file| file.path.as_str()).collect();
    let more = moved.len().saturating_sub(shown.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}
