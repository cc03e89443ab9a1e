//! Why a record is not read, and what to do about it.
//!
//! A record of a newer Bowline is refused by name: which event, what is new in it, what this build reads.
//! The examination is slow and happens only once reading has failed. What never happens here: a record
//! that is read in part.

use serde_json::Value;

use super::{FORMAT, Record, upcast};
use crate::event::{CONTRACT, Event};
use crate::id::RunId;

/// This build, as people know it.
const THIS: &str = env!("CARGO_PKG_VERSION");
/// Most of a stranger's name that is shown.
const NAME_MAX: usize = 64;

/// What is wrong with a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRecord {
    /// Bytes changed, or a record before it did.
    #[error("record {seq} of run {run} does not match its hash")]
    Hash {
        /// Whose.
        run: RunId,
        /// Where.
        seq: u64,
    },
    /// A record is missing or doubled.
    #[error("run {run} continues at event {found} where {expected} was expected")]
    Gap {
        /// Whose.
        run: RunId,
        /// What should have come.
        expected: u64,
        /// What came.
        found: u64,
    },
    /// Written by a newer Bowline.
    #[error("record {seq} of run {run} has format {format}; this build reads up to {FORMAT}")]
    Format {
        /// Whose.
        run: RunId,
        /// Where.
        seq: u64,
        /// Its format.
        format: u16,
    },
    /// Written by a newer Bowline: the result of a phase has another contract.
    #[error(
        "event {seq} of run {run} (`{event}`) has contract {contract}; this build, Bowline {THIS}, reads contract {CONTRACT}"
    )]
    Contract {
        /// Whose.
        run: RunId,
        /// Where.
        seq: u64,
        /// The event's name.
        event: String,
        /// Its contract.
        contract: u64,
    },
    /// Written by a newer Bowline: it says something this build does not know.
    #[error(
        "event {seq} of run {run} (`{event}`) was written by a newer Bowline: it has {what}, which this build, Bowline {THIS}, does not know"
    )]
    Newer {
        /// Whose.
        run: RunId,
        /// Where.
        seq: u64,
        /// The event's name.
        event: String,
        /// What is new in it.
        what: String,
    },
    /// The hash is right and the content is not: written by something else.
    #[error("record {seq} of run {run} is not understood: {message}")]
    Body {
        /// Whose.
        run: RunId,
        /// Where.
        seq: u64,
        /// What the reader said.
        message: String,
    },
}

impl BadRecord {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Format { .. } | Self::Contract { .. } | Self::Newer { .. } => {
                "go on with the Bowline that wrote it, or a newer one; nothing of the run was changed"
            }
            Self::Hash { .. } | Self::Gap { .. } | Self::Body { .. } => {
                "restore the store from a backup; the run is left as it was found"
            }
        }
    }

    /// Nothing is damaged: the record is only younger than this build.
    #[must_use]
    pub fn is_newer(&self) -> bool {
        match self {
            Self::Format { format, .. } => *format > FORMAT,
            Self::Contract { .. } | Self::Newer { .. } => true,
            Self::Hash { .. } | Self::Gap { .. } | Self::Body { .. } => false,
        }
    }
}

/// Names what in a record that could not be read is the reason.
pub(super) fn why(record: &Record, message: &str) -> BadRecord {
    let raw: Vec<Value> = serde_json::from_str(&record.body).unwrap_or_default();
    let bad = (record.seq..).zip(raw).find_map(|(seq, raw)| unread(record, seq, raw));
    bad.unwrap_or_else(|| BadRecord::Body {
        run: record.run.clone(),
        seq: record.seq,
        message: message.to_owned(),
    })
}

/// Why this event is not read; `None` if it is.
fn unread(record: &Record, seq: u64, raw: Value) -> Option<BadRecord> {
    let run = record.run.clone();
    let raw = upcast(raw, record.format);
    let (event, fields) = match &raw {
        Value::Object(map) => map.iter().next().map(|(name, fields)| (cut(name), fields.clone()))?,
        Value::String(name) => (cut(name), Value::Null),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => return None,
    };
    let contract = fields.get("contract").and_then(Value::as_u64);
    if let Some(contract) = contract.filter(|found| *found > u64::from(CONTRACT)) {
        return Some(BadRecord::Contract { run, seq, event, contract });
    }
    let message = serde_json::from_value::<Event>(raw).err()?.to_string();
    Some(match unknown(&message) {
        Some(what) => BadRecord::Newer { run, seq, event, what },
        None => BadRecord::Body { run, seq, message },
    })
}

/// What a reader stumbled over, where it is something it has no word for. A journal has no typing
/// errors: its hash is right, so a program wrote this, and meant it.
fn unknown(message: &str) -> Option<String> {
    let named = |start: &str| message.strip_prefix(start).and_then(|rest| rest.split('`').next()).map(cut);
    let key = named("unknown field `").map(|name| format!("a key {name:?}"));
    key.or_else(|| named("unknown variant `").map(|name| format!("a kind {name:?}")))
}

fn cut(name: &str) -> String {
    name.chars().take(NAME_MAX).collect()
}
