//! How much work a schema makes, told before any of it is done.
//!
//! A schema may refer to itself, or twice to the same place at each of many levels: a few
//! lines are then as much work as nobody has time for. So the steps of a check are counted
//! first, as if every branch were followed and nothing were remembered. That is never less
//! than what is done, and the count itself ends where the budget does.
//!
//! Never: a value is judged here, or a count that ended early is taken for a small one.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// Steps of a check that are always allowed.
const STEPS_MIN: u64 = 250_000;
/// Steps besides, for each value within the checked one.
const STEPS_EACH: u64 = 32;
/// Steps that no check may take.
const STEPS_MAX: u64 = 8_000_000;
/// Most parts of a schema that are compared with one value, however small it is.
const SPREAD_MAX: u64 = 50_000;
/// Most steps within steps, which are calls within calls.
const DEPTH_MAX: u64 = 400;
/// Most parts of a schema that lie in each other or lead from one to the next.
const WINDING_MAX: u64 = 600;
/// Most parts of a schema.
const PARTS_MAX: usize = 100_000;

/// Keywords whose schema is compared with the same value.
const SAME: [&str; 4] = ["not", "if", "then", "else"];
/// The same, for lists and maps of schemas.
const SAME_MANY: [&str; 5] = ["allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies"];
/// The same, for names of schemas.
const SAME_NAMED: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
/// Keywords whose schema is compared with everything a list or an object holds.
const EACH: [&str; 6] = [
    "additionalProperties",
    "unevaluatedProperties",
    "additionalItems",
    "unevaluatedItems",
    "items",
    "contains",
];
/// What holds no schema.
const DATA: [&str; 4] = ["enum", "const", "default", "examples"];

const TOO_COSTLY: &str = "it is too costly to check";

/// Refused: it would take too long to know whether the value fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooCostly;

/// A schema whose work can be told.
#[derive(Debug)]
pub(super) struct Cost {
    schema: Value,
    /// Names of schemas within, each with the pointer to it. Anchors begin with `#`.
    names: Vec<(String, String)>,
}

/// A schema and a value that are compared.
#[derive(Clone, Copy)]
struct Visit<'a> {
    schema: &'a Value,
    value: &'a Value,
    /// How often.
    weight: u64,
    /// Branches around it, which are tried before they are explained.
    tries: u64,
    depth: u64,
}

/// How far a schema spreads before a smaller value is looked at.
#[derive(Clone, Copy)]
enum Spread {
    Open,
    Known { steps: u64, depth: u64 },
}

impl Cost {
    /// What a schema makes of any value. The error says why it cannot be used.
    pub(super) fn of(schema: &Value) -> Result<Self, String> {
        let mut names = Vec::new();
        gather(schema, "", &mut Vec::new(), &mut names)?;
        let this = Self { schema: schema.clone(), names };
        this.judge()?;
        Ok(this)
    }

    /// Whether it can be used for any value.
    fn judge(&self) -> Result<(), String> {
        let mut parts = Vec::new();
        gather(&self.schema, "", &mut parts, &mut Vec::new())?;
        let mut all = parts.iter().flat_map(|part| references(part));
        if let Some(lost) = all.find(|reference| self.resolved(reference).is_empty()) {
            return Err(format!("the reference {lost:?} leads outside the schema; nothing is ever fetched"));
        }
        self.spreads(&parts)?;
        self.winds()
    }

    /// Whether a value can be checked in the time there is.
    pub(super) fn allows(&self, value: &Value) -> Result<(), TooCostly> {
        let each = STEPS_EACH.saturating_mul(values(value));
        self.steps(value, STEPS_MIN.saturating_add(each).min(STEPS_MAX)).map(drop).ok_or(TooCostly)
    }

    /// The steps of a check, if they are within the budget.
    pub(super) fn steps(&self, value: &Value, budget: u64) -> Option<u64> {
        let (mut steps, mut known) = (0_u64, HashMap::new());
        let mut open = vec![Visit { schema: &self.schema, value, weight: 1, tries: 0, depth: 0 }];
        while let Some(visit) = open.pop() {
            steps = steps.saturating_add(visit.weight.saturating_mul(1 + 2 * visit.tries));
            if steps.saturating_add(open.len() as u64) > budget || visit.depth > DEPTH_MAX {
                return None;
            }
            let Value::Object(keywords) = visit.schema else { continue };
            let inner = Visit { depth: visit.depth + 1, ..visit };
            let place = std::ptr::from_ref(visit.schema);
            let followed: &mut Vec<_> = known.entry(place).or_insert_with(|| self.followed(keywords));
            same(keywords, followed, inner, &mut open);
            within(keywords, inner, &mut open);
        }
        Some(steps)
    }

