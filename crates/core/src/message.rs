//! Provider-neutral messages: what is said to a model and what it answers.
//!
//! Texts are [`Payload`]s: short ones stay inline, long ones are stored once by
//! content hash and referred to. Whoever stores an event has stored the payloads
//! it names before or in the same transaction.

use serde::{Deserialize, Serialize};

use crate::provenance::{Digest, args_digest};
use crate::untrusted::Mark;
use crate::window::Window;

/// Longest text, in bytes, that an event or a state carries itself.
///
/// Below this a reference (digest, row, index entry) costs more than the text.
pub const INLINE_MAX: usize = 512;

/// A text, by value or by reference.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Payload {
    /// The text itself.
    Inline(Box<str>),
    /// A text in the store, by its content hash.
    Stored {
        /// SHA-256 of the bytes.
        sha256: Digest,
        /// Length in bytes.
        len: u64,
    },
}

impl Payload {
    /// A text that stays inline whatever its length: for words of our own.
    #[must_use]
    pub fn inline(text: &str) -> Self {
        Self::Inline(text.into())
    }

    /// The text, where it is at hand.
    #[must_use]
    pub fn as_inline(&self) -> Option<&str> {
        match self {
            Self::Inline(text) => Some(text),
            Self::Stored { .. } => None,
        }
    }

    /// Decides by length; a long text is also pushed to `blobs`, to be stored.
    #[must_use]
    pub fn keep(text: String, blobs: &mut Vec<Blob>) -> Self {
        if text.len() <= INLINE_MAX {
            return Self::Inline(text.into());
        }
        let blob = Blob::new(text.into_bytes());
        let payload = Self::Stored { sha256: blob.sha256, len: blob.bytes.len() as u64 };
        blobs.push(blob);
        payload
    }

    /// The same for bytes that may be no text: those are always stored.
    #[must_use]
    pub fn keep_bytes(bytes: Vec<u8>, blobs: &mut Vec<Blob>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::keep(text, blobs),
            Err(not_text) => {
                let blob = Blob::new(not_text.into_bytes());
                let payload = Self::Stored { sha256: blob.sha256, len: blob.bytes.len() as u64 };
                blobs.push(blob);
                payload
            }
        }
    }

    /// The hash of the text, wherever it is.
    #[must_use]
    pub fn digest(&self) -> Digest {
        match self {
            Self::Inline(text) => Digest::of(text.as_bytes()),
            Self::Stored { sha256, .. } => *sha256,
        }
    }

    /// Length in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        match self {
            Self::Inline(text) => text.len() as u64,
            Self::Stored { len, .. } => *len,
        }
    }

    /// True for the empty text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Bytes on their way into the store, with their name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    /// SHA-256 of `bytes`.
    pub sha256: Digest,
    /// The content.
    pub bytes: Vec<u8>,
}

impl Blob {
    /// Names the bytes by their content.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { sha256: Digest::of(&bytes), bytes }
    }
}

/// A message body: texts that are read one after the other.
pub type Content = Vec<Payload>;

/// What a model asked for, as it asked for it. Untrusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The provider's name for this call; its answer must carry it.
    pub id: Box<str>,
    /// The tool it named, which may not exist.
    pub tool: Box<str>,
    /// The arguments, verbatim.
    pub args: Payload,
    /// Hash of stored arguments in canonical form; inline ones can be hashed anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
}

impl Call {
    /// A call as it was asked; long arguments are also pushed to `blobs`.
    #[must_use]
    pub fn new(id: &str, tool: &str, args: String, blobs: &mut Vec<Blob>) -> Self {
        let sha256 = args_digest(&args);
        let args = Payload::keep(args, blobs);
        let sha256 = match args {
            Payload::Inline(_) => None,
            Payload::Stored { .. } => Some(sha256),
        };
        Self { id: id.into(), tool: tool.into(), args, sha256 }
    }

    /// Hash of the arguments in canonical form.
    #[must_use]
    pub fn digest(&self) -> Digest {
        match (&self.args, self.sha256) {
            (_, Some(sha256)) => sha256,
            (Payload::Inline(text), None) => args_digest(text),
            (Payload::Stored { sha256, .. }, None) => *sha256,
        }
    }
}

/// A piece of a briefing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Part {
    /// Words of whoever speaks.
    Words(Payload),
    /// What nobody vouches for: files, outputs of models, what checks printed.
    Material {
        /// Where it came from, as a person would call it.
        source: String,
        /// What fences it.
        mark: Mark,
        /// What it says.
        text: Payload,
        /// The part of it that is shown; `None`: all of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<Window>,
        /// Set where the person who wrote the task gave it: it is shown as models know it, as
        /// code of this language, which may be empty. `None`: it comes from outside.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        given: Option<Box<str>>,
    },
}

/// One entry of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Message {
    /// Standing instructions.
    System(Content),
    /// Somebody speaks to the model: a notice, or a task of the time before briefings.
    User(Content),
    /// How a conversation opens: what is wanted, and the material for it.
    Briefing(Vec<Part>),
    /// The model spoke.
    Assistant {
        /// What it said.
        text: Payload,
        /// What it asked for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<Call>,
    },
    /// The one answer to one call.
    ToolResult {
        /// The provider's name for the call.
        call: Box<str>,
        /// What the model gets to read.
        output: Payload,
        /// What fences it, if nobody vouches for it; `None` for words of our own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mark: Option<Mark>,
        /// It tells of what the person who wrote the task gave: it is shown without the fence.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        given: bool,
        /// Whether it is bad news.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        /// What the model is told before the output, if anything.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        notice: Option<Box<str>>,
    },
}

/// Why a model stopped talking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It was done.
    End,
    /// It wants tools.
    ToolUse,
    /// It hit the output limit: nothing in the reply may be acted on.
    Truncated,
    /// It declined.
    Refused,
    /// A filter of the provider cut it.
    Filtered,
}

/// Tokens of one model call. Cached input is *part* of `input`, reasoning is
/// part of `output`: adapters normalise providers that count otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    /// Everything that was read, cached tokens included.
    #[serde(skip_serializing_if = "is_zero")]
    pub input: u64,
    /// Everything that was written, reasoning included.
    #[serde(skip_serializing_if = "is_zero")]
    pub output: u64,
    /// The part of `input` that came from a cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// The part of `output` that was reasoning.
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoning: u64,
}

/// What a server says it used, where something else is booked. `None`: it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Claim {
    /// Of what was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Of what was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Of what came from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// Of what was thought.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

impl Usage {
    /// What counts against the token budget.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_stays_inline_and_a_long_one_is_stored_once() {
        let mut blobs = Vec::new();
        let short = Payload::keep("x".repeat(INLINE_MAX), &mut blobs);
        assert!(matches!(short, Payload::Inline(_)) && blobs.is_empty());
        let long = Payload::keep("x".repeat(INLINE_MAX + 1), &mut blobs);
        assert_eq!(blobs.len(), 1);
        assert_eq!(long.digest(), blobs[0].sha256);
        assert_eq!(long.len(), INLINE_MAX as u64 + 1);
    }

    #[test]
    fn a_payload_has_the_same_digest_inline_and_stored() {
        let text = "y".repeat(600);
        let stored = Payload::keep(text.clone(), &mut Vec::new());
        assert_eq!(stored.digest(), Payload::inline(&text).digest());
    }
}
