//! A guard as a recorded run sees it: told what happened, asked before each call.
//!
//! One judge lives for one run. It never sees what a call would have returned
//! before it has said its opinion, and a call it blocked is never recorded.

use bowline_core::guard::Origin;
use bowline_core::guard::loops::Action;

use crate::trajectory::{Call, Output, Reply};

/// Why a call was not simply allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grounds {
    /// The rule, in one word.
    pub reason: String,
    /// What it saw, one sentence each.
    pub evidence: Vec<String>,
}

/// What a guard says before a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opinion {
    /// Make it.
    Allow,
    /// Answer it from what is known.
    Block(Grounds),
    /// End the run.
    Stop(Grounds),
}

/// A guard at work on one run.
pub trait Judge {
    /// Somebody wrote to the agent.
    fn user(&mut self, text: &str, origin: Origin);
    /// The model answered.
    fn reply(&mut self, reply: &Reply);
    /// May this call be made? Changes nothing that a second question would show.
    fn check(&mut self, call: &Call) -> Opinion;
    /// The call was made and came back.
    fn record(&mut self, call: &Call, output: &Output);
    /// The call was blocked; the model was told.
    fn blocked(&mut self, call: &Call);
}

/// A kind of guard: makes a fresh judge for every run.
pub trait Guard: Sync {
    /// What tables call it.
    fn name(&self) -> &str;
    /// A judge that has seen nothing.
    fn judge(&self, action: Action) -> Box<dyn Judge + '_>;
}
