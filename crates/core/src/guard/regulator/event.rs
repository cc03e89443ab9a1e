//! What a regulator is told. Texts are borrowed; what of them is kept is cut to a bound.

use super::budget::Tokens;
use crate::guard::{Effect, Origin};
use crate::provenance::Digest;
use crate::tool::Repeat;

/// Something that happened in an agent loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event<'a> {
    /// A run begins: everything before it is forgotten, but what users corrected.
    Run {
        /// What is wanted, where it is known. Without it, what a person writes first.
        task: Option<&'a str>,
    },
    /// Somebody wrote to the agent. A person begins a new turn.
    User {
        /// Who.
        origin: Origin,
        /// What. A person's words are looked at for corrections.
        text: Option<&'a str>,
    },
    /// The model is about to be called; retries count.
    Step,
    /// The next tokens of the reply that is being written, before it is reported.
    Logprobs(&'a [Logprob<'a>]),
    /// The model answered.
    Reply(Reply<'a>),
    /// The model asks for a call, which has not been made.
    Call(Call<'a>),
    /// A call that was allowed came back, or did not happen after all.
    Result(Outcome<'a>),
    /// Tokens that no reply reported.
    Tokens(Tokens),
    /// Money was spent, in micro-dollars.
    Cost {
        /// How much.
        micros: u64,
    },
    /// Somebody judged the work, from 0 to 1.
    Quality {
        /// How good it is.
        score: f64,
    },
    /// Somebody judged how much of the last reply has nothing to do with the task.
    Drift {
        /// The share, from 0 to 1.
        share: f64,
    },
    /// A user corrected the agent.
    Correction {
        /// What was corrected, in any words; what shares half of its terms is one kind.
        kind: &'a str,
    },
    /// Somebody wants the run to end.
    Cancel,
}

/// A token of a reply, and how likely it was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Logprob<'a> {
    /// Its text, as it stands in the reply.
    pub token: &'a str,
    /// The natural logarithm of its probability, where the provider says.
    pub logprob: Option<f64>,
}

/// An answer of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reply<'a> {
    /// Its text.
    pub text: &'a str,
    /// How many calls it asks for.
    pub calls: u32,
    /// It was cut off by the output limit. Its calls are not to be made.
    pub truncated: bool,
    /// What it took.
    pub tokens: Tokens,
}

/// A call the model asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// What its result will refer to. Without ids results belong to the oldest
    /// open call of their tool.
    pub id: Option<&'a str>,
    /// The tool.
    pub tool: &'a str,
    /// The arguments, as the model wrote them.
    pub args: &'a str,
    /// What the tool does to the world, where it is declared.
    pub effect: Option<Effect>,
    /// Whether the call may be made twice, where it is declared.
    pub repeat: Option<Repeat>,
}

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome<'a> {
    /// The call's id.
    pub id: Option<&'a str>,
    /// The tool.
    pub tool: &'a str,
    /// What came of it.
    pub status: Status<'a>,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status<'a> {
    /// It was made.
    Done {
        /// What came back.
        output: &'a str,
        /// Whether it went well, where the tool says.
        ok: Option<bool>,
        /// Fingerprint of the workspace afterwards, where there is one.
        world: Option<Digest>,
    },
    /// Policy or a person refused it.
    Denied,
    /// There is no such tool.
    UnknownTool,
    /// Infrastructure failed; it will be asked for again. No sign of a loop.
    Retry,
}
