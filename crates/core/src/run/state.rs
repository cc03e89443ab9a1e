//! The state of a run: everything `decide` and `due` look at, nothing else.

mod as_pairs;
mod backup;
mod conversation;
mod deeds;
mod landing;
mod mending;
mod promotion;
mod recourse;
mod wait;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{acting, call, falling_back, limit, repairing};
use crate::append_list::AppendList;
use crate::budget::{Cost, Gauge, Limit, Limits, Price, Spend};
use crate::control::Ppm;
use crate::event::{Ask, Ending, Event, Evidence, FailReason, StopReason, Subject, Verdict};
use crate::gate::Assurance;
use crate::guard::Sketch;
use crate::guard::loops::Rounds;
use crate::id::{ActionId, Millis, RunId, SubtaskId, ToolName};
use crate::message::Content;
use crate::plan::{Plan, Progress};
use crate::policy::Concern;
use crate::provenance::Digest;
use crate::quality::{CheckResult, Diagnosis};
use crate::task::Task;
use crate::tool::{FileImage, ToolSpec};
use crate::verify::Opinion;

pub use backup::Backup;
pub use conversation::{Batch, BatchCall, CallState, OpenStep, Summary, Thread, ThreadState};
pub use deeds::{AlertState, Deed, Deeds, PersonsUndo, Reversal, UndoAttempt, Undoing};
pub use landing::{LANDING, Landing};
pub use mending::Mending;
pub use promotion::Promotion;
pub use recourse::{Recourses, RepairBase};
pub use wait::Wait;

/// Version of the state's shape. A checkpoint of another one is folded again, and so is one with a key
/// that this build does not know: the journal then says by name what is newer.
pub const STATE: u32 = 7;

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Its name.
    pub id: RunId,
    /// The last event folded in.
    pub seq: u64,
    /// What is wanted.
    pub task: Arc<Task>,
    /// The tools as declared at submission.
    pub tools: Arc<[ToolSpec]>,
    /// Hash of the tools, part of every request's hash.
    pub tools_sha256: Digest,
    /// Their length, part of every request that offers them.
    #[serde(default)]
    pub tools_bytes: u64,
    /// What the model costs.
    pub price: Price,
    /// What the model costs that judges and diagnoses.
    pub critic_price: Price,
    /// What the models cost that it may be moved to.
    pub prices: BTreeMap<String, Price>,
    /// Tokens that models take, as far as they say so.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub contexts: BTreeMap<String, u64>,
    /// Its place on the ladder of models; 0: the task's own.
    pub rung: u32,
    /// Models in trouble lately, in runs that have several.
    pub resting: BTreeMap<String, Breaker>,
    /// Chance for this run.
    pub seed: Box<str>,
    /// Bounds, with what was raised.
    pub limits: Limits,
    /// What was used.
    pub spend: Spend,
    /// Set aside for model calls in flight.
    pub reserved: Cost,
    /// The part of it that went into critique and repair.
    pub repair_spend: RepairSpend,
    /// Calls, by tool, counted like [`Spend::tool_calls`].
    pub tool_uses: BTreeMap<ToolName, u32>,
    /// Tools that failed lately.
    pub breakers: BTreeMap<ToolName, Breaker>,
    /// Limits the run was warned of, each once.
    pub warned: Vec<Warned>,
    /// Where it stands.
    pub phase: Phase,
    /// The last claim.
    pub epoch: u64,
    /// False from a reopening until the next claim.
    pub owned: bool,
    /// Nothing new is started while this holds.
    pub paused: bool,
    /// What happens once nothing is in flight.
    pub stopping: Option<StopReason>,
    /// When the last event happened.
    pub now: Millis,
    /// When the run was submitted.
    pub submitted_at: Millis,
    /// The plan, once there is one.
    pub plan: Option<Arc<Plan>>,
    /// Where the work on it stands.
    pub progress: Progress,
    /// Plans that were made or changed so far.
    pub plans: u32,
    /// Sub-tasks that failed and wait for others to be planned in their place.
    pub replanning: Vec<SubtaskId>,
    /// Why branches were given up, by choice, for those who try the next one.
    pub lessons: BTreeMap<SubtaskId, Box<str>>,
    /// Conditions of choices that were looked at.
    pub weighed: u32,
    /// What was read before acting.
    pub evidence: Arc<[Evidence]>,
    /// Conversations of sub-tasks, critics and repairs.
    pub threads: BTreeMap<SubtaskId, Thread>,
    /// What would be committed now.
    pub output: Option<Content>,
    /// How likely its model found the words of it, where it told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likelihood: Option<Ppm>,
    /// Verifications so far.
    pub verifications: u32,
    /// The last failures, for critique and repair.
    pub failures: Vec<CheckResult>,
    /// The last diagnosis.
    pub diagnosis: Option<Diagnosis>,
    /// Whether the last verification had anything to check.
    pub checked: bool,
    /// What the last verification makes one sure of.
    pub assurance: Option<Box<Assurance>>,
    /// The best output so far, where it is not the last one.
    pub best: Option<Box<Best>>,
    /// Optional parts of the plan were left out to fit the budget.
    pub pruned: bool,
    /// A call was made that cannot be undone, and neither a person nor the task agreed.
    pub unasked: bool,
    /// Questions to people, and their answers.
    #[serde(with = "as_pairs")]
    pub approvals: BTreeMap<Subject, Approval>,
    /// Hashes of what people said no to.
    pub denied: BTreeSet<Digest>,
    /// Files calls were allowed to change, in order, for undo.
    pub images: AppendList<(ActionId, FileImage)>,
    /// What it did to the world, and how far that is undone.
    pub deeds: Deeds,
    /// Where bringing its changes home stands.
    #[serde(default, skip_serializing_if = "Landing::is_untouched")]
    pub landing: Landing,
    /// Where handing its output on stands, if that was ever wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promotion: Option<Box<Promotion>>,
    /// What the output is like, for comparing rounds.
    pub sketch: Option<Sketch>,
    /// Rounds of verification and diagnosis so far.
    pub rounds: Arc<Rounds>,
    /// What is remembered from one repair to the next.
    pub mending: Mending,
    /// What was tried beyond repair.
    pub recourse: Recourses,
    /// Where a halted run goes on.
    pub halted_in: Option<Box<Phase>>,
    /// It was brought back from a backup, and may have gone on elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<Box<Backup>>,
    /// Why the last worker could not go on with it, if it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unable: Option<Box<str>>,
}

