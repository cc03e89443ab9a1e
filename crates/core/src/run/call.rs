//! Tool calls: intent before, outcome after, and doubt when there is none.
//!
//! Calls of one reply keep the order the model gave them: reads run beside each
//! other, anything else waits for those before it and is waited for by those
//! behind it. At most one call that writes files is out at a time in the whole
//! run, and it starts from a file that was looked at just before.

use std::collections::BTreeMap;

use super::decide::{Draft, Refused};
use super::state::{ApprovalState, BatchCall, CallState, Run, Thread};
use super::{aside, attempt, breaker, ending, limit, prompt, returning, thread, undoing, watch};
use crate::effect::Effect;
use crate::event::{Ask, Doubt, Event, Outcome, Refusal, Settlement, Subject, Verdict};
use crate::id::{ActionId, Millis, SubtaskId};
use crate::input::{Asked, CallProblem, ProbeFinding, Reply};
use crate::message::{Payload, Stop};
use crate::policy::{self, Concern, Ruling};
use crate::provenance::Digest;
use crate::tool::{Consent, FileImage, Repeat, ToolSpec, Touch};

/// Calls of one run that are out at once, whatever their tools allow.
const CALLS_OUT_MAX: u32 = 32;

/// Goes through the calls of a reply: refuses what cannot run, asks people about
/// what needs them, and leaves the rest to its turn.
pub(super) fn admit(draft: &mut Draft, step: u32, reply: &Reply) {
    let batch = draft.run.threads.iter().find(|(_, thread)| thread.calls().any(|(id, _)| id.step == step));
    let has_no_tools = batch.is_some_and(|(id, _)| thread::has_no_tools(&draft.run, id));
    for (index, asked) in (0..).zip(&reply.calls) {
        let action = ActionId { step, index };
        if let Some((why, message)) = objection(draft, (reply.stop, has_no_tools), asked) {
            draft.push(Event::CallRefused { action, why, message });
            continue;
        }
        if let Some(image) = &asked.image {
            draft.seen.insert(action, image.clone());
        }
        let Some(why) = question(&draft.run, asked) else { continue };
        // Nobody is asked about a call that is not made anyway.
        if !watch::blocks_at_once(draft, action) {
            let binds = binds(&draft.run, asked);
            ask(draft, Subject::Action(action), binds, why);
        }
    }
}

/// Why a person is asked before this call, if one is: no reasons where the tool always asks.
fn question(run: &Run, asked: &Asked) -> Option<Vec<Concern>> {
    let always = run.tool(&asked.call.tool).map(|spec| spec.consent) == Some(Consent::Ask);
    match policy::rule(run.task.gates(), &asked.concerns) {
        Ruling::Ask(why) => Some(why),
        // A refusal was an objection already.
        Ruling::Fine | Ruling::Refuse(_) => always.then(Vec::new),
    }
}

fn objection(draft: &Draft, (stop, has_no_tools): (Stop, bool), asked: &Asked) -> Option<(Refusal, String)> {
    match stop {
        Stop::Truncated => return Some((Refusal::Truncated, prompt::CALL_TRUNCATED.into())),
        Stop::Refused | Stop::Filtered => return Some((Refusal::Cancelled, prompt::CANCELLED.into())),
        Stop::End | Stop::ToolUse => {}
    }
    if has_no_tools || draft.run.tool(&asked.call.tool).is_none() {
        let message = match &asked.problem {
            Some(CallProblem::UnknownTool(message)) => message.clone(),
            Some(CallProblem::BadArguments(_) | CallProblem::NotAllowed(_)) | None => {
                format!("there is no tool {:?} here", asked.call.tool)
            }
        };
        return Some((Refusal::UnknownTool, message));
    }
    match &asked.problem {
        Some(CallProblem::UnknownTool(message)) => Some((Refusal::UnknownTool, message.clone())),
        Some(CallProblem::BadArguments(message)) => Some((Refusal::BadArguments, message.clone())),
        Some(CallProblem::NotAllowed(message)) => Some((Refusal::NotAllowed, message.clone())),
        None if draft.run.denied.contains(&binds(&draft.run, asked)) => {
            Some((Refusal::Denied, prompt::DENIED_BEFORE.into()))
        }
        None => match policy::rule(draft.run.task.gates(), &asked.concerns) {
            Ruling::Refuse(message) => Some((Refusal::NotAllowed, message)),
            Ruling::Fine | Ruling::Ask(_) => None,
        },
    }
}

