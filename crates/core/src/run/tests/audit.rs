//! What a journal must never show, checked event by event.

use std::collections::{BTreeMap, BTreeSet};

use crate::budget::{Cost, Limit};
use crate::event::{CallTrouble, Event, Settlement, Subject, Verdict};
use crate::id::{ActionId, Millis, SubtaskId, ToolName};
use crate::message::Message;
use crate::provenance::Digest;
use crate::run::{CallState, Run, ThreadState};
use crate::tool::{Consent, Repeat, Touch};

/// Memory of the journal so far.
#[derive(Clone, Default)]
pub(super) struct Audit {
    /// What people said yes to.
    agreed: BTreeMap<ActionId, Digest>,
    /// Key and last attempt of every call that was started.
    started: BTreeMap<ActionId, (Digest, u32)>,
    /// Calls known not to have happened, which may be made again.
    cleared: BTreeSet<ActionId>,
    /// Calls that have their one answer.
    answered: BTreeSet<ActionId>,
    restored: Vec<ActionId>,
    /// Calls that met trouble, and when they may be tried again.
    troubled: BTreeMap<ActionId, Millis>,
    /// Tools that are left alone, and until when.
    open: BTreeMap<ToolName, Millis>,
}

impl Audit {
    /// Looks at one event and the state it led to.
    #[expect(clippy::too_many_lines, reason = "an exhaustive match that only dispatches")]
    pub(super) fn see(&mut self, event: &Event, run: &Run) {
        assert_eq!(run.reserved, in_flight(run), "what is set aside is what is in flight");
        match event {
            Event::StepStarted { .. } => within_limits(run),
            Event::ApprovalSettled {
                subject: Subject::Action(action),
                binds,
                verdict: Verdict::Approved { .. },
            } => drop(self.agreed.insert(*action, *binds)),
            Event::CallStarted { action, .. } => self.started(*action, event, run),
            Event::CallRefused { action, .. }
            | Event::CallBlocked { action, .. }
            | Event::CallFinished { action, .. } => self.answer(*action),
            Event::CallSettled { action, settlement, .. } => match settlement {
                Settlement::Happened { .. } | Settlement::GivenUp { .. } => self.answer(*action),
                Settlement::DidNotHappen => {
                    self.cleared.insert(*action);
                }
            },
            Event::CallTroubled { .. } => self.trouble(event, run),
            Event::BreakerOpened { .. } | Event::BreakerClosed { .. } => self.breaker(event, run),
            Event::Restored { action, .. } | Event::Compensated { action, .. } => {
                let is_back = run.deeds.undone.contains(action);
                assert!(!self.restored.contains(action), "{action} is undone once");
                self.restored.extend(is_back.then_some(*action));
            }
            Event::SubtaskDropped { subtask } => is_closed(subtask, run),
            Event::Submitted(_)
            | Event::BranchChosen { .. }
            | Event::SubtaskFailed { .. }
            | Event::Replanned { .. }
            | Event::Claimed { .. }
            | Event::Planned { .. }
            | Event::Decomposed { .. }
            | Event::Retrieved { .. }
            | Event::SubtaskStarted { .. }
            | Event::StepFinished { .. }
            | Event::StrategySwitched { .. }
            | Event::RoundRepeated { .. }
            | Event::Controlled(_)
            | Event::Remedied(_)
            | Event::StepFailed { .. }
            | Event::Routed(_)
            | Event::Elided(_)
            | Event::Escalated(_)
            | Event::ApprovalRequested { .. }
            | Event::ApprovalSettled { .. }
            | Event::CallInDoubt { .. }
            | Event::Noticed { .. }
            | Event::SubtaskFinished { .. }
            | Event::Acted { .. }
            | Event::Checked { .. }
            | Event::Judged { .. }
            | Event::Verified { .. }
            | Event::Diagnosed { .. }
            | Event::RepairStarted { .. }
            | Event::Repaired { .. }
            | Event::LimitNear { .. }
            | Event::Stopping { .. }
            | Event::RollbackStarted { .. }
            | Event::CompensationStarted { .. }
            | Event::CompensationTroubled { .. }
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
            | Event::NotTakenUp { .. }
            | Event::SignalRefused { .. }
            | Event::Ended { .. } => {}
        }
    }

    fn trouble(&mut self, event: &Event, run: &Run) {
        let Event::CallTroubled { action, attempt, why, retry_at, .. } = event else { return };
        let (_, last) = self.started.get(action).expect("only what was started meets trouble");
        assert_eq!(attempt, last, "trouble is that of the attempt that is out");
        self.troubled.insert(*action, *retry_at);
        let spec = run.tools.iter().find(|spec| run.breakers.contains_key(&spec.name));
        let counts = *why != CallTrouble::Lost;
        assert!(spec.is_some() || !counts, "every attempt feeds its breaker");
    }

    fn breaker(&mut self, event: &Event, run: &Run) {
        if let Event::BreakerOpened { tool, until, .. } = event {
            assert!(*until > run.now, "a breaker stays open for a while");
            self.open.insert(tool.clone(), *until);
        }
        if let Event::BreakerClosed { tool } = event {
            assert!(self.open.remove(tool).is_some(), "only an open breaker closes");
        }
    }

