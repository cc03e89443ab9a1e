//! The state of one conversation: what was said, and what its model or its
//! tools are at.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::append_list::AppendList;
use crate::budget::Cost;
use crate::control::Ppm;
use crate::event::{Ask, Doubt, Exhausted, Known, LeftOut, MessagePart};
use crate::guard::Sketch;
use crate::guard::loops::{Detector, Settings};
use crate::id::{ActionId, Millis, ToolName};
use crate::message::{Call, Message, Part, Payload};
use crate::provenance::Digest;
use crate::tool::FileImage;
use crate::untrusted::{FENCE_BYTES, Mark};

/// One conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thread {
    /// What was said, as its model reads it now.
    pub messages: AppendList<Message>,
    /// The messages that were shortened, as they were said, by their place.
    #[serde(default, skip_serializing_if = "nothing")]
    pub left_out: Arc<BTreeMap<u32, Message>>,
    /// Running hash of `messages`: the request's hash is made from it.
    pub talk: Digest,
    /// Bytes said, to estimate tokens.
    pub bytes: u64,
    /// Cut replies in a row.
    pub truncations: u32,
    /// Unanswered attempts in a row, at the model that is asked.
    pub attempts: u32,
    /// Models that gave no answer to what is asked now, in the order they were asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given_up: Vec<Box<str>>,
    /// Unusable answers in a row (critics only).
    pub unusable: u32,
    /// The last warning its model was told of.
    pub told: u32,
    /// Its model believes that it had its last call.
    pub closing: bool,
    /// What it said when it had its last call.
    pub summary: Option<Summary>,
    /// Watches it for circles.
    pub watch: Arc<Detector>,
    /// The last results by the guard's name of their calls, newest last.
    pub known: Arc<Vec<(Digest, Arc<Known>)>>,
    /// What its last answer was like.
    pub sketch: Option<Sketch>,
    /// How likely its model found the words of its last answer, where it told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likelihood: Option<Ppm>,
    /// What happens now.
    pub state: ThreadState,
}

/// What a model said with the last call a limit left it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// The call.
    pub step: u32,
    /// The words.
    pub text: Payload,
}

/// What happens in a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ThreadState {
    /// The model is to be asked.
    Ready,
    /// The model is asked.
    Thinking(OpenStep),
    /// The model is asked again later.
    BackingOff {
        /// When.
        until: Millis,
    },
    /// Tools are at work.
    Calling(Batch),
    /// The model gave its answer: what becomes of it is the phase's business.
    Answered(Payload),
    /// Over.
    Done(Payload),
}

/// A model call in flight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenStep {
    /// Which.
    pub step: u32,
    /// What was set aside.
    pub reserved: Cost,
    /// Why it is the last one, and for a summary, if it is.
    pub last: Option<Box<Exhausted>>,
    /// Whom it was sent to, where that is not whoever is asked as a rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Box<str>>,
}

/// The calls of one reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// The step whose reply asked for them.
    pub step: u32,
    /// In the order they were asked.
    pub calls: Vec<BatchCall>,
}

/// One call of a reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchCall {
    /// As it was asked.
    pub call: Call,
    /// Where it stands.
    pub state: CallState,
}

/// Where a call stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum CallState {
    /// To be started when its turn comes.
    Waiting,
    /// A person is asked.
    AwaitingConsent,
    /// Out in the world.
    Running {
        /// The tool.
        tool: ToolName,
        /// Idempotency key.
        key: Digest,
        /// Which attempt.
        attempt: u32,
        /// The file it changes.
        image: Option<Box<FileImage>>,
        /// What is set aside for the model it asks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reserved: Option<Cost>,
    },
    /// Nobody knows.
    InDoubt {
        /// The tool.
        tool: ToolName,
        /// Idempotency key.
        key: Digest,
        /// The last attempt.
        attempt: u32,
        /// How it came to this.
        why: Doubt,
        /// Who is asked.
        ask: Ask,
    },
    /// Known not to have happened: to be made again with the same key.
    Again {
        /// The last attempt.
        attempt: u32,
    },
    /// Met passing trouble: to be made again later with the same key.
    BackingOff {
        /// The last attempt.
        attempt: u32,
        /// Not before.
        until: Millis,
        /// What was booked for the last attempt covers the next: it did not happen.
        covered: bool,
    },
    /// Answered.
    Answered {
        /// What the model reads.
        output: Payload,
        /// What fences it, if nobody vouches for it.
        mark: Option<Mark>,
        /// It is shown without the fence.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        given: bool,
        /// Whether it is bad news.
        is_error: bool,
        /// What it is told before that, if anything.
        notice: Option<Box<str>>,
    },
}

