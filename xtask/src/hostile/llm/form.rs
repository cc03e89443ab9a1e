//! A line of hostile model replies, as `DATA-FORM.md` writes it. Read strictly: a key
//! that nobody knows is an error that names it, for what is not read is not tested.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::part::Part;

/// One way to say a case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line {
    form: u32,
    pub(crate) id: String,
    pub(crate) variant: String,
    #[serde(rename = "class")]
    _class: String,
    #[serde(rename = "input")]
    _input: String,
    #[serde(rename = "why")]
    _why: String,
    pub(crate) expect: Expect,
    #[serde(default)]
    pub(crate) also_ok: Vec<Expect>,
    pub(crate) protocol: Protocol,
    stream: Streams,
    #[serde(default)]
    pub(crate) setup: Setup,
    pub(crate) exchanges: Vec<Exchange>,
    pub(crate) repeat_last: bool,
    #[serde(default)]
    pub(crate) cycle: bool,
    pub(crate) oracle: Oracle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Expect {
    RetryThenFail,
    FailAtOnce,
    Handled,
    ToolErrorToModel,
    CircuitBreak,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) enum Protocol {
    #[serde(rename = "openai-chat")]
    OpenaiChat,
    #[serde(rename = "anthropic-messages")]
    AnthropicMessages,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Streams {
    One(bool),
    Word(Any),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Any {
    Any,
}

/// What a run needs besides.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Setup {
    pub(crate) tools: Option<Vec<ToolSetup>>,
    #[serde(default)]
    pub(crate) task: Value,
    #[serde(default)]
    pub(crate) model: Value,
    pub(crate) crash: Option<Crash>,
    pub(crate) request_bytes_min: Option<usize>,
    pub(crate) skip_if_accepts: Option<String>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolSetup {
    pub(crate) name: String,
    pub(crate) result: Results,
}

/// A text, or one for each run of which the last stays; the text `echo` is its arguments.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Results {
    One(String),
    Each(Vec<String>),
}

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Crash {
    pub(crate) during_request: usize,
}

/// What the server does with one request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Exchange {
    #[serde(default)]
    pub(crate) answer: Begins,
    #[serde(default)]
    pub(crate) before: Vec<Part>,
    /// Told as null where there is no head at all.
    #[serde(default, deserialize_with = "told")]
    pub(crate) status: Option<Option<u16>>,
    pub(crate) reason: Option<String>,
    pub(crate) headers: Option<Vec<(Side, Side)>>,
    pub(crate) head: Option<Vec<Part>>,
    pub(crate) framing: Framing,
    pub(crate) body: Vec<Part>,
    pub(crate) trailers: Option<Vec<(Side, Side)>>,
}

fn told<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<Option<Option<u16>>, D::Error> {
    Option::<u16>::deserialize(reader).map(Some)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Begins {
    #[default]
    AfterRequest,
    AfterHead,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Framing {
    ContentLength,
    Chunked,
    None,
}

/// Name or value of a header.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Side {
    Text(String),
    Parts(Vec<Part>),
}

/// A number, or bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Count {
    Exactly(u64),
    Between(Bounds),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bounds {
    min: Option<u64>,
    max: Option<u64>,
}

impl Count {
    pub(crate) fn check(self, what: &str, count: u64) -> Result<()> {
        let (min, max) = match self {
            Self::Exactly(count) => (count, count),
            Self::Between(Bounds { min, max }) => (min.unwrap_or(0), max.unwrap_or(u64::MAX)),
        };
        ensure!((min..=max).contains(&count), "{what}: {count}, not {self:?}");
        Ok(())
    }
}

/// Facts that must hold besides.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Oracle {
    pub(crate) ending: Option<Vec<String>>,
    pub(crate) requests: Option<Count>,
    pub(crate) tool_runs: Option<Count>,
    pub(crate) refusals: Option<Count>,
    pub(crate) failed_attempts: Option<Count>,
    pub(crate) spent_micros: Option<Count>,
    pub(crate) other_hosts: Option<Count>,
    /// As written: digits count.
    pub(crate) tool_args: Option<Vec<Box<RawValue>>>,
    pub(crate) tool_args_prefix_of: Option<Vec<Box<RawValue>>>,
    pub(crate) same_twice: bool,
    pub(crate) refusal_has: Vec<String>,
    pub(crate) request_has: Vec<String>,
    pub(crate) request_lacks: Vec<String>,
    pub(crate) last_request_has_once: Option<Texts>,
    pub(crate) later_request_bytes_max: Option<usize>,
    pub(crate) said_as: Option<SaidAs>,
    pub(crate) shown_is: Option<String>,
    pub(crate) shown_has: Vec<String>,
    pub(crate) shown_lacks: Vec<String>,
    pub(crate) output_is: Option<String>,
    pub(crate) output_has: Vec<String>,
    pub(crate) output_lacks: Vec<String>,
    pub(crate) kept_has: Vec<String>,
    pub(crate) kept_lacks: Vec<String>,
    pub(crate) terminal_lacks: Vec<String>,
    /// There are no views in HTML.
    pub(crate) html_lacks: Vec<String>,
    pub(crate) text_bytes_max: Option<u64>,
    pub(crate) usage_each_min: Option<UsageMin>,
    pub(crate) spent_over_reserved: Option<u64>,
    pub(crate) journal_reads_back: bool,
    pub(crate) time_s_max: Option<u64>,
    pub(crate) memory_mb_max: Option<u64>,
    pub(crate) soft: Option<Box<Oracle>>,
}

