//! Whether a schema only grew: what of an older one no longer holds in a newer one.
//!
//! A pure function of two schemas and of who writes the values. It knows the words of JSON Schema that
//! are used here; a word it does not know must stay as it was, so that nothing passes unjudged.

mod alternatives;
#[cfg(test)]
mod tests;
mod words;

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

use alternatives::alternatives;

/// Who writes the values, and who reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// We write, others read: output. It may gain keys and variants, and may promise more.
    Written,
    /// We write and read, for years: journals. They may gain optional keys and variants, nothing else.
    Stored,
    /// Others write, we read: input. It may gain optional keys and variants, and may accept more.
    Read,
}

impl Direction {
    /// Whether values may come that did not come before.
    fn may_widen(self) -> bool {
        self == Self::Read
    }

    /// Whether values may stay away that came before.
    fn may_narrow(self) -> bool {
        self == Self::Written
    }
}

/// Something that held and does not any more.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Break {
    /// Where: keys and variants from the root, `*` for what is in a list or under any key.
    pub at: String,
    /// What.
    pub what: What,
}

/// What does not hold any more.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// A key is gone, or has another name.
    KeyGone(String),
    /// A key that was not there, or could be left out, must be there.
    KeyDemanded(String),
    /// A key that was always there may be missing.
    KeyUnsure(String),
    /// A variant or a value of an enumeration is gone, or has another name.
    VariantGone(String),
    /// Values of another type.
    Type(String, String),
    /// A word of the schema allows more than before.
    Wider(String),
    /// A word of the schema allows less than before.
    Narrower(String),
    /// A word of the schema that says what a value means is another one.
    Meaning(String),
}

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", if self.at.is_empty() { "the whole" } else { &self.at })?;
        match &self.what {
            What::KeyGone(key) => write!(f, "the key `{key}` is gone"),
            What::KeyDemanded(key) => write!(f, "the key `{key}` must be there now"),
            What::KeyUnsure(key) => write!(f, "the key `{key}` may be missing now"),
            What::VariantGone(name) => write!(f, "`{name}` is gone"),
            What::Type(was, is) => write!(f, "it was {was} and is {is}"),
            What::Wider(word) => write!(f, "`{word}` allows more than before"),
            What::Narrower(word) => write!(f, "`{word}` allows less than before"),
            What::Meaning(word) => write!(f, "`{word}` is another one, so the value means something else"),
        }
    }
}

/// Everything of `old` that does not hold in `new`, sorted; nothing if `new` only grew.
#[must_use]
pub fn compare(old: &Value, new: &Value, direction: Direction) -> Vec<Break> {
    let mut walk = Walk { old, new, direction, seen: BTreeSet::new(), found: Vec::new() };
    walk.pair("", old, new);
    walk.found.sort();
    walk.found.dedup();
    walk.found
}

/// A way through both schemas at once.
#[derive(Clone)]
struct Walk<'a> {
    old: &'a Value,
    new: &'a Value,
    direction: Direction,
    /// Pairs of references that were taken: schemas refer to themselves.
    seen: BTreeSet<(String, String)>,
    found: Vec<Break>,
}