/// What an approval of a call is bound to: this tool with these arguments, under
/// this policy.
fn binds(run: &Run, asked: &Asked) -> Digest {
    let digest = asked.call.digest();
    match &run.task.agent {
        None => Digest::of_parts(&[asked.call.tool.as_bytes(), &digest.0]),
        Some(agent) => Digest::of_parts(&[asked.call.tool.as_bytes(), &digest.0, &agent.policy().0]),
    }
}

/// Asks a person, for these reasons besides the rules that always ask.
pub(super) fn ask(draft: &mut Draft, subject: Subject, binds: Digest, why: Vec<Concern>) {
    let expires_at = draft.now.plus(draft.run.limits.approval_ms);
    let policy = draft.run.task.agent.as_ref().map(|agent| agent.policy());
    draft.push(Event::ApprovalRequested { subject, binds, expires_at, why, policy });
}

/// Settles a question, and refuses the call when the answer is not yes.
pub(super) fn answer(draft: &mut Draft, subject: Subject, verdict: Verdict) {
    let Some(binds) = draft.run.approvals.get(&subject).map(|approval| approval.binds) else { return };
    let refusal = match &verdict {
        Verdict::Approved { .. } | Verdict::SentBack { .. } => None,
        Verdict::Denied { by, reason } => Some(format!("{by} did not allow this: {reason}")),
        Verdict::Expired => Some(prompt::NOBODY_ANSWERED.into()),
    };
    draft.push(Event::ApprovalSettled { subject, binds, verdict });
    if let (Subject::Action(action), Some(message)) = (subject, refusal) {
        draft.push(Event::CallRefused { action, why: Refusal::Denied, message });
    }
}

/// A question nobody answered in time is answered with no.
pub(super) fn expire_approvals(draft: &mut Draft) -> bool {
    let expired = draft
        .run
        .approvals
        .iter()
        .find(|(_, approval)| approval.state == ApprovalState::Open && approval.expires_at <= draft.now);
    let Some((&subject, _)) = expired else { return false };
    answer(draft, subject, Verdict::Expired);
    true
}

/// Starts the next call of the batch whose turn it is.
pub(super) fn proceed(draft: &mut Draft, id: &SubtaskId) -> bool {
    let Some(thread) = draft.run.threads.get(id) else { return false };
    let next = startable(&draft.run, thread).find(|(action, turn)| match turn {
        // A call that writes needs its image; `due` asks for it when it is missing.
        Turn::First => {
            (draft.seen.contains_key(action) || !writes(&draft.run, thread, *action))
                && !waits_for_money(&draft.run, *action)
                && !aside::must_wait(&draft.run, draft.allowance.as_ref(), *action)
        }
        Turn::Again => !aside::must_wait(&draft.run, draft.allowance.as_ref(), *action),
        Turn::Retry { not_before } => *not_before <= draft.now && !waits_for_money(&draft.run, *action),
    });
    match next {
        Some((action, Turn::First)) => first(draft, id, action).is_some(),
        Some((action, Turn::Again)) => start_again(draft, action).is_some(),
        Some((action, Turn::Retry { .. })) => attempt::retry(draft, action).is_some(),
        None => false,
    }
}