impl Thread {
    /// A conversation that begins.
    #[must_use]
    pub fn open(messages: &[Message], guard: &Settings) -> Self {
        let mut thread = Self {
            messages: AppendList::default(),
            left_out: Arc::default(),
            talk: Digest::ZERO,
            bytes: 0,
            truncations: 0,
            attempts: 0,
            given_up: Vec::new(),
            unusable: 0,
            told: 0,
            closing: false,
            summary: None,
            watch: Arc::new(Detector::new(guard.clone())),
            known: Arc::default(),
            sketch: None,
            likelihood: None,
            state: ThreadState::Ready,
        };
        messages.iter().cloned().for_each(|message| thread.say(message));
        thread
    }

    /// Nothing more is wanted of it; what it said last is kept.
    pub(in crate::run) fn close(&mut self) {
        let text = match &self.state {
            ThreadState::Answered(text) | ThreadState::Done(text) => text.clone(),
            ThreadState::Ready
            | ThreadState::Thinking(_)
            | ThreadState::BackingOff { .. }
            | ThreadState::Calling(_) => Payload::inline(""),
        };
        self.state = ThreadState::Done(text);
    }

    /// Adds a message.
    pub fn say(&mut self, message: Message) {
        (self.talk, self.bytes) = self.with(&message);
        self.messages.push(message);
    }

    /// Hash and length of the conversation, were this said next.
    pub(in crate::run) fn with(&self, message: &Message) -> (Digest, u64) {
        said(self.talk, self.bytes, message)
    }

    /// Puts other words in the place of parts of it. A part that is not there stays as it is.
    pub(in crate::run) fn leave_out(&mut self, parts: &[LeftOut]) {
        let left_out = Arc::make_mut(&mut self.left_out);
        for part in parts {
            let Ok(at) = usize::try_from(part.at) else { continue };
            self.messages.change(at, |message| {
                left_out.entry(part.at).or_insert_with(|| message.clone());
                message.shorten(part.what, &part.instead);
            });
        }
        let start = (Digest::ZERO, 0);
        let messages = self.messages.iter();
        (self.talk, self.bytes) = messages.fold(start, |(talk, bytes), message| said(talk, bytes, message));
    }

    /// Where its rounds begin: each time the model spoke.
    pub(in crate::run) fn rounds(&self) -> Vec<usize> {
        let spoken = self.messages.iter().enumerate().filter(|(_, message)| match message {
            Message::Assistant { .. } => true,
            Message::System(_) | Message::User(_) | Message::Briefing(_) | Message::ToolResult { .. } => {
                false
            }
        });
        spoken.map(|(at, _)| at).collect()
    }

    /// The calls of the current reply, with their ids.
    pub fn calls(&self) -> impl Iterator<Item = (ActionId, &BatchCall)> {
        let batch = match &self.state {
            ThreadState::Calling(batch) => Some(batch),
            ThreadState::Ready
            | ThreadState::Thinking(_)
            | ThreadState::BackingOff { .. }
            | ThreadState::Answered(_)
            | ThreadState::Done(_) => None,
        };
        batch.into_iter().flat_map(|batch| {
            let step = batch.step;
            (0..).zip(&batch.calls).map(move |(index, call)| (ActionId { step, index }, call))
        })
    }

    /// The model's last reply asked for tools.
    pub(in crate::run) fn in_tool_loop(&self) -> bool {
        let last = self.messages.iter().rev().find_map(|message| match message {
            Message::Assistant { calls, .. } => Some(!calls.is_empty()),
            Message::System(_) | Message::User(_) | Message::Briefing(_) | Message::ToolResult { .. } => None,
        });
        last.unwrap_or(false)
    }

