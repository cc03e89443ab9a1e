//! From a value to a [`Script`]: every key is known or an error with its place.

use std::collections::{BTreeMap, BTreeSet};

use bowline_core::budget::Price;
use bowline_core::control::Ppm;
use bowline_core::message::{Stop, Usage};
use serde_json::{Map, Value};

use super::expect::Expect;
use super::script::{BadScript, Failing, Script, ScriptedReply, Stall, VERSION};
use crate::SaidCall;

const SCRIPT_KEYS: &[&str] = &["script", "usage", "price", "free", "context_tokens", "conversations"];
const USAGE_KEYS: &[&str] = &["input", "output", "cached", "reasoning"];
const PRICE_KEYS: &[&str] = &["input", "output", "cached", "reasoning"];
const REPLY_KEYS: &[&str] =
    &["expect", "say", "calls", "stop", "fails", "stall_ms", "stall", "stream", "usage", "likelihood"];
const CALL_KEYS: &[&str] = &["tool", "args", "raw_args", "id"];
const EXPECT_KEYS: &[&str] =
    &["last_contains", "contains", "system_contains", "tools", "schema", "answers", "error"];
const STREAM_MAX: u64 = 10_000;

type Read<T> = Result<T, BadScript>;

pub(super) fn script(value: &Value) -> Read<Script> {
    let Value::Object(map) = value else {
        return Err(BadScript::Version { found: format!("missing: the file is {}", kind(value)) });
    };
    match map.get("script") {
        Some(version) if version.as_u64() == Some(VERSION) => {}
        Some(other) => return Err(BadScript::Version { found: other.to_string() }),
        None => return Err(BadScript::Version { found: "missing".to_owned() }),
    }
    let fields = Fields::new(value, "the file", SCRIPT_KEYS)?;
    let mut conversations = BTreeMap::new();
    let lists = fields.get("conversations").ok_or_else(|| wrong("the file", "`conversations` is missing"))?;
    let lists = lists
        .as_object()
        .ok_or_else(|| wrong("conversations", format!("must be a map, not {}", kind(lists))))?;
    for (name, replies) in lists {
        conversations.insert(name.clone(), conversation(replies, name)?);
    }
    Ok(Script {
        usage: fields.get("usage").map(|found| usage(found, "usage")).transpose()?,
        price: priced(&fields)?,
        context_tokens: fields.number("context_tokens")?,
        conversations,
    })
}

fn conversation(value: &Value, name: &str) -> Read<Vec<ScriptedReply>> {
    let replies = list(value, name)?;
    let mut ids = BTreeSet::new();
    let mut read = Vec::with_capacity(replies.len());
    for (index, value) in replies.iter().enumerate() {
        let reply = reply(value, &format!("{name}[{index}]"), index)?;
        for call in &reply.calls {
            if !ids.insert(call.id.clone()) {
                return Err(wrong(
                    &format!("{name}[{index}]"),
                    format!("two calls of {name} have the id {:?}", call.id),
                ));
            }
        }
        read.push(reply);
    }
    Ok(read)
}

fn reply(value: &Value, place: &str, index: usize) -> Read<ScriptedReply> {
    let fields = Fields::new(value, place, REPLY_KEYS)?;
    let calls = match fields.get("calls") {
        Some(value) => calls(value, &format!("{place}.calls"), index)?,
        None => Vec::new(),
    };
    let text = fields.text("say")?;
    if text.is_none() && !fields.has("calls") && !fields.has("stop") && !fields.has("stall") {
        return Err(wrong(place, "a reply needs `say` or `calls`"));
    }
    Ok(ScriptedReply {
        expect: fields
            .get("expect")
            .map(|value| expect(value, &format!("{place}.expect")))
            .transpose()?
            .unwrap_or_default(),
        fails: fields
            .get("fails")
            .map(|value| fails(value, &format!("{place}.fails")))
            .transpose()?
            .unwrap_or_default(),
        stall: stall(&fields)?,
        stream: stream(&fields)?,
        stop: stop(&fields, !calls.is_empty())?,
        usage: fields.get("usage").map(|found| usage(found, &format!("{place}.usage"))).transpose()?,
        text: text.unwrap_or_default(),
        calls,
        likelihood: likelihood(&fields)?,
    })
}

