//! Corrections taken along: everything out, everything in again.
//!
//! What is written is the whole state (counts below the threshold included) and
//! the spend and bounds it was gathered under, so that what is read is equal to
//! what was written. Unknown versions and states beyond the bounds are refused.

use serde::{Deserialize, Serialize};

use super::topic::TERMS_MAX;
use super::{Corrections, EXAMPLE_CHARS_MAX, EXAMPLES_MAX, KINDS_MAX, WINDOW_MAX};
use crate::budget::{Limits, Spend};

/// Version of the written form.
pub const EXCHANGE: u32 = 1;
/// The longest text that is read.
pub const IMPORT_BYTES_MAX: usize = 1024 * 1024;

/// Everything that travels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    version: u32,
    /// The corrections, whole.
    pub corrections: Corrections,
    /// What was spent so far.
    pub spend: Spend,
    /// The bounds it was spent under.
    pub limits: Limits,
}

/// Why a text was not read.
#[derive(Debug, thiserror::Error)]
pub enum BadImport {
    /// Longer than what is read.
    #[error("corrections of {bytes} bytes exceed {IMPORT_BYTES_MAX}")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// Written by another version.
    #[error("corrections of version {found} cannot be read by version {EXCHANGE}")]
    Version {
        /// What it says it is.
        found: u32,
    },
    /// More of something than is ever kept.
    #[error("corrections hold more {what} than are ever kept")]
    TooMany {
        /// Of what.
        what: &'static str,
    },
    /// Not the written form at all.
    #[error("corrections are not in their written form")]
    Malformed(#[from] serde_json::Error),
}

impl BadImport {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::TooLong { .. } | Self::TooMany { .. } | Self::Malformed(_) => {
                "import a file that was exported whole and not edited"
            }
            Self::Version { .. } => "export again with this version, or import with the one that wrote it",
        }
    }
}

/// Just enough to know who wrote it.
#[derive(Deserialize)]
struct Envelope {
    version: u32,
}

impl Exchange {
    /// Everything, ready to travel.
    #[must_use]
    pub fn new(corrections: Corrections, spend: Spend, limits: Limits) -> Self {
        Self { version: EXCHANGE, corrections, spend, limits }
    }

    /// As JSON.
    pub fn export(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// From JSON written by [`Exchange::export`].
    pub fn import(text: &str) -> Result<Self, BadImport> {
        if text.len() > IMPORT_BYTES_MAX {
            return Err(BadImport::TooLong { bytes: text.len() });
        }
        let Envelope { version } = serde_json::from_str(text)?;
        if version != EXCHANGE {
            return Err(BadImport::Version { found: version });
        }
        let exchange: Self = serde_json::from_str(text)?;
        exchange.corrections.check_bounds()?;
        Ok(exchange)
    }
}

impl Corrections {
    fn check_bounds(&self) -> Result<(), BadImport> {
        let window = usize::try_from(WINDOW_MAX).unwrap_or(usize::MAX);
        let wide = |kind: &super::Kind| {
            kind.topic.telling.len() > TERMS_MAX
                || kind.topic.weak.len() > TERMS_MAX
                || kind.examples.len() > EXAMPLES_MAX
                || kind.examples.iter().any(|text| text.chars().count() > EXAMPLE_CHARS_MAX)
        };
        if self.kinds.len() > KINDS_MAX {
            return Err(BadImport::TooMany { what: "kinds" });
        }
        if self.kinds.iter().any(wide) {
            return Err(BadImport::TooMany { what: "terms or examples" });
        }
        if self.settings.window > WINDOW_MAX || self.asked.len() > window + 1 {
            return Err(BadImport::TooMany { what: "turns" });
        }
        Ok(())
    }
}
