//! What happened over a whole run. Counters never fall.

use serde::{Deserialize, Serialize};

/// Counts over a whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counters {
    /// Calls that were made and came home.
    pub calls: u64,
    /// Of these, the ones that failed.
    pub failures: u64,
    /// Calls that were blocked.
    pub blocked: u64,
    /// Calls that were refused.
    pub denied: u64,
    /// Calls of tools that do not exist.
    pub unknown: u64,
    /// Attempts made again for reasons of infrastructure.
    pub retries: u64,
    /// Replies of the model.
    pub replies: u64,
    /// Of these, the ones that were cut off.
    pub truncated: u64,
    /// Messages of people.
    pub turns: u64,
    /// Changes of the world to a new state.
    pub progress: u64,
}
