//! The perceive–reason–act loop of one conversation, shared by acting,
//! critiquing and repairing: ask the model, answer its calls, ask again.
//!
//! A cut reply never runs anything. Trouble with the model is retried with full
//! jitter, each try counted as a step; what does not pass leads to another model of the
//! task, where it names one, and else halts the run.

use super::context::{self, Beside};
use super::decide::{Draft, Refused};
use super::routing::{self, Choice};
use super::state::{OpenStep, Phase, Run, Thread, ThreadState};
use super::step::{self, Next};
use super::{backoff, call, critiquing, ending, falling_back, judging, limit, planning, prompt, watch};
use crate::control::Ppm;
use crate::effect::Effect;
use crate::event::{Event, HaltReason, Purpose, StepFailure, StepTrouble, StopReason, SubtaskFailure};
use crate::id::{Millis, SubtaskId};
use crate::input::Reply;
use crate::message::{Payload, Stop};
use crate::plan;
use crate::provenance::{Digest, canonical_value};
use crate::quality::CheckHow;
use crate::verify::{self, Opinion};

/// Longest quotation of a model's words in a reason.
pub(super) const QUOTE_MAX: usize = 500;
/// How freely a model chooses its words where other answers are wanted.
const SAMPLE_TEMPERATURE: Ppm = Ppm(700_000);
/// How freely where another answer is wanted that might hold as well: the likeliest are.
const RIVAL_TEMPERATURE: Ppm = Ppm(300_000);
/// How much more freely each time the work is done anew.
const WARMTH_STEP: Ppm = Ppm(150_000);
/// How freely it is done at most: beyond this, small models only ramble.
const WARMTH_MAX: Ppm = Ppm(450_000);

/// Where a conversation stands that is to give one answer in a given form.
pub(super) enum Asked {
    /// It has not begun.
    NotYet,
    /// It gave an answer that nobody could use.
    Answered,
    /// It is under way, or over.
    Going,
}

impl Asked {
    pub(super) fn of(run: &Run, id: &SubtaskId) -> Self {
        match run.threads.get(id).map(|thread| &thread.state) {
            None => Self::NotYet,
            Some(ThreadState::Answered(_)) => Self::Answered,
            Some(
                ThreadState::Ready
                | ThreadState::Thinking(_)
                | ThreadState::BackingOff { .. }
                | ThreadState::Calling(_)
                | ThreadState::Done(_),
            ) => Self::Going,
        }
    }
}

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
    let purpose = purpose(&draft.run, id);
    let Choice { model, sent } = routing::choose(&draft.run, thread, &purpose);
    let (model, terms) = (model.to_owned(), routing::terms_of(&draft.run, model));
    let beside = beside(&draft.run, thread, &purpose);
    if context::makes_room(draft, id, &model, beside) {
        return true;
    }
    let Some(thread) = draft.run.threads.get(id) else { return false };
    let asking = match step::next(&draft.run, draft.allowance.as_ref(), thread, terms) {
        Next::Ask(asking) => asking,
        // Calls of other runs come home without a word to this one: a moment that
        // passed cannot wait for them, or it would be reported again and again.
        Next::Wait(_) if !backing_off || step::waits_for_itself(&draft.run, thread, terms) => return false,
        Next::Wait(why) | Next::Stop(why) => {
            ending::stop(draft, limit::halt(why));
            return true;
        }
    };
    if limit::warn(draft) {
        return true;
    }
    let tools = match &purpose {
        Purpose::Act(_) if asking.last.is_none() => draft.run.tools_sha256,
        Purpose::Act(_) | Purpose::Critique(_) | Purpose::Plan(_) | Purpose::Judge(_) => Digest::of(b"[]"),
    };
    // Canonical: the order of members is nobody's choice and must not change the name of a request.
    let schema = schema_of(&draft.run, &purpose).as_ref().map(canonical_value).unwrap_or_default();
    let request = Digest::of_parts(&[
        model.as_bytes(),
        &asking.talk.0,
        &tools.0,
        schema.as_bytes(),
        &step::output_tokens(terms, asking.last.as_ref()).to_be_bytes(),
    ]);
    let (step, last) = (draft.run.spend.steps + 1, asking.last.map(Box::new));
    let (reserved, notice) = (asking.reserved, asking.notice);
    draft.push(Event::StepStarted { step, purpose, request, reserved, notice, last, sent });
    true
}

