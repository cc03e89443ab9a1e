//! How a run is over, and why: part of the on-disk contract.

use serde::{Deserialize, Serialize};

use super::ContextFull;
use crate::budget::{Limit, Spend};
use crate::guard::loops::Finding;
use crate::id::{RunId, SubtaskId};
use crate::message::Content;
use crate::provenance::Digest;

/// A limit set higher.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Raise {
    /// Which.
    pub limit: Limit,
    /// To what, in the limit's own unit (steps, calls, tokens, micro-dollars, ms, percent).
    #[serde(with = "crate::budget::word")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Amount"))]
    pub to: u64,
}

/// How a run is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Ending {
    /// Checked and delivered. Final.
    Committed {
        /// The result.
        output: Content,
        /// Hash of the provenance record: canonical JSON that anybody can make
        /// again from the records before this one.
        provenance: Digest,
        /// Parts of the plan it is without: a person agreed to the rest. Empty: it is whole.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        missing: Vec<SubtaskId>,
    },
    /// Given up, undone as far as the task asks. Final.
    Failed {
        /// Why.
        why: FailReason,
        /// The best output there was, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        partial: Option<Content>,
    },
    /// Stopped with everything kept; only an explicit resume reopens it.
    Halted {
        /// Why.
        why: HaltReason,
        /// What there is so far, when a limit was reached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        report: Option<Box<HaltReport>>,
    },
}

/// A bound that would have been passed: the evidence of a stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Exhausted {
    /// Which.
    pub limit: Limit,
    /// What would have been used, in the limit's own unit.
    pub wanted: u64,
    /// What was allowed.
    pub allowed: u64,
    /// The run whose limit it is; `None`: the run's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<RunId>,
}

/// What a run that reached a limit leaves behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HaltReport {
    /// What it took.
    pub spend: Spend,
    /// Sub-tasks that are done, in plan order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub done: Vec<SubtaskId>,
    /// Sub-tasks that are not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<SubtaskId>,
    /// Files it was about to change or changed, in order, the first 256.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The step that summarised, if one was left for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<u32>,
    /// The work so far: the summary, or what was delivered and not accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<Content>,
    /// What would let it go on.
    pub raise: Raise,
}

/// Why a run stops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// For good.
    Fail(FailReason),
    /// Until somebody resumes it.
    Halt(HaltReason),
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FailReason {
    /// A named file could not be read.
    EvidenceMissing {
        /// Which.
        path: String,
        /// Why not.
        message: String,
    },
    /// Still failing its checks after the last allowed repair.
    RepairsExhausted {
        /// How many there were.
        rounds: u32,
    },
    /// Another answer holds in every check as well: they do not tell which is right.
    Undecided,
    /// Too many cut replies in a row.
    Truncated {
        /// How many.
        in_a_row: u32,
    },
    /// The model would not do it.
    ModelRefused {
        /// What it said.
        message: String,
    },
    /// The model gave no plan that could be carried out.
    NoPlan {
        /// What was wrong with its last one.
        message: String,
    },
    /// A person rejected the output.
    OutputDenied {
        /// Who.
        by: String,
        /// Why.
        reason: String,
    },
    /// Nobody answered in time whether the output may be committed.
    ApprovalExpired,
}

/// Why a run halted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum HaltReason {
    /// A person cancelled it.
    Cancelled {
        /// Who.
        by: String,
    },
    /// A bound was reached.
    LimitReached(Exhausted),
    /// The guard found the agent going in circles.
    Looping(Box<Finding>),
    /// The model cannot be reached or refuses to serve us.
    ModelUnavailable {
        /// The last thing it said.
        message: String,
    },
    /// A conversation does not fit its model, whatever is left out of it.
    ContextFull(Box<ContextFull>),
    /// More repairs will not do by themselves: a person must look at it.
    RepairStuck {
        /// Why not.
        why: String,
    },
}

/// How one undo went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RestoreOutcome {
    /// The file is as it was before the call.
    Restored,
    /// The call had not changed it, or it was undone already.
    AlreadyAsBefore,
    /// Somebody else changed it since: it was left alone.
    ChangedSince,
    /// It could not be restored.
    Failed(String),
}
