//! Each way to break a contract is found, and each way to add to it passes.

use serde_json::{Value, json};

use super::Direction::{Read, Stored, Written};
use super::*;

/// An object with two keys, one of them optional.
fn object() -> Value {
    json!({
        "type": "object",
        "properties": { "id": { "type": "string" }, "count": { "type": "integer", "minimum": 0 } },
        "required": ["id"],
        "additionalProperties": false,
    })
}

fn told(old: &Value, new: &Value, direction: Direction) -> Vec<String> {
    compare(old, new, direction).iter().map(ToString::to_string).collect()
}

/// What each direction says to a change: written, stored, read.
#[track_caller]
fn check(old: &Value, new: &Value, expected: [&[&str]; 3]) {
    for (direction, expected) in [Written, Stored, Read].into_iter().zip(expected) {
        assert_eq!(told(old, new, direction), expected, "{direction:?}\n{old}\n{new}");
    }
}

/// The schema with one change made to it.
fn with(base: &Value, change: impl FnOnce(&mut Value)) -> Value {
    let mut value = base.clone();
    change(&mut value);
    value
}

#[test]
fn nothing_changed_and_other_words_for_people_pass() {
    let old = object();
    let new = with(&old, |new| {
        new["title"] = json!("T");
        new["description"] = json!("D");
        new["properties"]["id"]["description"] = json!("d");
        new["properties"]["id"]["examples"] = json!(["a"]);
        new["x-bowline"] = json!({ "version": 1 });
    });
    check(&old, &old, [&[], &[], &[]]);
    check(&old, &new, [&[], &[], &[]]);
    check(&new, &old, [&[], &[], &[]]);
}

#[test]
fn a_new_optional_key_passes_everywhere_and_a_demanded_one_only_in_what_we_write() {
    let old = object();
    let optional = with(&old, |new| new["properties"]["more"] = json!({ "type": "string" }));
    check(&old, &optional, [&[], &[], &[]]);
    let demanded = with(&optional, |new| new["required"] = json!(["id", "more"]));
    let told: &[&str] = &["the whole: the key `more` must be there now"];
    check(&old, &demanded, [&[], told, told]);
}

#[test]
fn a_key_that_is_gone_or_renamed_breaks_everywhere() {
    let old = object();
    let gone = with(&old, |new| {
        new["properties"].as_object_mut().unwrap().remove("count");
    });
    let told: &[&str] = &["the whole: the key `count` is gone"];
    check(&old, &gone, [told, told, told]);
    let renamed = with(&gone, |new| new["properties"]["total"] = json!({ "type": "integer", "minimum": 0 }));
    check(&old, &renamed, [told, told, told]);
}

#[test]
fn a_key_that_becomes_sure_or_unsure_is_judged_by_who_reads_it() {
    let old = object();
    let sure = with(&old, |new| new["required"] = json!(["id", "count"]));
    let demanded: &[&str] = &["the whole: the key `count` must be there now"];
    check(&old, &sure, [&[], demanded, demanded]);
    let unsure: &[&str] = &["the whole: the key `count` may be missing now"];
    check(&sure, &old, [unsure, unsure, &[]]);
}

#[test]
fn another_type_breaks_and_a_wider_one_only_where_others_read() {
    let (text, whole, number) =
        (json!({ "type": "string" }), json!({ "type": "integer" }), json!({ "type": "number" }));
    let told: &[&str] = &["the whole: it was string and is integer"];
    check(&text, &whole, [told, told, told]);
    let told: &[&str] = &["the whole: it was integer and is number"];
    check(&whole, &number, [told, told, &[]]);
    let told: &[&str] = &["the whole: it was number and is integer"];
    check(&number, &whole, [&[], told, told]);
    let told: &[&str] = &["the whole: it was string and is also null"];
    check(&text, &json!({ "type": ["string", "null"] }), [told, told, &[]]);
    let told: &[&str] = &["the whole: it was null and is string"];
    check(&json!({ "type": ["string", "null"] }), &text, [&[], told, told]);
    let told: &[&str] = &["the whole: it was string and is anything"];
    check(&text, &json!(true), [told, told, &[]]);
    check(&text, &json!({}), [told, told, &[]]);
    let told: &[&str] = &["the whole: it was anything and is string"];
    check(&json!(true), &text, [&[], told, told]);
    let told: &[&str] = &["the whole: it was string and is array", "the whole: `items` allows less"];
    let told = &told[..1];
    check(&text, &json!({ "type": "array" }), [told, told, told]);
}