    /// The schemas that are compared with the same value as the one with these keywords.
    fn followed<'a>(&'a self, keywords: &'a Map<String, Value>) -> Vec<(&'a str, &'a Value)> {
        let mut followed = Vec::new();
        for (keyword, schema) in keywords {
            let keyword = keyword.as_str();
            if SAME_NAMED.contains(&keyword) {
                let meant = schema.as_str().map(|name| self.resolved(name)).unwrap_or_default();
                followed.extend(meant.into_iter().map(|schema| (keyword, schema)));
            } else if SAME.contains(&keyword) {
                followed.push((keyword, schema));
            } else if SAME_MANY.contains(&keyword) {
                followed.extend(several(schema).map(|schema| (keyword, schema)));
            }
        }
        followed
    }

    /// Everything that a reference may mean: where it depends on more than its words, all of it.
    fn resolved(&self, reference: &str) -> Vec<&Value> {
        let (place, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let fragment = decoded(fragment);
        let is_pointer = fragment.is_empty() || fragment.starts_with('/');
        if !is_pointer {
            let anchor = format!("#{fragment}");
            let meant = self.names.iter().filter(|(name, _)| *name == anchor);
            return meant.filter_map(|(_, pointer)| self.schema.pointer(pointer)).collect();
        }
        let tops = self.names.iter().filter(|(name, _)| !name.starts_with('#'));
        let tops = tops.filter(|(name, _)| name.ends_with(place) || place.ends_with(name.as_str()));
        let own = place.is_empty().then_some("");
        let tops = own.into_iter().chain(tops.map(|(_, pointer)| pointer.as_str()));
        let mut found: Vec<&Value> =
            tops.filter_map(|top| self.schema.pointer(&format!("{top}{fragment}"))).collect();
        found.sort_by_key(|schema| std::ptr::from_ref(*schema));
        found.dedup_by_key(|schema| std::ptr::from_ref(*schema));
        found
    }

    /// Refuses a schema that is too much for any value: one that spreads, goes deep or comes
    /// back to itself before a smaller value is looked at.
    fn spreads(&self, parts: &[&Value]) -> Result<(), String> {
        let mut known: HashMap<*const Value, Spread> = HashMap::new();
        let mut open: Vec<(&Value, bool)> = parts.iter().map(|part| (*part, false)).collect();
        while let Some((schema, is_summed)) = open.pop() {
            let Value::Object(keywords) = schema else { continue };
            let place = std::ptr::from_ref(schema);
            let followed = self.followed(keywords);
            if is_summed {
                known.insert(place, summed(&followed, &known)?);
                continue;
            }
            match known.get(&place) {
                Some(Spread::Known { .. }) => continue,
                Some(Spread::Open) => {
                    return Err("it refers to itself without coming to a smaller value".into());
                }
                None => {}
            }
            known.insert(place, Spread::Open);
            open.push((schema, true));
            open.extend(followed.into_iter().map(|(_, next)| (next, false)));
        }
        Ok(())
    }

    /// Refuses a schema whose references lead on and on: it is compiled by calls within calls.
    /// The longest way counts, in whatever order its parts are kept.
    fn winds(&self) -> Result<(), String> {
        // `None` as long as the way goes through it: back there is no further.
        let mut known: HashMap<*const Value, Option<u64>> = HashMap::new();
        let mut open = vec![(&self.schema, false)];
        while let Some((schema, is_summed)) = open.pop() {
            let place = std::ptr::from_ref(schema);
            let next = self.ahead(schema);
            if !is_summed {
                if known.contains_key(&place) {
                    continue;
                }
                known.insert(place, None);
                open.push((schema, true));
                open.extend(next.into_iter().map(|next| (next, false)));
                continue;
            }
            let ways =
                next.into_iter().filter_map(|next| known.get(&std::ptr::from_ref(next)).copied().flatten());
            let length = ways.max().map_or(0, |longest| longest + 1);
            if length > WINDING_MAX {
                return Err(format!(
                    "{TOO_COSTLY}: more than {WINDING_MAX} parts of it lead from one to the next"
                ));
            }
            known.insert(place, Some(length));
        }
        Ok(())
    }

    /// Where a part leads: what it refers to, and what lies in it.
    fn ahead<'a>(&'a self, schema: &'a Value) -> Vec<&'a Value> {
        let followed = schema.as_object().map(|keywords| self.followed(keywords)).unwrap_or_default();
        followed.into_iter().map(|(_, next)| next).chain(children(schema).map(|(_, next)| next)).collect()
    }
}

/// What a schema spreads to, with all it leads to.
fn summed(followed: &[(&str, &Value)], known: &HashMap<*const Value, Spread>) -> Result<Spread, String> {
    let (mut steps, mut depth) = (1_u64, 1_u64);
    for (_, schema) in followed {
        if let Some(Spread::Known { steps: more, depth: below }) = known.get(&std::ptr::from_ref(*schema)) {
            steps = steps.saturating_add(*more);
            depth = depth.max(below + 1);
        } else {
            steps = steps.saturating_add(1);
        }
    }
    if steps > SPREAD_MAX {
        return Err(format!(
            "{TOO_COSTLY}: one value would be compared with more than {SPREAD_MAX} parts of it"
        ));
    }
    if depth > DEPTH_MAX {
        return Err(format!(
            "{TOO_COSTLY}: more than {DEPTH_MAX} references in it lead from one to the next"
        ));
    }
    Ok(Spread::Known { steps, depth })
}

