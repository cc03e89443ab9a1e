//! `[memory]` of a task file: who takes what the run commits.

use serde::{Deserialize, Serialize};

use super::field::Table;
use super::limits::Bound;

/// The keys of `[memory]`.
pub(super) const KEYS: [&str; 2] = ["promote", "timeout_seconds"];

/// How long a program may take, if nobody says.
pub const PROMOTE_MS: u64 = 60_000;

const TIMEOUT: Bound = Bound::seconds("timeout_seconds", 3600);

/// The program that takes what a run committed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// The program and its words. It gets what was committed as JSON on standard input.
    pub promote: Vec<String>,
    /// How long it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

impl Memory {
    /// How long the program may take.
    #[must_use]
    pub fn timeout_ms(&self) -> u64 {
        self.timeout_ms.unwrap_or(PROMOTE_MS)
    }
}

/// Reads the table.
pub(super) fn read(table: &Table<'_>) -> Option<Memory> {
    let promote = table.require("promote", "name the program, as in promote = [\"./remember\"]");
    let timeout_ms = table.get("timeout_seconds").and_then(|field| field.amount(&TIMEOUT));
    Some(Memory { promote: promote?.argv()?, timeout_ms })
}