/// Makes the first attempt at a call, unless somebody has something against it.
/// `None`: nothing follows.
fn first(draft: &mut Draft, id: &SubtaskId, action: ActionId) -> Option<()> {
    // What a person said yes to is made, whatever the guard thinks of it.
    if !is_agreed(&draft.run, action) && watch::objects(draft, id, action) {
        return Some(());
    }
    let Some((_, spec)) = find(&draft.run, action) else {
        // Refused when it was asked for; a journal that lost that must not keep the run waiting.
        let (why, message) = (Refusal::UnknownTool, prompt::NO_SUCH_TOOL.into());
        draft.push(Event::CallRefused { action, why, message });
        return Some(());
    };
    let (tool, micros) = (spec.name.clone(), spec.cost_micros());
    if let Some(left_ms) = breaker::left_alone_ms(&draft.run, &tool, draft.now) {
        let (why, message) = (Refusal::Unavailable, prompt::unavailable(&draft.run, &tool, left_ms));
        draft.push(Event::CallRefused { action, why, message });
        return Some(());
    }
    let need = limit::CallNeed { calls: 1, micros };
    if let Some(why) = limit::over_call(&draft.run, draft.allowance.as_ref(), &tool, need) {
        ending::stop(draft, limit::halt(why));
        return Some(());
    }
    match draft.seen.remove(&action).transpose() {
        Ok(image) => start(draft, action, 1, image.map(Box::new), micros),
        Err(message) => {
            draft.push(Event::CallRefused { action, why: Refusal::Unprepared, message });
            Some(())
        }
    }
}

/// What the next attempt at a call would take is held by model calls of the same run.
fn waits_for_money(run: &Run, action: ActionId) -> bool {
    let Some((_, spec)) = find(run, action) else { return false };
    let micros = match state_of(run, action) {
        Some(CallState::BackingOff { .. }) => retry_micros(run, action),
        Some(_) | None => spec.cost_micros(),
    };
    limit::must_wait(run, micros) || aside::must_wait(run, None, action)
}

/// What the next attempt at a call books: nothing where the last one did not happen.
pub(super) fn retry_micros(run: &Run, action: ActionId) -> u64 {
    match state_of(run, action) {
        Some(CallState::BackingOff { covered: false, .. }) => {
            find(run, action).map_or(0, |(_, spec)| spec.cost_micros())
        }
        Some(_) | None => 0,
    }
}

fn is_agreed(run: &Run, action: ActionId) -> bool {
    let answer = run.approvals.get(&Subject::Action(action)).map(|approval| &approval.state);
    matches!(answer, Some(ApprovalState::Settled(Verdict::Approved { .. })))
}

/// Some call of this conversation can start now.
pub(super) fn has_turn(run: &Run, thread: &Thread) -> bool {
    startable(run, thread).next().is_some()
}

/// Why it is a call's turn.
#[derive(Clone, Copy)]
enum Turn {
    /// It was not made yet.
    First,
    /// It is known not to have happened.
    Again,
    /// It met trouble, and is made again from this moment on.
    Retry { not_before: Millis },
}

/// Calls whose turn it is, in order.
fn startable<'a>(run: &'a Run, thread: &'a Thread) -> impl Iterator<Item = (ActionId, Turn)> + 'a {
    let mut open_before = false;
    let mut open_change_before = false;
    let out = Out::of(run);
    watch::with_twins(run, thread).filter_map(move |(action, call, twin)| {
        let spec = run.tool(&call.call.tool);
        let touch = spec.map_or(Touch::Exec, |spec| spec.touch);
        let in_turn = match touch {
            // What stands twice in a reply is made once: the second waits for the first.
            Touch::Read => !open_change_before && twin.is_none_or(BatchCall::is_answered),
            Touch::Exec => !open_before,
            Touch::Write => !open_before && !out.writes(action),
        };
        open_before |= !call.is_answered();
        open_change_before |= !call.is_answered() && touch != Touch::Read;
        let turn = match call.state {
            CallState::Waiting => Turn::First,
            CallState::Again { .. } => Turn::Again,
            CallState::BackingOff { until, .. } => Turn::Retry { not_before: until },
            CallState::AwaitingConsent
            | CallState::Running { .. }
            | CallState::InDoubt { .. }
            | CallState::Answered { .. } => return None,
        };
        let has_slot = spec.is_none_or(|spec| out.leaves_room(run, spec));
        (in_turn && has_slot).then_some((action, turn))
    })
}

/// What of a run is out in the world, or perhaps so.
struct Out<'a> {
    /// Calls that are out, by tool.
    by_tool: BTreeMap<&'a str, u32>,
    calls: u32,
    /// The call that may be writing a file.
    writing: Option<ActionId>,
}

