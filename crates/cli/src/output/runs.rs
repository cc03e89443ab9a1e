//! Lines about runs: what happens in them, how they stand, everything about one.

use std::collections::BTreeMap;

use bowline_core::budget::{Cost, Gauge, Limits, Spend};
use bowline_core::event::{self, Elided, Escalated, HaltReport};
use bowline_core::id::{Millis, RunId, SubtaskId, WorkerId};
use bowline_core::plan::Plan;
use bowline_core::provenance::Digest;
use bowline_core::quality::Diagnosis;
use bowline_core::run::{Promotion, Wait};
use bowline_core::task::{Routes, Workspace};
use bowline_core::view::{ApprovalRef, CallRef, CheckRef, EvidenceRef, StepRef};
use bowline_store::Tombstone;
use serde::Serialize;
use serde_json::Value;

/// Something happened in a run.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(deny_unknown_fields, rename = "EventLine")
)]
pub struct Event<'a> {
    /// Whose.
    pub run: &'a RunId,
    /// Its number in the journal, from 1.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub at: Millis,
    /// What.
    pub event: &'a event::Event,
}

/// The state a worker works from.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct StateHash<'a> {
    /// Whose.
    pub run: &'a RunId,
    /// The last event in it.
    pub seq: u64,
    /// Its hash: equal for whoever folds the same journal.
    pub state: Digest,
}

/// How a run stopped: the last line.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Stopped<'a> {
    /// Which.
    pub run: &'a RunId,
    /// How it ended; `null` if it did not.
    pub ending: Option<Ending>,
    /// The code the program ends with.
    pub exit: u8,
    /// Hash of its last record: whoever keeps it can prove later that nothing was rewritten.
    pub head: Digest,
    /// What only a person can move, where it waits for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<&'a [Wait]>,
}

/// How the run of one file stopped, where there is a run for each.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct StoppedFile<'a> {
    /// The file.
    pub file: &'a str,
    /// Its run.
    pub run: &'a RunId,
    /// How it stopped, in a word: an ending, `waits` or `interrupted`.
    pub ending: &'a str,
    /// The code its run alone would end with.
    pub exit: u8,
    /// What came out.
    pub output: &'a Option<String>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "EndingWord"))]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Its output is committed.
    Committed,
    /// It came to nothing.
    Failed,
    /// It is stopped with everything kept; only an explicit resume goes on with it.
    Halted,
}

impl From<&event::Ending> for Ending {
    fn from(ending: &event::Ending) -> Self {
        match ending {
            event::Ending::Committed { .. } => Self::Committed,
            event::Ending::Failed { .. } => Self::Failed,
            event::Ending::Halted { .. } => Self::Halted,
        }
    }
}

/// A run in a list.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Row<'a> {
    /// Which.
    pub run: &'a RunId,
    /// The key it was submitted under, if any.
    pub key: &'a Option<String>,
    /// What is wanted.
    pub goal: &'a str,
    /// Where it stands in the loop.
    pub phase: &'a str,
    /// How it ended; `null` if it did not.
    pub ending: Option<Ending>,
    /// What it waits for, if for anything only a person can move.
    pub waiting: &'a Option<String>,
    /// Why the last worker could not go on with it.
    pub unable: &'a Option<String>,
    /// Who works on it, or did last.
    pub worker: &'a Option<WorkerId>,
    /// Model calls.
    pub steps: u32,
    /// Tool calls.
    pub tool_calls: u32,
    /// Tokens.
    pub tokens: u64,
    /// Micro-dollars.
    pub micros: u64,
    /// When it was submitted, in milliseconds since 1970.
    pub created_at: Millis,
    /// When something happened last.
    pub updated_at: Millis,
    /// How many events its journal has.
    pub events: u64,
    /// Hash of its last record.
    pub head: Digest,
}

