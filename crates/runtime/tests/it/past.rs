//! What earlier versions wrote still means something: every journal of the sets in
//! `fixtures/past` folds, and together they hold every variant of what a journal can hold.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use bowline::core::event::{
    Controlled, Ending, Event, FailReason, HaltReason, LandOutcome, Promoted, Remedied, Remedy, StopReason,
};
use bowline::core::journal::Record;
use bowline::core::task::Submission;

use crate::journals::{events, fixtures, fold, read};
use crate::variants::{ALL, NEVER, Named};

/// Every file of journals, of every set.
fn files() -> Vec<PathBuf> {
    let entries =
        |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let sets = entries(fixtures("past"));
    let mut files: Vec<PathBuf> = sets.flat_map(|set| entries(set.join("journals"))).collect();
    files.sort();
    assert!(files.len() > 20, "{files:?}");
    files
}

fn journals() -> Vec<(String, Vec<Record>)> {
    let named = |file: &PathBuf| -> Vec<(String, Vec<Record>)> {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        read(file).into_iter().map(|records| (name.clone(), records)).collect()
    };
    files().iter().flat_map(named).collect()
}

/// Names that were seen.
#[derive(Default)]
struct Seen(BTreeSet<(&'static str, &'static str)>);

impl Seen {
    fn note(&mut self, what: &impl Named) {
        self.0.insert(what.name());
    }

    fn failure(&mut self, why: &FailReason) {
        self.note(why);
    }

    fn halt(&mut self, why: &HaltReason) {
        self.note(why);
        match why {
            HaltReason::ContextFull(full) => self.note(&full.by),
            HaltReason::LimitReached(reached) => self.note(&reached.limit),
            HaltReason::Cancelled { .. }
            | HaltReason::Looping(_)
            | HaltReason::ModelUnavailable { .. }
            | HaltReason::RepairStuck { .. } => {}
        }
    }

    /// An event, and whatever it carries that changes what happens.
    fn event(&mut self, event: &Event) {
        self.note(event);
        match event {
            Event::Submitted(submission) => self.submission(submission),
            Event::Claimed { programs, .. } => programs.iter().for_each(|programs| self.note(programs)),
            Event::StepStarted { purpose, sent, .. } => {
                self.note(purpose);
                sent.iter().for_each(|sent| self.note(&sent.why));
            }
            Event::StepFinished { stop, .. } => self.note(stop),
            Event::StepFailed { why, .. } => self.note(&why.kind),
            Event::Routed(routed) => self.note(&**routed),
            Event::Elided(elided) => elided.parts.iter().for_each(|part| self.note(&part.what)),
            Event::Checked { result, .. } => self.note(&result.outcome),
            Event::Judged { opinion, .. } => self.note(&**opinion),
            Event::Diagnosed { diagnosis, .. } => {
                self.note(&diagnosis.by);
                diagnosis.defects.iter().for_each(|defect| self.note(&defect.severity));
            }
            Event::Verified { finding, .. } => self.note(finding),
            Event::Controlled(controlled) => self.controlled(controlled),
            Event::Remedied(remedied) => self.remedied(remedied),
            Event::Escalated(escalated) => self.note(&escalated.step),
            Event::SubtaskFailed { why, then, .. } => {
                self.note(why);
                self.note(then);
            }
            Event::RepairStarted { strategy, .. } => strategy.iter().for_each(|way| self.note(way)),
            other => self.deed(other),
        }
    }

    fn controlled(&mut self, controlled: &Controlled) {
        self.note(&controlled.judgement.decision);
    }

    fn remedied(&mut self, remedied: &Remedied) {
        self.note(&remedied.remedy);
        if let Remedy::SwitchStrategy { from, to } = &remedied.remedy {
            self.note(from);
            self.note(to);
        }
    }

