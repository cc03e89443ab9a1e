//! What a regulator takes along to another: what users corrected, whole, with
//! what was spent and the limits it was spent under.
//!
//! Counts below the threshold travel too, so that the third correction is a
//! pattern wherever the first two were made. Nothing is imported in part.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Regulator;
use super::budget::{Limits, Spent};
use super::settings::{BadSettings, Settings};
use crate::guard::corrections::{BeyondBounds, Corrections};

/// Version of the written form.
pub const EXCHANGE: u32 = 1;

/// The longest export that is read, in bytes.
pub const IMPORT_BYTES_MAX: usize = 1024 * 1024;

/// Everything that travels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    version: u32,
    corrections: Corrections,
    spent: Spent,
    limits: Limits,
}

/// Why something is not imported. It has changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum BadExchange {
    /// Longer than what is read.
    #[error("an export of {bytes} bytes exceeds {IMPORT_BYTES_MAX}")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// Written by another version.
    #[error("an export of version {} cannot be read by version {EXCHANGE}", found.map_or("none".into(), |found| found.to_string()))]
    Version {
        /// What it says it is.
        found: Option<u64>,
    },
    /// Not the written form at all.
    #[error("this is no export of a guard: {0}")]
    Malformed(#[from] serde_json::Error),
    /// Corrections beyond what is ever kept.
    #[error(transparent)]
    Corrections(#[from] BeyondBounds),
    /// Limits that make no sense, or do not with the preset that holds here.
    #[error(transparent)]
    Limits(#[from] BadSettings),
}

impl BadExchange {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::TooLong { .. } | Self::Malformed(_) | Self::Corrections(_) => {
                "import what was exported, whole and unchanged".into()
            }
            Self::Version { .. } => {
                "export again with this version, or import with the one that wrote it".into()
            }
            Self::Limits(bad) => bad.remedy(),
        }
    }
}

impl Exchange {
    /// Reads what was exported, or refuses it.
    pub fn read(written: &Value) -> Result<Self, BadExchange> {
        let bytes = written.to_string().len();
        if bytes > IMPORT_BYTES_MAX {
            return Err(BadExchange::TooLong { bytes });
        }
        let found = written.get("version").and_then(Value::as_u64);
        if found != Some(u64::from(EXCHANGE)) {
            return Err(BadExchange::Version { found });
        }
        let read = Self::deserialize(written)?;
        read.corrections.check_bounds()?;
        Ok(read)
    }
}

impl Regulator {
    /// What another regulator needs to go on where this one is, but for the run.
    #[must_use]
    pub fn export(&self) -> Exchange {
        Exchange {
            version: EXCHANGE,
            corrections: self.corrections.clone(),
            spent: self.spent.clone(),
            limits: self.settings.limits.clone(),
        }
    }

    /// Takes over corrections and limits. Of what was spent the larger counts, so
    /// that importing twice is importing once and no counter falls.
    pub fn import(&mut self, exchange: Exchange) -> Result<(), BadExchange> {
        let settings = Settings { limits: exchange.limits, ..self.settings.clone() };
        settings.check()?;
        self.settings = settings;
        self.corrections = exchange.corrections;
        self.spent.raise_to(&exchange.spent, &self.settings.limits);
        Ok(())
    }
}
