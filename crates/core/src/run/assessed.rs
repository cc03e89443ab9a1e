//! The part of `apply` about how good an output is: checks, judges, what they came to,
//! and what is kept of it for the next round.

use super::critiquing;
use super::state::{Best, Critique, Phase, Run, ThreadState};
use crate::control::measured;
use crate::event::{Event, Finding, Judgement, Subject};
use crate::message::Payload;
use crate::quality::CheckResult;

impl Run {
    /// Something is known about the output.
    pub(super) fn quality_known(&mut self, event: &Event) {
        if let Event::Checked { result, .. } = event {
            self.checked(result);
        }
        if let Event::Judged { round, index, ask, opinion } = event {
            self.judged(Judgement { round: *round, index: *index, ask: *ask }, opinion);
        }
        if let Event::Verified { finding, round, assurance, .. } = event {
            self.assurance.clone_from(assurance);
            self.verified(*finding, *round);
        }
        if let Event::Diagnosed { diagnosis, .. } = event {
            self.note_round(diagnosis);
            self.diagnosis = Some(diagnosis.clone());
            self.leave_critique();
            self.leave_review();
        }
    }

    fn checked(&mut self, result: &CheckResult) {
        if let Phase::Verifying(verification) = &mut self.phase {
            verification.results.push(result.clone());
            verification.opinions.clear();
        }
    }

    fn verified(&mut self, finding: Finding, round: u32) {
        if let Phase::Verifying(verification) = &self.phase {
            self.failures = verification.results.clone();
        }
        self.diagnosis = None;
        let repair = self.spend.repairs + 1;
        self.phase = match finding {
            Finding::Passed | Finding::NothingToCheck => Phase::Committing,
            Finding::SchemaFailed => Phase::Repairing { round: repair },
            Finding::ChecksFailed | Finding::NotSure => Phase::Critiquing(Critique { round }),
        };
        self.note_best(round);
        self.note_try();
        self.checked = finding == Finding::Passed;
    }

    /// Keeps the output if no earlier one was better.
    fn note_best(&mut self, round: u32) {
        let quality = measured(&self.failures, self.task.checks.len()).lowest().unwrap_or_default();
        let is_best = self.best.as_ref().is_none_or(|best| best.quality <= quality);
        if let Some(output) = self.output.clone().filter(|_| is_best) {
            self.best = Some(Box::new(Best { round, quality, output }));
        }
    }

    /// An output that was sent back is asked about anew once it is mended.
    fn leave_review(&mut self) {
        if self.phase == Phase::Committing {
            self.approvals.remove(&Subject::Output);
            self.phase = Phase::Repairing { round: self.spend.repairs + 1 };
        }
    }

    fn leave_critique(&mut self) {
        let Phase::Critiquing(critique) = self.phase else { return };
        self.phase = Phase::Repairing { round: self.spend.repairs + 1 };
        let id = critiquing::thread_id(self, critique.round);
        let Some(thread) = id.and_then(|id| self.threads.get_mut(&id)) else { return };
        let text = match &thread.state {
            ThreadState::Answered(text) | ThreadState::Done(text) => text.clone(),
            ThreadState::Ready
            | ThreadState::Thinking(_)
            | ThreadState::BackingOff { .. }
            | ThreadState::Calling(_) => Payload::inline(""),
        };
        thread.state = ThreadState::Done(text);
    }
}
