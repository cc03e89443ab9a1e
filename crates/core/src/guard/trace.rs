//! Traces: what a guard remembers of a call, a result, a reply, a repair round.
//!
//! Made from texts by pure functions, once, where the texts are; small enough
//! for a journal. Keys and digests of calls and results are whole SHA-256 hashes
//! and are compared whole.

use serde::{Deserialize, Serialize};

use super::effect::{Breadth, Change, Effect};
use super::{key, normalise, signature, sketch::Sketch};
use crate::provenance::Digest;
use crate::tool::Repeat;

/// One tool call, before it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallTrace {
    /// Names tool and arguments; equal for every way to write the same JSON.
    pub key: Digest,
    /// Names the tool.
    pub tool: Digest,
    /// What it does to the world.
    pub effect: Effect,
    /// Whether it changes the world when it succeeds. A shell line that edits a
    /// file and then runs it is [`Effect::Exec`] and [`Change::Surely`].
    pub change: Change,
    /// May it be made again without thinking? Decides about duplicates in one
    /// batch only.
    pub repeat: Repeat,
    /// Whether the tool does one thing, or anything.
    pub breadth: Breadth,
    /// Names the one thing it looks at or changes (a path), where known.
    pub target: Option<Digest>,
}

impl CallTrace {
    /// The trace of a call: `args` as the model wrote them, `declared` as the
    /// tool says; without a declaration the effect is guessed.
    #[must_use]
    pub fn of(tool: &str, args: &str, declared: Option<Effect>) -> Self {
        let guess = super::effect::guess(tool, args);
        let (effect, change) = match declared {
            Some(effect) => (effect, effect.change()),
            None => (guess.effect, guess.change),
        };
        let repeat = match effect {
            Effect::Read | Effect::Poll | Effect::Exec => Repeat::Freely,
            Effect::Write | Effect::Cursor => Repeat::Never,
        };
        Self {
            key: key::of(tool, args),
            tool: Digest::of(tool.as_bytes()),
            effect,
            change,
            repeat,
            breadth: guess.breadth,
            target: guess.target,
        }
    }

    /// The trace of a call whose arguments are kept elsewhere, under this hash.
    #[must_use]
    pub fn of_kept(tool: &str, args: Digest, declared: Option<Effect>) -> Self {
        let effect = declared.unwrap_or(Effect::Exec);
        let key = Digest::of_parts(&[b"kept", tool.as_bytes(), &args.0]);
        Self { key, effect, change: effect.change(), target: None, ..Self::of(tool, "", declared) }
    }

    /// The same call of a tool that declares how it may be repeated.
    #[must_use]
    pub fn with_repeat(self, repeat: Repeat) -> Self {
        Self { repeat, ..self }
    }
}

/// How a call ended, as far as a guard can tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It did what it was asked to.
    #[default]
    Succeeded,
    /// It did not.
    Failed,
}

impl Outcome {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
    fn is_success(&self) -> bool {
        matches!(self, Self::Succeeded)
    }
}

/// One tool result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OutputTrace {
    /// Hash of the text without its volatile tokens.
    pub digest: Digest,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Outcome::is_success")]
    pub outcome: Outcome,
    /// Nothing was said.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub empty: bool,
    /// Names the error, without what varies from call to call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Digest>,
}

impl OutputTrace {
    /// The trace of a result. `ok` is what the tool said about success; when it
    /// said nothing the text decides.
    #[must_use]
    pub fn of(output: &str, ok: Option<bool>) -> Self {
        let failed = !ok.unwrap_or_else(|| !signature::looks_failed(output));
        Self {
            digest: normalise::digest(output),
            outcome: if failed { Outcome::Failed } else { Outcome::Succeeded },
            empty: normalise::is_blank(output),
            signature: signature::error_signature(output, failed),
        }
    }

    /// The trace of most texts: nothing in it is volatile, and it names no error.
    #[must_use]
    pub fn plain(digest: Digest, ok: bool) -> Self {
        let outcome = if ok { Outcome::Succeeded } else { Outcome::Failed };
        Self { digest, outcome, empty: false, signature: None }
    }
}

/// One reply of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplyTrace {
    /// Hash of how it begins: its first letters, in lower case. A model that is
    /// stuck opens its replies alike even when it varies the rest. Sixteen digits
    /// of it: the worst a mix-up can do is to count one reply as a repetition.
    pub opening: Option<Box<str>>,
    /// Its words; `None` when it has no text.
    pub words: Option<Sketch>,
    /// How many tool calls it asks for.
    pub calls: u32,
    /// It was cut off by the output limit.
    pub truncated: bool,
}

impl ReplyTrace {
    /// The trace of a reply.
    #[must_use]
    pub fn of(text: &str, calls: u32, truncated: bool) -> Self {
        let text = text.trim();
        let opening = opening(text);
        Self {
            opening: (!opening.is_empty()).then(|| short(Digest::of(opening.as_bytes()))),
            words: (!text.is_empty()).then(|| Sketch::of_words(text)),
            calls,
            truncated,
        }
    }
}

fn short(digest: Digest) -> Box<str> {
    digest.to_string().chars().take(16).collect()
}

/// The first letters of a text, in lower case, words one space apart.
fn opening(text: &str) -> String {
    const LETTERS: usize = 60;
    let mut opening = String::with_capacity(LETTERS * 2);
    let kept = text.chars().filter(|next| next.is_alphabetic() || *next == ' ').flat_map(char::to_lowercase);
    opening.extend(kept.take(LETTERS));
    opening
}

/// One round of repair: what was produced, and what was said to be wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoundTrace {
    /// The output that was judged.
    pub output: Sketch,
    /// The diagnosis.
    pub diagnosis: Sketch,
}

impl RoundTrace {
    /// The trace of a repair round.
    #[must_use]
    pub fn of(output: &str, diagnosis: &str) -> Self {
        Self { output: Sketch::of(output), diagnosis: Sketch::of(diagnosis) }
    }
}

/// Who a user message is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A person: a new turn, everything before is forgiven.
    Person,
    /// The harness itself ("please continue"): no new turn.
    Harness,
}