/// One text, or several.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Texts {
    One(String),
    Each(Vec<String>),
}

impl Texts {
    pub(crate) fn all(&self) -> &[String] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Each(texts) => texts,
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum SaidAs {
    One(SaidRole),
    Each(Vec<SaidRole>),
}

impl SaidAs {
    pub(crate) fn all(&self) -> &[SaidRole] {
        match self {
            Self::One(said) => std::slice::from_ref(said),
            Self::Each(each) => each,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SaidRole {
    pub(crate) text: String,
    pub(crate) roles: Vec<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UsageMin {
    #[serde(default)]
    pub(crate) input: u64,
    #[serde(default)]
    pub(crate) output: u64,
}

impl Line {
    /// Reads one; the error names what is wrong with it.
    pub(crate) fn read(text: &str) -> Result<Self> {
        let line: Self = serde_json::from_str(text)?;
        line.check().with_context(|| line.name())?;
        Ok(line)
    }

    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.id, self.variant)
    }

    /// Whether the client asks for a stream; both where the same is played to both.
    pub(crate) fn streams(&self) -> Vec<bool> {
        match self.stream {
            Streams::One(stream) => vec![stream],
            Streams::Word(Any::Any) => vec![false, true],
        }
    }

    /// What is played for the request of this number, from 0.
    pub(crate) fn exchange(&self, number: usize) -> Option<&Exchange> {
        let count = self.exchanges.len();
        match self.exchanges.get(number) {
            Some(exchange) => Some(exchange),
            None if self.cycle => self.exchanges.get(number.checked_rem(count)?),
            None if self.repeat_last => self.exchanges.last(),
            None => None,
        }
    }

    fn check(&self) -> Result<()> {
        ensure!(self.form == 1, "form {} is not known", self.form);
        ensure!(!self.exchanges.is_empty(), "no exchanges");
        ensure!(!(self.repeat_last && self.cycle), "repeat_last or cycle, not both");
        ensure!(
            self.oracle.ending.is_some() && self.oracle.requests.is_some(),
            "ending and requests are told"
        );
        ensure!(self.oracle.soft.as_ref().is_none_or(|soft| soft.soft.is_none()), "soft within soft");
        self.exchanges.iter().try_for_each(Exchange::check)
    }
}

impl Exchange {
    fn check(&self) -> Result<()> {
        ensure!(self.head.is_some() != self.status.is_some(), "either head or status");
        ensure!(self.head.is_none() || self.headers.is_none(), "head holds the headers");
        let has_head = matches!(self.status, Some(Some(_)));
        ensure!(self.framing == Framing::None || has_head, "framing needs a status");
        ensure!(self.trailers.is_none() || self.framing == Framing::Chunked, "trailers are for chunked");
        for status in self.status.iter().flatten() {
            ensure!((100..=999).contains(status), "status {status}");
        }
        Part::check_all(&self.before, false).context("before")?;
        Part::check_all(&self.body, true).context("body")?;
        self.head.iter().try_for_each(|parts| Part::check_bytes(parts)).context("head")?;
        let pairs = self.headers.iter().chain(&self.trailers).flatten();
        for side in pairs.flat_map(|(name, value)| [name, value]) {
            if let Side::Parts(parts) = side {
                Part::check_bytes(parts).context("headers")?;
            }
        }
        let endless = self.body.iter().any(Part::is_endless);
        ensure!(!(endless && self.framing == Framing::ContentLength), "no length for ever");
        Ok(())
    }
}