    fn answer(&mut self, action: ActionId) {
        assert!(self.answered.insert(action), "{action} is answered once");
    }

    fn started(&mut self, action: ActionId, event: &Event, run: &Run) {
        let Event::CallStarted { tool, args, key, attempt, repeat, reserved, .. } = event else { return };
        reserved.iter().for_each(|_| within_limits(run));
        let spec = run.tool(tool.as_str()).expect("a tool of the run");
        let before = self.started.get(&action);
        assert_eq!(*attempt, before.map_or(1, |(_, last)| last + 1), "attempts of {action} count");
        assert_eq!(*key, before.map_or(*key, |(first, _)| *first), "{action} keeps its key");
        if before.is_some() && *repeat == Repeat::Never {
            assert!(self.cleared.contains(&action), "{action} is never repeated blindly");
        }
        if spec.consent == Consent::Ask {
            let binds = Digest::of_parts(&[tool.as_str().as_bytes(), &args.0]);
            assert_eq!(self.agreed.get(&action), Some(&binds), "{action} has its own yes");
        }
        if let Some(not_before) = self.troubled.get(&action) {
            assert!(*not_before <= run.now, "{action} waits as long as it was told to");
            assert!(!spec.is_tried_once(), "{action} gets one attempt");
        }
        if let Some(until) =
            self.open.get(tool).filter(|_| *attempt == 1 || self.troubled.contains_key(&action))
        {
            assert!(*until <= run.now, "{tool} is left alone while its breaker is open");
            assert_eq!(out(run, tool), 1, "one call tries {tool}");
        }
        if *attempt == 1 {
            assert!(out(run, tool) <= spec.at_once() as usize, "{tool} is out that often at once");
        }
        assert!(run.spend.tool_calls <= run.limits.tool_calls, "tool calls stay within their limit");
        let own = run.limits.allowed(&Limit::Tool(tool.clone()));
        assert!(run.uses(tool) <= own, "calls of one tool stay within their limit");
        assert!(writes_out(run) <= 1, "one write at a time");
        assert!(!self.answered.contains(&action), "{action} is not started after its answer");
        self.started.insert(action, (*key, *attempt));
        self.cleared.remove(&action);
        self.troubled.remove(&action);
    }
}

fn is_closed(subtask: &SubtaskId, run: &Run) {
    assert!(!run.threads.contains_key(subtask), "{subtask} is closed");
}

fn within_limits(run: &Run) {
    let used = run.spend.settled.plus(run.reserved);
    assert!(used.tokens <= run.limits.tokens, "tokens stay within their limit");
    assert!(used.micros <= run.limits.micros, "money stays within its limit");
    assert!(run.spend.steps <= run.limits.steps, "steps stay within their limit");
    for thread in run.threads.values() {
        if let ThreadState::Thinking(_) = thread.state {
            answers_in_order(&thread.messages.iter().collect::<Vec<_>>());
        }
    }
}

/// What model calls in flight have set aside, those of tools included.
fn in_flight(run: &Run) -> Cost {
    let steps = run.threads.values().filter_map(|thread| {
        if let ThreadState::Thinking(open) = &thread.state { Some(open.reserved) } else { None }
    });
    let calls = run.threads.values().flat_map(|thread| thread.calls());
    let asides = calls.filter_map(|(_, call)| {
        if let CallState::Running { reserved, .. } = &call.state { *reserved } else { None }
    });
    steps.chain(asides).fold(Cost::default(), Cost::plus)
}

/// Calls of a tool that are out in the world.
fn out(run: &Run, wanted: &ToolName) -> usize {
    let calls = run.threads.values().flat_map(|thread| thread.calls());
    let out = calls.filter(|(_, call)| match &call.state {
        CallState::Running { tool, .. } => tool == wanted,
        CallState::Waiting
        | CallState::AwaitingConsent
        | CallState::InDoubt { .. }
        | CallState::Again { .. }
        | CallState::BackingOff { .. }
        | CallState::Answered { .. } => false,
    });
    out.count()
}

/// Calls out in the world, or perhaps so, that change files.
fn writes_out(run: &Run) -> usize {
    let calls = run.threads.values().flat_map(|thread| thread.calls());
    let out = calls.filter(|(_, call)| {
        matches!(call.state, CallState::Running { .. } | CallState::InDoubt { .. })
            && run.tool(&call.call.tool).is_some_and(|spec| spec.touch == Touch::Write)
    });
    out.count()
}

/// Before a model is asked, each of its calls has its answer, in order.
fn answers_in_order(messages: &[&Message]) {
    let mut rest = messages.iter();
    while let Some(message) = rest.next() {
        let Message::Assistant { calls, .. } = message else { continue };
        for call in calls {
            let Some(Message::ToolResult { call: answered, .. }) = rest.next() else {
                panic!("call {} has no answer", call.id);
            };
            assert_eq!(*answered, call.id, "answers come in the order of the calls");
        }
    }
    let results = messages.iter().filter(|message| matches!(message, Message::ToolResult { .. })).count();
    let asked = messages.iter().map(|message| match message {
        Message::Assistant { calls, .. } => calls.len(),
        Message::System(_) | Message::User(_) | Message::Briefing(_) | Message::ToolResult { .. } => 0,
    });
    assert_eq!(results, asked.sum::<usize>(), "no answer without its call");
}
