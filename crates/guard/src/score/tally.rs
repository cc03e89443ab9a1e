//! Sums over runs. Whole numbers only, so the order of runs does not matter.

use serde::Serialize;

/// What blocking cost and saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct BlockTally {
    /// Runs that succeeded.
    pub successes: u64,
    /// Of these, runs with a block that hid something new.
    pub losing: u64,
    /// Runs that failed.
    pub failures: u64,
    /// Redundant calls in these.
    pub redundant: u64,
    /// Of these calls, the blocked ones.
    pub redundant_blocked: u64,
    /// Blocked calls in all runs.
    pub blocked: u64,
}

/// What stopping cost and saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct StopTally {
    /// Runs that succeeded.
    pub successes: u64,
    /// Of these, the stopped ones.
    pub false_stops: u64,
    /// Runs that failed.
    pub failures: u64,
    /// Of these, the stopped ones.
    pub true_stops: u64,
    /// Calls in runs that failed.
    pub calls: u64,
    /// Of these, calls that did not happen.
    pub calls_saved: u64,
}

impl BlockTally {
    /// Adds the sums of other runs.
    pub fn add(&mut self, other: &Self) {
        self.successes += other.successes;
        self.losing += other.losing;
        self.failures += other.failures;
        self.redundant += other.redundant;
        self.redundant_blocked += other.redundant_blocked;
        self.blocked += other.blocked;
    }

    /// Share of successes with a block that hid something; lower is better.
    #[must_use]
    pub fn losing_share(&self) -> Option<f64> {
        share(self.losing, self.successes)
    }

    /// Share of redundant calls in failures that were blocked; higher is better.
    #[must_use]
    pub fn redundant_share(&self) -> Option<f64> {
        share(self.redundant_blocked, self.redundant)
    }
}

impl StopTally {
    /// Adds the sums of other runs.
    pub fn add(&mut self, other: &Self) {
        self.successes += other.successes;
        self.false_stops += other.false_stops;
        self.failures += other.failures;
        self.true_stops += other.true_stops;
        self.calls += other.calls;
        self.calls_saved += other.calls_saved;
    }

    /// Share of successes that were stopped; lower is better.
    #[must_use]
    pub fn false_share(&self) -> Option<f64> {
        share(self.false_stops, self.successes)
    }

    /// Share of calls in failures that did not happen; higher is better.
    #[must_use]
    pub fn saved_share(&self) -> Option<f64> {
        share(self.calls_saved, self.calls)
    }
}

/// A share of nothing is not zero: there is none.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
