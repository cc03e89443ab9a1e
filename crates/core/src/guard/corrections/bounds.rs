//! The bounds of what is kept, checked where corrections come in from outside.

use super::topic::TERMS_MAX;
use super::{Corrections, EXAMPLE_CHARS_MAX, EXAMPLES_MAX, KINDS_MAX, Kind, WINDOW_MAX};

/// Corrections that hold more of something than is ever kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("corrections hold more {what} than are ever kept")]
pub struct BeyondBounds {
    /// Of what.
    pub what: &'static str,
}

impl Corrections {
    /// Whether this could have been recorded: what was written elsewhere might not.
    pub fn check_bounds(&self) -> Result<(), BeyondBounds> {
        let window = usize::try_from(WINDOW_MAX).unwrap_or(usize::MAX);
        if self.kinds.len() > KINDS_MAX {
            return Err(BeyondBounds { what: "kinds" });
        }
        if self.kinds.iter().any(is_wide) {
            return Err(BeyondBounds { what: "terms or examples" });
        }
        if self.settings.window > WINDOW_MAX || self.asked.len() > window + 1 {
            return Err(BeyondBounds { what: "turns" });
        }
        Ok(())
    }
}

fn is_wide(kind: &Kind) -> bool {
    kind.topic.telling.len() > TERMS_MAX
        || kind.topic.weak.len() > TERMS_MAX
        || kind.examples.len() > EXAMPLES_MAX
        || kind.examples.iter().any(|text| text.chars().count() > EXAMPLE_CHARS_MAX)
}
