//! One line of text to one event, with what is wrong named as exactly as can be.

use bowline_core::guard::regulator::{
    BadAmount, BadExchange, Call, Logprob, Refused, Status, Tokens, micros,
};
use bowline_core::guard::{Effect, Origin};
use bowline_core::provenance::Digest;
use bowline_core::task::suggest::nearest;
use bowline_core::tool::Repeat;
use serde::Deserialize;
use serde_json::{Map, Number, Value};

/// The version of the protocol. What only adds optional keys, events and answers keeps it.
pub const PROTOCOL: u64 = 1;

/// Every event and its keys, besides `event` and `at_ms`.
pub const EVENTS: [(&str, &[&str]); 19] = [
    ("run", &["task", "protocol"]),
    ("turn", &[]),
    ("user", &["text", "origin"]),
    ("step", &[]),
    ("logprobs", &["tokens"]),
    ("assistant", &["text", "calls", "truncated", "tokens"]),
    ("tool_call", CALL_KEYS),
    ("tool_result", &["id", "tool", "output", "ok", "status", "world"]),
    ("tokens", &["input", "output", "cached", "reasoning"]),
    ("cost", &["usd", "micros"]),
    ("quality", &["score"]),
    ("drift", &["share"]),
    ("correction", &["kind"]),
    ("cancel", &[]),
    ("state", &[]),
    ("restore", &["state"]),
    ("statistics", &[]),
    ("export", &[]),
    ("import", &["export"]),
];
const TOKEN_KEYS: &[&str] = &["token", "logprob"];
const CALL_KEYS: &[&str] = &["id", "tool", "args", "effect", "idempotent"];

/// Why a line is no event. It has changed nothing.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadEvent {
    /// Not one JSON object.
    #[error("not a JSON object: {what}")]
    NotJson {
        /// What the parser says.
        what: String,
    },
    /// A line over the limit.
    #[error("the line is longer than {max} bytes")]
    TooLong {
        /// The limit.
        max: usize,
    },
    /// No `event`, or one nobody knows.
    #[error("there is no event {name:?}{}", did_you_mean(.nearest.as_deref()))]
    UnknownEvent {
        /// What was written.
        name: String,
        /// What was probably meant.
        nearest: Option<String>,
    },
    /// A key nobody knows.
    #[error("{event} has no key {key:?}{}", did_you_mean(.nearest.as_deref()))]
    UnknownKey {
        /// The event.
        event: String,
        /// What was written.
        key: String,
        /// What was probably meant.
        nearest: Option<String>,
    },
    /// A value that is missing or of another type.
    #[error("{event}: {what}")]
    BadValue {
        /// The event.
        event: String,
        /// What is wrong.
        what: String,
    },
    /// The guard cannot take it in.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// A loop that speaks a newer version of this protocol.
    #[error("this loop speaks version {found} of the protocol; this build speaks up to {PROTOCOL}")]
    Protocol {
        /// The loop's.
        found: u64,
    },
    /// A state of another version.
    #[error("this state is of version {}, not {known}", found.map_or("none".into(), |found| found.to_string()))]
    StateVersion {
        /// Its version.
        found: Option<u64>,
        /// Ours.
        known: u32,
    },
    /// An export that cannot be taken over.
    #[error("{what}")]
    Import {
        /// What is wrong.
        what: String,
        /// What to do about it.
        remedy: String,
    },
    /// A state that is none.
    #[error("this is no state of a guard: {what}")]
    State {
        /// What is wrong.
        what: String,
    },
}

impl From<BadExchange> for BadEvent {
    fn from(bad: BadExchange) -> Self {
        Self::Import { what: bad.to_string(), remedy: bad.remedy() }
    }
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map(|nearest| format!(", did you mean {nearest:?}?")).unwrap_or_default()
}

