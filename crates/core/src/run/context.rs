//! How long a conversation may be, and what is left out of it when the next step would not
//! fit: [ADR 0027](../../../../docs/adr/0027-bounded-context.md).
//!
//! Sizes are estimated from bytes, cautiously. Text is left out in batches, down to a
//! low-water mark, so that between two batches every request extends the one before it.
//!
//! Invariants
//! - A message is shortened, never removed: every call keeps its answer.
//! - The opening and the last exchange are never touched.
//! - What is left out is an event before the step it makes room for; nothing here looks at texts.

use super::decide::Draft;
use super::prompt::{self, left_out};
use super::state::{Run, Thread};
use super::{ending, limit};
use crate::event::{ContextBound, ContextFull, Elided, Event, HaltReason, LeftOut, MessagePart, StopReason};
use crate::id::SubtaskId;
use crate::message::{Call, Message, Payload};

/// Tokens taken for granted where a model does not say what it takes.
pub const CONTEXT_DEFAULT: u64 = 128_000;
/// Tokens a message costs besides its texts: who speaks, names of calls.
const TOKENS_A_MESSAGE: u64 = 16;
/// What is left of the room once something is left out, in percent.
const LOW_WATER: u64 = 60;
/// Rounds at the end that stay whole as long as the run can go on without theirs.
const RECENT: usize = 3;
/// Less than this is not worth a reference.
const SAVED_MIN: u64 = 64;

/// What a request to a model may have.
#[derive(Clone, Copy)]
pub(super) struct Context {
    /// Tokens it may read.
    pub(super) room: u64,
    /// Tokens it may answer.
    pub(super) answer: u64,
    by: ContextBound,
}

impl Context {
    /// What the model takes, less what the task does not grant.
    pub(super) fn of(run: &Run, model: &str) -> Self {
        let (takes, said_by) = match run.contexts.get(model) {
            Some(takes) => (*takes, ContextBound::Model),
            None => (CONTEXT_DEFAULT, ContextBound::Nobody),
        };
        let granted = run.limits.context_tokens;
        let (whole, by) = if granted < takes { (granted, ContextBound::Task) } else { (takes, said_by) };
        let answer = run.limits.output_tokens.min(whole / 2);
        Self { room: whole - answer, answer, by }
    }
}

/// What goes with a conversation into a request.
#[derive(Clone, Copy)]
pub(super) struct Beside {
    /// Bytes of tools and of the schema of the answer.
    pub(super) bytes: u64,
    /// Bytes that may be said first.
    pub(super) notice: u64,
}

impl Beside {
    /// Tokens of a request with so many messages of so many bytes.
    fn tokens(self, messages: usize, bytes: u64) -> u64 {
        let messages = u64::try_from(messages).unwrap_or(u64::MAX).saturating_add(1);
        let bytes = bytes.saturating_add(self.bytes).saturating_add(self.notice);
        limit::tokens(bytes).saturating_add(messages.saturating_mul(TOKENS_A_MESSAGE))
    }
}

/// Whether the next step of a conversation fits a model, or can be made to.
pub(super) fn may_fit(run: &Run, thread: &Thread, model: &str, beside: Beside) -> bool {
    let room = Context::of(run, model).room;
    let now = beside.tokens(thread.messages.len(), thread.bytes);
    now <= room || Shortening::of(run, thread, beside, room).tokens() <= room
}

/// Makes room for the next step of a conversation, or stops where there is none. False when
/// it fits as it is.
pub(super) fn makes_room(draft: &mut Draft, id: &SubtaskId, model: &str, beside: Beside) -> bool {
    let Some(thread) = draft.run.threads.get(id) else { return false };
    let notice = prompt::longest_notice(&draft.run, draft.allowance.as_ref(), thread);
    let beside = Beside { notice, ..beside };
    let context = Context::of(&draft.run, model);
    let before = beside.tokens(thread.messages.len(), thread.bytes);
    if before <= context.room {
        return false;
    }
    let found = Shortening::of(&draft.run, thread, beside, context.room);
    let after = found.tokens();
    if after > context.room {
        let full = found.full(id, model, context);
        ending::stop(draft, StopReason::Halt(HaltReason::ContextFull(Box::new(full))));
        return true;
    }
    let (subtask, model, parts) = (id.clone(), model.to_owned(), found.parts);
    draft.push(Event::Elided(Box::new(Elided { subtask, model, before, after, room: context.room, parts })));
    true
}

