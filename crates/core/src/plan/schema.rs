//! The JSON Schema of a plan, for a model that answers in a given form.
//!
//! It is strict: every key is required and no other allowed, and what may be left out may
//! be null; every text and list is bounded. Choices are written out level by level, so no
//! part of it refers to itself. What fits it may still be no plan: [`read`](super::read)
//! judges that.

use serde_json::{Map, Value, json};

use super::BRANCHES_MAX;

/// How deep a model may nest choices.
pub const MODEL_DEPTH_MAX: usize = 2;
/// Most nodes a model may put in one list.
const MODEL_NODES_MAX: usize = 64;
/// Most entries of each list of a node that a model may write.
const MODEL_LIST_MAX: usize = 32;
/// Longest texts a model may write, in characters.
const GOAL_MAX: usize = 4000;
const FACT_MAX: usize = 100;
const COMPARED_MAX: usize = 500;

/// What an answer that is a plan looks like: an object with `plan`.
#[must_use]
pub fn schema() -> Value {
    let mut parts = Map::new();
    parts.insert("subtask".into(), subtask());
    parts.insert("when".into(), when());
    for level in 1..=MODEL_DEPTH_MAX {
        parts.insert(name(level), choice(level - 1));
    }
    let mut whole = strict(&json!({ "plan": nodes(MODEL_DEPTH_MAX) }));
    if let Value::Object(members) = &mut whole {
        members.insert("$defs".into(), Value::Object(parts));
    }
    whole
}

/// The name of choices that hold so many levels of choices, themselves included.
fn name(level: usize) -> String {
    format!("choice_{level}")
}

fn strict(properties: &Value) -> Value {
    let required: Vec<_> = properties.as_object().into_iter().flat_map(Map::keys).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// A list of nodes that hold at most so many levels of choices.
fn nodes(levels: usize) -> Value {
    let part = |name: &str| json!({ "$ref": format!("#/$defs/{name}") });
    let choice = (levels > 0).then(|| part(&name(levels)));
    let kinds: Vec<_> = std::iter::once(part("subtask")).chain(choice).collect();
    json!({ "type": "array", "items": { "anyOf": kinds }, "minItems": 1, "maxItems": MODEL_NODES_MAX })
}

fn id() -> Value {
    json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$" })
}

fn text(most: usize) -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": most })
}

fn list(items: &Value) -> Value {
    json!({ "type": ["array", "null"], "items": items, "maxItems": MODEL_LIST_MAX })
}

fn amount(most: u64) -> Value {
    json!({ "type": ["integer", "null"], "minimum": 1, "maximum": most })
}

fn priority() -> Value {
    json!({ "type": ["integer", "null"], "minimum": -1000, "maximum": 1000 })
}

fn subtask() -> Value {
    let facts = list(&text(FACT_MAX));
    let tools = list(&json!({ "type": "string", "pattern": "^[A-Za-z0-9_.-]{1,64}$" }));
    strict(&json!({
        "id": id(), "goal": text(GOAL_MAX), "after": list(&id()), "priority": priority(),
        "optional": { "type": ["boolean", "null"] },
        "uses": tools, "needs": facts, "makes": facts, "breaks": facts,
        "tokens": amount(1_000_000_000_000), "seconds": amount(31_536_000),
    }))
}

fn choice(levels: usize) -> Value {
    let branch = strict(&json!({
        "name": { "type": ["string", "null"], "minLength": 1, "maxLength": 50 },
        "plan": nodes(levels),
    }));
    let branches = json!({ "type": "array", "items": branch, "minItems": 1, "maxItems": BRANCHES_MAX });
    strict(&json!({
        "id": id(), "after": list(&id()), "priority": priority(),
        "when": { "anyOf": [{ "$ref": "#/$defs/when" }, { "type": "null" }] },
        "branch": branches,
    }))
}

/// One of three tests, so that each can be strict.
fn when() -> Value {
    let any = json!({ "type": ["string", "number", "boolean"], "maxLength": COMPARED_MAX });
    let pointer = json!({ "type": "string", "pattern": "^(/([^~/]|~[01])*)*$", "maxLength": 200 });
    json!({ "anyOf": [
        strict(&json!({ "of": id(), "is": text(COMPARED_MAX) })),
        strict(&json!({ "of": id(), "contains": text(COMPARED_MAX) })),
        strict(&json!({ "of": id(), "at": pointer, "is": any })),
    ] })
}