    /// What a task and its tools say.
    fn submission(&mut self, submission: &Submission) {
        let task = &submission.task;
        self.note(&task.review);
        self.note(&task.repair);
        self.note(&task.on_failure);
        self.note(&task.workspace.mode);
        self.note(&task.sandbox);
        self.note(&task.planning.by);
        self.note(&task.privacy);
        task.routes.escalate.iter().flatten().for_each(|way| self.note(way));
        task.checks.iter().for_each(|check| self.note(&check.how));
        if let Some(agent) = &task.agent {
            let gates = agent.gates;
            [gates.tainted, gates.secrets, gates.out_of_policy].iter().for_each(|gate| self.note(gate));
        }
        for spec in &submission.tools {
            self.note(&spec.consent);
            self.note(&spec.class());
        }
    }

    /// Calls and questions.
    fn deed(&mut self, event: &Event) {
        match event {
            Event::CallRefused { why, .. } => self.note(why),
            Event::ApprovalRequested { subject, why, .. } => {
                self.note(subject);
                why.iter().for_each(|concern| self.note(concern));
            }
            Event::ApprovalSettled { verdict, .. } => self.note(verdict),
            Event::CallStarted { touch, repeat, image, undo, .. } => {
                self.note(touch);
                self.note(repeat);
                undo.iter().for_each(|undo| self.note(&undo.undo.how));
                let departure = image.as_ref().and_then(|image| image.departure.as_ref());
                departure.iter().for_each(|departure| self.note(*departure));
            }
            Event::CallTroubled { why, .. } => self.note(why),
            Event::CallFinished { outcome, output, .. } => {
                self.note(outcome);
                self.note(output);
            }
            Event::CallInDoubt { why, ask, .. } => {
                self.note(why);
                self.note(ask);
            }
            Event::CallSettled { settlement, .. } => self.note(settlement),
            other => self.outcome(other),
        }
    }

    /// Stops, undos, landings, promotions and endings.
    fn outcome(&mut self, event: &Event) {
        match event {
            Event::Stopping { why } => {
                self.note(why);
                match why {
                    StopReason::Fail(why) => self.failure(why),
                    StopReason::Halt(why) => self.halt(why),
                }
            }
            Event::RollbackStarted { why, .. } => self.failure(why),
            Event::Restored { outcome, .. } => self.note(outcome),
            Event::Compensated { outcome, .. } => self.note(outcome),
            Event::Landed { outcome } => {
                self.note(outcome);
                if let LandOutcome::MovedOn(moved) = outcome {
                    let seen = moved.iter().flat_map(|moved| [&moved.was, &moved.wrote, &moved.now]);
                    seen.for_each(|seen| self.note(seen));
                }
            }
            Event::FromBackup(what) => self.note(what),
            Event::Promoted(promoted) => {
                self.note(promoted);
                if let Promoted::Settled(outcome) = promoted {
                    self.note(outcome);
                }
            }
            Event::Ended { ending, .. } => {
                self.note(ending);
                match ending {
                    Ending::Committed { .. } => {}
                    Ending::Failed { why, .. } => self.failure(why),
                    Ending::Halted { why, .. } => self.halt(why),
                }
            }
            other => carries_nothing(other),
        }
    }
}

