//! What became of handing an output on, in words.

use super::first_line;
use crate::event::{Promoted, PromotionOutcome};

/// One line about it.
pub(super) fn line(how: &Promoted) -> String {
    match how {
        Promoted::Begun { by: None, .. } => "promotes its output".into(),
        Promoted::Begun { by: Some(by), .. } => format!("{by} promotes its output"),
        Promoted::Tried { attempt } => format!("hands its output on, attempt {attempt}"),
        Promoted::Troubled { attempt, message, .. } => {
            format!("attempt {attempt} at handing it on met trouble: {}", first_line(message))
        }
        Promoted::Settled(outcome) => promoted(outcome),
    }
}

/// What came of it, in a line.
#[must_use]
pub fn promoted(outcome: &PromotionOutcome) -> String {
    match outcome {
        PromotionOutcome::Taken => "promoted: its output was taken".into(),
        PromotionOutcome::NotTaken(why) => format!("NOT PROMOTED: {}", first_line(why)),
        PromotionOutcome::Withdrawn => "not promoted: it is undone".into(),
    }
}
