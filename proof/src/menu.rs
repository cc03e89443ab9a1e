//! What the world can answer: every outcome of a model, a tool, a probe, a check.

use bowline_core::event::{Outcome, StepTrouble};
use bowline_core::input::{Asked, Reply, Returned};
use bowline_core::message::{Call, Payload, Stop, Usage};
use bowline_core::provenance::{Digest, args_digest};
use bowline_core::run::Run;
use bowline_core::tool::{FileImage, Touch};

/// What every call is asked with: the same bytes, so that a no to one is a no to all.
const ARGS: &str = "{\"to\":\"x\"}";

/// What a model does when it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Say {
    /// Gives its answer.
    Answer,
    /// Says that it cannot be done this way.
    GiveUp,
    /// Calls these tools.
    Call(&'static [&'static str]),
    /// Is cut in the middle of a call.
    Cut,
    /// Refuses.
    Refuse,
    /// Cannot be reached just now.
    Away,
    /// Cannot be reached at all.
    Gone,
    /// As a critic: says what is wrong.
    Diagnose,
}

/// What becomes of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fate {
    /// It happens, and says so.
    Done,
    /// It does not happen, and says so.
    Failed,
    /// It does not happen, and may work later.
    Trouble,
    /// It is lost on the way there.
    LostBefore,
    /// It happens, and its reply is lost.
    LostAfter,
}

impl Fate {
    /// Every fate.
    pub const ALL: &'static [Self] =
        &[Self::Done, Self::Failed, Self::Trouble, Self::LostBefore, Self::LostAfter];

    /// The world is another one afterwards.
    #[must_use]
    pub fn happens(self) -> bool {
        match self {
            Self::Done | Self::LostAfter => true,
            Self::Failed | Self::Trouble | Self::LostBefore => false,
        }
    }

    /// What the shell can tell of it.
    #[must_use]
    pub fn returned(self) -> Returned {
        match self {
            Self::Done => Returned::Known(Outcome::Ok),
            Self::Failed => Returned::Known(Outcome::Error),
            Self::Trouble => Returned::Trouble { retry_after_ms: None },
            Self::LostBefore | Self::LostAfter => Returned::Unknown,
        }
    }
}

/// What becomes of an attempt to undo a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Amend {
    /// It is undone, and says so.
    Done,
    /// It is undone, and its reply is lost with the worker.
    LostAfter,
    /// It is not, and may be later.
    Trouble,
    /// It cannot be.
    Failed,
}

impl Amend {
    /// Every one.
    pub const ALL: &'static [Self] = &[Self::Done, Self::LostAfter, Self::Trouble, Self::Failed];
}

/// What a probe finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Finding {
    /// The truth.
    Truth,
    /// Nothing.
    Unknown,
}

/// What a check finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Test {
    /// It holds.
    Pass,
    /// It does not.
    Fail,
    /// It could not be made.
    Broken,
}

/// How a person settles a doubt; people may be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Settle {
    /// It happened.
    Happened,
    /// It did not.
    DidNot,
    /// Nobody will find out.
    GiveUp,
}

/// Trouble with a model, if this is that.
#[must_use]
pub(crate) fn trouble(say: Say) -> Option<StepTrouble> {
    match say {
        Say::Away => Some(StepTrouble::Transient),
        Say::Gone => Some(StepTrouble::Permanent),
        Say::Answer | Say::GiveUp | Say::Call(_) | Say::Cut | Say::Refuse | Say::Diagnose => None,
    }
}

/// The reply of a model that was reached.
pub(crate) fn reply(run: &Run, step: u32, say: Say) -> Reply {
    let (stop, words, tools): (Stop, &str, &[&str]) = match say {
        Say::Answer | Say::Away | Say::Gone => (Stop::End, "done", &[]),
        Say::GiveUp => (Stop::End, "CANNOT: no", &[]),
        Say::Diagnose => (Stop::End, "{\"summary\":\"off\",\"defects\":[]}", &[]),
        Say::Call(tools) => (Stop::ToolUse, "", tools),
        Say::Cut => (Stop::Truncated, "half", &["pay"]),
        Say::Refuse => (Stop::Refused, "no", &["pay"]),
    };
    let usage = Usage { input: 10, output: 5, ..Usage::default() };
    let calls = (0..).zip(tools).map(|(index, tool): (u16, &&str)| Asked {
        call: Call::new(&format!("c{step}.{index}"), tool, ARGS.into(), &mut Vec::new()),
        problem: None,
        image: None,
        concerns: Vec::new(),
    });
    Reply {
        stop,
        usage,
        micros: run.price.of(&usage),
        text: Payload::inline(words),
        head: words.into(),
        calls: calls.collect(),
        likelihood: None,
        claim: None,
    }
}

/// The file a call changes.
pub(crate) fn image() -> FileImage {
    FileImage {
        path: "f".into(),
        before: Some(Payload::inline("before")),
        after: Digest::of(b"after"),
        new_folder: None,
        departure: None,
    }
}

/// Hash of what every call is asked with.
pub(crate) fn asked_digest() -> Digest {
    args_digest(ARGS)
}

/// Looking changes nothing, so nothing of it is kept in the ledger.
pub(crate) fn is_look(run: &Run, tool: &str) -> bool {
    run.tool(tool).is_none_or(|spec| spec.touch == Touch::Read)
}