/// What critique and repair have used. None of it ever falls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepairSpend {
    /// Tokens and money settled.
    pub settled: Cost,
    /// Working time.
    pub active_ms: u64,
}

/// What is remembered of a tool, or a model, whose last attempts failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Breaker {
    /// Failures in a row.
    pub failures: u32,
    /// How often it opened since it was closed: the wait doubles each time.
    pub openings: u32,
    /// Open until then, and half open from then on; `None`: closed.
    pub until: Option<Millis>,
}

/// A limit that was nearly used up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Warned {
    /// Which.
    pub limit: Limit,
    /// The run whose limit it is; `None`: this one.
    pub of: Option<RunId>,
    /// What was allowed then: with more, it is worth another warning.
    pub allowed: u64,
    /// Counts warnings of the run, from 1.
    pub serial: u32,
}

/// Where a run stands in the loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Phase {
    /// Making or taking the plan.
    Planning,
    /// Turning the plan into units of work.
    Decomposing,
    /// Reading evidence.
    Retrieving,
    /// Working on sub-tasks.
    Acting,
    /// Checking the output.
    Verifying(Verification),
    /// Diagnosing failures.
    Critiquing(Critique),
    /// Mending the output.
    Repairing {
        /// Which round.
        round: u32,
    },
    /// Delivering the output.
    Committing,
    /// Undoing what was written.
    RollingBack(RollingBack),
    /// Over.
    Ended(Ending),
}

impl Phase {
    /// The word people read.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Planning => "planning",
            Self::Decomposing => "decomposing",
            Self::Retrieving => "retrieving",
            Self::Acting => "acting",
            Self::Verifying(_) => "verifying",
            Self::Critiquing(_) => "critiquing",
            Self::Repairing { .. } => "repairing",
            Self::Committing => "committing",
            Self::RollingBack(_) => "rolling back",
            Self::Ended(Ending::Committed { .. }) => "committed",
            Self::Ended(Ending::Failed { .. }) => "failed",
            Self::Ended(Ending::Halted { .. }) => "halted",
        }
    }
}

/// A verification under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verification {
    /// Counts verifications, from 1.
    pub round: u32,
    /// Results so far, in the order of the task's checks.
    pub results: Vec<CheckResult>,
    /// What judges said for the check that is made now.
    pub opinions: Vec<Opinion>,
}