impl<'a> Out<'a> {
    fn of(run: &'a Run) -> Self {
        let mut out = Self { by_tool: BTreeMap::new(), calls: 0, writing: None };
        for (action, call) in run.threads.values().flat_map(Thread::calls) {
            let may_write = match call.state {
                CallState::Running { .. } => {
                    *out.by_tool.entry(&call.call.tool).or_default() += 1;
                    out.calls += 1;
                    true
                }
                // Its image was taken: what another call wrote meanwhile would be lost with an undo.
                CallState::InDoubt { .. } | CallState::BackingOff { .. } => true,
                CallState::Waiting
                | CallState::AwaitingConsent
                | CallState::Again { .. }
                | CallState::Answered { .. } => false,
            };
            if may_write && touch_of(run, &call.call.tool) == Touch::Write {
                out.writing = Some(action);
            }
        }
        out
    }

    /// Another call than this one may be writing a file.
    fn writes(&self, action: ActionId) -> bool {
        self.writing.is_some_and(|writing| writing != action)
    }

    fn leaves_room(&self, run: &Run, spec: &ToolSpec) -> bool {
        let own = self.by_tool.get(spec.name.as_str()).copied().unwrap_or(0);
        own < breaker::at_once(run, spec) && self.calls < CALLS_OUT_MAX
    }
}

fn touch_of(run: &Run, tool: &str) -> Touch {
    run.tool(tool).map_or(Touch::Exec, |spec| spec.touch)
}

fn writes(run: &Run, thread: &Thread, action: ActionId) -> bool {
    let call = thread.calls().find(|(id, _)| *id == action);
    call.is_some_and(|(_, call)| touch_of(run, &call.call.tool) == Touch::Write)
}

fn start(
    draft: &mut Draft,
    action: ActionId,
    attempt: u32,
    image: Option<Box<FileImage>>,
    micros: u64,
) -> Option<()> {
    if let Some(why) = aside::too_much(draft, action, micros) {
        ending::stop(draft, limit::halt(why));
        return Some(());
    }
    let reserved = aside::reservation(&draft.run, action);
    let undo = undoing::compensator(&draft.run, action);
    let (args, spec) = find(&draft.run, action)?;
    draft.push(Event::CallStarted {
        action,
        tool: spec.name.clone(),
        args,
        touch: spec.touch,
        repeat: spec.repeat,
        key: key(&draft.run, action),
        attempt,
        image,
        micros,
        reserved,
        undo,
    });
    returning::started(draft, action);
    Some(())
}

/// Makes a call again, under the same id and key. `None`: it cannot be.
pub(super) fn start_again(draft: &mut Draft, action: ActionId) -> Option<()> {
    let state = state_of(&draft.run, action);
    let (attempt, image) = match state {
        Some(CallState::Running { attempt, image, .. }) => (*attempt, image.clone()),
        Some(CallState::Again { attempt } | CallState::BackingOff { attempt, .. }) => {
            (*attempt, image_of(&draft.run, action))
        }
        Some(
            CallState::Waiting
            | CallState::AwaitingConsent
            | CallState::InDoubt { .. }
            | CallState::Answered { .. },
        )
        | None => return None,
    };
    let micros = retry_micros(&draft.run, action);
    start(draft, action, attempt + 1, image, micros)
}

/// The attempt that is out.
pub(super) fn attempt_of(run: &Run, action: ActionId) -> u32 {
    match state_of(run, action) {
        Some(CallState::Running { attempt, .. }) => *attempt,
        Some(
            CallState::Waiting
            | CallState::AwaitingConsent
            | CallState::InDoubt { .. }
            | CallState::Again { .. }
            | CallState::BackingOff { .. }
            | CallState::Answered { .. },
        )
        | None => 0,
    }
}

fn image_of(run: &Run, action: ActionId) -> Option<Box<FileImage>> {
    run.images.iter().find(|(id, _)| *id == action).map(|(_, image)| Box::new(image.clone()))
}

