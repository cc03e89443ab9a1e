//! The perceive–reason–act loop of one conversation, shared by acting,
//! critiquing and repairing: ask the model, answer its calls, ask again.
//!
//! A cut reply never runs anything. Trouble with the model is retried with full
//! jitter, each try counted as a step; what does not pass halts the run.

use super::decide::{Draft, Refused};
use super::state::{OpenStep, Phase, Run, Thread, ThreadState};
use super::step::{self, Next};
use super::{backoff, call, critiquing, ending, falling_back, limit, planning, prompt, watch};
use crate::effect::Effect;
use crate::event::{Event, HaltReason, Purpose, StepFailure, StepTrouble, StopReason, SubtaskFailure};
use crate::id::{Millis, SubtaskId};
use crate::input::Reply;
use crate::message::{Payload, Stop};
use crate::plan;
use crate::provenance::Digest;

/// Longest quotation of a model's words in a reason.
pub(super) const QUOTE_MAX: usize = 500;

/// Starts what can be started in any conversation.
pub(super) fn proceed(draft: &mut Draft) -> bool {
    let run = &draft.run;
    let wanted = |id: &&SubtaskId| !falling_back::is_given_up(run, id);
    let ids: Vec<SubtaskId> = run.threads.keys().filter(wanted).cloned().collect();
    ids.iter().any(|id| advance(draft, id))
}

fn advance(draft: &mut Draft, id: &SubtaskId) -> bool {
    let Some(thread) = draft.run.threads.get(id) else { return false };
    match &thread.state {
        ThreadState::Ready => start_step(draft, id),
        ThreadState::BackingOff { until } if *until <= draft.now => start_step(draft, id),
        ThreadState::Calling(_) => call::proceed(draft, id),
        ThreadState::BackingOff { .. }
        | ThreadState::Thinking(_)
        | ThreadState::Answered(_)
        | ThreadState::Done(_) => false,
    }
}

fn start_step(draft: &mut Draft, id: &SubtaskId) -> bool {
    if watch::speaks(draft, id) {
        return true;
    }
    let Some(thread) = draft.run.threads.get(id) else { return false };
    let backing_off = matches!(thread.state, ThreadState::BackingOff { .. });
    let asking = match step::next(&draft.run, draft.allowance.as_ref(), thread) {
        Next::Ask(asking) => asking,
        // Calls of other runs come home without a word to this one: a moment that
        // passed cannot wait for them, or it would be reported again and again.
        Next::Wait(_) if !backing_off || step::waits_for_itself(&draft.run, thread) => return false,
        Next::Wait(why) | Next::Stop(why) => {
            ending::stop(draft, limit::halt(why));
            return true;
        }
    };
    if limit::warn(draft) {
        return true;
    }
    let purpose = purpose(&draft.run, id);
    let (tools, schema) = match &purpose {
        Purpose::Act(_) if asking.last.is_some() => (Digest::of(b"[]"), String::new()),
        Purpose::Act(_) => (draft.run.tools_sha256, String::new()),
        Purpose::Critique(_) => (Digest::of(b"[]"), prompt::diagnosis_schema().to_string()),
        Purpose::Plan(_) => (Digest::of(b"[]"), plan::schema().to_string()),
    };
    let request = Digest::of_parts(&[
        draft.run.task.model.as_bytes(),
        &asking.talk.0,
        &tools.0,
        schema.as_bytes(),
        &step::output_tokens(&draft.run, asking.last.as_ref()).to_be_bytes(),
    ]);
    let (step, last) = (draft.run.spend.steps + 1, asking.last.map(Box::new));
    let (reserved, notice) = (asking.reserved, asking.notice);
    draft.push(Event::StepStarted { step, purpose, request, reserved, notice, last });
    true
}

fn purpose(run: &Run, id: &SubtaskId) -> Purpose {
    match &run.phase {
        Phase::Planning | Phase::Acting if planning::is_planner(run, id) => Purpose::Plan(run.plans + 1),
        Phase::Critiquing(critique) => Purpose::Critique(critique.round),
        Phase::Planning
        | Phase::Decomposing
        | Phase::Retrieving
        | Phase::Acting
        | Phase::Verifying(_)
        | Phase::Repairing { .. }
        | Phase::Committing
        | Phase::RollingBack(_)
        | Phase::Ended(_) => Purpose::Act(id.clone()),
    }
}

/// Whoever speaks here was offered no tools, and is to answer in a given form.
pub(super) fn has_no_tools(run: &Run, id: &SubtaskId) -> bool {
    match purpose(run, id) {
        Purpose::Act(_) => false,
        Purpose::Critique(_) | Purpose::Plan(_) => true,
    }
}

/// The conversation that waits for this step.
pub(super) fn of_step(run: &Run, step: u32) -> Option<(&SubtaskId, &Thread)> {
    run.threads.iter().find(|(_, thread)| match &thread.state {
        ThreadState::Thinking(open) => open.step == step,
        ThreadState::Ready
        | ThreadState::BackingOff { .. }
        | ThreadState::Calling(_)
        | ThreadState::Answered(_)
        | ThreadState::Done(_) => false,
    })
}

