//! The `[models]` of a task file: models by names of the task's own.
//!
//! What a table says is checked for its form here; where the model is, whether its
//! key is set and what it costs is found out by whoever opens it. A key never stands
//! in a task, only the name of the variable that holds it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::field::{Field, Table};
use super::limits::Bound;
use super::problem::quoted;
use super::section::Section;
use super::suggest;
use crate::budget::Price;

/// The keys of `[models.NAME]`.
pub(super) const KEYS: [&str; 11] = [
    "format",
    "base_url",
    "name",
    "key_env",
    "price",
    "free",
    "context_tokens",
    "output_tokens",
    "privacy",
    "stream",
    "likelihood",
];
/// The keys of `price`.
pub(super) const PRICE_KEYS: [&str; 4] = ["input", "output", "cached", "reasoning"];

/// Most tables of `[models]`.
const MODELS_MAX: usize = 64;
/// Longest name of a model or a variable, in bytes.
const NAME_MAX: usize = 256;
/// Longest address, in bytes.
const URL_MAX: usize = 2048;

const TOKENS_MOST: u64 = 100_000_000;
const CONTEXT: Bound = Bound::count("context_tokens", 128, TOKENS_MOST);
const OUTPUT: Bound = Bound::count("output_tokens", 1, TOKENS_MOST);
/// Dollars for a million tokens.
const PER_MILLION: Bound = Bound::dollars("price", 1_000_000);

/// What a model server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// OpenAI chat completions, and whoever speaks them.
    Openai,
    /// OpenAI responses.
    OpenaiResponses,
    /// Anthropic messages.
    Anthropic,
    /// Gemini `generateContent`.
    Gemini,
    /// Ollama chat.
    Ollama,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 5] =
        [Self::Openai, Self::OpenaiResponses, Self::Anthropic, Self::Gemini, Self::Ollama];

    /// The word of task files, which is also the kind of a model (`openai:NAME`).
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::OpenaiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }
}

/// Where what is told to a model stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Whereabouts {
    /// It leaves the machine.
    Remote,
    /// It stays here. Believed of a loopback address only.
    Local,
}

/// What a model costs, as a task says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Tariff {
    /// As it is listed; a model that nobody lists is refused.
    #[default]
    Listed,
    /// Nothing. Must be spelled out.
    Free,
    /// So much.
    Priced(Price),
}

/// A model as a task describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ModelChoice {
    /// What its server speaks.
    pub format: Format,
    /// What its server calls it.
    pub name: String,
    /// Where the server is; `None`: where the format's own provider is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The variable that holds the key; `None`: the provider's usual one, and none at
    /// another address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// What it costs.
    #[serde(default, skip_serializing_if = "is_listed")]
    pub tariff: Tariff,
    /// Tokens that fit into it, prompt and answer together, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// Most tokens it writes at once, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Where what it is told stays; `None`: as can be told by its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whereabouts: Option<Whereabouts>,
    /// It is asked for whole answers, because its server cannot stream.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// It is asked how likely it finds its words, where they become an output.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub likelihood: bool,
}

impl ModelChoice {
    /// The model of this name at the format's own provider.
    #[must_use]
    pub fn of(format: Format, name: &str) -> Self {
        Self {
            format,
            name: name.to_owned(),
            base_url: None,
            key_env: None,
            tariff: Tariff::Listed,
            context_tokens: None,
            output_tokens: None,
            whereabouts: None,
            whole: false,
            likelihood: false,
        }
    }

    /// What `format:name` means, if it names a model server.
    #[must_use]
    pub fn by_reference(reference: &str) -> Option<Self> {
        let (kind, name) = reference.split_once(':')?;
        let format = Format::ALL.into_iter().find(|format| format.word() == kind)?;
        let name = name.trim();
        (!name.is_empty()).then(|| Self::of(format, name))
    }
}

fn is_listed(tariff: &Tariff) -> bool {
    *tariff == Tariff::Listed
}

/// Reads `[models]` at the top of a task or a manifest.
pub(crate) fn read(top: &Table<'_>) -> BTreeMap<String, ModelChoice> {
    let Some(field) = top.get("models") else { return BTreeMap::new() };
    let members = field.members();
    if members.len() > MODELS_MAX {
        field.wrong(format!("{} models are too many", members.len()), format!("keep it to {MODELS_MAX}"));
        return BTreeMap::new();
    }
    let entry = |(name, field): (&str, Field<'_>)| {
        if !is_nickname(name) {
            field.wrong(
                format!("{} is no name for a model", quoted(name)),
                "use letters, digits, `-` and `_`, as in [models.big]",
            );
        }
        Some((name.to_owned(), choice(&field)?))
    };
    members.into_iter().filter_map(entry).collect()
}

/// A name without a kind: one of `[models]`.
pub(super) fn is_nickname(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '.';
    (1..=NAME_MAX).contains(&text.len()) && text.chars().all(is_word)
}