/// Everything about one run.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Shown<'a> {
    /// Which.
    pub run: &'a RunId,
    /// The key it was submitted under, if any.
    pub key: &'a Option<String>,
    /// What is wanted.
    pub goal: &'a str,
    /// The model it asks.
    pub model: &'a str,
    /// The model that finds what is wrong, where that is another one.
    pub critic: &'a Option<String>,
    /// Models that may be asked instead.
    pub routes: &'a Routes,
    /// Every model call.
    pub steps: &'a [StepRef],
    /// What was left out of conversations.
    pub elisions: &'a [Elided],
    /// Where it works.
    pub workspace: &'a Workspace,
    /// When it was submitted, in milliseconds since 1970.
    pub submitted_at: Millis,
    /// When something happened last.
    pub updated_at: Millis,
    /// Where it stands in the loop.
    pub phase: &'a str,
    /// How it ended; `null` if it did not.
    pub ending: Option<Ending>,
    /// The same in a sentence.
    pub ending_line: Option<String>,
    /// Its plan.
    pub plan: Option<&'a Plan>,
    /// What was read first.
    pub evidence: &'a [EvidenceRef],
    /// Every tool call.
    pub calls: &'a [CallRef],
    /// Every check.
    pub checks: &'a [CheckRef],
    /// Every diagnosis that led to a repair.
    pub repairs: &'a [Diagnosis],
    /// What was tried beyond repair.
    pub escalations: &'a [Escalated],
    /// Parts of the plan the output is without.
    pub missing: Vec<SubtaskId>,
    /// Who agreed to what.
    pub approvals: &'a [ApprovalRef],
    /// What only a person can move.
    pub waits: Vec<Wait>,
    /// What it may use.
    pub limits: &'a Limits,
    /// How much of each limit is used.
    pub gauges: Vec<Gauge>,
    /// What it left behind at a limit.
    pub report: Option<&'a HaltReport>,
    /// What it took.
    pub spend: &'a Spend,
    /// Tokens by phase.
    pub tokens_by_phase: &'a BTreeMap<String, u64>,
    /// What came out.
    pub output: &'a Option<String>,
    /// How its output was handed on.
    pub promotion: &'a Option<Box<Promotion>>,
    /// How many events its journal has.
    pub events: u64,
    /// Hash of its last record.
    pub head: Digest,
    /// Every event, with `--events`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journal: Option<Vec<Entry<'a>>>,
}

/// An event of the run that is shown.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(deny_unknown_fields, rename = "JournalEntry")
)]
pub struct Entry<'a> {
    /// Its number in the journal, from 1.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub at: Millis,
    /// What.
    pub event: &'a event::Event,
}

/// The state a run had after an event.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Replayed<'a> {
    /// Which run.
    pub run: &'a RunId,
    /// After which event.
    pub seq: u64,
    /// The state.
    pub state: State<'a>,
}

/// A state in short.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct State<'a> {
    /// Where it stands in the loop.
    pub phase: &'a str,
    /// Whether a person stopped the clock.
    pub paused: bool,
    /// What it took.
    pub spend: &'a Spend,
    /// What is set aside for what is out.
    pub reserved: &'a Cost,
    /// What only a person can move.
    pub waits: Vec<Wait>,
    /// Hash of the whole state.
    pub digest: Digest,
}

/// A record as it is stored.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Exported<'a> {
    /// Whose.
    pub run: &'a RunId,
    /// Number of its first event.
    pub seq: u64,
    /// When it was decided, in milliseconds since 1970.
    pub at: Millis,
    /// The format it was written in.
    pub format: u16,
    /// Hash of the record before.
    pub prev: Digest,
    /// Its own hash.
    pub hash: Digest,
    /// Its events in the words of the build that wrote them: see `event.schema.json` for today's. A text
    /// where what is stored is no JSON any more.
    pub events: Value,
}

/// A run that was deleted: what is left of it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Deleted<'a> {
    /// That it was there, and nothing of what was in it.
    pub deleted: Remains<'a>,
}

/// What is left of a run that was deleted.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Remains<'a> {
    /// Its id.
    pub run: &'a RunId,
    /// Hash of its last record.
    pub head: Digest,
    /// How many events its journal had.
    pub events: u64,
    /// When it was deleted, in milliseconds since 1970.
    pub at: Millis,
    /// By whom.
    pub by: &'a str,
}

impl<'a> From<&'a Tombstone> for Remains<'a> {
    fn from(left: &'a Tombstone) -> Self {
        Self { run: &left.run, head: left.head, events: left.events, at: left.at, by: &left.by }
    }
}