pub(super) fn replied(draft: &mut Draft, step: u32, reply: &Reply) -> Result<(), Refused> {
    let id = of_step(&draft.run, step).map(|(id, _)| id.clone()).ok_or(Refused::NotExpected)?;
    let last = draft.run.open_step(step).and_then(|open| open.last.clone());
    draft.push(Event::StepFinished {
        step,
        stop: reply.stop,
        usage: reply.usage,
        micros: reply.micros,
        text: reply.text.clone(),
        calls: reply.calls.iter().map(|asked| asked.call.clone()).collect(),
        heard: watch::heard(reply),
    });
    if let Some(why) = last {
        call::refuse_all(draft, step, reply);
        ending::stop(draft, limit::halt(*why));
        return Ok(());
    }
    if falling_back::is_given_up(&draft.run, &id) {
        call::refuse_given_up(draft, step, reply);
        return Ok(());
    }
    let purpose = purpose(&draft.run, &id);
    call::admit(draft, step, reply);
    match reply.stop {
        Stop::End | Stop::ToolUse => match purpose {
            Purpose::Critique(_) => critiquing::answered(draft, &id, reply),
            Purpose::Plan(_) => planning::answered(draft, &id, reply),
            Purpose::Act(_) if reply.calls.is_empty() => falling_back::gives_up(draft, &id, &reply.head),
            Purpose::Act(_) => {}
        },
        Stop::Truncated => truncated(draft, &id),
        Stop::Refused | Stop::Filtered => {
            let message = reply.head.chars().take(QUOTE_MAX).collect();
            falling_back::fails(draft, &id, SubtaskFailure::ModelRefused { message });
        }
    }
    Ok(())
}

fn truncated(draft: &mut Draft, id: &SubtaskId) {
    let in_a_row = draft.run.threads.get(id).map_or(0, |thread| thread.truncations);
    if in_a_row >= draft.run.limits.truncations {
        falling_back::fails(draft, id, SubtaskFailure::Truncated { in_a_row });
    } else {
        draft.push(Event::Noticed { subtask: id.clone(), text: prompt::TRUNCATED.into() });
    }
}

pub(super) fn failed(
    draft: &mut Draft,
    step: u32,
    kind: StepTrouble,
    message: &str,
    retry_after_ms: Option<u64>,
) -> Result<(), Refused> {
    let (_, thread) = of_step(&draft.run, step).ok_or(Refused::NotExpected)?;
    let attempts = thread.attempts + 1;
    let lasting = match kind {
        StepTrouble::Permanent => true,
        StepTrouble::Transient | StepTrouble::RateLimited | StepTrouble::TimedOut | StepTrouble::Lost => {
            false
        }
    };
    let draw = Digest::of_parts(&[b"backoff", draft.run.seed.as_bytes(), &step.to_be_bytes()]);
    let wait = backoff::wait_ms(draw, attempts, retry_after_ms);
    let wait = wait.filter(|_| !lasting && attempts < draft.run.limits.attempts);
    let retry_at: Option<Millis> = wait.map(|wait| draft.now.plus(wait));
    let why = StepFailure { kind, message: message.into() };
    draft.push(Event::StepFailed { step, why, retry_at });
    if retry_at.is_none() {
        let message = message.chars().take(QUOTE_MAX).collect();
        ending::stop(draft, StopReason::Halt(HaltReason::ModelUnavailable { message }));
    }
    Ok(())
}

pub(super) fn due(run: &Run, effects: &mut Vec<Effect>) {
    for (id, thread) in &run.threads {
        let idle = run.paused || run.stopping.is_some() || falling_back::is_given_up(run, id);
        match &thread.state {
            ThreadState::Thinking(open) => effects.push(ask_model(run, id, thread, open)),
            // Nothing is started before the pause is over, so a moment that passed would spin.
            ThreadState::BackingOff { .. } if idle => {}
            // It starts with whatever comes home next; until then it cannot.
            ThreadState::BackingOff { .. } if step::waits_for_itself(run, thread) => {}
            ThreadState::BackingOff { until } => effects.push(Effect::WakeAt { at: *until }),
            ThreadState::Calling(_) => call::due(run, thread, idle, effects),
            ThreadState::Ready | ThreadState::Answered(_) | ThreadState::Done(_) => {}
        }
    }
}

fn ask_model(run: &Run, id: &SubtaskId, thread: &Thread, open: &OpenStep) -> Effect {
    let purpose = purpose(run, id);
    let schema = match &purpose {
        Purpose::Act(_) => None,
        Purpose::Critique(_) => Some(prompt::diagnosis_schema()),
        Purpose::Plan(_) => Some(plan::schema()),
    };
    let last = open.last.as_deref();
    Effect::CallModel {
        step: open.step,
        purpose,
        attempt: thread.attempts + 1,
        model: run.task.model.clone(),
        messages: thread.messages.clone(),
        tools: if schema.is_some() || last.is_some() { std::sync::Arc::new([]) } else { run.tools.clone() },
        schema,
        output_tokens: step::output_tokens(run, last),
        timeout_ms: run.limits.model_ms,
    }
}

/// The last thing said, for those who finish a conversation.
pub(super) fn answer(text: &Payload) -> ThreadState {
    ThreadState::Answered(text.clone())
}