impl BadEvent {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::NotJson { .. } => "write one JSON object on each line, and nothing else".into(),
            Self::TooLong { .. } => "clip long outputs before reporting them".into(),
            Self::UnknownEvent { .. } => {
                let names: Vec<&str> = EVENTS.iter().map(|(name, _)| *name).collect();
                format!("the events are {}", names.join(", "))
            }
            Self::UnknownKey { event, .. } => match keys_of(event) {
                Some([]) | None => format!("{event} has no keys of its own"),
                Some(keys) => format!("the keys of {event} are {}", keys.join(", ")),
            },
            Self::BadValue { .. } => "see docs/guard-protocol.md for what each key holds".into(),
            Self::Refused(refused) => refused.remedy(),
            Self::Protocol { .. } => {
                "use the version of Bowline the loop was written for, or a newer one".into()
            }
            Self::Import { remedy, .. } => remedy.clone(),
            Self::StateVersion { .. } => "use the version of Bowline that wrote it, or begin anew".into(),
            Self::State { .. } => "restore what an answer to `state` held, unchanged".into(),
        }
    }
}

/// An event and when it happened.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) at_ms: Option<u64>,
    pub(super) told: Told,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum Told {
    Run { task: Option<String>, protocol: Option<u64> },
    Turn,
    User { text: Option<String>, origin: Option<Origin> },
    Step,
    Logprobs { tokens: Vec<Spoken> },
    Assistant(Said),
    ToolCall(Asked),
    ToolResult(Came),
    Tokens(Tokens),
    Cost(Paid),
    Quality { score: f64 },
    Drift { share: f64 },
    Correction { kind: String },
    Cancel,
    State,
    Restore { state: Value },
    Statistics,
    Export,
    Import { export: Value },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Spoken {
    token: String,
    logprob: Option<f64>,
}

impl Spoken {
    pub(super) fn logprob(&self) -> Logprob<'_> {
        Logprob { token: &self.token, logprob: self.logprob }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Said {
    #[serde(default)]
    pub(super) text: String,
    #[serde(default)]
    pub(super) calls: Calls,
    #[serde(default)]
    pub(super) truncated: bool,
    #[serde(default)]
    pub(super) tokens: Tokens,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "calls is a number or a list of calls")]
pub(super) enum Calls {
    Number(u32),
    List(Vec<Asked>),
}

impl Default for Calls {
    fn default() -> Self {
        Self::Number(0)
    }
}

impl Calls {
    pub(super) fn count(&self) -> u32 {
        match self {
            Self::Number(number) => *number,
            Self::List(calls) => u32::try_from(calls.len()).unwrap_or(u32::MAX),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    id: Option<String>,
    tool: String,
    #[serde(default)]
    args: Value,
    effect: Option<Effect>,
    idempotent: Option<bool>,
}

impl Asked {
    /// Arguments as a model writes them: text stays text, anything else is JSON.
    pub(super) fn args(&self) -> String {
        match &self.args {
            Value::String(text) => text.clone(),
            Value::Null => "{}".into(),
            other => other.to_string(),
        }
    }

    pub(super) fn call<'a>(&'a self, args: &'a str) -> Call<'a> {
        let repeat = self.idempotent.map(|yes| if yes { Repeat::Freely } else { Repeat::Never });
        Call { id: self.id.as_deref(), tool: &self.tool, args, effect: self.effect, repeat }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Came {
    pub(super) id: Option<String>,
    pub(super) tool: String,
    #[serde(default)]
    output: String,
    ok: Option<bool>,
    #[serde(default)]
    status: How,
    world: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum How {
    #[default]
    Done,
    Denied,
    UnknownTool,
    Retry,
}

impl Came {
    pub(super) fn status(&self) -> Status<'_> {
        match self.status {
            How::Done => {
                let world = self.world.as_ref().map(|world| Digest::of(world.as_bytes()));
                Status::Done { output: &self.output, ok: self.ok, world }
            }
            How::Denied => Status::Denied,
            How::UnknownTool => Status::UnknownTool,
            How::Retry => Status::Retry,
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Paid {
    usd: Option<Number>,
    micros: Option<u64>,
}

impl Paid {
    pub(super) fn amount(&self) -> Result<u64, BadEvent> {
        match (&self.usd, self.micros) {
            (Some(usd), None) => {
                micros(&usd.to_string()).map_err(|bad: BadAmount| BadEvent::Refused(bad.into()))
            }
            (None, Some(micros)) => Ok(micros),
            (None, None) | (Some(_), Some(_)) => {
                Err(BadEvent::BadValue { event: "cost".into(), what: "give either usd or micros".into() })
            }
        }
    }
}

impl Message {
    /// Reads a line. Keys are checked before values, so that a mistyped key is
    /// not reported as a missing one.
    pub(super) fn read(line: &[u8]) -> Result<Self, BadEvent> {
        let not_json = |what: String| BadEvent::NotJson { what };
        let value: Value = serde_json::from_slice(line).map_err(|error| not_json(error.to_string()))?;
        let Value::Object(mut keys) = value else { return Err(not_json("a value of another kind".into())) };
        let event = name(&keys)?;
        let at_ms = keys.remove("at_ms");
        check_keys(&event, &keys)?;
        let bad = |what: String| BadEvent::BadValue { event: event.clone(), what };
        let at_ms = match at_ms {
            None => None,
            Some(at) => Some(at.as_u64().ok_or_else(|| bad("at_ms is no whole number".into()))?),
        };
        let told = serde_json::from_value(Value::Object(keys)).map_err(|error| bad(error.to_string()))?;
        Ok(Self { at_ms, told })
    }
}

impl Told {
    /// Whom the loop waited for before this happened.
    pub(super) fn waited_for(&self) -> Option<Origin> {
        match self {
            Self::Turn | Self::Run { .. } => Some(Origin::Person),
            Self::User { origin, .. } => Some(origin.unwrap_or(Origin::Person)),
            Self::Step
            | Self::Logprobs { .. }
            | Self::Assistant(_)
            | Self::ToolCall(_)
            | Self::ToolResult(_)
            | Self::Tokens(_)
            | Self::Cost(_)
            | Self::Quality { .. }
            | Self::Drift { .. }
            | Self::Correction { .. }
            | Self::Cancel
            | Self::State
            | Self::Restore { .. }
            | Self::Statistics
            | Self::Export
            | Self::Import { .. } => None,
        }
    }
}

fn name(keys: &Map<String, Value>) -> Result<String, BadEvent> {
    let written = keys.get("event").and_then(Value::as_str).unwrap_or_default();
    if keys_of(written).is_some() {
        return Ok(written.to_owned());
    }
    let near = nearest(written, EVENTS.iter().map(|(name, _)| *name));
    Err(BadEvent::UnknownEvent { name: cut(written), nearest: near.map(str::to_owned) })
}

fn keys_of(event: &str) -> Option<&'static [&'static str]> {
    EVENTS.iter().find(|(name, _)| *name == event).map(|(_, keys)| *keys)
}

fn check_keys(event: &str, keys: &Map<String, Value>) -> Result<(), BadEvent> {
    let known = keys_of(event).unwrap_or_default();
    only(event, keys, known, &["event", "at_ms"])?;
    let calls = keys.get("calls").and_then(Value::as_array).into_iter().flatten();
    for call in calls.filter_map(Value::as_object) {
        only(event, call, CALL_KEYS, &[])?;
    }
    let spoken = keys.get("tokens").and_then(Value::as_array).into_iter().flatten();
    for token in spoken.filter_map(Value::as_object) {
        only(event, token, TOKEN_KEYS, &[])?;
    }
    match keys.get("tokens").and_then(Value::as_object) {
        Some(tokens) => only(event, tokens, keys_of("tokens").unwrap_or_default(), &[]),
        None => Ok(()),
    }
}

fn only(event: &str, keys: &Map<String, Value>, known: &[&str], also: &[&str]) -> Result<(), BadEvent> {
    let stranger = keys.keys().find(|key| !known.contains(&key.as_str()) && !also.contains(&key.as_str()));
    let Some(key) = stranger else { return Ok(()) };
    let near = nearest(key, known.iter().chain(also).copied());
    Err(BadEvent::UnknownKey { event: event.into(), key: cut(key), nearest: near.map(str::to_owned) })
}

fn cut(text: &str) -> String {
    text.chars().take(64).collect()
}
