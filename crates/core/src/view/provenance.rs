//! The provenance record: where a result comes from, folded from the journal.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::budget::Spend;
use crate::event::{Elided, Escalated, Event, Outcome, Purpose, Settlement, Subject, Verdict};
use crate::gate::Assurance;
use crate::id::{ActionId, Millis, RunId, SubtaskId, ToolName};
use crate::message::Payload;
use crate::provenance::{Digest, canonical_value};
use crate::quality::Diagnosis;
use crate::run::Run;
use crate::task::Submission;

/// Version of the provenance record's shape.
pub const PROVENANCE: u16 = 1;

/// Where a result comes from, down to the bytes. Stored as canonical JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Provenance {
    /// [`PROVENANCE`]
    pub version: u16,
    /// The run.
    pub run: RunId,
    /// When it was submitted.
    pub submitted_at: Millis,
    /// When the last thing happened before the commit.
    pub made_at: Millis,
    /// What was asked.
    pub goal: String,
    /// Hash of task and tools.
    pub fingerprint: Option<Digest>,
    /// Which model did it.
    pub model: String,
    /// Hash of the plan.
    pub plan: Option<Digest>,
    /// What was read first.
    pub evidence: Vec<EvidenceRef>,
    /// Every tool call, in order.
    pub calls: Vec<CallRef>,
    /// Every model call, in order.
    pub steps: Vec<StepRef>,
    /// What was left out of conversations, so that they fit their models.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elisions: Vec<Elided>,
    /// Every check, in order.
    pub checks: Vec<CheckRef>,
    /// Gates, confidence and disposition of the last verification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assurance: Option<Box<Assurance>>,
    /// Every diagnosis that led to a repair.
    pub repairs: Vec<Diagnosis>,
    /// What was tried beyond repair.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub escalations: Vec<Escalated>,
    /// Parts of the plan the output is without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<SubtaskId>,
    /// Who agreed to what.
    pub approvals: Vec<ApprovalRef>,
    /// What it took.
    pub spend: Spend,
    /// Tokens by phase.
    pub tokens_by_phase: BTreeMap<String, u64>,
    /// Hashes of the output's parts.
    pub output: Vec<Digest>,
    /// Hash of the last record before the commit.
    pub head: Digest,
}

/// A file that was read as evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct EvidenceRef {
    /// Its path.
    pub path: String,
    /// SHA-256 of its bytes.
    pub sha256: Digest,
}

/// A model call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct StepRef {
    /// Which.
    pub step: u32,
    /// What for.
    pub purpose: Purpose,
    /// Whom it was sent to, where that is not the task's own model or its critic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Hash of the exact request.
    pub request: Digest,
    /// Hash of what it said, if it answered.
    pub reply: Option<Digest>,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct CallRef {
    /// Which.
    pub action: ActionId,
    /// The tool.
    pub tool: ToolName,
    /// Hash of the canonical arguments.
    pub args: Digest,
    /// How often it was started.
    pub attempts: u32,
    /// How it went; `None` while nobody knows.
    pub outcome: Option<Outcome>,
    /// Hash of what the model read.
    pub output: Option<Digest>,
    /// The file it changed.
    pub file: Option<String>,
    /// Hash of that file's content afterwards.
    pub file_sha256: Option<Digest>,
}

/// A check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct CheckRef {
    /// Which verification.
    pub round: u32,
    /// Its name.
    pub name: String,
    /// Whether it passed.
    pub passed: bool,
    /// Hash of what it printed.
    pub log: Digest,
}

/// An answered question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct ApprovalRef {
    /// About what.
    pub subject: Subject,
    /// Hash of what was asked about.
    pub binds: Digest,
    /// The answer.
    pub verdict: Verdict,
}

impl Provenance {
    /// Nothing known yet but the run.
    #[must_use]
    pub fn new(run: &RunId) -> Self {
        Self {
            version: PROVENANCE,
            run: run.clone(),
            submitted_at: Millis(0),
            made_at: Millis(0),
            goal: String::new(),
            fingerprint: None,
            model: String::new(),
            plan: None,
            evidence: Vec::new(),
            calls: Vec::new(),
            steps: Vec::new(),
            elisions: Vec::new(),
            checks: Vec::new(),
            assurance: None,
            repairs: Vec::new(),
            escalations: Vec::new(),
            missing: Vec::new(),
            approvals: Vec::new(),
            spend: Spend::default(),
            tokens_by_phase: BTreeMap::new(),
            output: Vec::new(),
            head: Digest::ZERO,
        }
    }