#[test]
fn an_enumeration_may_grow_and_never_shrink() {
    let small = json!({ "enum": ["a", "b"] });
    let large = json!({ "oneOf": [
        { "const": "a", "type": "string" },
        { "const": "b", "type": "string", "description": "told now" },
        { "const": "c", "type": "string" },
    ] });
    check(&small, &large, [&[], &[], &[]]);
    let gone: &[&str] = &["the whole: `c` is gone"];
    check(&large, &small, [gone, gone, gone]);
    let told: &[&str] = &["the whole: it was a and is string", "the whole: it was b and is string"];
    check(&small, &json!({ "type": "string" }), [told, told, &[]]);
    let told: &[&str] = &["the whole: it was a or b and is also null"];
    check(&small, &json!({ "enum": ["a", "b", null] }), [told, told, &[]]);
}

/// Variants as serde tags them: outside.
fn events() -> Value {
    json!({ "oneOf": [
        { "type": "object", "properties": { "begun": { "$ref": "#/$defs/Begun" } }, "required": ["begun"], "additionalProperties": false },
        { "type": "object", "properties": { "ended": { "type": "object", "properties": { "why": { "type": "string" } }, "required": ["why"], "additionalProperties": false } }, "required": ["ended"], "additionalProperties": false },
    ], "$defs": { "Begun": object() } })
}

#[test]
fn variants_may_be_added_and_what_is_in_one_is_judged() {
    let old = events();
    let more = with(&old, |new| {
        let variant = json!({ "type": "object", "properties": { "paused": { "type": "object" } }, "required": ["paused"] });
        new["oneOf"].as_array_mut().unwrap().insert(0, variant);
        new["oneOf"].as_array_mut().unwrap().push(json!({ "const": "held" }));
    });
    check(&old, &more, [&[], &[], &[]]);
    let fewer = with(&old, |new| {
        new["oneOf"].as_array_mut().unwrap().remove(1);
    });
    let gone: &[&str] = &["the whole: `ended` is gone"];
    check(&old, &fewer, [gone, gone, gone]);
    let renamed = with(&old, |new| {
        new["oneOf"][1]["properties"] = json!({ "over": old["oneOf"][1]["properties"]["ended"] });
        new["oneOf"][1]["required"] = json!(["over"]);
    });
    check(&old, &renamed, [gone, gone, gone]);
    let inside = with(&old, |new| {
        new["oneOf"][1]["properties"]["ended"]["properties"]["why"]["type"] = json!("integer");
        new["$defs"]["Begun"]["properties"].as_object_mut().unwrap().remove("count");
    });
    let told: &[&str] = &["/begun: the key `count` is gone", "/ended/why: it was string and is integer"];
    check(&old, &inside, [told, told, told]);
}

#[test]
fn variants_tagged_inside_are_told_apart_by_their_tag() {
    let old = json!({
        "type": "object",
        "required": ["event"],
        "properties": { "event": { "type": "string" } },
        "oneOf": [
            { "properties": { "event": { "const": "run" }, "task": { "type": "string" } }, "additionalProperties": false },
            { "properties": { "event": { "const": "turn" } }, "additionalProperties": false },
        ],
    });
    let more = with(&old, |new| {
        new["oneOf"]
            .as_array_mut()
            .unwrap()
            .insert(0, json!({ "properties": { "event": { "const": "stop" } } }));
        new["oneOf"][1]["properties"]["extra"] = json!(true);
    });
    check(&old, &more, [&[], &[], &[]]);
    let demanded = with(&old, |new| new["oneOf"][0]["required"] = json!(["task"]));
    let told: &[&str] = &["/run: the key `task` must be there now"];
    check(&old, &demanded, [&[], told, told]);
    let renamed = with(&old, |new| new["oneOf"][1]["properties"]["event"]["const"] = json!("begin"));
    let told: &[&str] = &["the whole: `turn` is gone"];
    check(&old, &renamed, [told, told, told]);
}

