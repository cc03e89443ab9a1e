//! How far what an agent knows may go.
//!
//! A tier is stricter than those before it, so the stricter of two wishes is
//! simply the greater. Nothing here opens or refuses a connection: the tools ask
//! the tier, and for programs the operating system holds it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How far what an agent knows may go. In order, the laxest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Privacy {
    /// To the hosts the task lists, `*` included. The default.
    #[default]
    Standard,
    /// To declared hosts only: `*` is refused.
    Private,
    /// Nowhere: nothing leaves the machine, whatever hosts are granted.
    Sovereign,
}

impl Privacy {
    /// Every tier with its word, as written in a task file.
    pub const WORDS: [(&'static str, Self); 3] =
        [("standard", Self::Standard), ("private", Self::Private), ("sovereign", Self::Sovereign)];

    /// As written in a task file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Private => "private",
            Self::Sovereign => "sovereign",
        }
    }

    /// Whether anything may leave the machine at all.
    #[must_use]
    pub fn lets_out(self) -> bool {
        match self {
            Self::Standard | Self::Private => true,
            Self::Sovereign => false,
        }
    }

    /// Whether programs without a cage would break the promise: they can reach
    /// whatever the machine can.
    #[must_use]
    pub fn needs_a_cage(self) -> bool {
        match self {
            Self::Standard => false,
            Self::Private | Self::Sovereign => true,
        }
    }
}

impl fmt::Display for Privacy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tier_has_one_word_in_files_and_in_journals() {
        for (word, tier) in Privacy::WORDS {
            assert_eq!(tier.word(), word);
            assert_eq!(serde_json::to_value(tier).unwrap(), word);
        }
    }

    #[test]
    fn the_stricter_tier_is_the_greater() {
        assert_eq!(Privacy::Private.max(Privacy::Standard), Privacy::Private);
        assert_eq!(Privacy::Private.max(Privacy::Sovereign), Privacy::Sovereign);
        assert!(Privacy::Standard.lets_out() && !Privacy::Sovereign.lets_out());
        assert!(!Privacy::Standard.needs_a_cage() && Privacy::Private.needs_a_cage());
    }
}