impl Walk<'_> {
    fn tell(&mut self, at: &str, what: What) {
        self.found.push(Break { at: at.to_owned(), what });
    }

    fn pair(&mut self, at: &str, old: &Value, new: &Value) {
        if let (Some(was), Some(is)) = (reference(old), reference(new))
            && !self.seen.insert((was.to_owned(), is.to_owned()))
        {
            return;
        }
        let (old, new) = (resolved(self.old, old), resolved(self.new, new));
        let (olds, news) = (alternatives(self.old, &old), alternatives(self.new, &new));
        match (olds, news) {
            (None, None) => self.plain(at, &old, &new),
            (olds, news) => {
                // What holds for all alternatives stands beside them.
                self.plain(at, &alternatives::beside(&old), &alternatives::beside(&new));
                let olds = olds.unwrap_or_else(|| vec![Value::Object(old)]);
                let news = news.unwrap_or_else(|| vec![Value::Object(new)]);
                self.alternatives(at, &olds, &news);
            }
        }
    }

    /// Two schemas without alternatives.
    fn plain(&mut self, at: &str, old: &Map<String, Value>, new: &Map<String, Value>) {
        self.kind(at, old, new);
        self.keys(at, old, new);
        self.others(at, old, new);
        self.lists(at, old, new);
        self.words(at, old, new);
    }

    fn kind(&mut self, at: &str, old: &Map<String, Value>, new: &Map<String, Value>) {
        let (was, is) = (kind(old), kind(new));
        if was == is {
            return;
        }
        let wider = is == "anything" || (was == "integer" && is == "number");
        let narrower = was == "anything" || (was == "number" && is == "integer");
        let allowed = wider && self.direction.may_widen() || narrower && self.direction.may_narrow();
        if !allowed {
            self.tell(at, What::Type(was.into(), is.into()));
        }
    }

    fn keys(&mut self, at: &str, old: &Map<String, Value>, new: &Map<String, Value>) {
        let (olds, news) = (members(old, "properties"), members(new, "properties"));
        let (needed, needs) = (required(old), required(new));
        for (key, was) in olds {
            match news.get(key) {
                Some(is) => self.pair(&format!("{at}/{key}"), was, is),
                None => self.tell(at, What::KeyGone(key.clone())),
            }
        }
        for key in needed.difference(&needs).filter(|key| news.contains_key(**key)) {
            if !self.direction.may_widen() {
                self.tell(at, What::KeyUnsure((*key).to_owned()));
            }
        }
        for key in needs.difference(&needed) {
            if !self.direction.may_narrow() {
                self.tell(at, What::KeyDemanded((*key).to_owned()));
            }
        }
    }

    /// Keys that are not named.
    fn others(&mut self, at: &str, old: &Map<String, Value>, new: &Map<String, Value>) {
        let (was, is) = (members(old, "patternProperties"), members(new, "patternProperties"));
        if was.keys().ne(is.keys()) {
            self.tell(at, What::Meaning("patternProperties".into()));
        }
        for (pattern, was) in was {
            if let Some(is) = is.get(pattern) {
                self.pair(&format!("{at}/*"), was, is);
            }
        }
        for word in ["additionalProperties", "unevaluatedProperties"] {
            match (old.get(word), new.get(word)) {
                (Some(Value::Object(was)), Some(Value::Object(is))) => {
                    self.pair(&format!("{at}/*"), &Value::Object(was.clone()), &Value::Object(is.clone()));
                }
                (was, is) => {
                    let (was, is) = (openness(was), openness(is));
                    self.range(at, word, was.cmp(&is));
                }
            }
        }
    }

    fn lists(&mut self, at: &str, old: &Map<String, Value>, new: &Map<String, Value>) {
        let any = Value::Bool(true);
        if old.contains_key("items") || new.contains_key("items") {
            let (was, is) = (old.get("items").unwrap_or(&any), new.get("items").unwrap_or(&any));
            self.pair(&format!("{at}/*"), was, is);
        }
        let places = |map: &Map<String, Value>| {
            map.get("prefixItems").and_then(Value::as_array).cloned().unwrap_or_default()
        };
        let (was, is) = (places(old), places(new));
        if was.len() != is.len() {
            self.tell(at, What::Meaning("prefixItems".into()));
        }
        for (place, (was, is)) in was.iter().zip(&is).enumerate() {
            self.pair(&format!("{at}/{place}"), was, is);
        }
    }
}

/// How much the word for unnamed keys lets in: nothing, some, anything.
fn openness(word: Option<&Value>) -> u8 {
    match word {
        Some(Value::Bool(false)) => 0,
        Some(Value::Object(_)) => 1,
        _ => 2,
    }
}

fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref").and_then(Value::as_str)
}

/// The schema with what it refers to in its place. What stands beside the reference is kept.
fn resolved(root: &Value, schema: &Value) -> Map<String, Value> {
    let mut found = match schema {
        Value::Object(map) => map.clone(),
        Value::Bool(false) => Map::from_iter([("not".to_owned(), Value::Object(Map::new()))]),
        _ => Map::new(),
    };
    // A chain of references is short; one that is not leads in a circle.
    for _ in 0..16 {
        let Some(Value::String(place)) = found.remove("$ref") else { break };
        let pointer = place.strip_prefix('#').unwrap_or(&place);
        let Some(Value::Object(target)) = root.pointer(pointer) else {
            // What cannot be found must at least be the same on both sides.
            found.insert("$missing".into(), Value::String(place));
            break;
        };
        let mut target = target.clone();
        for (word, said) in found {
            match (target.get_mut(&word), said) {
                (Some(Value::Object(there)), Value::Object(more)) if word == "properties" => {
                    there.extend(more)
                }
                (Some(Value::Array(there)), Value::Array(more)) if word == "required" => there.extend(more),
                (_, said) => {
                    target.insert(word, said);
                }
            }
        }
        found = target;
    }
    found
}

/// The type in words; a constant has the type of its value.
fn kind(schema: &Map<String, Value>) -> &str {
    match (schema.get("type"), schema.get("const")) {
        (Some(Value::String(kind)), _) => kind,
        (_, Some(constant)) => of_value(constant),
        _ if schema.contains_key("properties") => "object",
        _ if schema.contains_key("not") => "nothing",
        _ => "anything",
    }
}

fn of_value(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn members<'m>(schema: &'m Map<String, Value>, word: &str) -> &'m Map<String, Value> {
    static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    schema.get(word).and_then(Value::as_object).unwrap_or(&NONE)
}

fn required(schema: &Map<String, Value>) -> BTreeSet<&str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}
