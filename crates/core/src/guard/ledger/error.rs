//! Why the ledger says no.

use crate::event::Exhausted;
use crate::id::RunId;

/// An agent may not be let in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnterError {
    /// Too far below.
    #[error("depth limit: below run {of} there may be {allowed} levels of agents")]
    DepthLimit {
        /// Whose limit.
        of: RunId,
        /// How many levels.
        allowed: u64,
    },
    /// Too many at once.
    #[error("agents alive: below run {of} there may be {allowed} at once")]
    AgentsAlive {
        /// Whose limit.
        of: RunId,
        /// How many.
        allowed: u64,
    },
    /// Too many in all.
    #[error("agents a run: below run {of} there may be {allowed} in all")]
    AgentsARun {
        /// Whose limit.
        of: RunId,
        /// How many.
        allowed: u64,
    },
    /// The run above is not in the tree.
    #[error("run {parent} is not in this tree")]
    NoParent {
        /// Which.
        parent: RunId,
    },
    /// The run above has ended.
    #[error("run {parent} has ended")]
    ParentEnded {
        /// Which.
        parent: RunId,
    },
    /// It is in already.
    #[error("run {run} is in this tree already")]
    Known {
        /// Which.
        run: RunId,
    },
}

impl EnterError {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::DepthLimit { of, .. } => {
                format!("do the work in the agent itself, or raise depth of run {of}")
            }
            Self::AgentsAlive { of, .. } => {
                format!("wait until an agent has ended, or raise agents_alive of run {of}")
            }
            Self::AgentsARun { of, .. } => {
                format!("do the work in agents that are there, or raise agents of run {of}")
            }
            Self::NoParent { .. } => "enter the run above first".into(),
            Self::ParentEnded { .. } => "resume the run above first".into(),
            Self::Known { .. } => "give the agent a run id of its own".into(),
        }
    }
}

/// Nothing was taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReserveError {
    /// A bound is too small.
    #[error("{} would be {}, allowed are {}{}", .0.limit.word(), .0.wanted, .0.allowed, whose(.0))]
    Over(Exhausted),
    /// The run is not in the tree.
    #[error("run {run} is not in this tree")]
    UnknownRun {
        /// Which.
        run: RunId,
    },
}

fn whose(over: &Exhausted) -> String {
    over.of.as_ref().map_or(String::new(), |run| format!(" below run {run}"))
}

impl ReserveError {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Over(over) => format!("raise {}, or let the run halt", over.limit.word()),
            Self::UnknownRun { .. } => "enter the run first".into(),
        }
    }
}