/// What goes with a conversation into a request: tools, a schema, perhaps a word before it.
pub(super) fn beside(run: &Run, thread: &Thread, purpose: &Purpose) -> Beside {
    let tools = match purpose {
        Purpose::Act(_) => run.tools_bytes,
        Purpose::Critique(_) | Purpose::Plan(_) | Purpose::Judge(_) => 0,
    };
    let schema = schema_of(run, purpose).map_or(0, |schema| schema.to_string().len() as u64);
    Beside { bytes: tools.saturating_add(schema), notice: prompt::longest_notice(run, None, thread) }
}

pub(super) fn purpose(run: &Run, id: &SubtaskId) -> Purpose {
    match &run.phase {
        Phase::Planning | Phase::Acting if planning::is_planner(run, id) => Purpose::Plan(run.plans + 1),
        Phase::Critiquing(critique) => Purpose::Critique(critique.round),
        Phase::Verifying(_) if let Some(judgement) = judging::judgement(run) => Purpose::Judge(judgement),
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
        Purpose::Critique(_) | Purpose::Plan(_) | Purpose::Judge(_) => true,
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
    let model = draft.run.open_step(step).map(|open| routing::asked(&draft.run, &id, open).to_owned());
    draft.push(Event::StepFinished {
        step,
        stop: reply.stop,
        usage: reply.usage,
        micros: reply.micros,
        text: reply.text.clone(),
        calls: reply.calls.iter().map(|asked| asked.call.clone()).collect(),
        heard: watch::heard(reply),
        likelihood: reply.likelihood.filter(|told| (Ppm::ZERO..=Ppm::ONE).contains(told)),
        claim: reply.claim.map(Box::new),
    });
    model.iter().for_each(|model| routing::answered(draft, model));
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
            Purpose::Judge(_) => judging::answered(draft, &id, reply),
            Purpose::Act(_) if reply.calls.is_empty() => falling_back::gives_up(draft, &id, &reply.head),
            Purpose::Act(_) => {}
        },
        Stop::Truncated => truncated(draft, &id, &purpose),
        Stop::Refused | Stop::Filtered if matches!(purpose, Purpose::Judge(_)) => {
            judging::give_up(draft, "the judge refuses to answer");
        }
        Stop::Refused | Stop::Filtered => {
            let message = reply.head.chars().take(QUOTE_MAX).collect();
            falling_back::fails(draft, &id, SubtaskFailure::ModelRefused { message });
        }
    }
    Ok(())
}

fn truncated(draft: &mut Draft, id: &SubtaskId, purpose: &Purpose) {
    let in_a_row = draft.run.threads.get(id).map_or(0, |thread| thread.truncations);
    if in_a_row < draft.run.limits.truncations {
        draft.push(Event::Noticed { subtask: id.clone(), text: prompt::TRUNCATED.into() });
    } else if matches!(purpose, Purpose::Judge(_)) {
        judging::give_up(draft, "its answers are cut off");
    } else {
        falling_back::fails(draft, id, SubtaskFailure::Truncated { in_a_row });
    }
}

pub(super) fn failed(
    draft: &mut Draft,
    step: u32,
    kind: StepTrouble,
    message: &str,
    retry_after_ms: Option<u64>,
) -> Result<(), Refused> {
    let (id, thread) = of_step(&draft.run, step).ok_or(Refused::NotExpected)?;
    let open = draft.run.open_step(step).ok_or(Refused::NotExpected)?;
    let model = routing::asked(&draft.run, id, open);
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
    let given_up = retry_at.is_none() && routing::has_another(&draft.run, id, thread, model);
    let rests = routing::rest(&draft.run, model, (kind, retry_after_ms), draft.now);
    let why = StepFailure { kind, message: message.into() };
    draft.push(Event::StepFailed { step, why, retry_at, given_up });
    rests.into_iter().for_each(|rests| draft.push(rests));
    if retry_at.is_none() && !given_up {
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
            ThreadState::BackingOff { .. } if waits_for_itself(run, id, thread) => {}
            ThreadState::BackingOff { until } => effects.push(Effect::WakeAt { at: *until }),
            ThreadState::Calling(_) => call::due(run, thread, idle, effects),
            ThreadState::Ready | ThreadState::Answered(_) | ThreadState::Done(_) => {}
        }
    }
}