/// The idempotency key: stable over attempts, restarts and machines.
fn key(run: &Run, action: ActionId) -> Digest {
    Digest::of_parts(&[b"action", run.id.as_str().as_bytes(), action.to_string().as_bytes()])
}

/// Puts a call in doubt: its probe is asked if it has one, else a person.
pub(super) fn doubt(draft: &mut Draft, action: ActionId, why: Doubt) {
    let probes = find(&draft.run, action).is_some_and(|(_, spec)| spec.probes);
    let useful = match why {
        Doubt::Crash | Doubt::Restored => true,
        // A call that loses its reply again and again would go on for ever between tool and probe.
        Doubt::LostReply => attempt_of(&draft.run, action) < draft.run.limits.attempts,
        Doubt::Cancelled => false,
    };
    let ask = if probes && useful { Ask::Probe } else { Ask::Person };
    draft.push(Event::CallInDoubt { action, why, ask });
}

pub(super) fn prepared(
    draft: &mut Draft,
    action: ActionId,
    image: &Result<FileImage, String>,
) -> Result<(), Refused> {
    if state_of(&draft.run, action) != Some(&CallState::Waiting) {
        return Err(Refused::NotExpected);
    }
    draft.seen.insert(action, image.clone());
    Ok(())
}

pub(super) fn probed(draft: &mut Draft, action: ActionId, found: &ProbeFinding) -> Result<(), Refused> {
    let why = match state_of(&draft.run, action) {
        Some(CallState::InDoubt { ask: Ask::Probe, why, .. }) => *why,
        Some(_) | None => return Err(Refused::NotExpected),
    };
    let settlement = match found {
        ProbeFinding::Happened(output) => Settlement::Happened { output: output.clone() },
        ProbeFinding::DidNotHappen => Settlement::DidNotHappen,
        ProbeFinding::Unknown => {
            draft.push(Event::CallInDoubt { action, why, ask: Ask::Person });
            return Ok(());
        }
    };
    draft.push(Event::CallSettled { action, settlement, by: "probe".into() });
    Ok(())
}

/// Answers every call of a reply that was to be a summary.
pub(super) fn refuse_all(draft: &mut Draft, step: u32, reply: &Reply) {
    for (index, _) in (0..).zip(&reply.calls) {
        let (action, message) = (ActionId { step, index }, prompt::NOT_OFFERED.into());
        draft.push(Event::CallRefused { action, why: Refusal::NotOffered, message });
    }
}

/// Answers every call of a reply that came after its sub-task was given up.
pub(super) fn refuse_given_up(draft: &mut Draft, step: u32, reply: &Reply) {
    for (index, _) in (0..).zip(&reply.calls) {
        let (action, message) = (ActionId { step, index }, prompt::CANCELLED.into());
        draft.push(Event::CallRefused { action, why: Refusal::Cancelled, message });
    }
}

/// Answers every call that is not out with "the run was cancelled".
pub(super) fn refuse_unstarted(draft: &mut Draft) {
    let open = draft.run.threads.values().flat_map(unstarted).collect();
    refuse(draft, open);
}

/// Calls of a conversation that are not out, and whether each was tried before.
pub(super) fn unstarted(thread: &Thread) -> Vec<(ActionId, bool)> {
    let open = thread.calls().filter_map(|(action, call)| match call.state {
        CallState::Waiting | CallState::AwaitingConsent | CallState::Again { .. } => Some((action, false)),
        CallState::BackingOff { .. } => Some((action, true)),
        CallState::Running { .. } | CallState::InDoubt { .. } | CallState::Answered { .. } => None,
    });
    open.collect()
}

/// Answers these calls: they are not made.
pub(super) fn refuse(draft: &mut Draft, open: Vec<(ActionId, bool)>) {
    for (action, was_tried) in open {
        if was_tried {
            let output = Payload::inline(prompt::NOT_TRIED_AGAIN);
            attempt::settle(draft, action, Outcome::Cancelled, output);
        } else {
            let (why, message) = (Refusal::Cancelled, prompt::CANCELLED.into());
            draft.push(Event::CallRefused { action, why, message });
        }
    }
}

