//! The loop detector in a run: asked before a call is made and before the model
//! is asked, told what came of both.
//!
//! Each conversation has a detector of its own, because sub-tasks work side by
//! side; what one of them changes, the others take for changed. What it says
//! becomes an event with its evidence before anything follows from it. Nothing
//! is watched that is not in the journal, so a restart changes nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::decide::Draft;
use super::state::{BatchCall, CallState, Run, Thread};
use super::{falling_back, thread};
use crate::event::{Event, Heard, Known, Outcome, Refusal, SubtaskFailure};
use crate::guard::loops::{Finding, Layer, Verdict};
use crate::guard::{CallTrace, Change, Effect, Origin, OutputTrace, ReplyTrace, RoundTrace, Sketch};
use crate::id::{ActionId, SubtaskId};
use crate::input::Reply;
use crate::message::{Call, Message, Payload, Stop};
use crate::provenance::Digest;
use crate::quality::Diagnosis;
use crate::tool::{Repeat, ToolSpec, Touch};

/// Results kept for calls that are blocked.
const KNOWN_MAX: usize = 64;

/// What the guard has to say to a call whose turn it is. True when the call is
/// not made.
pub(super) fn objects(draft: &mut Draft, id: &SubtaskId, action: ActionId) -> bool {
    let Some(thread) = draft.run.threads.get(id) else { return false };
    let Some(call) = call_of(thread, action) else { return false };
    if let Some(known) = twin(&draft.run, thread, action).and_then(answer_of) {
        let why = Box::new(Finding::in_one_batch());
        draft.push(Event::CallBlocked { action, why, known: Some(known) });
        return true;
    }
    let trace = trace(&draft.run, &call.call);
    match thread.watch.check(&trace) {
        Verdict::Allow => false,
        Verdict::Block(why) => {
            let known = thread.known.iter().find(|(key, _)| *key == trace.key);
            let known = known.map(|(_, known)| Known::clone(known));
            draft.push(Event::CallBlocked { action, why: Box::new(why), known });
            true
        }
        Verdict::Stop(why) => {
            falling_back::fails(draft, id, SubtaskFailure::Looping(Box::new(why)));
            true
        }
    }
}

/// The same for a call that a person would be asked about first. Only a block
/// settles it: a run that stops may go on later, and the call must not start
/// then because nobody was asked.
pub(super) fn blocks_at_once(draft: &mut Draft, action: ActionId) -> bool {
    let thread = draft.run.threads.iter().find(|(_, thread)| call_of(thread, action).is_some());
    let Some((id, thread)) = thread else { return false };
    let verdict = call_of(thread, action).map(|call| thread.watch.check(&trace(&draft.run, &call.call)));
    let id = id.clone();
    match verdict {
        Some(Verdict::Block(_)) => objects(draft, &id, action),
        Some(Verdict::Allow | Verdict::Stop(_)) | None => false,
    }
}

/// What the guard has to say before the model is asked again. True when there
/// was something.
pub(super) fn speaks(draft: &mut Draft, id: &SubtaskId) -> bool {
    let Some(thread) = draft.run.threads.get(id) else { return false };
    if let Verdict::Stop(why) = thread.watch.check_run() {
        falling_back::fails(draft, id, SubtaskFailure::Looping(Box::new(why)));
        return true;
    }
    let Some(why) = thread.watch.switch_due() else { return false };
    draft.push(Event::StrategySwitched { subtask: id.clone(), why: Box::new(why) });
    true
}

/// What is remembered of a reply whose text goes to the store.
pub(super) fn heard(reply: &Reply) -> Option<Box<Heard>> {
    match reply.text {
        Payload::Inline(_) => None,
        Payload::Stored { .. } => Some(Box::new(look(&reply.head, reply.calls.len()))),
    }
}

fn look(text: &str, calls: usize) -> Heard {
    let ReplyTrace { opening, words, .. } = ReplyTrace::of(text, 0, false);
    Heard { opening, words, sketch: (calls == 0).then(|| Sketch::of(text)) }
}

/// The earlier round this diagnosis makes the last one look like, counted back.
pub(super) fn repeats(run: &Run, diagnosis: &Diagnosis) -> Option<u32> {
    let back = run.rounds.like(&round(run, diagnosis)?, run.task.guard.similar_percent)?;
    u32::try_from(back).ok()
}

fn round(run: &Run, diagnosis: &Diagnosis) -> Option<RoundTrace> {
    let output = run.sketch.clone()?;
    let defects = diagnosis.defects.iter().map(|defect| defect.what.as_str());
    let words: Vec<&str> = std::iter::once(diagnosis.summary.as_str()).chain(defects).collect();
    Some(RoundTrace { output, diagnosis: Sketch::of(&words.join("\n")) })
}