/// Adds what is compared with the same value.
fn same<'a>(
    keywords: &Map<String, Value>,
    followed: &[(&str, &'a Value)],
    at: Visit<'a>,
    open: &mut Vec<Visit<'a>>,
) {
    // What was not evaluated is asked for each member, of every branch.
    let asks = ["unevaluatedProperties", "unevaluatedItems"].iter().any(|name| keywords.contains_key(*name));
    let weight = if asks { at.weight.saturating_mul(1 + held(at.value)) } else { at.weight };
    for (keyword, schema) in followed {
        let tries = at.tries + u64::from(matches!(*keyword, "anyOf" | "oneOf"));
        open.push(Visit { schema, weight, tries, ..at });
    }
}

/// Adds what is compared with the parts of a value.
fn within<'a>(keywords: &'a Map<String, Value>, at: Visit<'a>, open: &mut Vec<Visit<'a>>) {
    let everything =
        || keywords.iter().filter(|(name, _)| EACH.contains(&name.as_str())).map(|(_, schema)| schema);
    match at.value {
        Value::Object(members) => {
            let patterns = keywords.get("patternProperties").map(several);
            let every: Vec<&Value> = everything().chain(patterns.into_iter().flatten()).collect();
            let properties = keywords.get("properties").and_then(Value::as_object);
            let names = keywords.get("propertyNames");
            for (name, value) in members {
                let own = properties.and_then(|properties| properties.get(name));
                let every = every.iter().copied();
                open.extend(own.into_iter().chain(every).map(|schema| Visit { schema, value, ..at }));
                open.extend(names.map(|schema| Visit { schema, value: &Value::Null, ..at }));
            }
        }
        Value::Array(items) => {
            let first = ["prefixItems", "items"].map(|name| keywords.get(name).and_then(Value::as_array));
            for (index, value) in items.iter().enumerate() {
                let first = first.iter().flatten().filter_map(|schemas| schemas.get(index));
                open.extend(everything().chain(first).map(|schema| Visit { schema, value, ..at }));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Lists the parts of a schema, and those with a name of their own.
fn gather<'a>(
    schema: &'a Value,
    pointer: &str,
    parts: &mut Vec<&'a Value>,
    names: &mut Vec<(String, String)>,
) -> Result<(), String> {
    if parts.len() >= PARTS_MAX {
        return Err(format!("{TOO_COSTLY}: it has more than {PARTS_MAX} parts"));
    }
    parts.push(schema);
    for (keyword, mark) in [("$id", ""), ("id", ""), ("$anchor", "#"), ("$dynamicAnchor", "#")] {
        if let Some(name) = schema.get(keyword).and_then(Value::as_str) {
            let name =
                if mark.is_empty() { name.trim_end_matches('#') } else { name.trim_start_matches('#') };
            names.push((format!("{mark}{name}"), pointer.to_owned()));
        }
    }
    for (step, child) in children(schema) {
        let step = step.replace('~', "~0").replace('/', "~1");
        gather(child, &format!("{pointer}/{step}"), parts, names)?;
    }
    Ok(())
}

/// What lies in a part of a schema, and is no data.
fn children(schema: &Value) -> impl Iterator<Item = (String, &Value)> {
    let is_part = |value: &&Value| value.is_object() || value.is_array();
    let members = schema.as_object().into_iter().flatten();
    let members = members.filter(|(name, _)| !DATA.contains(&name.as_str()));
    let members = members.map(|(name, value)| (name.clone(), value));
    let items = schema.as_array().into_iter().flatten().enumerate();
    let items = items.map(|(index, value)| (index.to_string(), value));
    members.chain(items).filter(move |(_, value)| is_part(value))
}

/// The references of one part.
fn references(part: &Value) -> impl Iterator<Item = &str> {
    SAME_NAMED.iter().filter_map(|name| part.get(name).and_then(Value::as_str))
}

/// Schemas in a list, or in a map by name.
fn several(schemas: &Value) -> impl Iterator<Item = &Value> {
    let listed = schemas.as_array().into_iter().flatten();
    listed.chain(schemas.as_object().into_iter().flat_map(Map::values))
}

/// How much a value holds itself.
fn held(value: &Value) -> u64 {
    value.as_object().map(Map::len).or_else(|| value.as_array().map(Vec::len)).unwrap_or(0) as u64
}

/// How many values are in a value, with itself.
fn values(value: &Value) -> u64 {
    let mut open = vec![value];
    let mut count = 0;
    while let Some(value) = open.pop() {
        count += 1;
        open.extend(several(value));
    }
    count
}

/// A fragment without the escapes of an address.
fn decoded(fragment: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        let mut ahead = rest.clone();
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        match (byte, digit(ahead.next()), digit(ahead.next())) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
                rest = ahead;
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests;
