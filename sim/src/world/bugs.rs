//! Seeded bugs: each breaks one rule on purpose, at a seam of the engine (store,
//! tool, letters, event stream), and names the checks that must notice.
//!
//! None of them is in production code: the engine under test is the real one, on
//! a store or with a tool that does not keep its contract.

use bowline_core::budget::Spend;
use bowline_core::event::{Doubt, Ending, Event, Outcome};
use bowline_core::id::ActionId;
use bowline_core::message::Payload;
use bowline_core::run::{Run, STATE};
use bowline_core::tool::Repeat;
use bowline_store::{Append, Checkpoint, Claimed};

use super::plan::Flavour;
use super::violation::Check::{
    self, J3, J4, O1, O2, O3, O4, O5, O6, O7, O8, O9, O10, O11, O12, O14, O15, U1,
};

/// A bug that can be switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Acknowledged writes are lost by a crash.
    NoSync,
    /// The last acknowledged write is lost by a crash.
    SyncAfterReply,
    /// Half a record is taken for a whole one.
    TornTailAccepted,
    /// A call is told as done before it is.
    OutcomeBeforeEffect,
    /// A lost reply of an irreversible call leads to another call.
    RetryOfAnIrreversibleCall,
    /// Without a checkpoint, open intents are not seen on recovery.
    IntentLostWithoutCheckpoint,
    /// Of several open intents, the oldest is not seen on recovery.
    OldestOpenIntentMissed,
    /// What was used is forgotten on recovery.
    CounterReset,
    /// The outside is shown a key made from the model's arguments.
    KeyChosenByTheModel,
    /// A stale worker's writes are accepted.
    EpochNotChecked,
    /// Two workers recover one run, and both may write.
    TwoRecoveriesAtOnce,
    /// A run is taken from a worker that lives, and the outside cannot tell them apart.
    RecoveryOfALiveRun,
    /// Files are restored first write first.
    WrongCompensationOrder,
    /// Restored files are not journalled.
    CompensationNotJournalled,
    /// A reply that comes after the doubt is taken as the outcome.
    LateReplyAccepted,
    /// A yes counts for whatever is asked under that name.
    ApprovalByIdOnly,
    /// The same key makes two runs.
    DuplicateSubmit,
    /// Code that broke down is told as done.
    PanicSwallowed,
    /// A reader that comes back is given the events after the next one.
    StreamOffsetOffByOne,
    /// A halted run is worked on.
    HaltTreatedAsRunning,
    /// The outside is shown another key at each attempt.
    RetryWithANewKey,
    /// A tool that did its work says that it did not happen.
    TroubleAfterTheEffect,
    /// What undoes a call is done twice, under another key.
    UndoDoubled,
    /// What undoes a call is told as done, and not done.
    UndoForgotten,
    /// Nobody is alerted of what could not be undone.
    AlertSwallowed,
}

/// A bug, and who must notice.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// The bug.
    pub bug: Bug,
    /// Each of these must notice it.
    pub caught_by: &'static [Check],
    /// These may notice it as well; nothing else may.
    pub also: &'static [Check],
}

const fn row(bug: Bug, caught_by: &'static [Check], also: &'static [Check]) -> Expected {
    Expected { bug, caught_by, also }
}

/// Every bug.
pub const ALL: [Expected; 25] = [
    row(Bug::NoSync, &[O5, O1], &[O2, O3, O4, O7, O8, O9, O11, O14, O15, J3, J4, O6]),
    row(Bug::SyncAfterReply, &[O5], &[O1, O2, O3, O4, O6, O7, O8, O9, O11, O14, O15, J3, J4]),
    row(Bug::TornTailAccepted, &[O5], &[O1, O3, O4, O6, O7, O8, O9, O11, O12, O14, O15, J3, J4]),
    row(Bug::OutcomeBeforeEffect, &[O4], &[O5, O11]),
    row(Bug::RetryOfAnIrreversibleCall, &[O3, O5], &[O4]),
    row(Bug::IntentLostWithoutCheckpoint, &[O6], &[O3, O5, O9, O10, O12, J3, J4, O4]),
    row(Bug::OldestOpenIntentMissed, &[O6], &[O3, O5, O9, O10, O12, J3, J4, O4]),
    row(Bug::CounterReset, &[O9], &[O1, O10, O14, J3, J4]),
    row(Bug::KeyChosenByTheModel, &[O5], &[O4, O8]),
    row(Bug::EpochNotChecked, &[O9], &[O3, O4, O5, O6, O7, O8, O10, O11, O12, O14, O15, J3, J4, O1]),
    row(Bug::TwoRecoveriesAtOnce, &[O9], &[O3, O4, O5, O6, O7, O8, O10, O11, O12, O14, O15, J3, J4, O1]),
    row(Bug::RecoveryOfALiveRun, &[O11, O3], &[O4, O5]),
    row(Bug::WrongCompensationOrder, &[O8], &[O10]),
    row(Bug::CompensationNotJournalled, &[O8], &[O10, O14]),
    row(Bug::LateReplyAccepted, &[O6], &[O10, J3, J4, O4, O9, O14]),
    row(Bug::ApprovalByIdOnly, &[O12], &[]),
    row(Bug::DuplicateSubmit, &[O2], &[O1]),
    row(Bug::PanicSwallowed, &[O4], &[]),
    row(Bug::StreamOffsetOffByOne, &[O15], &[]),
    row(Bug::HaltTreatedAsRunning, &[O7], &[O1, O10, O14]),
    row(Bug::RetryWithANewKey, &[O5], &[O4, O8]),
    row(Bug::TroubleAfterTheEffect, &[O4], &[]),
    row(Bug::UndoDoubled, &[O8], &[O5]),
    row(Bug::UndoForgotten, &[O8], &[]),
    row(Bug::AlertSwallowed, &[U1], &[O10, O14]),
];