/// A call that stands earlier in the same reply, word for word, and is made once
/// for both: with nothing between them that could change what is seen or done. Never
/// one that must not be repeated: who knows what was meant.
fn twin<'a>(run: &'a Run, thread: &'a Thread, action: ActionId) -> Option<&'a BatchCall> {
    with_twins(run, thread).find(|(id, _, _)| *id == action).and_then(|(_, _, twin)| twin)
}

/// Arguments as they were written.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Args<'a> {
    Here(&'a str),
    Stored(Digest),
}

impl<'a> Args<'a> {
    fn of(args: &'a Payload) -> Self {
        match args {
            Payload::Inline(text) => Self::Here(text),
            Payload::Stored { sha256, .. } => Self::Stored(*sha256),
        }
    }
}

/// The calls of a reply, each with its [`twin`], in one pass.
pub(super) fn with_twins<'a>(
    run: &'a Run,
    thread: &'a Thread,
) -> impl Iterator<Item = (ActionId, &'a BatchCall, Option<&'a BatchCall>)> {
    let mut since_change: BTreeMap<(&str, Args<'_>), &BatchCall> = BTreeMap::new();
    thread.calls().map(move |(action, call)| {
        let key = (&*call.call.tool, Args::of(&call.call.args));
        let repeat = run.tool(&call.call.tool).map(|spec| spec.repeat);
        let twin = match repeat {
            Some(Repeat::Freely | Repeat::WithSameKey) => since_change.get(&key).copied(),
            Some(Repeat::Never) | None => None,
        };
        if !only_looks(run, &call.call) {
            since_change.clear();
        }
        since_change.insert(key, call);
        (action, call, twin)
    })
}

/// A tool that is not there does nothing at all.
fn only_looks(run: &Run, call: &Call) -> bool {
    run.tool(&call.tool).is_none_or(|spec| spec.touch == Touch::Read)
}

fn call_of(thread: &Thread, action: ActionId) -> Option<&BatchCall> {
    thread.calls().find(|(id, _)| *id == action).map(|(_, call)| call)
}

fn answer_of(call: &BatchCall) -> Option<Known> {
    match &call.state {
        CallState::Answered { output, is_error, .. } => {
            Some(Known { output: output.clone(), is_error: *is_error })
        }
        CallState::Waiting
        | CallState::AwaitingConsent
        | CallState::Running { .. }
        | CallState::InDoubt { .. }
        | CallState::Again { .. }
        | CallState::BackingOff { .. } => None,
    }
}

fn trace(run: &Run, call: &Call) -> CallTrace {
    let spec = run.tool(&call.tool);
    let declared = spec.and_then(declared);
    let trace = match &call.args {
        Payload::Inline(args) => CallTrace::of(&call.tool, args, declared),
        Payload::Stored { .. } => CallTrace::of_kept(&call.tool, call.digest(), declared),
    };
    trace.with_repeat(spec.map_or(Repeat::Never, |spec| spec.repeat))
}

/// What a tool says about repeating it. Programs are judged by what they run.
fn declared(spec: &ToolSpec) -> Option<Effect> {
    let properties = spec.schema.get("properties");
    let has = |key: &&str| properties.is_some_and(|properties| properties.get(*key).is_some());
    let names_a_program = ["argv", "command"].iter().any(has);
    match (spec.effect, spec.touch) {
        (Some(effect), _) => Some(effect),
        (None, Touch::Read) => Some(Effect::Read),
        (None, Touch::Write) => Some(Effect::Write),
        (None, Touch::Exec) if names_a_program => None,
        (None, Touch::Exec) => Some(Effect::Exec),
    }
}

impl Run {
    /// The model said something.
    pub(super) fn watch_reply(&mut self, step: u32, said: (&Payload, usize, Stop), heard: Option<&Heard>) {
        let Some(id) = thread::of_step(self, step).map(|(id, _)| id.clone()) else { return };
        let Some(thread) = self.threads.get_mut(&id) else { return };
        let (text, calls, stop) = said;
        let heard = match (heard, text) {
            (Some(heard), _) => heard.clone(),
            (None, Payload::Inline(text)) => look(text, calls),
            // Written by a version that did not watch yet.
            (None, Payload::Stored { .. }) => {
                thread.sketch = None;
                return;
            }
        };
        let Heard { opening, words, sketch } = heard;
        let calls = u32::try_from(calls).unwrap_or(u32::MAX);
        let reply = ReplyTrace { opening, words, calls, truncated: stop == Stop::Truncated };
        Arc::make_mut(&mut thread.watch).record_reply(&reply);
        thread.sketch = sketch;
    }

    /// A call was not made.
    pub(super) fn watch_refused(&mut self, action: ActionId, why: Refusal, message: &str) {
        let Some((id, call)) = self.watched(action) else { return };
        // Who has no tools: how often it may ask for some is counted elsewhere.
        if thread::has_no_tools(self, &id) {
            return;
        }
        let Some(thread) = self.threads.get_mut(&id) else { return };
        let watch = Arc::make_mut(&mut thread.watch);
        match why {
            Refusal::UnknownTool => watch.record_unknown_tool(&call),
            Refusal::Denied | Refusal::NotAllowed => watch.record_denied(&call),
            // To the model these are calls that failed, and it may well repeat them.
            Refusal::BadArguments | Refusal::Unprepared => {
                watch.record_call(&call, &OutputTrace::of(message, Some(false)), None);
            }
            // Trouble of the machinery is no circle of the model: it may ask again later.
            Refusal::Truncated | Refusal::Cancelled | Refusal::NotOffered | Refusal::Unavailable => {}
        }
    }

    /// A call came home.
    pub(super) fn watch_result(
        &mut self,
        action: ActionId,
        result: (Outcome, &Payload),
        trace: Option<&OutputTrace>,
    ) {
        let (outcome, output) = result;
        let Some((id, call)) = self.watched(action) else { return };
        let ok = match outcome {
            Outcome::Ok => true,
            Outcome::Error | Outcome::TimedOut => false,
            Outcome::Cancelled | Outcome::Unavailable => return,
        };
        let seen = match (trace, output) {
            (Some(trace), _) => *trace,
            (None, Payload::Inline(text)) => OutputTrace::of(text, Some(ok)),
            (None, Payload::Stored { sha256, .. }) => OutputTrace::plain(*sha256, ok),
        };
        for (other, thread) in &mut self.threads {
            if *other == id {
                Arc::make_mut(&mut thread.watch).record_call(&call, &seen, None);
                thread.remember(&call, Known { output: output.clone(), is_error: !ok });
            } else if call.change != Change::Never {
                Arc::make_mut(&mut thread.watch).record_elsewhere();
            }
        }
    }

    /// The guard kept a call from being made.
    pub(super) fn watch_blocked(&mut self, action: ActionId, why: &Finding) {
        let Some((id, call)) = self.watched(action) else { return };
        match (why.layer, self.threads.get_mut(&id)) {
            // It was made: once, for both.
            (Layer::BatchDuplicate, _) | (_, None) => {}
            (_, Some(thread)) => Arc::make_mut(&mut thread.watch).record_blocked(&call),
        }
    }

    /// The model was told to change its strategy.
    pub(super) fn switched(&mut self, id: &SubtaskId, why: &Finding) {
        let Some(thread) = self.threads.get_mut(id) else { return };
        Arc::make_mut(&mut thread.watch).record_switch();
        let text = format!("You are going in circles: {}. Change your approach now.", why.notice);
        thread.say(Message::User(vec![Payload::inline(&text)]));
    }

    /// A person let a stopped run go on.
    pub(super) fn forgive(&mut self) {
        for thread in self.threads.values_mut() {
            Arc::make_mut(&mut thread.watch).record_user(Origin::Person);
        }
    }

    /// A round of verification and diagnosis is over.
    pub(super) fn note_round(&mut self, diagnosis: &Diagnosis) {
        if let Some(round) = round(self, diagnosis) {
            Arc::make_mut(&mut self.rounds).record(round);
            self.note_defect();
        }
    }

    /// What a conversation came to, for comparing it with later rounds.
    pub(super) fn sketch_of<'a>(&self, mut ids: impl Iterator<Item = &'a SubtaskId>) -> Option<Sketch> {
        // Of several outputs none speaks for the whole.
        match (ids.next(), ids.next()) {
            (Some(only), None) => self.threads.get(only)?.sketch.clone(),
            (Some(_) | None, _) => None,
        }
    }

    fn watched(&self, action: ActionId) -> Option<(SubtaskId, CallTrace)> {
        self.threads.iter().find_map(|(id, thread)| {
            call_of(thread, action).map(|call| (id.clone(), trace(self, &call.call)))
        })
    }
}

impl Thread {
    fn remember(&mut self, call: &CallTrace, known: Known) {
        let all = Arc::make_mut(&mut self.known);
        all.retain(|(key, _)| *key != call.key);
        if all.len() >= KNOWN_MAX {
            all.remove(0);
        }
        all.push((call.key, Arc::new(known)));
    }
}