/// Nobody knows of some call whether it happened.
pub(super) fn any_in_doubt(run: &Run) -> bool {
    run.threads.values().any(has_doubt)
}

/// Nobody knows of some call of this conversation whether it happened.
pub(super) fn has_doubt(thread: &Thread) -> bool {
    thread.calls().any(|(_, call)| matches!(call.state, CallState::InDoubt { .. }))
}

/// Where a call of a current batch stands.
pub(super) fn state_of(run: &Run, action: ActionId) -> Option<&CallState> {
    let mut calls = run.threads.values().flat_map(Thread::calls);
    calls.find(|(id, _)| *id == action).map(|(_, call)| &call.state)
}

/// What may be done with a call in doubt.
pub(super) fn repeat_of(run: &Run, action: ActionId) -> Option<Repeat> {
    find(run, action).map(|(_, spec)| spec.repeat)
}

/// A call of a current batch: the hash of its arguments, and its tool.
pub(super) fn find(run: &Run, action: ActionId) -> Option<(Digest, &ToolSpec)> {
    let mut calls = run.threads.values().flat_map(Thread::calls);
    let (_, call) = calls.find(|(id, _)| *id == action)?;
    Some((call.call.digest(), run.tool(&call.call.tool)?))
}

/// How long the arguments of a call of a current batch are, and its tool.
pub(super) fn args_bytes(run: &Run, action: ActionId) -> Option<(u64, &ToolSpec)> {
    let mut calls = run.threads.values().flat_map(Thread::calls);
    let (_, call) = calls.find(|(id, _)| *id == action)?;
    Some((call.call.args.len(), run.tool(&call.call.tool)?))
}

/// What is out, or asked about; and what is owed to calls whose turn it is, unless
/// nothing is to be started (`idle`).
pub(super) fn due(run: &Run, thread: &Thread, idle: bool, effects: &mut Vec<Effect>) {
    for (action, call) in thread.calls() {
        let timeout_ms = run.tool(&call.call.tool).map_or(0, |spec| spec.timeout_ms);
        let args = call.call.args.clone();
        match &call.state {
            CallState::Running { tool, key, attempt, image, .. } => effects.push(Effect::RunTool {
                action,
                tool: tool.clone(),
                args,
                key: *key,
                attempt: *attempt,
                image: image.as_deref().cloned(),
                timeout_ms,
            }),
            CallState::InDoubt { tool, key, ask: Ask::Probe, .. } => {
                effects.push(Effect::Probe { action, tool: tool.clone(), args, key: *key, timeout_ms });
            }
            CallState::InDoubt { ask: Ask::Person, .. }
            | CallState::Waiting
            | CallState::AwaitingConsent
            | CallState::Again { .. }
            | CallState::BackingOff { .. }
            | CallState::Answered { .. } => {}
        }
    }
    if !idle {
        due_next(run, thread, effects);
    }
}

/// What is owed to calls whose turn it is and that cannot start yet. One that waits
/// for something in flight starts when that comes home: a moment for it would spin.
fn due_next(run: &Run, thread: &Thread, effects: &mut Vec<Effect>) {
    // A write waits for all before it, so there is at most one.
    let mut write = None;
    for (action, turn) in startable(run, thread) {
        match turn {
            Turn::First if waits_for_money(run, action) => {}
            Turn::First if writes(run, thread, action) => write = Some(action),
            Turn::Retry { not_before } if !waits_for_money(run, action) => {
                effects.push(Effect::WakeAt { at: not_before });
            }
            Turn::First | Turn::Again | Turn::Retry { .. } => {}
        }
    }
    write.into_iter().for_each(|action| prepare(run, thread, action, effects));
}

/// A write whose turn it is, and whose file was not looked at in time.
fn prepare(run: &Run, thread: &Thread, action: ActionId, effects: &mut Vec<Effect>) {
    let call = thread.calls().find(|(id, _)| *id == action);
    if let Some((call, spec)) = call.and_then(|(_, call)| Some((call, run.tool(&call.call.tool)?))) {
        let (tool, args) = (spec.name.clone(), call.call.args.clone());
        effects.push(Effect::PrepareCall { action, tool, args });
    }
}
