//! What is said over the socket (one JSON value a line) and written to the file.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Longest request line in bytes; a longer one is refused.
pub const LINE_MAX: u64 = 1 << 20;

/// Longest delay of a reply in milliseconds.
pub const DELAY_MS_MAX: u64 = 60_000;

/// What can be done to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Irreversible, and every request counts.
    Pay,
    /// The same, but the reply is delayed (`delay_ms`) or dropped (`drop_reply`).
    SlowPay,
    /// Idempotent by key.
    Put,
    /// Takes something, idempotent by key; `release` gives it back.
    Reserve,
    /// Gives back the reservation named by its `receipt`, or by the key `of` the call that
    /// made it, if it did; idempotent by key.
    Release,
    /// Tells people something, idempotent by key.
    Tell,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Pay, Self::SlowPay, Self::Put, Self::Reserve, Self::Release, Self::Tell];

    /// The word used on the command line and in the file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pay => "pay",
            Self::SlowPay => "slow_pay",
            Self::Put => "put",
            Self::Reserve => "reserve",
            Self::Release => "release",
            Self::Tell => "tell",
        }
    }

    /// The operation of that name.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.word() == word)
    }

    /// Whether a second request with the same key has no second effect.
    #[must_use]
    pub fn removes_duplicates(self) -> bool {
        match self {
            Self::Pay | Self::SlowPay => false,
            Self::Put | Self::Reserve | Self::Release | Self::Tell => true,
        }
    }
}

/// Who asks, as the runtime told the tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    /// The run.
    pub run: String,
    /// The action.
    pub action: String,
    /// The idempotency key.
    pub key: String,
    /// The fencing epoch of the worker.
    pub epoch: u64,
    /// The attempt; 0 for a probe that was told none.
    pub attempt: u64,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Do this.
    Act {
        /// What.
        operation: Operation,
        /// Who asks.
        caller: Caller,
        /// The tool's arguments.
        args: Value,
    },
    /// Did this happen?
    Look {
        /// What would have happened.
        operation: Operation,
        /// Who asks.
        caller: Caller,
        /// The tool's arguments, when the probe was given them.
        args: Option<Value>,
    },
    /// Every entry so far.
    Dump,
    /// Live as long as this connection: the ledger stops when it closes.
    Hold,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// It is done and synced; the same result for a removed duplicate.
    Done {
        /// What the tool prints.
        result: Value,
    },
    /// A look found it.
    Found {
        /// What the tool printed, or would have.
        result: Value,
    },
    /// A look did not find it.
    NotFound,
    /// Nothing was done and nothing written.
    Refused {
        /// Why.
        why: String,
    },
    /// The answer to a dump.
    Entries(Vec<Entry>),
    /// The answer to a hold.
    Held,
}

/// What an entry stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// The world changed.
    Effect,
    /// It was asked again with a known key and did not change.
    Duplicate,
    /// Somebody looked whether it had changed.
    Look,
}

/// One line of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its place in the file, from 1.
    pub n: u64,
    /// What it stands for.
    pub kind: EntryKind,
    /// The operation that was made or looked for.
    pub op: Operation,
    /// The run.
    pub run: String,
    /// The action.
    pub action: String,
    /// The idempotency key.
    pub key: String,
    /// The fencing epoch shown.
    pub epoch: u64,
    /// The attempt shown.
    pub attempt: u64,
    /// SHA-256 of the canonical arguments; `None` for a look without them.
    pub args: Option<String>,
    /// The amount, zero where there is none.
    pub amount: u64,
    /// When, in milliseconds since 1970, by the ledger's clock.
    pub at: u64,
    /// The entry it refers to: the first one of a duplicate or a found look, the
    /// reservation of a release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
}

impl Entry {
    /// What the tool prints for an effect.
    #[must_use]
    pub fn result(&self) -> Value {
        serde_json::json!({ "receipt": self.n, "op": self.op, "amount": self.amount })
    }
}

/// Canonical JSON (RFC 8785): keys sorted by UTF-16, no white space.
///
/// Written out here so that the ledger shares no line with the runtime, and
/// because whether `serde_json` sorts depends on a feature any crate of the build
/// may switch on. Numbers with a fraction have no settled form here; see
/// [`is_whole`].
#[must_use]
pub fn canonical(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
            let fields =
                sorted.into_iter().map(|(name, field)| format!("{}:{}", scalar(name), canonical(field)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

fn scalar(text: &str) -> String {
    Value::from(text).to_string()
}

/// Whether every number is whole and fits 64 bits, so that it has one spelling.
#[must_use]
pub fn is_whole(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.values().all(is_whole),
        Value::Array(items) => items.iter().all(is_whole),
        Value::Number(number) => !number.is_f64(),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

/// Names arguments as a journal does: SHA-256, in hexadecimal, over the word
/// `json` and the canonical form, each prefixed by its length.
#[must_use]
pub fn args_hash(args: &Value) -> String {
    let mut hasher = Sha256::new();
    for part in ["json", &canonical(args)] {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_hash_the_same_in_any_order_and_spacing() {
        let one: Value = serde_json::from_str(r#"{"b":[1,{"d":null,"c":"é\n"}],"a":true}"#).unwrap();
        let two: Value =
            serde_json::from_str(r#"{ "a" : true, "b" : [ 1, { "c":"é\n", "d":null } ] }"#).unwrap();
        assert_eq!(canonical(&one), r#"{"a":true,"b":[1,{"c":"é\n","d":null}]}"#);
        assert_eq!(args_hash(&one), args_hash(&two));
    }

    #[test]
    fn a_number_with_more_than_one_spelling_is_not_whole() {
        let whole = |text: &str| is_whole(&serde_json::from_str::<Value>(text).unwrap());
        assert!(whole(r#"{"a":[1,-2,18446744073709551615,"1.5",null,true]}"#));
        for bad in ["1.0", "[1e3]", r#"{"a":{"b":18446744073709551616}}"#] {
            assert!(!whole(bad), "{bad}");
        }
    }

    #[test]
    fn an_operation_has_one_word_everywhere() {
        for operation in Operation::ALL {
            assert_eq!(Operation::parse(operation.word()), Some(operation));
            assert_eq!(serde_json::to_value(operation).unwrap(), operation.word());
        }
        assert_eq!(Operation::parse("steal"), None);
    }
}