#[test]
fn untagged_forms_are_matched_with_the_one_that_fits_best() {
    let form = |keys: &[&str]| {
        let properties: Map<String, Value> =
            keys.iter().map(|key| ((*key).to_owned(), json!(true))).collect();
        json!({ "type": "object", "properties": properties, "required": keys, "additionalProperties": false })
    };
    let old = json!({ "anyOf": [form(&["id", "branches"]), form(&["id", "goal"])] });
    let turned = json!({ "anyOf": [form(&["id", "goal"]), form(&["id", "branches"])] });
    check(&old, &turned, [&[], &[], &[]]);
    let third = json!({ "anyOf": [form(&["id", "wait"]), form(&["id", "goal"]), form(&["id", "branches"])] });
    check(&old, &third, [&[], &[], &[]]);
    let changed = json!({ "anyOf": [form(&["id", "goal"]), form(&["id", "ways"])] });
    let gone = "the whole: the key `branches` is gone";
    let demanded = "the whole: the key `ways` must be there now";
    check(&old, &changed, [&[gone], &[gone, demanded], &[gone, demanded]]);
}

#[test]
fn bounds_may_widen_where_we_read_and_narrow_where_we_write() {
    let bounded = |word: &str, value: Value| {
        let kind = if word.contains("Length") {
            "string"
        } else if word.contains("Items") {
            "array"
        } else {
            "integer"
        };
        let mut schema = json!({ "type": kind });
        schema[word] = value;
        schema
    };
    for word in ["maximum", "maxLength", "maxItems", "exclusiveMaximum"] {
        let (low, high) = (bounded(word, json!(5)), bounded(word, json!(9)));
        let wider = format!("the whole: `{word}` allows more than before");
        let narrower = format!("the whole: `{word}` allows less than before");
        check(&low, &high, [&[&wider], &[&wider], &[]]);
        check(&high, &low, [&[], &[&narrower], &[&narrower]]);
    }
    for word in ["minimum", "minLength", "minItems", "exclusiveMinimum"] {
        let (low, high) = (bounded(word, json!(5)), bounded(word, json!(9)));
        let wider = format!("the whole: `{word}` allows more than before");
        let narrower = format!("the whole: `{word}` allows less than before");
        check(&high, &low, [&[&wider], &[&wider], &[]]);
        check(&low, &high, [&[], &[&narrower], &[&narrower]]);
    }
    // Neighbours that a float does not tell apart.
    let (high, low) = (bounded("maximum", json!(u64::MAX)), bounded("maximum", json!(u64::MAX - 1)));
    let told: &[&str] = &["the whole: `maximum` allows less than before"];
    check(&high, &low, [&[], told, told]);
    let told: &[&str] = &["the whole: `minimum` allows more than before"];
    check(&bounded("minimum", json!(0)), &json!({ "type": "integer" }), [told, told, &[]]);
    let told: &[&str] = &["the whole: `minimum` allows less than before"];
    check(&json!({ "type": "integer" }), &bounded("minimum", json!(0)), [&[], told, told]);
}

#[test]
fn a_form_may_be_asked_for_where_we_write_and_dropped_where_we_read() {
    let (free, formed) = (json!({ "type": "string" }), json!({ "type": "string", "pattern": "^a" }));
    let narrower: &[&str] = &["the whole: `pattern` allows less than before"];
    check(&free, &formed, [&[], narrower, narrower]);
    let wider: &[&str] = &["the whole: `pattern` allows more than before"];
    check(&formed, &free, [wider, wider, &[]]);
    let other: &[&str] = &["the whole: `pattern` is another one, so the value means something else"];
    check(&formed, &json!({ "type": "string", "pattern": "^b" }), [other, other, other]);
}

#[test]
fn words_about_the_meaning_stay_and_unknown_words_are_not_passed_over() {
    for word in ["format", "default", "contentEncoding", "unit", "if", "then", "allOf", "dependentRequired"] {
        let mut old = json!({ "type": "integer" });
        old[word] = json!("one");
        let new = with(&old, |new| new[word] = json!("two"));
        let told = format!("the whole: `{word}` is another one, so the value means something else");
        check(&old, &new, [&[&told], &[&told], &[&told]]);
        check(&json!({ "type": "integer" }), &old, [&[&told], &[&told], &[&told]]);
        check(&old, &json!({ "type": "integer" }), [&[&told], &[&told], &[&told]]);
    }
}