/// What its next step would set aside is held by calls of the same run.
fn waits_for_itself(run: &Run, id: &SubtaskId, thread: &Thread) -> bool {
    let choice = routing::choose(run, thread, &purpose(run, id));
    step::waits_for_itself(run, thread, routing::terms_of(run, choice.model))
}

fn ask_model(run: &Run, id: &SubtaskId, thread: &Thread, open: &OpenStep) -> Effect {
    let purpose = purpose(run, id);
    let schema = schema_of(run, &purpose);
    let has_no_tools = has_no_tools(run, id);
    let last = open.last.as_deref();
    let model = routing::asked(run, id, open);
    Effect::CallModel {
        step: open.step,
        temperature: temperature(run, &purpose),
        failed: not_again(run),
        likelihood: last.is_none() && becomes_output(run, &purpose),
        model: model.to_owned(),
        purpose,
        attempt: thread.attempts + 1,
        messages: thread.messages.clone(),
        left_out: thread.left_out.clone(),
        tools: if has_no_tools || last.is_some() { std::sync::Arc::new([]) } else { run.tools.clone() },
        schema,
        output_tokens: step::output_tokens(routing::terms_of(run, model), last),
        timeout_ms: run.limits.model_ms,
    }
}

/// The form an answer must have, where it must have one.
fn schema_of(run: &Run, purpose: &Purpose) -> Option<serde_json::Value> {
    match purpose {
        Purpose::Act(_) if becomes_output(run, purpose) => output_schema(run),
        Purpose::Act(_) => None,
        Purpose::Judge(_) if !is_critical(run, purpose) => output_schema(run),
        Purpose::Critique(_) => Some(prompt::diagnosis_schema()),
        Purpose::Plan(_) => Some(plan::schema()),
        Purpose::Judge(_) => judging::how(run).and_then(verify::schema),
    }
}

fn output_schema(run: &Run) -> Option<serde_json::Value> {
    run.task.checks.iter().find_map(|check| check.how.schema()).cloned()
}

/// Whether the answer becomes the whole output, as it is: alone, and not as a part that is
/// put back into its place.
fn becomes_output(run: &Run, purpose: &Purpose) -> bool {
    let Purpose::Act(id) = purpose else { return false };
    if matches!(run.phase, Phase::Repairing { .. }) {
        return run.mending.window.is_none();
    }
    run.plan.as_ref().is_some_and(|plan| plan.last() == [id])
}

/// Whether it is about somebody else's work. A second answer to the task is not.
pub(super) fn is_critical(run: &Run, purpose: &Purpose) -> bool {
    match purpose {
        Purpose::Act(_) | Purpose::Plan(_) => false,
        Purpose::Critique(_) => true,
        Purpose::Judge(_) => !matches!(judging::how(run), Some(CheckHow::Consistent(_))),
    }
}

/// Other answers are of use only if they may differ.
fn temperature(run: &Run, purpose: &Purpose) -> Option<Ppm> {
    let is_sample = matches!(purpose, Purpose::Judge(_)) && !is_critical(run, purpose);
    if is_done_anew(run) {
        return Some(warmth(run.spend.repairs));
    }
    let warmth = if judging::seeks_rivals(run) { RIVAL_TEMPERATURE } else { SAMPLE_TEMPERATURE };
    is_sample.then_some(warmth)
}

/// Answers that shall not be given again: those that failed, and, where another answer is
/// wanted that might hold as well, those there are.
fn not_again(run: &Run) -> Vec<Payload> {
    let mut failed = run.mending.failed.clone();
    if let Phase::Verifying(verification) = &run.phase
        && judging::seeks_rivals(run)
    {
        failed.extend(run.output.iter().flatten().take(1).cloned());
        failed.extend(verification.opinions.iter().filter_map(Opinion::sample).cloned());
        return failed;
    }
    if is_done_anew(run) { failed } else { Vec::new() }
}

fn is_done_anew(run: &Run) -> bool {
    matches!(run.phase, Phase::Repairing { .. }) && run.repairs_afresh()
}

/// How freely the work is done anew, once it has failed so often.
fn warmth(failed: u32) -> Ppm {
    Ppm(WARMTH_STEP.0.saturating_mul(i64::from(failed))).min(WARMTH_MAX)
}

/// The last thing said, for those who finish a conversation.
pub(super) fn answer(text: &Payload) -> ThreadState {
    ThreadState::Answered(text.clone())
}