/// An output that was verified, and how good it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Best {
    /// The verification.
    pub round: u32,
    /// What it found, from 0 to 1.
    pub quality: Ppm,
    /// What it found, check by check.
    pub failures: Vec<CheckResult>,
    /// The output.
    pub output: Content,
}

/// A critique under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Critique {
    /// The verification round it is about.
    pub round: u32,
}

/// A rollback under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RollingBack {
    /// Why.
    pub why: FailReason,
    /// How far it is.
    pub undoing: Undoing,
}

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// Hash of exactly what is asked about.
    pub binds: Digest,
    /// After this the answer is no.
    pub expires_at: Millis,
    /// Why it is asked, where it is not always.
    pub why: Vec<Concern>,
    /// The answer.
    pub state: ApprovalState,
}

impl Approval {
    /// A question nobody answered yet.
    pub(super) fn open(binds: Digest, expires_at: Millis, why: Vec<Concern>) -> Self {
        Self { binds, expires_at, why, state: ApprovalState::Open }
    }
}

/// Where a question stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    /// Nobody answered yet.
    Open,
    /// Somebody did, or time ran out.
    Settled(Verdict),
}

impl Run {
    /// A run as its first event leaves it. `None` if it is not a submission.
    #[must_use]
    pub fn begin(id: &RunId, first: &Event, at: Millis) -> Option<Self> {
        let Event::Submitted(submission) = first else { return None };
        let tools_json = serde_json::to_vec(&submission.tools).unwrap_or_default();
        Some(Self {
            id: id.clone(),
            seq: 1,
            limits: submission.task.limits.clone(),
            task: Arc::new(submission.task.clone()),
            tools: submission.tools.clone().into(),
            tools_sha256: Digest::of(&tools_json),
            tools_bytes: tools_json.len() as u64,
            price: submission.price,
            critic_price: submission.critic_price.unwrap_or(submission.price),
            prices: submission.prices.clone(),
            contexts: submission.contexts.clone(),
            rung: 0,
            resting: BTreeMap::new(),
            seed: submission.seed.as_str().into(),
            spend: Spend::default(),
            reserved: Cost::default(),
            repair_spend: RepairSpend::default(),
            tool_uses: BTreeMap::new(),
            breakers: BTreeMap::new(),
            warned: Vec::new(),
            phase: Phase::Planning,
            epoch: 0,
            owned: false,
            paused: false,
            stopping: None,
            now: at,
            submitted_at: at,
            plan: None,
            progress: Progress::default(),
            plans: 0,
            replanning: Vec::new(),
            lessons: BTreeMap::new(),
            weighed: 0,
            evidence: Arc::new([]),
            threads: BTreeMap::new(),
            output: None,
            likelihood: None,
            verifications: 0,
            failures: Vec::new(),
            diagnosis: None,
            checked: false,
            assurance: None,
            best: None,
            pruned: false,
            unasked: false,
            approvals: BTreeMap::new(),
            denied: BTreeSet::new(),
            images: AppendList::default(),
            deeds: Deeds::default(),
            landing: Landing::default(),
            promotion: None,
            sketch: None,
            rounds: Arc::default(),
            mending: Mending::learned(submission),
            recourse: Recourses::default(),
            halted_in: None,
            backup: None,
            unable: None,
        })
    }

    /// The best there is: the output that was found best, or one nobody has looked at.
    pub(super) fn delivered(&self) -> Option<Content> {
        self.best.as_ref().map(|best| best.output.clone()).or_else(|| self.output.clone())
    }

    /// How it ended, if it did.
    #[must_use]
    pub fn ending(&self) -> Option<&Ending> {
        match &self.phase {
            Phase::Ended(ending) => Some(ending),
            Phase::Planning
            | Phase::Decomposing
            | Phase::Retrieving
            | Phase::Acting
            | Phase::Verifying(_)
            | Phase::Critiquing(_)
            | Phase::Repairing { .. }
            | Phase::Committing
            | Phase::RollingBack(_) => None,
        }
    }