#[test]
fn an_object_that_opens_or_closes_is_judged_by_who_reads_it() {
    let closed = object();
    let open = with(&closed, |new| {
        new.as_object_mut().unwrap().remove("additionalProperties");
    });
    let wider: &[&str] = &["the whole: `additionalProperties` allows more than before"];
    check(&closed, &open, [wider, wider, &[]]);
    let narrower: &[&str] = &["the whole: `additionalProperties` allows less than before"];
    check(&open, &closed, [&[], narrower, narrower]);
}

#[test]
fn what_is_in_lists_maps_and_tuples_is_judged() {
    let deep = |leaf: &str| {
        json!({
            "type": "object",
            "properties": {
                "list": { "type": "array", "items": { "type": leaf } },
                "map": { "type": "object", "additionalProperties": { "type": leaf } },
                "names": { "type": "object", "patternProperties": { "^a$": { "type": leaf } } },
                "pair": { "type": "array", "prefixItems": [{ "type": "string" }, { "type": leaf }] },
            },
        })
    };
    let told: &[&str] = &[
        "/list/*: it was string and is boolean",
        "/map/*: it was string and is boolean",
        "/names/*: it was string and is boolean",
        "/pair/1: it was string and is boolean",
    ];
    check(&deep("string"), &deep("boolean"), [told, told, told]);
    let longer = with(&deep("string"), |new| {
        new["properties"]["pair"]["prefixItems"].as_array_mut().unwrap().push(json!(true));
        new["properties"]["names"]["patternProperties"] = json!({ "^b$": { "type": "string" } });
    });
    let told: &[&str] = &[
        "/names: `patternProperties` is another one, so the value means something else",
        "/pair: `prefixItems` is another one, so the value means something else",
    ];
    check(&deep("string"), &longer, [told, told, told]);
}

#[test]
fn schemas_that_refer_to_themselves_end_and_other_names_of_definitions_do_not_matter() {
    let tree = |name: &str, leaf: &str| {
        let mut root = json!({ "$ref": format!("#/$defs/{name}") });
        root["$defs"][name] = json!({
            "type": "object",
            "properties": { "leaf": { "type": leaf }, "nodes": { "type": "array", "items": { "$ref": format!("#/$defs/{name}") } } },
            "required": ["leaf"],
        });
        root
    };
    check(&tree("Tree", "string"), &tree("Node", "string"), [&[], &[], &[]]);
    let told: &[&str] = &["/leaf: it was string and is integer"];
    check(&tree("Tree", "string"), &tree("Node", "integer"), [told, told, told]);
    let circle = json!({ "$ref": "#/$defs/A", "$defs": { "A": { "$ref": "#/$defs/A" } } });
    check(&circle, &circle, [&[], &[], &[]]);
    let (lost, other) = (json!({ "$ref": "#/$defs/Lost" }), json!({ "$ref": "#/$defs/Gone" }));
    assert!(!told_any(&lost, &other).is_empty(), "references that lead nowhere are not the same");
}

fn told_any(old: &Value, new: &Value) -> Vec<String> {
    told(old, new, Read)
}

#[test]
fn what_stands_beside_a_reference_counts() {
    let old = json!({
        "type": "object", "properties": { "kind": { "const": "a" } }, "required": ["kind"], "$ref": "#/$defs/Rest",
        "$defs": { "Rest": { "type": "object", "properties": { "x": { "type": "string" } }, "required": ["x"] } },
    });
    let new = with(&old, |new| {
        new["properties"] = json!({});
        new["required"] = json!([]);
        new["$defs"]["Rest"]["properties"]["x"]["type"] = json!("boolean");
    });
    let gone: &[&str] = &["/x: it was string and is boolean", "the whole: the key `kind` is gone"];
    for direction in [Written, Stored, Read] {
        let mut found = told(&old, &new, direction);
        found.sort();
        assert_eq!(found, gone, "{direction:?}");
    }
}