/// Events without a word of their own that decides anything. Without a wildcard, so that whoever
/// adds an event says here, or above, what it carries.
fn carries_nothing(event: &Event) {
    match event {
        Event::NotTakenUp { .. }
        | Event::Planned { .. }
        | Event::Decomposed { .. }
        | Event::Retrieved { .. }
        | Event::SubtaskStarted { .. }
        | Event::BreakerOpened { .. }
        | Event::BreakerClosed { .. }
        | Event::CallBlocked { .. }
        | Event::StrategySwitched { .. }
        | Event::RoundRepeated { .. }
        | Event::Noticed { .. }
        | Event::SubtaskFinished { .. }
        | Event::BranchChosen { .. }
        | Event::SubtaskDropped { .. }
        | Event::Replanned { .. }
        | Event::Acted { .. }
        | Event::Repaired { .. }
        | Event::LimitNear { .. }
        | Event::CompensationStarted { .. }
        | Event::CompensationTroubled { .. }
        | Event::AlertRaised { .. }
        | Event::AlertTold { .. }
        | Event::UndoStarted { .. }
        | Event::UndoFinished { .. }
        | Event::LandingStarted { .. }
        | Event::ChangesFound(_)
        | Event::Paused { .. }
        | Event::Resumed { .. }
        | Event::SignalRefused { .. } => {}
        // Looked at above.
        Event::Submitted(_)
        | Event::Claimed { .. }
        | Event::StepStarted { .. }
        | Event::StepFinished { .. }
        | Event::StepFailed { .. }
        | Event::Routed(_)
        | Event::Elided(_)
        | Event::CallRefused { .. }
        | Event::ApprovalRequested { .. }
        | Event::ApprovalSettled { .. }
        | Event::CallStarted { .. }
        | Event::CallTroubled { .. }
        | Event::CallFinished { .. }
        | Event::CallInDoubt { .. }
        | Event::CallSettled { .. }
        | Event::SubtaskFailed { .. }
        | Event::Checked { .. }
        | Event::Judged { .. }
        | Event::Verified { .. }
        | Event::Controlled(_)
        | Event::Remedied(_)
        | Event::Escalated(_)
        | Event::Diagnosed { .. }
        | Event::RepairStarted { .. }
        | Event::Stopping { .. }
        | Event::RollbackStarted { .. }
        | Event::Restored { .. }
        | Event::Compensated { .. }
        | Event::Landed { .. }
        | Event::Promoted(_)
        | Event::FromBackup(_)
        | Event::Ended { .. } => {}
    }
}

#[test]
fn journals_of_the_past_hold_every_variant_of_what_a_journal_can_hold() {
    let mut seen = Seen::default();
    for (_, records) in journals() {
        events(&records).iter().for_each(|(event, _)| seen.event(event));
    }
    let never: BTreeSet<_> = NEVER.iter().map(|(of, name, _)| (*of, *name)).collect();
    let wrong: Vec<_> = never.intersection(&seen.0).collect();
    assert!(wrong.is_empty(), "{wrong:?} are said never to be there, and are");
    let named = ALL.iter().flat_map(|(of, names)| names.iter().map(move |name| (*of, *name)));
    let missing: Vec<_> = named.filter(|name| !seen.0.contains(name) && !never.contains(name)).collect();
    assert!(
        missing.is_empty(),
        "no journal in fixtures/past holds {missing:?}: add a scenario, and record a set (fixtures/past/README.md)"
    );
}

#[test]
fn every_journal_of_the_past_folds_to_a_run_that_is_over() {
    for (name, records) in journals() {
        let (run, provenance) = fold(&records);
        assert!(run.ending().is_some(), "{name}: {} has no ending", run.id);
        let finished = events(&records).iter().filter(|(event, _)| is_finished_step(event)).count();
        assert!(provenance.steps.len() <= run.spend.steps as usize, "{name}");
        assert!(finished <= run.spend.steps as usize, "{name}: {finished} answers");
        // What is torn is owed for ever, until somebody tries again.
        let is_torn = events(&records).iter().any(|(event, _)| is_torn(event));
        assert!(!run.has_afterwork() || is_torn, "{name}: {} is still owed something", run.id);
    }
}

fn is_finished_step(event: &Event) -> bool {
    matches!(event, Event::StepFinished { .. })
}

fn is_torn(event: &Event) -> bool {
    matches!(event, Event::Landed { outcome: LandOutcome::Torn(_) })
}

#[test]
fn a_state_read_back_from_its_checkpoint_is_the_state_that_was_folded() {
    for (name, records) in journals() {
        let (run, _) = fold(&records);
        let read = bowline::core::run::Run::from_checkpoint(bowline::core::run::STATE, &run.to_checkpoint());
        assert_eq!(read.unwrap(), run, "{name}");
    }
}