/// Notes models that are named without a kind and stand in no table.
pub(crate) fn check_names(top: &Table<'_>, models: &BTreeMap<String, ModelChoice>) {
    for key in ["model", "critic"] {
        let Some(field) = top.get(key) else { continue };
        field.plain_text().into_iter().for_each(|text| check_name(&field, text, models));
    }
    for key in ["fallbacks", "ladder"] {
        // What is no list of texts was told where it was read.
        for item in top.get(key).map(|field| field.plain_list()).into_iter().flatten() {
            item.plain_text().into_iter().for_each(|text| check_name(&item, text, models));
        }
    }
}

fn check_name(field: &Field<'_>, text: &str, models: &BTreeMap<String, ModelChoice>) {
    if !is_nickname(text) || models.contains_key(text) {
        return;
    }
    let remedy = match suggest::nearest(text, models.keys().map(String::as_str)) {
        Some(near) => format!("did you mean {near:?}?"),
        None => format!("write kind:argument, as in \"openai:gpt-5\", or describe it in [models.{text}]"),
    };
    field.wrong(format!("there is no table [models.{text}]"), remedy);
}

fn choice(field: &Field<'_>) -> Option<ModelChoice> {
    let table = field.table(Section::Model)?;
    let text = |key: &str, most| table.get(key).and_then(|field| field.text(most).map(str::to_owned));
    let formats = Format::ALL.map(|format| (format.word(), format));
    let format = table
        .require("format", "say what the server speaks, as in format = \"openai\"")
        .and_then(|field| field.one_of(&formats));
    let name = table.require("name", "say what the server calls the model, as in name = \"gpt-5\"");
    let name = name.and_then(|field| field.text(NAME_MAX).map(str::to_owned));
    let tokens = |bound: &Bound| table.get(bound.key()).and_then(|field| field.amount(bound));
    let places = [("remote", Whereabouts::Remote), ("local", Whereabouts::Local)];
    let choice = ModelChoice {
        base_url: table.get("base_url").and_then(|field| base_url(&field)),
        key_env: table.get("key_env").and_then(|field| variable(&field)),
        tariff: tariff(&table),
        context_tokens: tokens(&CONTEXT),
        output_tokens: tokens(&OUTPUT),
        whereabouts: table.get("privacy").and_then(|field| field.one_of(&places)),
        whole: table.get("stream").and_then(|field| field.yes_or_no()) == Some(false),
        likelihood: likelihood(&table, format),
        ..ModelChoice::of(format.unwrap_or(Format::Openai), &text("name", NAME_MAX).unwrap_or_default())
    };
    (format.is_some() && name.is_some()).then_some(choice)
}

/// Whether it shall tell how likely it finds its words, in a format that has a way to.
fn likelihood(table: &Table<'_>, format: Option<Format>) -> bool {
    let Some(field) = table.get("likelihood") else { return false };
    let is_wanted = field.yes_or_no() == Some(true);
    if is_wanted && format == Some(Format::Anthropic) {
        field.wrong("no model of that format tells how likely it finds its words", "leave it out");
    }
    is_wanted
}

/// An address; what it means is for the network gate to say.
fn base_url(field: &Field<'_>) -> Option<String> {
    let text = field.text(URL_MAX)?;
    let is_address = text.starts_with("https://") || text.starts_with("http://");
    if !is_address || text.contains(|c: char| c.is_control() || c.is_whitespace() || "?#@".contains(c)) {
        field.wrong(
            "that is no address of a model server",
            "write https://host/path, or http://127.0.0.1:port/path for a server on this machine; \
             no user, no query",
        );
        return None;
    }
    Some(text.trim_end_matches('/').to_owned())
}

/// The name of a variable. What is none is not quoted back: it may be the key itself.
fn variable(field: &Field<'_>) -> Option<String> {
    let text = field.text(NAME_MAX)?;
    let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    if !text.chars().all(is_name) || text.starts_with(|c: char| c.is_ascii_digit()) {
        field.wrong(
            "that is no name of a variable",
            "write the name of the variable that holds the key, in capitals, as in \
             key_env = \"OPENAI_API_KEY\"; never the key itself",
        );
        return None;
    }
    Some(text.to_owned())
}

fn tariff(table: &Table<'_>) -> Tariff {
    let price = table.get("price");
    let free = table.get("free").and_then(|field| field.yes_or_no()).unwrap_or(false);
    match price {
        Some(field) if free => {
            field.wrong("a model has a price or is free", "remove `price`, or `free`");
            Tariff::Listed
        }
        Some(field) => priced(&field).map_or(Tariff::Listed, Tariff::Priced),
        None if free => Tariff::Free,
        None => Tariff::Listed,
    }
}

fn priced(field: &Field<'_>) -> Option<Price> {
    let table = field.table(Section::ModelPrice)?;
    let dollars = |key: &str| table.get(key).map(|field| field.amount(&PER_MILLION));
    let needed = |key: &str| {
        let remedy = "write dollars for a million tokens, as in price = { input = 2.5, output = 10 }";
        table.require(key, remedy).and_then(|field| field.amount(&PER_MILLION))
    };
    let (input, output) = (needed("input"), needed("output"));
    let (cached, reasoning) = (dollars("cached").flatten(), dollars("reasoning").flatten());
    Some(Price { input: input?, output: output?, cached, reasoning })
}
