//! What the shell reports to the core. Every input carries the time it happened.

use serde::{Deserialize, Serialize};

use crate::budget::{Allowance, Cost};
use crate::control::Ppm;
use crate::event::{
    Changes, Confinement, Evidence, LandOutcome, Outcome, Raise, RestoreOutcome, Settlement, StepTrouble,
    Subject,
};
use crate::guard::OutputTrace;
use crate::id::{ActionId, Millis, SubtaskId, WorkerId};
use crate::message::{Call, Claim, Payload, Stop, Usage};
use crate::policy::Concern;
use crate::provenance::Digest;
use crate::quality::CheckOutcome;
use crate::tool::FileImage;
use crate::untrusted::suspicion::Family;
use crate::verify::Measure;

/// Something happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// When, as the shell saw it.
    pub now: Millis,
    /// What.
    pub what: What,
    /// The process is about to stop: take note, start nothing.
    pub hold: bool,
    /// What a tree of agents leaves to this run; `None` for a run that is alone.
    pub allowance: Option<Allowance>,
}

impl Input {
    /// Something happened now, and new work may be started.
    #[must_use]
    pub fn at(now: Millis, what: What) -> Self {
        Self { now, what, hold: false, allowance: None }
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// This worker now owns the run. Whatever was in flight is in doubt.
    Claimed {
        /// The fence's epoch.
        epoch: u64,
        /// Who.
        worker: WorkerId,
        /// In what programs run here; `None` if the run has none.
        programs: Option<Confinement>,
    },
    /// The worker that has the run cannot go on with it.
    NotTakenUp {
        /// Who.
        worker: WorkerId,
        /// Why, and what to do.
        why: String,
    },
    /// The journal was brought back from a backup.
    FromBackup {
        /// Who brought it back.
        by: String,
        /// When the backup was made.
        made_at: Millis,
    },
    /// Time passed; something may have fallen due.
    Tick,
    /// Evidence was read, or a file could not be.
    EvidenceRead(Result<Vec<Evidence>, EvidenceGap>),
    /// A model answered.
    ModelReplied {
        /// Which step.
        step: u32,
        /// With what.
        reply: Reply,
    },
    /// A model did not answer.
    ModelFailed {
        /// Which step.
        step: u32,
        /// What kind of trouble.
        kind: StepTrouble,
        /// In words.
        message: String,
        /// How long the provider asked us to wait.
        retry_after_ms: Option<u64>,
    },
    /// A call's file was looked at before it starts.
    CallPrepared {
        /// Which.
        action: ActionId,
        /// The image, or why the call cannot work.
        image: Result<FileImage, String>,
    },
    /// A tool came back.
    CallReturned {
        /// Which.
        action: ActionId,
        /// Which attempt: a late reply of an earlier one is refused.
        attempt: u32,
        /// With what.
        result: CallResult,
    },
    /// A probe came back.
    Probed {
        /// Which call was in doubt.
        action: ActionId,
        /// What it found.
        found: ProbeFinding,
    },
    /// A check came back.
    CheckReturned {
        /// The verification round it belongs to.
        round: u32,
        /// Index in the task's checks.
        index: usize,
        /// What it found.
        outcome: CheckOutcome,
        /// What it measured, besides whether it holds.
        measure: Option<Measure>,
        /// What it printed.
        log: Payload,
        /// How long it took.
        duration_ms: u64,
    },
    /// The condition of a choice was looked at.
    Weighed {
        /// Which, as the effect counts them.
        serial: u32,
        /// Whether it holds.
        holds: bool,
    },
    /// A mended part was put back into the output, or could not be.
    Spliced {
        /// The round of repair.
        round: u32,
        /// The whole output; or why the part does not fit.
        output: Result<Payload, String>,
    },
    /// An undo came back.
    Restored {
        /// The call whose write was undone.
        action: ActionId,
        /// How it went.
        outcome: RestoreOutcome,
    },
    /// An attempt to undo a call came back.
    Compensated {
        /// The call.
        action: ActionId,
        /// Which attempt at undoing it.
        attempt: u32,
        /// What came of it.
        found: Compensation,
    },
    /// The command for alerts came back; why it did not work, if it did not.
    AlertTold(Option<String>),
    /// The changes of the run were looked for; or why they are not applied.
    ChangesFound(Result<Changes, LandOutcome>),
    /// An attempt to apply them came back.
    Landed {
        /// It was to take them back.
        back: bool,
        /// How it went.
        outcome: LandOutcome,
    },
    /// The result is exported; it may be committed.
    ResultStored {
        /// Hash of the provenance record.
        provenance: Digest,
        /// The last event the record tells of.
        seq: u64,
        /// Whether this worker has somebody to hand the output on to.
        promotes: bool,
    },
    /// An attempt to hand the output on came back.
    Promoted {
        /// Which.
        attempt: u32,
        /// Why it was not taken, if it was not.
        problem: Option<String>,
    },
    /// A person spoke.
    Signal {
        /// Who.
        by: String,
        /// What they want.
        signal: Signal,
    },
}

/// A file that was named as evidence and could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvidenceGap {
    /// Which.
    pub path: String,
    /// Why.
    pub message: String,
}