    /// It has delivered.
    pub(in crate::run) fn is_done(&self) -> bool {
        match &self.state {
            ThreadState::Done(_) => true,
            ThreadState::Ready
            | ThreadState::Thinking(_)
            | ThreadState::BackingOff { .. }
            | ThreadState::Calling(_)
            | ThreadState::Answered(_) => false,
        }
    }

    /// Something of it is out in the world.
    pub(in crate::run) fn in_flight(&self) -> bool {
        match &self.state {
            ThreadState::Thinking(_) => true,
            ThreadState::Calling(_) => self.calls().any(|(_, call)| call.is_out()),
            ThreadState::Ready
            | ThreadState::BackingOff { .. }
            | ThreadState::Answered(_)
            | ThreadState::Done(_) => false,
        }
    }
}

impl BatchCall {
    /// It has its one answer.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        match self.state {
            CallState::Answered { .. } => true,
            CallState::Waiting
            | CallState::AwaitingConsent
            | CallState::Running { .. }
            | CallState::InDoubt { .. }
            | CallState::Again { .. }
            | CallState::BackingOff { .. } => false,
        }
    }

    /// A tool or its probe is at work on it.
    fn is_out(&self) -> bool {
        match self.state {
            CallState::Running { .. } | CallState::InDoubt { ask: Ask::Probe, .. } => true,
            CallState::Waiting
            | CallState::AwaitingConsent
            | CallState::InDoubt { ask: Ask::Person, .. }
            | CallState::Again { .. }
            | CallState::BackingOff { .. }
            | CallState::Answered { .. } => false,
        }
    }
}

fn nothing(left_out: &Arc<BTreeMap<u32, Message>>) -> bool {
    left_out.is_empty()
}

/// Hash and length of a conversation of this hash and length, once this is said.
fn said(talk: Digest, bytes: u64, message: &Message) -> (Digest, u64) {
    let json = serde_json::to_vec(message).unwrap_or_default();
    (Digest::of_parts(&[&talk.0, &json]), bytes.saturating_add(message.size()))
}

impl Message {
    /// Bytes a model reads of it, at most.
    pub(in crate::run) fn size(&self) -> u64 {
        match self {
            Self::System(content) | Self::User(content) => content.iter().map(Payload::len).sum(),
            Self::Assistant { text, calls } => {
                text.len() + calls.iter().map(|call| call.tool.len() as u64 + call.args.len()).sum::<u64>()
            }
            Self::Briefing(parts) => parts.iter().map(part_size).sum(),
            Self::ToolResult { output, mark, notice, .. } => {
                let fence = mark.as_ref().map_or(0, |_| FENCE_BYTES);
                output.len() + fence + notice.as_ref().map_or(0, |notice| notice.len() as u64)
            }
        }
    }

    /// Puts words of our own in the place of a part, if it has that part.
    pub(in crate::run) fn shorten(&mut self, what: MessagePart, instead: &str) {
        match (what, self) {
            (MessagePart::Output, Self::ToolResult { output, mark, .. }) => {
                *output = Payload::inline(instead);
                *mark = None;
            }
            (MessagePart::Words, Self::Assistant { text, .. }) => *text = Payload::inline(instead),
            (MessagePart::Args(index), Self::Assistant { calls, .. }) => {
                if let Some(call) = calls.get_mut(usize::from(index)) {
                    call.args = Payload::inline(instead);
                    call.sha256 = None;
                }
            }
            (
                MessagePart::Output | MessagePart::Words | MessagePart::Args(_),
                Self::System(_)
                | Self::User(_)
                | Self::Briefing(_)
                | Self::Assistant { .. }
                | Self::ToolResult { .. },
            ) => {}
        }
    }
}

fn part_size(part: &Part) -> u64 {
    match part {
        Part::Words(words) => words.len(),
        Part::Material { text, .. } => text.len() + FENCE_BYTES,
    }
}
