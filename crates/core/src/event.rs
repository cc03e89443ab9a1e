//! The durable facts of a run: **the on-disk contract**.
//!
//! What is written here is read for years. A variant or a field is added, never renamed, never given another
//! meaning; a change that old readers would misread raises [`crate::journal::FORMAT`] and gets an upcast there.
//! Facts that end a phase carry that phase's whole result, a *phase contract*: [`Event::Planned`],
//! [`Event::Decomposed`], [`Event::Retrieved`], [`Event::Acted`], [`Event::Verified`], [`Event::Diagnosed`],
//! [`Event::Repaired`] and [`Event::Ended`]. Each has its own version.

mod backup;
mod call;
mod context;
mod contract;
mod control;
mod ending;
mod escalation;
mod finding;
mod landing;
mod plan;
mod promotion;
mod route;
mod step;
mod undo;

use serde::{Deserialize, Serialize};

use crate::budget::{Cost, Limit, is_zero};
use crate::control::{Ppm, Strategy};
use crate::gate::Assurance;
use crate::guard::{OutputTrace, loops};
use crate::id::{ActionId, Millis, RunId, SubtaskId, ToolName, WorkerId};
use crate::message::{Call, Claim, Content, Message, Payload, Stop, Usage};
use crate::plan::Plan;
use crate::policy::Concern;
use crate::provenance::Digest;
use crate::quality::{CheckResult, Diagnosis};
use crate::task::Submission;
use crate::tool::{FileImage, Repeat, Touch};
use crate::untrusted::suspicion::Family;
use crate::verify::Opinion;
use crate::window::Window;

pub use backup::FromBackup;
pub use call::{Ask, CallTrouble, Doubt, Known, Outcome, Refusal, Settlement, Subject, Verdict};
pub use context::{ContextBound, ContextFull, Elided, LeftOut, MessagePart};
pub use contract::CONTRACT;
pub use control::{Controlled, Remedied, Remedy};
pub use ending::{Ending, Exhausted, FailReason, HaltReason, HaltReport, Raise, RestoreOutcome, StopReason};
pub use escalation::{Escalated, Escalation};
pub use finding::{Confinement, Finding};
pub use landing::{Change, Changes, Entry, LandOutcome, MovedOn, NAMED_MAX, Seen};
pub use plan::{Evidence, SubtaskFailure, SubtaskOutput, WayOn};
pub use promotion::{Promoted, PromotionOutcome};
pub use route::{Routed, Sent, SentFor};
pub use step::{Heard, Judgement, Purpose, StepFailure, StepTrouble};
pub use undo::{Compensator, UndoOutcome};

