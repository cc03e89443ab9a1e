//! Schemas that are bombs are refused before any work, and honest ones have room to spare.

use serde_json::json;

use super::super::Schema;
use super::*;

/// Each level is compared twice by the one before.
fn doubled(levels: usize, keyword: &str) -> Value {
    let mut defs = Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        defs.insert(format!("d{level}"), json!({keyword: [next, next]}));
    }
    defs.insert(format!("d{levels}"), json!({"type": "integer"}));
    json!({"$defs": defs, "properties": {"q": {"$ref": "#/$defs/d0"}}})
}

fn nested(levels: usize, inner: Value) -> Value {
    (0..levels).fold(inner, |value, _| json!({"a": value}))
}

/// Three ways at each level of the value, all of them the same.
fn threefold() -> Value {
    let way = json!({"properties": {"a": {"$ref": "#"}}, "required": ["a"]});
    json!({"anyOf": [way, way, way]})
}

#[test]
fn a_schema_that_doubles_at_each_level_is_refused_when_it_is_compiled() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let error = Schema::compile(&doubled(60, keyword)).unwrap_err();
        assert!(error.contains("too costly to check"), "{error}");
        let small = Schema::compile(&doubled(8, keyword)).unwrap();
        assert_eq!(small.misfits(&json!({"q": 1})).is_empty(), keyword != "oneOf", "{keyword}");
    }
}

#[test]
fn a_value_that_spreads_over_a_recursive_schema_is_refused_and_never_a_pass() {
    let schema = Schema::compile(&threefold()).unwrap();
    for inner in [json!(1), json!({"a": 1})] {
        let misfits = schema.misfits(&nested(30, inner));
        assert_eq!(misfits.len(), 1);
        assert!(misfits[0].message.contains("too costly to check"), "{misfits:?}");
    }
    assert!(!schema.misfits(&nested(4, json!({}))).iter().any(|misfit| misfit.message.contains("costly")));
}

#[test]
fn every_way_to_spread_is_counted() {
    let recursive = |way: Value| json!({"$id": "https://example.com/x", "$anchor": "top", "$dynamicAnchor": "dyn", "allOf": [way, way]});
    let to = |reference: &str| json!({"properties": {"a": {"$ref": reference}}});
    let ways = [
        to("#"),
        to("#top"),
        to("https://example.com/x"),
        to("#/allOf/0"),
        to("#/allO%66/0"),
        json!({"properties": {"a": {"$dynamicRef": "#dyn"}}}),
        json!({"additionalProperties": {"$ref": "#"}}),
        json!({"patternProperties": {"a": {"$ref": "#"}}}),
        json!({"unevaluatedProperties": {"$ref": "#"}}),
        json!({"dependentSchemas": {"a": to("#")}}),
        json!({"if": to("#"), "then": to("#"), "else": to("#")}),
        json!({"not": to("#")}),
    ];
    for way in ways {
        let cost = Cost::of(&recursive(way.clone())).unwrap();
        let is_single = way == to("#/allOf/0") || way == to("#/allO%66/0");
        assert_eq!(cost.allows(&nested(40, json!({}))).is_ok(), is_single, "{way}");
    }
    let lists = [
        json!({"items": {"$ref": "#"}}),
        json!({"contains": {"$ref": "#"}}),
        json!({"prefixItems": [{"$ref": "#"}]}),
    ];
    let value = (0..40).fold(json!([]), |value, _| json!([value]));
    for way in lists {
        assert!(Cost::of(&recursive(way.clone())).unwrap().allows(&value).is_err(), "{way}");
    }
}

#[test]
fn what_was_not_evaluated_is_asked_for_each_member() {
    let plain = json!({"allOf": [{"properties": {"a": true}}], "type": "object"});
    let mut asking = plain.clone();
    asking["unevaluatedProperties"] = json!(false);
    let value: Value = (0..100).map(|index| (index.to_string(), json!(1))).collect::<Map<_, _>>().into();
    let steps = |schema: &Value| Cost::of(schema).unwrap().steps(&value, u64::MAX).unwrap();
    assert!(steps(&asking) > steps(&plain) + 100);
}

#[test]
fn a_schema_that_leads_on_and_on_or_back_to_itself_is_refused() {
    for schema in [json!({"$ref": "#"}), json!({"allOf": [{"anyOf": [{"$ref": "#"}]}]})] {
        assert!(Schema::compile(&schema).unwrap_err().contains("refers to itself"), "{schema}");
    }
    let chain = |links: usize, through: &str| {
        let mut defs: Map<_, _> = (0..links)
            .map(|link| {
                let next = json!({"$ref": format!("#/$defs/d{}", link + 1)});
                (format!("d{link}"), if through.is_empty() { next } else { json!({through: {"a": next}}) })
            })
            .collect();
        defs.insert(format!("d{links}"), json!({"type": "integer"}));
        json!({"$defs": defs, "$ref": "#/$defs/d0"})
    };
    for through in ["", "properties"] {
        let error = Schema::compile(&chain(20_000, through)).unwrap_err();
        assert!(error.contains("too costly to check"), "{error}");
        assert!(Schema::compile(&chain(120, through)).is_ok(), "{through}");
    }
}

#[test]
fn the_deepest_check_that_is_allowed_fits_the_stack_of_a_thread() {
    // As small as threads of the runtime have it.
    let work = || {
        let value = nested(63, json!(1));
        let mut schema = json!({"type": "integer"});
        for _ in 0..10 {
            schema = json!({"allOf": [schema]});
        }
        let recursive = json!({"properties": {"a": {"allOf": [{"allOf": [{"allOf": [{"$ref": "#"}]}]}]}}, "allOf": [schema]});
        let compiled = Schema::compile(&recursive).unwrap();
        assert!(!compiled.misfits(&value).is_empty());
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap();
}

#[test]
fn honest_schemas_have_room_to_spare() {
    // A list of records, as large as arguments can be.
    let record = json!({"type": "object", "properties": {"id": {"type": "integer"}, "tags": {"items": {"type": "string"}}}, "additionalProperties": false});
    let records = Cost::of(&json!({"type": "array", "items": record})).unwrap();
    let many: Vec<Value> = (0..20_000).map(|id| json!({"id": id, "tags": ["a", "b"]})).collect();
    let many = Value::from(many);
    let steps = records.steps(&many, u64::MAX).unwrap();
    assert!(steps * 20 < STEPS_EACH * values(&many), "{steps}");
    // A union of forty kinds of blocks that hold blocks, three deep.
    let kinds: Vec<Value> = (0..40)
        .map(|kind| json!({"properties": {"type": {"const": format!("k{kind}")}, format!("in{kind}"): {"items": {"$ref": "#"}}}, "required": ["type"]}))
        .collect();
    let union = Cost::of(&json!({"oneOf": kinds})).unwrap();
    let page = (0..3).fold(
        json!({"type": "k1"}),
        |inner, _| json!({"type": "k1", "in1": [inner, inner, inner, inner, inner]}),
    );
    assert!(union.allows(&page).is_ok());
    // A syntax tree, sixty deep.
    let tree = Cost::of(&json!({"$defs": {"node": {"anyOf": [{"type": "integer"}, {"properties": {"a": {"$ref": "#/$defs/node"}}}]}}, "$ref": "#/$defs/node"})).unwrap();
    let steps = tree.steps(&nested(60, json!(1)), u64::MAX).unwrap();
    assert!(steps * 5 < STEPS_MIN, "{steps}");
}