fn calls(value: &Value, place: &str, index: usize) -> Read<Vec<SaidCall>> {
    let mut read = Vec::new();
    for (nth, value) in list(value, place)?.iter().enumerate() {
        let place = format!("{place}[{nth}]");
        let fields = Fields::new(value, &place, CALL_KEYS)?;
        let args = match (fields.get("args"), fields.text("raw_args")?) {
            (Some(_), Some(_)) => return Err(wrong(&place, "`args` and `raw_args` exclude each other")),
            (Some(args), None) => {
                let mut args = args.clone();
                args.sort_all_objects();
                args.to_string()
            }
            (None, Some(raw)) => raw,
            (None, None) => "{}".to_owned(),
        };
        read.push(SaidCall {
            id: fields.text("id")?.unwrap_or_else(|| format!("call-{index}-{nth}")),
            tool: fields.text("tool")?.ok_or_else(|| wrong(&place, "a call needs `tool`"))?,
            args,
        });
    }
    Ok(read)
}

fn expect(value: &Value, place: &str) -> Read<Expect> {
    let fields = Fields::new(value, place, EXPECT_KEYS)?;
    let answers = match fields.number("answers")? {
        Some(count) => Some(usize::try_from(count).map_err(|_| wrong(place, "`answers` is too large"))?),
        None => None,
    };
    Ok(Expect {
        last_contains: fields.texts("last_contains")?,
        contains: fields.texts("contains")?,
        system_contains: fields.texts("system_contains")?,
        tools: fields.texts("tools")?,
        schema: fields.yes_or_no("schema")?,
        answers,
        error: fields.yes_or_no("error")?,
    })
}

fn fails(value: &Value, place: &str) -> Read<Vec<Failing>> {
    let bad = |place: &str, value: &Value| {
        let known = "transient, rate_limited, {rate_limited: MILLISECONDS}, timed_out or permanent";
        wrong(place, format!("must be {known}, not {}", shown(value)))
    };
    let one = |value: &Value| match value {
        Value::String(word) => match word.as_str() {
            "transient" => Some(Failing::Transient),
            "rate_limited" => Some(Failing::RateLimited { retry_after_ms: None }),
            "timed_out" => Some(Failing::TimedOut),
            "permanent" => Some(Failing::Permanent),
            _ => None,
        },
        Value::Object(map) if map.len() == 1 => {
            let wait = map.get("rate_limited").and_then(Value::as_u64)?;
            Some(Failing::RateLimited { retry_after_ms: Some(wait) })
        }
        Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    };
    let items = list(value, place)?.iter().enumerate();
    items.map(|(nth, value)| one(value).ok_or_else(|| bad(&format!("{place}[{nth}]"), value))).collect()
}

fn stall(fields: &Fields<'_>) -> Read<Stall> {
    match (fields.number("stall_ms")?, fields.text("stall")?.as_deref()) {
        (None, None) => Ok(Stall::None),
        (Some(wait_ms), None) => Ok(Stall::For(wait_ms)),
        (None, Some("forever")) => Ok(Stall::Forever),
        (None, Some(other)) => Err(wrong(&fields.at("stall"), format!("must be forever, not {other:?}"))),
        (Some(_), Some(_)) => Err(wrong(fields.place, "`stall` and `stall_ms` exclude each other")),
    }
}

fn stream(fields: &Fields<'_>) -> Read<usize> {
    match fields.number("stream")? {
        None => Ok(1),
        Some(count @ 1..=STREAM_MAX) => {
            usize::try_from(count).map_err(|_| wrong(&fields.at("stream"), "too large"))
        }
        Some(other) => {
            Err(wrong(&fields.at("stream"), format!("must be 1 to {STREAM_MAX} pieces, not {other}")))
        }
    }
}

/// A probability, in millionths.
#[expect(clippy::cast_possible_truncation, reason = "it is from 0 to 1")]
fn likelihood(fields: &Fields<'_>) -> Read<Option<Ppm>> {
    let Some(value) = fields.get("likelihood") else { return Ok(None) };
    match value.as_f64().filter(|likelihood| (0.0..=1.0).contains(likelihood)) {
        Some(likelihood) => Ok(Some(Ppm((likelihood * 1e6).round() as i64))),
        None => Err(wrong(&fields.at("likelihood"), format!("must be from 0 to 1, not {}", shown(value)))),
    }
}

fn stop(fields: &Fields<'_>, calls: bool) -> Read<Stop> {
    match fields.text("stop")?.as_deref() {
        None if calls => Ok(Stop::ToolUse),
        None | Some("end") => Ok(Stop::End),
        Some("tool_use") => Ok(Stop::ToolUse),
        Some("truncated") => Ok(Stop::Truncated),
        Some("refused") => Ok(Stop::Refused),
        Some("filtered") => Ok(Stop::Filtered),
        Some(other) => {
            let known = "end, tool_use, truncated, refused or filtered";
            Err(wrong(&fields.at("stop"), format!("must be {known}, not {other:?}")))
        }
    }
}