/// A durable fact. The order of variants is the order of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// Somebody asked for a run. Always the first event, and only that.
    Submitted(Box<Submission>),
    /// A worker took the run; all it knew of outside work is in doubt.
    Claimed {
        /// Grows with every claim.
        epoch: u64,
        /// Who took it.
        worker: WorkerId,
        /// In what its programs run there; `None` where it has none, or nobody noted it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        programs: Option<Confinement>,
    },
    /// A worker could not go on with the run: something it needs is not there. Noted once
    /// for each reason, until somebody takes the run.
    NotTakenUp {
        /// Who could not.
        worker: WorkerId,
        /// Why, and what to do.
        why: String,
    },
    /// Planning is over.
    Planned {
        /// [`CONTRACT`]
        contract: u16,
        /// What will be done, in which order.
        plan: Plan,
        /// The plan's hash, for provenance.
        sha256: Digest,
        /// Optional sub-tasks that the budget has no room for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pruned: Vec<SubtaskId>,
    },
    /// Decomposing is over: these are the units of work.
    Decomposed {
        /// [`CONTRACT`]
        contract: u16,
        /// Dependencies first.
        order: Vec<SubtaskId>,
    },
    /// Retrieving is over; or, in a repair, evidence was read again.
    Retrieved {
        /// [`CONTRACT`]
        contract: u16,
        /// What was read.
        evidence: Vec<Evidence>,
    },
    /// A sub-task (or a repair) begins its conversation.
    SubtaskStarted {
        /// Which.
        subtask: SubtaskId,
        /// How the conversation opens.
        opening: Vec<Message>,
    },
    /// A model call is about to be sent.
    StepStarted {
        /// Counts model calls of the run, from 1.
        step: u32,
        /// What it is for.
        purpose: Purpose,
        /// Hash of the exact request: conversation, tools, settings.
        request: Digest,
        /// Set aside until it is answered.
        reserved: Cost,
        /// What the model is told first: what is left, that this is its last call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        notice: Option<String>,
        /// Set when this is the last call a limit leaves: the model is offered no
        /// tools and asked for a summary, and this is why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last: Option<Box<Exhausted>>,
        /// The model it is sent to and why, where that is not the task's own or its critic.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sent: Option<Box<Sent>>,
    },
    /// A model answered.
    StepFinished {
        /// Which call.
        step: u32,
        /// Why it stopped.
        stop: Stop,
        /// What it used.
        usage: Usage,
        /// What it cost, in micro-dollars.
        #[serde(default, skip_serializing_if = "is_zero")]
        micros: u64,
        /// What it said.
        text: Payload,
        /// What it asked for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<Call>,
        /// What the guard remembers of a long text; a short one is looked at anew.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        heard: Option<Box<Heard>>,
        /// How likely the model found its words, from 0 to 1, where it tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        likelihood: Option<Ppm>,
        /// What the server says it used, where that is not what was booked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        claim: Option<Box<Claim>>,
    },
    /// A model did not answer, or nobody knows (then it is paid as reserved).
    StepFailed {
        /// Which call.
        step: u32,
        /// What went wrong.
        why: StepFailure,
        /// When to try again; `None`: not again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<Millis>,
        /// This model is not asked again for this answer: another one is.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        given_up: bool,
    },
    /// A model is left alone for a while, or is not any more.
    Routed(Box<Routed>),
    /// Old parts of a conversation are left out, so that it fits its model.
    Elided(Box<Elided>),
    /// A call that must not or cannot run; the model gets this answer.
    CallRefused {
        /// Which.
        action: ActionId,
        /// Why.
        why: Refusal,
        /// What the model is told.
        message: String,
    },
    /// A person is asked.
    ApprovalRequested {
        /// About what.
        subject: Subject,
        /// Hash of exactly what is asked about.
        binds: Digest,
        /// After this the answer is no.
        expires_at: Millis,
        /// Why, where the tool or the task does not always ask.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        why: Vec<Concern>,
        /// The policy it was asked under, where an agent has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy: Option<Digest>,
    },
    /// A person answered, or the time ran out.
    ApprovalSettled {
        /// About what.
        subject: Subject,
        /// Hash of exactly what was asked about.
        binds: Digest,
        /// The answer.
        verdict: Verdict,
    },
    /// A tool call is about to be made: the intent.
    CallStarted {
        /// Which.
        action: ActionId,
        /// The tool.
        tool: ToolName,
        /// Hash of the canonical arguments.
        args: Digest,
        /// What it does to the world.
        touch: Touch,
        /// What to do in doubt.
        repeat: Repeat,
        /// Idempotency key, the same for every attempt.
        key: Digest,
        /// Counts from 1.
        attempt: u32,
        /// The file it will change, for undo and for settling doubt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        image: Option<Box<FileImage>>,
        /// What is booked for it, in micro-dollars.
        #[serde(default, skip_serializing_if = "is_zero")]
        micros: u64,
        /// Set aside for the model it asks, where it asks one: it is then a step of
        /// the run as well, and this is released when the attempt is over.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reserved: Option<Cost>,
        /// How it is undone, where its tool says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        undo: Option<Box<Compensator>>,
    },
    /// An attempt at a call met passing trouble; another one is made, under the same
    /// id and key. It counts as a call from here on.
    CallTroubled {
        /// Which.
        action: ActionId,
        /// The tool.
        tool: ToolName,
        /// The attempt that met it.
        attempt: u32,
        /// What kind of trouble.
        why: CallTrouble,
        /// In words.
        message: String,
        /// How long the attempt took.
        duration_ms: u64,
        /// When it is tried again.
        retry_at: Millis,
    },
    /// A tool failed again and again: it is not called for a while.
    BreakerOpened {
        /// Which.
        tool: ToolName,
        /// Failures in a row.
        failures: u32,
        /// Until when. Then one call is let through, and decides.
        until: Millis,
    },
    /// A tool that was not called answered: it is called again like any other.
    BreakerClosed {
        /// Which.
        tool: ToolName,
    },
    /// A tool call came back: the outcome.
    CallFinished {
        /// Which.
        action: ActionId,
        /// How it went.
        outcome: Outcome,
        /// What the model reads.
        output: Payload,
        /// The whole output, when the model reads less.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        full: Option<Payload>,
        /// How long it took.
        duration_ms: u64,
        /// What the guard remembers of a long output, unless its hash says it all; a
        /// short one is looked at anew.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trace: Option<Box<OutputTrace>>,
        /// What makes the output look like an attack on the model.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        suspicions: Vec<Family>,
        /// What the model it asked used of what was set aside; `None`: all of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spent: Option<Cost>,
    },
    /// The guard kept a call from being made; the model gets what is known.
    CallBlocked {
        /// Which.
        action: ActionId,
        /// Why, and on what evidence.
        why: Box<loops::Finding>,
        /// The result it had before, if that is still known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        known: Option<Known>,
    },
    /// The model of a sub-task is told to change its strategy. Once.
    StrategySwitched {
        /// Whose conversation.
        subtask: SubtaskId,
        /// Why, and on what evidence.
        why: Box<loops::Finding>,
    },
    /// A repair round gave nearly the same output with nearly the same diagnosis
    /// as an earlier one.
    RoundRepeated {
        /// The verification round that failed again.
        round: u32,
        /// How many rounds before it the similar one was.
        back: u32,
    },
    /// Nobody knows whether the call happened, and it must not be repeated.
    CallInDoubt {
        /// Which.
        action: ActionId,
        /// How it came to this.
        why: Doubt,
        /// Who is asked now.
        ask: Ask,
    },
    /// Doubt about a call is over.
    CallSettled {
        /// Which.
        action: ActionId,
        /// What is taken as true from now on.
        settlement: Settlement,
        /// Who says so.
        by: String,
    },
    /// The model of a sub-task is told something nobody asked it.
    Noticed {
        /// Whose conversation.
        subtask: SubtaskId,
        /// What it is told.
        text: String,
    },
    /// A sub-task (or a repair) is done.
    SubtaskFinished {
        /// Which.
        subtask: SubtaskId,
        /// What came out.
        output: Payload,
    },
    /// The condition of a choice was looked at.
    BranchChosen {
        /// Which choice.
        choice: SubtaskId,
        /// Whether it holds.
        holds: bool,
        /// The branch that is taken, counted from 0; `None`: nothing is done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<u32>,
    },
    /// A sub-task came to nothing, and there is another way.
    SubtaskFailed {
        /// Which.
        subtask: SubtaskId,
        /// Why.
        why: SubtaskFailure,
        /// Which way.
        then: WayOn,
    },
    /// A sub-task nobody wants any more is closed: nothing of it is out or in doubt.
    SubtaskDropped {
        /// Which.
        subtask: SubtaskId,
    },
    /// The model planned anew what had failed.
    Replanned {
        /// [`CONTRACT`]
        contract: u16,
        /// The sub-task that failed.
        instead_of: SubtaskId,
        /// The whole plan from now on.
        plan: Plan,
        /// The plan's hash, for provenance.
        sha256: Digest,
    },
    /// Acting is over.
    Acted {
        /// [`CONTRACT`]
        contract: u16,
        /// The outputs of the last sub-tasks, in plan order.
        outputs: Vec<SubtaskOutput>,
    },
    /// A check was made.
    Checked {
        /// Counts verifications of the run, from 1.
        round: u32,
        /// What it found.
        result: CheckResult,
    },
    /// A judge answered, for a check that needs one.
    Judged {
        /// Which verification.
        round: u32,
        /// Index in the task's checks.
        index: u32,
        /// Which of the answers it needs, from 1.
        ask: u32,
        /// What it said, read.
        opinion: Box<Opinion>,
    },
    /// Verifying is over.
    Verified {
        /// [`CONTRACT`]
        contract: u16,
        /// Which verification.
        round: u32,
        /// What it came to.
        finding: Finding,
        /// Gates, confidence, and who must agree.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        assurance: Option<Box<Assurance>>,
    },
    /// The controller of repair spoke, after a verification that failed.
    Controlled(Box<Controlled>),
    /// Something is tried against rounds that look alike.
    Remedied(Box<Remedied>),
    /// Repairs came to nothing: something else is tried.
    Escalated(Box<Escalated>),
    /// Critiquing is over.
    Diagnosed {
        /// [`CONTRACT`]
        contract: u16,
        /// What is wrong.
        diagnosis: Diagnosis,
    },
    /// A repair round begins.
    RepairStarted {
        /// Counts from 1.
        round: u32,
        /// How it goes about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        strategy: Option<Strategy>,
        /// The part of the output that is replaced; `None`: all of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<Window>,
    },
    /// Repairing is over.
    Repaired {
        /// [`CONTRACT`]
        contract: u16,
        /// Which round.
        round: u32,
        /// The new output.
        output: Content,
        /// Why the part that was mended could not be put back: the output is as it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unplaced: Option<String>,
    },
    /// 80 % of a limit is used. Once for each limit, and again after a raise.
    LimitNear {
        /// Which.
        limit: Limit,
        /// The run whose limit it is; `None`: the run's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<RunId>,
        /// What is used, in the limit's own unit.
        used: u64,
        /// What may be.
        allowed: u64,
    },
    /// Nothing new is started; what is in flight comes home first.
    Stopping {
        /// What happens then.
        why: StopReason,
    },
    /// The run gives up and undoes what it did.
    RollbackStarted {
        /// Why it gives up.
        why: FailReason,
        /// Calls that happened, or may have, and that nothing can undo.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        remains: Vec<ActionId>,
    },
    /// One undo came back.
    Restored {
        /// The call whose write was undone.
        action: ActionId,
        /// How it went.
        outcome: RestoreOutcome,
    },
    /// An attempt to undo a call begins.
    CompensationStarted {
        /// The call.
        action: ActionId,
        /// The key of the undo, the same for every attempt, and not that of the call.
        key: Digest,
        /// Counts from 1.
        attempt: u32,
    },
    /// It met passing trouble; another attempt is made, with the same key.
    CompensationTroubled {
        /// The call.
        action: ActionId,
        /// The attempt that met it.
        attempt: u32,
        /// In words.
        message: String,
        /// When it is tried again.
        retry_at: Millis,
    },
    /// The undo of a call came to an end.
    Compensated {
        /// The call.
        action: ActionId,
        /// How it went.
        outcome: UndoOutcome,
    },
    /// Something could not be undone that should have been: a person must look at it.
    AlertRaised {
        /// The calls.
        actions: Vec<ActionId>,
    },
    /// The command for alerts was run.
    AlertTold {
        /// Why it did not work, if it did not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    /// A person wants undone what a run did that has ended. The ending stays what it is.
    UndoStarted {
        /// Who.
        by: String,
        /// Calls that began after this event are undone.
        #[serde(default, skip_serializing_if = "is_zero")]
        to: u64,
        /// Calls after it that nothing can undo.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        remains: Vec<ActionId>,
    },
    /// Everything that can be was undone.
    UndoFinished {
        /// How many calls are as if they had not been made.
        undone: u32,
        /// The others that were tried.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        not_undone: Vec<ActionId>,
    },
    /// What the run changed apart shall be brought to the folder it is about.
    LandingStarted {
        /// Who wants it; `None`: the run itself, which commits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// What that is, with every byte before and after.
    ChangesFound(Changes),
    /// The folder has it, or nothing of it.
    Landed {
        /// How it went.
        outcome: LandOutcome,
    },
    /// What was committed is handed on to whoever keeps it, or is not.
    Promoted(Promoted),
    /// The journal was brought back from a backup, or is taken up after that.
    FromBackup(FromBackup),
    /// A person stopped the clock.
    Paused {
        /// Who.
        by: String,
    },
    /// A person started it again: a paused run goes on, a halted one reopens.
    Resumed {
        /// Who.
        by: String,
        /// New, higher limits.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        raised: Vec<Raise>,
        /// Nodes of the plan that it goes on without, and that nothing waits for any more.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        without: Vec<SubtaskId>,
    },
    /// Somebody asked for what cannot be done now; nothing changed.
    SignalRefused {
        /// Who.
        by: String,
        /// Why not.
        why: String,
    },
    /// The run is over.
    Ended {
        /// [`CONTRACT`]
        contract: u16,
        /// How.
        ending: Ending,
    },
}