/// What is left out of a conversation, in the making.
struct Shortening<'r> {
    run: &'r Run,
    thread: &'r Thread,
    beside: Beside,
    saved: u64,
    parts: Vec<LeftOut>,
}

impl<'r> Shortening<'r> {
    fn of(run: &'r Run, thread: &'r Thread, beside: Beside, room: u64) -> Self {
        let mut found = Self { run, thread, beside, saved: 0, parts: Vec::new() };
        let rounds = thread.rounds();
        let last = rounds.last().copied().unwrap_or(0);
        let recent = rounds.len().checked_sub(RECENT).and_then(|at| rounds.get(at)).copied().unwrap_or(0);
        let low = room / 100 * LOW_WATER;
        let (output, words): (Kinds, Kinds) = (&[Kind::Output], &[Kind::Words, Kind::Args]);
        found.leave_out(output, 0..recent, low);
        found.leave_out(words, 0..recent, low);
        // Rather than the run.
        found.leave_out(output, recent..last, room);
        found.leave_out(&[Kind::Args], recent..last, room);
        found
    }

    fn tokens(&self) -> u64 {
        self.beside.tokens(self.thread.messages.len(), self.thread.bytes.saturating_sub(self.saved))
    }

    /// Leaves out parts of these messages, oldest first, until so many tokens remain.
    fn leave_out(&mut self, kinds: Kinds, within: std::ops::Range<usize>, until: u64) {
        let mut calls: &[Call] = &[];
        for (at, message) in self.thread.messages.iter().enumerate().take(within.end) {
            if let Message::Assistant { calls: asked, .. } = message {
                calls = asked;
            }
            if at < within.start {
                continue;
            }
            for (what, text, instead) in shortened(self.run, message, calls, kinds) {
                if self.tokens() <= until {
                    return;
                }
                let Ok(at) = u32::try_from(at) else { return };
                if text.len() >= instead.len() as u64 + SAVED_MIN {
                    let (bytes, sha256) = (text.len(), text.digest());
                    let mut short = message.clone();
                    short.shorten(what, &instead);
                    self.saved = self.saved.saturating_add(message.size().saturating_sub(short.size()));
                    self.parts.push(LeftOut { at, what, bytes, sha256, instead });
                }
            }
        }
    }

    /// What is still too much.
    fn full(&self, id: &SubtaskId, model: &str, context: Context) -> ContextFull {
        let (rounds, messages) = (self.thread.rounds(), self.thread.messages.len());
        let first = rounds.first().copied().unwrap_or(messages);
        let last = rounds.last().copied().unwrap_or(messages);
        let bytes = |from: usize, to: usize| -> u64 {
            self.thread.messages.iter().take(to).skip(from).map(Message::size).sum()
        };
        ContextFull {
            subtask: id.clone(),
            model: model.to_owned(),
            wanted: self.tokens(),
            opening: limit::tokens(bytes(0, first).saturating_add(self.beside.bytes)),
            last: limit::tokens(bytes(last, messages)),
            room: context.room,
            answer: context.answer,
            by: context.by,
        }
    }
}

/// Kinds of parts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Output,
    Words,
    Args,
}

type Kinds = &'static [Kind];

/// The parts of a message, each with what may stand in its place.
fn shortened<'m>(
    run: &Run,
    message: &'m Message,
    calls: &[Call],
    kinds: Kinds,
) -> Vec<(MessagePart, &'m Payload, String)> {
    let wants = |kind: Kind| kinds.contains(&kind);
    match message {
        Message::ToolResult { call, output, .. } if wants(Kind::Output) => {
            let asked = calls.iter().find(|asked| asked.id == *call);
            let spec = asked.and_then(|asked| run.tool(&asked.tool));
            vec![(MessagePart::Output, output, left_out::output(spec, call, output))]
        }
        Message::Assistant { text, calls } => {
            let words = wants(Kind::Words).then(|| (MessagePart::Words, text, left_out::words(text)));
            let args = calls.iter().zip(0..).filter(|_| wants(Kind::Args));
            let args = args.map(|(call, index)| (MessagePart::Args(index), &call.args, left_out::args(call)));
            words.into_iter().chain(args).collect()
        }
        Message::System(_) | Message::User(_) | Message::Briefing(_) | Message::ToolResult { .. } => {
            Vec::new()
        }
    }
}

impl Run {
    /// Parts of a conversation are left out.
    pub(super) fn elided(&mut self, what: &Elided) {
        if let Some(thread) = self.threads.get_mut(&what.subtask) {
            thread.leave_out(&what.parts);
        }
    }
}
