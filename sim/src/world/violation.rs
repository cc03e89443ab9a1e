//! Broken promises, by the name of the check that found them.

use std::fmt;

/// A check of the oracle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    /// Every acknowledged run reaches exactly one ending.
    O1,
    /// No run without a submission; one key, one run.
    O2,
    /// Irreversible: at most one effect for each action.
    O3,
    /// What is taken as done was done once; what is told as an error was not done.
    O4,
    /// Every effect has an intent that was durable before it.
    O5,
    /// Every irreversible intent without outcome is reported, and never repeated blindly.
    O6,
    /// Endings stay; halted changes only by a journalled reopening.
    O7,
    /// What is undone is undone in reverse, each call once, in the journal and outside.
    O8,
    /// What a run used, over all lives, is within its limits.
    O9,
    /// The live state equals the state by replay.
    O10,
    /// Epochs never fall.
    O11,
    /// What needs consent has it, for exactly these bytes.
    O12,
    /// After faults stop, all runs end.
    O14,
    /// An event stream has no gap and no repeat.
    O15,
    /// Every call of a reply is answered exactly once.
    J3,
    /// Attempts count up under one key, and a tool left alone is tried by one call.
    J4,
    /// People are alerted exactly of what could not be undone.
    U1,
    /// The same seed gives the same trace.
    Repeatable,
}

/// A broken promise, with the evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which promise.
    pub check: Check,
    /// What was found.
    pub text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.check, self.text)
    }
}