impl Bug {
    /// What seeds must contain for it to show.
    #[must_use]
    pub fn flavour(self) -> Flavour {
        Flavour {
            rollback: matches!(self, Self::WrongCompensationOrder | Self::CompensationNotJournalled),
            rival: matches!(
                self,
                Self::EpochNotChecked | Self::TwoRecoveriesAtOnce | Self::RecoveryOfALiveRun
            ),
            undo: matches!(self, Self::UndoDoubled | Self::UndoForgotten | Self::AlertSwallowed),
        }
    }
}

/// What a worker that claims a run is given instead.
pub(super) fn doctor(bug: Bug, claimed: &mut Claimed) {
    let open = open_intents(claimed);
    let hidden = match (bug, open.as_slice()) {
        (Bug::IntentLostWithoutCheckpoint, all) if claimed.checkpoint.is_none() => all,
        (Bug::OldestOpenIntentMissed, [oldest, _, ..]) => std::slice::from_ref(oldest),
        (_, _) => &[],
    };
    for action in hidden {
        hide(claimed, |event| is_intent(event, *action));
    }
    if bug == Bug::HaltTreatedAsRunning {
        let last = claimed.tail.last().and_then(|record| record.events().ok());
        if last.as_deref().and_then(<[Event]>::last).is_some_and(is_halt) {
            hide(claimed, is_halt);
        }
    }
    if bug == Bug::CounterReset {
        restate(claimed, |run| run.spend = Spend { steps: run.spend.steps, ..Spend::default() });
    }
    if bug == Bug::WrongCompensationOrder {
        restate(claimed, |run| run.deeds.done = run.deeds.done.iter().rev().cloned().collect());
    }
}

/// What is written instead of a batch.
pub(super) fn rewrite(bug: Bug, batch: &mut Append) {
    if bug == Bug::CompensationNotJournalled {
        let is_undo = |event: &Event| matches!(event, Event::Restored { .. } | Event::Compensated { .. });
        let restored = batch.events.iter_mut().filter(|event| is_undo(event));
        restored.for_each(|event| *event = nothing());
    }
    if bug == Bug::AlertSwallowed {
        let raised = batch.events.iter_mut().filter(|event| matches!(event, Event::AlertRaised { .. }));
        raised.for_each(|event| *event = nothing());
    }
    if bug == Bug::LateReplyAccepted {
        let late = batch.events.iter().find_map(late_reply);
        batch.events.extend(late);
    }
}

/// The reply of a call whose reply was lost, as if it had come after all.
fn late_reply(event: &Event) -> Option<Event> {
    let Event::CallInDoubt { action, why: Doubt::LostReply, .. } = event else { return None };
    let (action, outcome, output) = (*action, Outcome::Ok, Payload::inline("late"));
    Some(Event::CallFinished {
        action,
        outcome,
        output,
        full: None,
        duration_ms: 0,
        trace: None,
        suspicions: Vec::new(),
        spent: None,
    })
}

/// The state a claim leads to.
pub(super) fn folded(claimed: &Claimed) -> Option<Run> {
    let kept = claimed.checkpoint.as_ref();
    let mut run = kept.and_then(|kept| Run::from_checkpoint(kept.version, &kept.state));
    for record in &claimed.tail {
        for event in record.events().ok()? {
            match &mut run {
                Some(run) => run.apply(&event, record.at),
                None => run = Run::begin(&claimed.fence.run, &event, record.at),
            }
        }
    }
    run
}

fn restate(claimed: &mut Claimed, change: impl FnOnce(&mut Run)) {
    let Some(mut run) = folded(claimed) else { return };
    change(&mut run);
    let (seq, head, state) = (run.seq, claimed.fence.head, run.to_checkpoint());
    claimed.checkpoint = Some(Checkpoint { seq, head, version: STATE, state });
    claimed.tail.clear();
}

/// Irreversible calls that were started and of which nothing was heard since.
fn open_intents(claimed: &Claimed) -> Vec<ActionId> {
    let mut open: Vec<ActionId> = Vec::new();
    for event in claimed.tail.iter().filter_map(|record| record.events().ok()).flatten() {
        if let Event::CallStarted { action, repeat: Repeat::Never, .. } = event {
            open.push(action);
        }
        if let Event::CallFinished { action, .. }
        | Event::CallInDoubt { action, .. }
        | Event::CallSettled { action, .. } = event
        {
            open.retain(|known| *known != action);
        }
    }
    open
}

fn is_intent(event: &Event, of: ActionId) -> bool {
    matches!(event, Event::CallStarted { action, .. } if *action == of)
}

fn is_halt(event: &Event) -> bool {
    matches!(event, Event::Ended { ending: Ending::Halted { .. }, .. })
}

/// Puts nothing in the place of the last event like this.
fn hide(claimed: &mut Claimed, which: impl Fn(&Event) -> bool) {
    for record in claimed.tail.iter_mut().rev() {
        let Ok(mut events) = record.events() else { return };
        if let Some(event) = events.iter_mut().rev().find(|event| which(event)) {
            *event = nothing();
            record.body = serde_json::to_string(&events).unwrap_or_default();
            return;
        }
    }
}

/// An event that changes nothing.
fn nothing() -> Event {
    Event::SignalRefused { by: "nobody".into(), why: "nothing".into() }
}
