//! Lines about servers of tools, embedded models and the guard.

use std::collections::BTreeMap;
use std::path::Path;

use bowline_core::agent::server::ServerName;
use bowline_core::untrusted::description::Concern;
use bowline_guard::score::{BlockTally, StopTally};
use serde::Serialize;

/// A server of tools, as it is known here.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(deny_unknown_fields, rename = "ServerLine")
)]
pub struct Server<'a> {
    /// What it is called.
    pub server: &'a ServerName,
    /// Its program or its address.
    pub at: String,
    /// How its tools came to be agreed to, in words.
    pub pinned: &'a str,
    /// How many tools were agreed to.
    pub tools: usize,
    /// How many of them are held back until a person has read them.
    pub held: usize,
}

/// What a server offers now.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Offered<'a> {
    /// What it is called.
    pub server: &'a ServerName,
    /// The version of the protocol it speaks.
    pub protocol: &'a str,
    /// How that stands to what was agreed to, in words.
    pub standing: &'a str,
    /// Its tools.
    pub tools: Vec<OfferedTool<'a>>,
}

/// A tool of a server.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct OfferedTool<'a> {
    /// What the server calls it.
    pub tool: &'a str,
    /// What a person must read first.
    pub concerns: &'a [Concern],
}

/// A server that could not be asked.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Unreached<'a> {
    /// What it is called.
    pub server: &'a ServerName,
    /// What went wrong.
    pub error: String,
    /// What to do about it.
    pub remedy: String,
}

/// An embedded model: here, or to be had.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Weights<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Its length.
    pub bytes: u64,
    /// Its licence; `null`: not known.
    pub licence: Option<&'a str>,
    /// Whether it is here.
    pub present: bool,
    /// Where it is, if it is here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<&'a Path>,
    /// Its SHA-256, if it is here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<&'a str>,
    /// Where it can be had, if it is not here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<Vec<String>>,
}

/// How fast an embedded model is on this machine.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Benched<'a> {
    /// Which.
    pub model: &'a str,
    /// Threads it ran on.
    pub threads: usize,
    /// How long reading it took.
    pub load_ms: u64,
    /// Tokens read in a second.
    pub prompt_tokens_per_second: f64,
    /// Tokens written in a second.
    pub decode_tokens_per_second: f64,
    /// The most memory the program had; `null`: not known.
    pub memory_bytes: Option<u64>,
    /// Tokens of a conversation it takes.
    pub context_tokens: usize,
}

/// How guards did on recorded runs.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Evaluated<'a> {
    /// Which part of the runs.
    pub part: Part,
    /// How many runs, by source.
    pub runs: &'a BTreeMap<String, u64>,
    /// How many were left out.
    pub left_out: u64,
    /// Each guard.
    pub guards: Vec<EvaluatedGuard<'a>>,
}

/// Which part of recorded runs was looked at.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PartWord"))]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// All of them.
    Whole,
    /// Those a guard may be tuned on.
    Tuning,
    /// The others.
    HeldOut,
}

/// How one guard did.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct EvaluatedGuard<'a> {
    /// Which.
    pub guard: &'a str,
    /// On all sources together.
    pub pool: Scores,
    /// On each source.
    pub sources: BTreeMap<String, Scores>,
}

/// Scores of a guard.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(deny_unknown_fields, rename = "GuardScores")
)]
pub struct Scores {
    /// For blocking, where it may block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<Blocks>,
    /// For stopping, where it may stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stops>,
}

/// How blocking went.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Blocks {
    /// Share of successes with a block that hid something; `null`: there were none.
    pub information_losing: Option<f64>,
    /// Share of redundant calls in failures that were blocked.
    pub redundant_blocked: Option<f64>,
    /// What the shares come from.
    pub counts: BlockTally,
}

/// How stopping went.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Stops {
    /// Share of successes that were stopped; `null`: there were none.
    pub false_stops: Option<f64>,
    /// Share of calls in failures that did not happen.
    pub calls_saved: Option<f64>,
    /// What the shares come from.
    pub counts: StopTally,
}