/// A finished model reply. Partial ones never get here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Why it stopped.
    pub stop: Stop,
    /// What it used.
    pub usage: Usage,
    /// What it cost, in micro-dollars.
    pub micros: u64,
    /// What it said.
    pub text: Payload,
    /// The same, for the core to read (structured answers): at most 64 KiB.
    pub head: String,
    /// What it asked for.
    pub calls: Vec<Asked>,
    /// How likely the model found its words, from 0 to 1, where it tells.
    pub likelihood: Option<Ppm>,
    /// What the server says it used, where that is not what is booked.
    pub claim: Option<Claim>,
}

/// A call a model asked for, with what the shell found out about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// As it was asked.
    pub call: Call,
    /// Why it cannot run, if so.
    pub problem: Option<CallProblem>,
    /// The file it would change, looked at now; `None` for tools that write none.
    pub image: Option<Result<FileImage, String>>,
    /// What speaks for asking a person first.
    pub concerns: Vec<Concern>,
}

/// Why a call as asked cannot run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallProblem {
    /// No such tool; what the model is told, with the nearest name.
    UnknownTool(String),
    /// The arguments do not fit; what the model is told.
    BadArguments(String),
    /// The agent may not; what the model is told, with the capability it lacks.
    NotAllowed(String),
}

/// What a tool gave back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallResult {
    /// How it went.
    pub how: Returned,
    /// What the model reads.
    pub output: Payload,
    /// The whole output, when the model reads less.
    pub full: Option<Payload>,
    /// How long it took.
    pub duration_ms: u64,
    /// What the guard remembers of the whole output, where `output` is not it.
    pub trace: Option<Box<OutputTrace>>,
    /// What makes the output look like an attack on the model.
    pub suspicions: Vec<Family>,
    /// What the model it asked used; `None`: it asked none, or nobody knows.
    pub spent: Option<Cost>,
}

/// How a call came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returned {
    /// The tool knows how it went.
    Known(Outcome),
    /// The tool cannot tell whether it happened.
    Unknown,
    /// It did not happen, and may work later.
    Trouble {
        /// How long the tool asks us to wait.
        retry_after_ms: Option<u64>,
    },
}

/// What a probe found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeFinding {
    /// It happened, with this result.
    Happened(Payload),
    /// It did not happen.
    DidNotHappen,
    /// The probe cannot tell.
    Unknown,
}

/// What came of an attempt to undo a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compensation {
    /// It is undone now.
    Done,
    /// There was nothing to undo, or it was undone before.
    WasAsBefore,
    /// It may work later.
    Trouble {
        /// In words.
        message: String,
        /// How long the other side asks us to wait.
        retry_after_ms: Option<u64>,
    },
    /// What the undo needs to know is not known of the call.
    Impossible(String),
    /// It did not work, and will not.
    Failed(String),
}

/// What a person can tell a run. Durable in the store's mailbox until a run's
/// event consumes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Signal {
    /// Yes, to exactly these bytes.
    Approve {
        /// About what.
        subject: Subject,
        /// Hash of what was shown.
        binds: Digest,
    },
    /// No, to exactly these bytes.
    Deny {
        /// About what.
        subject: Subject,
        /// Hash of what was shown.
        binds: Digest,
        /// Why.
        reason: String,
    },
    /// Not like this, of exactly this output: it goes back to repair.
    SendBack {
        /// Hash of what was shown.
        binds: Digest,
        /// What shall be changed.
        feedback: String,
    },
    /// Stop the clock.
    Pause,
    /// Go on; a halted run reopens.
    Resume {
        /// Limits to set higher first.
        #[serde(default)]
        raise: Vec<Raise>,
        /// Sub-tasks and choices of a halted run's plan to leave out, with whatever
        /// waits for them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        without: Vec<SubtaskId>,
    },
    /// End it, resumable.
    Cancel,
    /// Undo what it did, once it has ended.
    Undo {
        /// Only calls that began after this event.
        #[serde(default)]
        to: u64,
    },
    /// Apply what it changed apart, once it is committed.
    Land,
    /// Hand on what it committed, once more.
    Promote,
    /// Take it up here, although it was brought back from a backup.
    TakeUp,
    /// This is how a call in doubt went.
    Settle {
        /// Which.
        action: ActionId,
        /// The attempt it is about: a later one is another doubt.
        attempt: u32,
        /// What to take as true.
        settlement: Settlement,
    },
}