fn usage(value: &Value, place: &str) -> Read<Usage> {
    let fields = Fields::new(value, place, USAGE_KEYS)?;
    let count = |key| fields.number(key).map(Option::unwrap_or_default);
    let usage = Usage {
        input: count("input")?,
        output: count("output")?,
        cached: count("cached")?,
        reasoning: count("reasoning")?,
    };
    if usage.cached > usage.input || usage.reasoning > usage.output {
        return Err(wrong(
            place,
            "`cached` is part of `input` and `reasoning` part of `output`: neither can be more",
        ));
    }
    Ok(usage)
}

/// What the script costs: nothing, unless it says otherwise.
fn priced(fields: &Fields<'_>) -> Read<Option<Price>> {
    let price = fields.get("price").map(price).transpose()?;
    match (price, fields.yes_or_no("free")?) {
        (Some(_), Some(true)) => Err(wrong("the file", "`price` and `free` exclude each other")),
        (Some(price), Some(false) | None) => Ok(Some(price)),
        (None, Some(true) | None) => Ok(Some(Price::FREE)),
        (None, Some(false)) => Ok(None),
    }
}

fn price(value: &Value) -> Read<Price> {
    let fields = Fields::new(value, "price", PRICE_KEYS)?;
    // A script names micro-dollars for one token, a price those for a million.
    let micros = |key| {
        let each = fields.number(key)?;
        let fits = |each: u64| each.checked_mul(1_000_000).ok_or_else(|| wrong(&fields.at(key), "too large"));
        each.map(fits).transpose()
    };
    Ok(Price {
        input: micros("input")?.unwrap_or(0),
        output: micros("output")?.unwrap_or(0),
        cached: micros("cached")?,
        reasoning: micros("reasoning")?,
    })
}

/// A map whose keys have all been checked, and where it stands.
struct Fields<'a> {
    map: &'a Map<String, Value>,
    place: &'a str,
}

impl<'a> Fields<'a> {
    fn new(value: &'a Value, place: &'a str, known: &[&'static str]) -> Read<Self> {
        let Value::Object(map) = value else {
            return Err(wrong(place, format!("must be a map, not {}", kind(value))));
        };
        if let Some(key) = map.keys().find(|key| !known.contains(&key.as_str())) {
            let nearest = known.iter().min_by_key(|name| strsim::osa_distance(name, key));
            let nearest = nearest.filter(|name| strsim::osa_distance(name, key) <= 2.max(name.len() / 3));
            return Err(BadScript::UnknownKey {
                place: place.to_owned(),
                key: key.clone(),
                nearest: nearest.map(|name| (*name).to_owned()),
                known: known.to_vec(),
            });
        }
        Ok(Self { map, place })
    }

    fn at(&self, key: &str) -> String {
        format!("{}.{key}", self.place)
    }

    fn has(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key)
    }

    fn text(&self, key: &str) -> Read<Option<String>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => {
                Err(wrong(&self.at(key), format!("must be a text, not {} (quote it)", shown(other))))
            }
        }
    }

    /// One text or a list of texts.
    fn texts(&self, key: &str) -> Read<Vec<String>> {
        let bad = |other: &Value| {
            wrong(&self.at(key), format!("must be a text or a list of texts, not {}", shown(other)))
        };
        match self.get(key) {
            None => Ok(Vec::new()),
            Some(Value::String(text)) => Ok(vec![text.clone()]),
            Some(Value::Array(items)) => {
                items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(|| bad(item))).collect()
            }
            Some(other) => Err(bad(other)),
        }
    }

    fn number(&self, key: &str) -> Read<Option<u64>> {
        match self.get(key) {
            None => Ok(None),
            Some(value) => match value.as_u64() {
                Some(number) => Ok(Some(number)),
                None => Err(wrong(&self.at(key), format!("must be a whole number, not {}", shown(value)))),
            },
        }
    }

    fn yes_or_no(&self, key: &str) -> Read<Option<bool>> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Bool(yes)) => Ok(Some(*yes)),
            Some(other) => Err(wrong(&self.at(key), format!("must be true or false, not {}", shown(other)))),
        }
    }
}

fn list<'a>(value: &'a Value, place: &str) -> Read<&'a [Value]> {
    match value {
        Value::Array(items) => Ok(items),
        other => Err(wrong(place, format!("must be a list, not {}", kind(other)))),
    }
}

fn wrong(place: &str, problem: impl Into<String>) -> BadScript {
    BadScript::Wrong { place: place.to_owned(), problem: problem.into() }
}

fn shown(value: &Value) -> String {
    value.to_string().chars().take(80).collect()
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "empty",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}
