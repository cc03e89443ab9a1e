//! Tool calls: intent before, outcome after, and doubt when there is none.
//!
//! Calls of one reply keep the order the model gave them: reads run beside each
//! other, anything else waits for those before it and is waited for by those
//! behind it. At most one call that writes files is out at a time in the whole
//! run, and it starts from a file that was looked at just before.

use super::decide::{Draft, Refused};
use super::state::{ApprovalState, CallState, Phase, Run, Thread};
use super::{ending, limit, prompt, watch};
use crate::effect::Effect;
use crate::event::{Ask, Doubt, Event, Outcome, Refusal, Settlement, Subject, Verdict};
use crate::id::{ActionId, SubtaskId};
use crate::input::{Asked, CallProblem, CallResult, ProbeFinding, Reply, Returned};
use crate::message::Stop;
use crate::policy::{self, Concern, Ruling};
use crate::provenance::Digest;
use crate::tool::{Consent, FileImage, Repeat, ToolSpec, Touch};

/// Goes through the calls of a reply: refuses what cannot run, asks people about
/// what needs them, and leaves the rest to its turn.
pub(super) fn admit(draft: &mut Draft, step: u32, reply: &Reply) {
    for (index, asked) in (0..).zip(&reply.calls) {
        let action = ActionId { step, index };
        if let Some((why, message)) = objection(draft, reply.stop, asked) {
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

fn objection(draft: &Draft, stop: Stop, asked: &Asked) -> Option<(Refusal, String)> {
    match stop {
        Stop::Truncated => return Some((Refusal::Truncated, prompt::CALL_TRUNCATED.into())),
        Stop::Refused | Stop::Filtered => return Some((Refusal::Cancelled, prompt::CANCELLED.into())),
        Stop::End | Stop::ToolUse => {}
    }
    if matches!(draft.run.phase, Phase::Critiquing(_)) || draft.run.tool(&asked.call.tool).is_none() {
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
        Verdict::Approved { .. } => None,
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
    let Some((action, again)) = startable(&draft.run, thread).find(|(action, again)| {
        // A call that writes needs its image; `due` asks for it when it is missing.
        *again || draft.seen.contains_key(action) || !writes(&draft.run, thread, *action)
    }) else {
        return false;
    };
    if again {
        start_again(draft, action);
        return true;
    }
    // What a person said yes to is made, whatever the guard thinks of it.
    if !is_agreed(&draft.run, action) && watch::objects(draft, id, action) {
        return true;
    }
    let tool = find(&draft.run, action).map(|(_, spec)| spec.name.clone());
    let over = tool.and_then(|tool| limit::over_call(&draft.run, draft.allowance.as_ref(), &tool));
    if let Some(why) = over {
        ending::stop(draft, limit::halt(why));
        return true;
    }
    match draft.seen.remove(&action).transpose() {
        Ok(image) => start(draft, action, 1, image.map(Box::new)),
        Err(message) => draft.push(Event::CallRefused { action, why: Refusal::Unprepared, message }),
    }
    true
}

fn is_agreed(run: &Run, action: ActionId) -> bool {
    let answer = run.approvals.get(&Subject::Action(action)).map(|approval| &approval.state);
    matches!(answer, Some(ApprovalState::Settled(Verdict::Approved { .. })))
}

/// Some call of this conversation can start now.
pub(super) fn has_turn(run: &Run, thread: &Thread) -> bool {
    startable(run, thread).next().is_some()
}

/// Calls whose turn it is, in order; true for those to be made again.
fn startable<'a>(run: &'a Run, thread: &'a Thread) -> impl Iterator<Item = (ActionId, bool)> + 'a {
    let mut open_before = false;
    let mut open_change_before = false;
    let writing = run.threads.values().flat_map(Thread::calls).any(|(_, call)| match call.state {
        CallState::Running { .. } | CallState::InDoubt { .. } => {
            touch_of(run, &call.call.tool) == Touch::Write
        }
        CallState::Waiting
        | CallState::AwaitingConsent
        | CallState::Again { .. }
        | CallState::Answered { .. } => false,
    });
    thread.calls().filter_map(move |(action, call)| {
        let touch = touch_of(run, &call.call.tool);
        // What stands twice in a reply is made once: the second waits for the first.
        let twin_is_open = watch::twin(run, thread, action).is_some_and(|twin| !twin.is_answered());
        let turn = match touch {
            Touch::Read => !open_change_before && !twin_is_open,
            Touch::Exec => !open_before,
            Touch::Write => !open_before && !writing,
        };
        open_before |= !call.is_answered();
        open_change_before |= !call.is_answered() && touch != Touch::Read;
        match call.state {
            CallState::Waiting if turn => Some((action, false)),
            CallState::Again { .. } if turn => Some((action, true)),
            CallState::Waiting
            | CallState::Again { .. }
            | CallState::AwaitingConsent
            | CallState::Running { .. }
            | CallState::InDoubt { .. }
            | CallState::Answered { .. } => None,
        }
    })
}

fn touch_of(run: &Run, tool: &str) -> Touch {
    run.tool(tool).map_or(Touch::Exec, |spec| spec.touch)
}

fn writes(run: &Run, thread: &Thread, action: ActionId) -> bool {
    let call = thread.calls().find(|(id, _)| *id == action);
    call.is_some_and(|(_, call)| touch_of(run, &call.call.tool) == Touch::Write)
}

fn start(draft: &mut Draft, action: ActionId, attempt: u32, image: Option<Box<FileImage>>) {
    let Some((args, spec)) = find(&draft.run, action) else { return };
    draft.push(Event::CallStarted {
        action,
        tool: spec.name.clone(),
        args,
        touch: spec.touch,
        repeat: spec.repeat,
        key: key(&draft.run, action),
        attempt,
        image,
    });
}

/// Makes a call again, under the same id and key.
pub(super) fn start_again(draft: &mut Draft, action: ActionId) {
    let state = state_of(&draft.run, action);
    let (attempt, image) = match state {
        Some(CallState::Running { attempt, image, .. }) => (*attempt, image.clone()),
        Some(CallState::Again { attempt }) => (*attempt, image_of(&draft.run, action)),
        Some(
            CallState::Waiting
            | CallState::AwaitingConsent
            | CallState::InDoubt { .. }
            | CallState::Answered { .. },
        )
        | None => return,
    };
    start(draft, action, attempt + 1, image);
}

/// The attempt that is out.
fn attempt_of(run: &Run, action: ActionId) -> u32 {
    match state_of(run, action) {
        Some(CallState::Running { attempt, .. }) => *attempt,
        Some(
            CallState::Waiting
            | CallState::AwaitingConsent
            | CallState::InDoubt { .. }
            | CallState::Again { .. }
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
        Doubt::Crash => true,
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

pub(super) fn returned(
    draft: &mut Draft,
    action: ActionId,
    attempt: u32,
    result: &CallResult,
) -> Result<(), Refused> {
    match state_of(&draft.run, action) {
        Some(CallState::Running { attempt: open, .. }) if *open == attempt => {}
        Some(_) | None => return Err(Refused::NotExpected),
    }
    let outcome = match (result.how, repeat_of(&draft.run, action)) {
        (Returned::Known(outcome), _) => outcome,
        (Returned::Unknown, Some(Repeat::Freely | Repeat::WithSameKey)) => Outcome::TimedOut,
        (Returned::Unknown, Some(Repeat::Never) | None) => {
            doubt(draft, action, Doubt::LostReply);
            return Ok(());
        }
    };
    let CallResult { output, full, duration_ms, trace, suspicions, .. } = result.clone();
    draft.push(Event::CallFinished { action, outcome, output, full, duration_ms, trace, suspicions });
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

/// Answers every call that has not started with "the run was cancelled".
pub(super) fn refuse_unstarted(draft: &mut Draft) {
    let unstarted = |state: &CallState| match state {
        CallState::Waiting | CallState::AwaitingConsent | CallState::Again { .. } => true,
        CallState::Running { .. } | CallState::InDoubt { .. } | CallState::Answered { .. } => false,
    };
    let calls = draft.run.threads.values().flat_map(Thread::calls);
    let open: Vec<ActionId> =
        calls.filter(|(_, call)| unstarted(&call.state)).map(|(action, _)| action).collect();
    for action in open {
        let (why, message) = (Refusal::Cancelled, prompt::CANCELLED.into());
        draft.push(Event::CallRefused { action, why, message });
    }
}

/// Nobody knows of some call whether it happened.
pub(super) fn any_in_doubt(run: &Run) -> bool {
    let mut calls = run.threads.values().flat_map(Thread::calls);
    calls.any(|(_, call)| matches!(call.state, CallState::InDoubt { .. }))
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

fn find(run: &Run, action: ActionId) -> Option<(Digest, &ToolSpec)> {
    let mut calls = run.threads.values().flat_map(Thread::calls);
    let (_, call) = calls.find(|(id, _)| *id == action)?;
    Some((call.call.digest(), run.tool(&call.call.tool)?))
}

pub(super) fn due(run: &Run, thread: &Thread, effects: &mut Vec<Effect>) {
    for (action, call) in thread.calls() {
        let timeout_ms = run.tool(&call.call.tool).map_or(0, |spec| spec.timeout_ms);
        let args = call.call.args.clone();
        match &call.state {
            CallState::Running { tool, key, attempt, image } => effects.push(Effect::RunTool {
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
            | CallState::Answered { .. } => {}
        }
    }
    if !run.paused && run.stopping.is_none() {
        prepare(run, thread, effects);
    }
}

/// A write whose turn it is, and whose file was not looked at in time.
fn prepare(run: &Run, thread: &Thread, effects: &mut Vec<Effect>) {
    let next = startable(run, thread).find(|(action, again)| !again && writes(run, thread, *action));
    let Some((action, _)) = next else { return };
    let call = thread.calls().find(|(id, _)| *id == action);
    if let Some((call, spec)) = call.and_then(|(_, call)| Some((call, run.tool(&call.call.tool)?))) {
        let (tool, args) = (spec.name.clone(), call.call.args.clone());
        effects.push(Effect::PrepareCall { action, tool, args });
    }
}