    /// The hash of the whole state: equal after live work and after replay.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&self.to_checkpoint())
    }

    /// The state as bytes, for a checkpoint.
    #[must_use]
    pub fn to_checkpoint(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// A state from a checkpoint; `None` if it is not understood (fold again).
    #[must_use]
    pub fn from_checkpoint(version: u32, bytes: &[u8]) -> Option<Self> {
        if version == STATE { serde_json::from_slice(bytes).ok() } else { None }
    }

    /// The specification of a tool, if the run has it.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&ToolSpec> {
        self.tools.iter().find(|spec| spec.name.as_str() == name)
    }

    /// How often a tool was called.
    #[must_use]
    pub fn uses(&self, tool: &ToolName) -> u64 {
        self.tool_uses.get(tool).map_or(0, |uses| u64::from(*uses))
    }

    /// How much of each limit is used, as of the last event.
    #[must_use]
    pub fn gauges(&self) -> Vec<Gauge> {
        limit::gauges(self, self.now)
    }

    /// The warning about a limit, if there was one.
    pub(super) fn warning(&self, limit: &Limit, of: Option<&RunId>) -> Option<&Warned> {
        self.warned.iter().find(|warned| warned.limit == *limit && warned.of.as_ref() == of)
    }

    /// Critique and repair, which have bounds of their own.
    pub(super) fn is_mending(&self) -> bool {
        match &self.phase {
            Phase::Critiquing(_) | Phase::Repairing { .. } => true,
            Phase::Planning
            | Phase::Decomposing
            | Phase::Retrieving
            | Phase::Acting
            | Phase::Verifying(_)
            | Phase::Committing
            | Phase::RollingBack(_)
            | Phase::Ended(_) => false,
        }
    }

    /// Everything only a person can move, whether or not other work goes on.
    #[must_use]
    pub fn waits(&self) -> Vec<Wait> {
        if self.ending().is_some() {
            return Vec::new();
        }
        if let Some(backup) = self.backup.as_ref().filter(|backup| !backup.taken_up) {
            return vec![Wait::Restored { made_at: backup.made_at }];
        }
        let paused = self.paused.then_some(Wait::Paused);
        let questions = self.approvals.iter().filter(|(_, approval)| approval.state == ApprovalState::Open);
        let questions = questions.map(|(subject, approval)| Wait::Approval {
            subject: *subject,
            binds: approval.binds,
            expires_at: approval.expires_at,
        });
        let doubts =
            self.threads.values().flat_map(Thread::calls).filter_map(|(action, call)| match &call.state {
                CallState::InDoubt { tool, attempt, why, ask: Ask::Person, .. } => {
                    Some(Wait::InDoubt { action, tool: tool.clone(), attempt: *attempt, why: *why })
                }
                CallState::InDoubt { ask: Ask::Probe, .. }
                | CallState::Waiting
                | CallState::AwaitingConsent
                | CallState::Running { .. }
                | CallState::Again { .. }
                | CallState::BackingOff { .. }
                | CallState::Answered { .. } => None,
            });
        paused.into_iter().chain(questions).chain(doubts).collect()
    }

    /// True when nothing moves unless a person acts.
    #[must_use]
    pub fn needs_person(&self) -> bool {
        self.ending().is_none() && (self.is_brought_back() || self.owned && !self.has_work())
    }

    /// True while the run itself is at work, so that time counts.
    pub(super) fn has_work(&self) -> bool {
        if !self.owned {
            return false;
        }
        if self.threads.values().any(Thread::in_flight) || self.landing.wanted && self.ending().is_none() {
            return true;
        }
        if self.paused || self.stopping.is_some() {
            return false;
        }
        match &self.phase {
            Phase::Planning
            | Phase::Decomposing
            | Phase::Retrieving
            | Phase::Verifying(_)
            | Phase::RollingBack(_) => true,
            Phase::Acting if self.threads.is_empty() => true,
            Phase::Acting if acting::undecided(self).is_some() => true,
            Phase::Repairing { .. } if self.mending.rereading => true,
            Phase::Repairing { round } if repairing::is_unplaced(self, *round) => true,
            Phase::Acting | Phase::Critiquing(_) | Phase::Repairing { .. } => {
                self.threads.iter().any(|(id, thread)| self.can_move(id, thread))
            }
            Phase::Committing => !matches!(
                self.approvals.get(&Subject::Output),
                Some(Approval { state: ApprovalState::Open, .. })
            ),
            Phase::Ended(_) => false,
        }
    }

    /// This conversation goes on without a person.
    fn can_move(&self, id: &SubtaskId, thread: &Thread) -> bool {
        if falling_back::is_given_up(self, id) {
            return false;
        }
        match &thread.state {
            ThreadState::Ready | ThreadState::BackingOff { .. } | ThreadState::Answered(_) => true,
            ThreadState::Calling(_) => call::has_turn(self, thread),
            ThreadState::Thinking(_) | ThreadState::Done(_) => false,
        }
    }
}