    /// Takes note of one event.
    #[expect(clippy::too_many_lines, reason = "an exhaustive match that only dispatches")]
    pub fn note(&mut self, event: &Event, at: Millis) {
        match event {
            Event::Submitted(submission) => self.submitted(submission, at),
            Event::Planned { sha256, .. } | Event::Replanned { sha256, .. } => self.plan = Some(*sha256),
            Event::Retrieved { evidence, .. } => {
                let refs = evidence.iter();
                self.evidence =
                    refs.map(|item| EvidenceRef { path: item.path.clone(), sha256: item.sha256 }).collect();
            }
            Event::StepStarted { .. } => self.note_step(event),
            Event::StepFinished { step, usage, text, .. } => self.reply(*step, usage.total(), text),
            Event::CallStarted { .. }
            | Event::CallFinished { .. }
            | Event::CallSettled { .. }
            | Event::CallRefused { .. } => self.note_call(event),
            Event::Checked { round, result } => self.checks.push(CheckRef {
                round: *round,
                name: result.name.clone(),
                passed: result.outcome.is_pass(),
                log: result.log.digest(),
            }),
            Event::Verified { assurance, .. } => self.assurance.clone_from(assurance),
            Event::Elided(what) => self.elisions.push(Elided::clone(what)),
            Event::Escalated(what) => self.escalations.push(Escalated::clone(what)),
            Event::Diagnosed { diagnosis, .. } => self.repairs.push(diagnosis.clone()),
            Event::ApprovalSettled { subject, binds, verdict } => self.approvals.push(ApprovalRef {
                subject: *subject,
                binds: *binds,
                verdict: verdict.clone(),
            }),
            Event::Claimed { .. }
            | Event::CallBlocked { .. }
            | Event::StrategySwitched { .. }
            | Event::RoundRepeated { .. }
            | Event::Controlled(_)
            | Event::Judged { .. }
            | Event::Remedied(_)
            | Event::Decomposed { .. }
            | Event::SubtaskStarted { .. }
            | Event::StepFailed { .. }
            | Event::Routed(_)
            | Event::ApprovalRequested { .. }
            | Event::CallInDoubt { .. }
            | Event::CallTroubled { .. }
            | Event::BreakerOpened { .. }
            | Event::BreakerClosed { .. }
            | Event::Noticed { .. }
            | Event::SubtaskFinished { .. }
            | Event::BranchChosen { .. }
            | Event::SubtaskFailed { .. }
            | Event::SubtaskDropped { .. }
            | Event::Acted { .. }
            | Event::RepairStarted { .. }
            | Event::Repaired { .. }
            | Event::LimitNear { .. }
            | Event::Stopping { .. }
            | Event::RollbackStarted { .. }
            | Event::Restored { .. }
            | Event::CompensationStarted { .. }
            | Event::CompensationTroubled { .. }
            | Event::Compensated { .. }
            | Event::AlertRaised { .. }
            | Event::AlertTold { .. }
            | Event::UndoStarted { .. }
            | Event::UndoFinished { .. }
            | Event::LandingStarted { .. }
            | Event::ChangesFound(_)
            | Event::Landed { .. }
            | Event::Promoted(_)
            | Event::FromBackup(_)
            | Event::Paused { .. }
            | Event::Resumed { .. }
            | Event::SignalRefused { .. }
            | Event::NotTakenUp { .. }
            | Event::Ended { .. } => {}
        }
    }

    fn submitted(&mut self, submission: &Submission, at: Millis) {
        self.submitted_at = at;
        self.goal.clone_from(&submission.task.goal);
        self.model.clone_from(&submission.task.model);
        self.fingerprint = Some(submission.fingerprint);
    }

    /// The finished record, as canonical JSON: what was noted, how the run stood,
    /// and the last record before the commit (its hash and time).
    #[must_use]
    pub fn finish(&self, run: &Run, head: Digest, at: Millis) -> String {
        let mut whole = self.clone();
        whole.spend = run.spend;
        whole.output = run.output.iter().flatten().map(Payload::digest).collect();
        whole.missing = run.missing();
        whole.head = head;
        whole.made_at = at;
        canonical_value(&serde_json::to_value(&whole).unwrap_or_default())
    }

    fn reply(&mut self, step: u32, tokens: u64, text: &Payload) {
        let Some(found) = self.steps.iter_mut().rev().find(|known| known.step == step) else { return };
        found.reply = Some(text.digest());
        let phase = match &found.purpose {
            Purpose::Act(id) if id.as_str().starts_with("repair-") => "repairing",
            Purpose::Act(_) => "acting",
            Purpose::Critique(_) => "critiquing",
            Purpose::Plan(_) => "planning",
            Purpose::Judge(_) => "verifying",
        };
        let sum = self.tokens_by_phase.entry(phase.into()).or_default();
        *sum = sum.saturating_add(tokens);
    }

    fn note_step(&mut self, event: &Event) {
        let Event::StepStarted { step, purpose, request, sent, .. } = event else { return };
        let model = sent.as_ref().map(|sent| sent.model.clone());
        let (step, purpose, request) = (*step, purpose.clone(), *request);
        self.steps.push(StepRef { step, purpose, model, request, reply: None });
    }

    fn note_call(&mut self, event: &Event) {
        if let Event::CallStarted { action, tool, args, attempt, image, .. } = event {
            if let Some(known) = self.call(*action) {
                known.attempts = *attempt;
                return;
            }
            self.calls.push(CallRef {
                action: *action,
                tool: tool.clone(),
                args: *args,
                attempts: *attempt,
                outcome: None,
                output: None,
                file: image.as_ref().map(|image| image.result().0.to_owned()),
                file_sha256: image.as_ref().and_then(|image| image.result().1),
            });
        }
        if let Event::CallFinished { action, outcome, output, spent, .. } = event
            && let Some(known) = self.call(*action)
        {
            known.outcome = Some(*outcome);
            known.output = Some(output.digest());
            if let Some(spent) = spent {
                let sum = self.tokens_by_phase.entry("side questions".into()).or_default();
                *sum = sum.saturating_add(spent.tokens);
            }
        }
        if let Event::CallSettled { action, settlement: Settlement::Happened { output }, .. } = event
            && let Some(known) = self.call(*action)
        {
            known.outcome = Some(Outcome::Ok);
            known.output = Some(output.digest());
        }
    }

    fn call(&mut self, action: ActionId) -> Option<&mut CallRef> {
        self.calls.iter_mut().rev().find(|known| known.action == action)
    }
}
