//! The part of `apply` about how good an output is: checks, judges, what they came to,
//! and what is kept of it for the next round.

use super::state::{Best, Critique, Mending, Phase, Run};
use super::{critiquing, escalating};
use crate::control::measured;
use crate::event::{Event, Finding, Judgement, Subject};
use crate::quality::{Check, CheckOutcome, CheckResult, DiagnosedBy};
use crate::task::Repair;

/// Most answers that are kept until another is the same.
const HELD_MAX: usize = 64;
/// Most answers that are kept so as not to be given again.
const FAILED_MAX: usize = 16;

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
        self.note_held();
        self.note_failed(finding);
        self.note_undecided();
        self.diagnosis = None;
        let repair = self.spend.repairs + 1;
        self.phase = match finding {
            Finding::Passed | Finding::NothingToCheck => Phase::Committing,
            Finding::SchemaFailed => Phase::Repairing { round: repair },
            Finding::ChecksFailed | Finding::NotSure => match self.task.repair {
                Repair::Mend => Phase::Critiquing(Critique { round }),
                Repair::Afresh => Phase::Repairing { round: repair },
            },
        };
        self.note_best(round);
        self.note_try();
        self.checked = finding == Finding::Passed;
    }

    /// Keeps an output that lacks nothing but another answer that is the same.
    fn note_held(&mut self) {
        let waits =
            |(result, check): (&CheckResult, &Check)| check.how.agree() > 0 && result.outcome.is_bad();
        let held = &mut self.mending.held;
        if let Some([only]) = self.output.as_deref()
            && self.failures.iter().zip(&self.task.checks).any(waits)
            && held.len() < HELD_MAX
        {
            held.push(only.clone());
        }
    }

    /// Keeps an output that failed, where the next one is made from the same opening and
    /// would be the same again. One that only waits for its equal may come again.
    pub(super) fn note_failed(&mut self, finding: Finding) {
        let is_bad = match finding {
            Finding::Passed | Finding::NothingToCheck => false,
            Finding::SchemaFailed | Finding::ChecksFailed | Finding::NotSure => true,
        };
        let Some([only]) = self.output.as_deref().filter(|_| is_bad) else { return };
        let Mending { held, failed, .. } = &mut self.mending;
        if self.task.repair != Repair::Afresh || held.contains(only) || failed.contains(only) {
            return;
        }
        if failed.len() == FAILED_MAX {
            failed.remove(0);
        }
        failed.push(only.clone());
    }

    /// Takes note of another answer that holds as well.
    fn note_undecided(&mut self) {
        let has_rival = |(result, check): (&CheckResult, &Check)| {
            check.how.rivals() > 0 && matches!(result.outcome, CheckOutcome::Failed(_))
        };
        self.mending.undecided = self.failures.iter().zip(&self.task.checks).any(has_rival);
    }

    /// Keeps the output if no earlier one was better.
    fn note_best(&mut self, round: u32) {
        let quality = measured(&self.failures, self.task.checks.len()).lowest().unwrap_or_default();
        // A part is no better than the whole for having less to fail.
        if !self.recourse.missing.is_empty() {
            return;
        }
        let is_best = self.best.as_ref().is_none_or(|best| best.quality <= quality);
        if let Some(output) = self.output.clone().filter(|_| is_best) {
            self.best = Some(Box::new(Best { round, quality, failures: self.failures.clone(), output }));
        }
    }

    /// Whether the next repair, or the one that is going on, does the work anew. What a
    /// person asks to be changed is mended.
    pub(super) fn repairs_afresh(&self) -> bool {
        let by_person = self.diagnosis.as_ref().is_some_and(|diagnosis| diagnosis.by == DiagnosedBy::Person);
        self.task.repair == Repair::Afresh && !by_person
    }

    /// An output that was sent back is asked about anew once it is mended.
    fn leave_review(&mut self) {
        if escalating::is_unmended(self) {
            self.approvals.remove(&Subject::Output);
        }
        if self.phase == Phase::Committing {
            self.approvals.remove(&Subject::Output);
            if !self.recourse.missing.is_empty() {
                let asked_for = self.diagnosis.take();
                self.take_up_best();
                self.diagnosis = asked_for;
            }
            self.phase = Phase::Repairing { round: self.spend.repairs + 1 };
        }
    }

    fn leave_critique(&mut self) {
        let Phase::Critiquing(critique) = self.phase else { return };
        self.phase = Phase::Repairing { round: self.spend.repairs + 1 };
        let id = critiquing::thread_id(self, critique.round);
        if let Some(thread) = id.and_then(|id| self.threads.get_mut(&id)) {
            thread.close();
        }
    }
}
