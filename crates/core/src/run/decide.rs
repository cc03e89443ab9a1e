//! `decide`: from what happened to the facts that follow.
//!
//! A decision works on a draft of the state: it pushes an event, which is folded
//! into the draft at once, and goes on from there until nothing more follows.
//! So events that belong together become one append.

use std::collections::BTreeMap;

use super::state::{Phase, Run};
use super::{
    acting, attempt, call, claim, committing, critiquing, decomposing, ending, landing, limit, planning,
    promoting, repairing, retrieving, returning, signal, thread, undoing, verifying,
};
use crate::budget::Allowance;
use crate::event::{Ending, Event};
use crate::id::{ActionId, Millis};
use crate::input::{Input, Signal, What};
use crate::tool::FileImage;

/// Why an input changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The run is over.
    #[error("the run has ended")]
    AlreadyEnded,
    /// Nothing waits for this: a late or doubled reply.
    #[error("nothing waits for this")]
    NotExpected,
    /// The run must be claimed first.
    #[error("the run is not claimed")]
    NotClaimed,
    /// It was brought back from a backup, and nobody has taken it up here.
    #[error("the run was brought back from a backup and must be taken up first")]
    NotTakenUp,
    /// A claim with an epoch that is not newer.
    #[error("epoch {epoch} is not newer than {ours}")]
    StaleEpoch {
        /// What was shown.
        epoch: u64,
        /// What we have.
        ours: u64,
    },
}

/// The facts that follow from an input, in order. Possibly none.
pub fn decide(run: &Run, input: &Input) -> Result<Vec<Event>, Refused> {
    let mut draft = Draft::new(run, input);
    react(&mut draft, &input.what)?;
    while !input.hold && proceed(&mut draft) {}
    Ok(draft.events)
}

/// A state under decision.
pub(super) struct Draft {
    pub(super) run: Run,
    pub(super) now: Millis,
    /// Files as they were seen just now, by the shell, for calls of this reply.
    pub(super) seen: BTreeMap<ActionId, Result<FileImage, String>>,
    /// What is left above the run, less what this decision started.
    pub(super) allowance: Option<Allowance>,
    events: Vec<Event>,
}

impl Draft {
    fn new(run: &Run, input: &Input) -> Self {
        Self {
            run: run.clone(),
            now: input.now.max(run.now),
            seen: BTreeMap::new(),
            allowance: input.allowance.clone(),
            events: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, event: Event) {
        let before = (self.run.reserved, self.run.spend.settled);
        self.run.apply(&event, self.now);
        if let Some(allowance) = &mut self.allowance {
            let (reserved, settled) = before;
            allowance.settle(reserved.minus(self.run.reserved), self.run.spend.settled.minus(settled));
            allowance.take(&event);
        }
        self.events.push(event);
    }
}

/// What the input itself says.
fn react(draft: &mut Draft, what: &What) -> Result<(), Refused> {
    match (&draft.run.phase, what) {
        (Phase::Ended(Ending::Halted { .. }), What::Signal { .. } | What::FromBackup { .. })
        | (
            Phase::Ended(_),
            What::Signal { signal: Signal::Undo { .. } | Signal::Land | Signal::Promote, .. },
        ) => {}
        (
            Phase::Ended(Ending::Committed { .. } | Ending::Failed { .. }),
            What::Signal { signal: Signal::Resume { .. }, .. },
        ) => return Err(Refused::AlreadyEnded),
        (Phase::Ended(_), What::Claimed { .. } | What::NotTakenUp { .. }) if draft.run.has_afterwork() => {}
        (Phase::Ended(_), _) if draft.run.has_afterwork() && draft.run.owned => {}
        (Phase::Ended(_), _) => return Err(Refused::AlreadyEnded),
        (
            _,
            What::Claimed { .. } | What::NotTakenUp { .. } | What::FromBackup { .. } | What::Signal { .. },
        ) => {}
        (_, _) if !draft.run.owned => return Err(Refused::NotClaimed),
        (_, _) => {}
    }
    match what {
        What::Claimed { epoch, worker, programs } => claim::claimed(draft, *epoch, worker, *programs),
        What::NotTakenUp { worker, why } => {
            claim::not_taken_up(draft, worker, why);
            Ok(())
        }
        What::FromBackup { by, made_at } => returning::restored(draft, by, *made_at),
        What::Tick => Ok(()),
        What::EvidenceRead(found) => retrieving::evidence_read(draft, found),
        What::ModelReplied { step, reply } => thread::replied(draft, *step, reply),
        What::ModelFailed { step, kind, message, retry_after_ms } => {
            thread::failed(draft, *step, *kind, message, *retry_after_ms)
        }
        What::CallPrepared { action, image } => call::prepared(draft, *action, image),
        What::CallReturned { action, attempt, result } => attempt::returned(draft, *action, *attempt, result),
        What::Probed { action, found } => call::probed(draft, *action, found),
        What::CheckReturned { round, index, outcome, measure, log, duration_ms } => {
            let found = (outcome, measure.as_ref());
            verifying::check_returned(draft, (*round, *index), found, (log, *duration_ms))
        }
        What::Weighed { serial, holds } => acting::weighed(draft, *serial, *holds),
        What::Spliced { round, output } => repairing::spliced(draft, *round, output),
        What::Restored { action, outcome } => undoing::restored(draft, *action, outcome),
        What::Compensated { action, attempt, found } => {
            undoing::compensated(draft, (*action, *attempt), found)
        }
        What::AlertTold(problem) => undoing::alert_told(draft, problem.as_ref()),
        What::ChangesFound(found) => landing::found(draft, found),
        What::Landed { back, outcome } => landing::landed(draft, *back, outcome),
        What::ResultStored { provenance, seq, promotes } => {
            committing::stored(draft, *provenance, *seq, *promotes)
        }
        What::Promoted { attempt, problem } => promoting::returned(draft, *attempt, problem.as_deref()),
        What::Signal { by, signal } => signal::received(draft, by, signal),
    }
}

/// One thing that follows from the state alone. False when nothing does.
fn proceed(draft: &mut Draft) -> bool {
    if !draft.run.owned {
        return false;
    }
    if draft.run.ending().is_some() {
        return undoing::proceed(draft) || promoting::proceed(draft);
    }
    if call::expire_approvals(draft) || limit::active_time(draft) || ending::stop_when_quiet(draft) {
        return true;
    }
    if draft.run.paused || draft.run.stopping.is_some() {
        return false;
    }
    match &draft.run.phase {
        Phase::Planning => planning::proceed(draft),
        Phase::Decomposing => decomposing::proceed(draft),
        Phase::Retrieving => retrieving::proceed(draft),
        Phase::Acting => acting::proceed(draft),
        Phase::Verifying(_) => verifying::proceed(draft),
        Phase::Critiquing(_) => critiquing::proceed(draft),
        Phase::Repairing { .. } => repairing::proceed(draft),
        Phase::Committing => committing::proceed(draft),
        Phase::RollingBack(_) => undoing::proceed(draft),
        Phase::Ended(_) => false,
    }
}
