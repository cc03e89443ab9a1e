//! Limits: what may be written for them, and how they are raised.

use serde_json::{Value, json};

use super::{check, places, with};
use crate::budget::{Limit, UNLIMITED};
use crate::event::Raise;
use crate::id::ToolName;
use crate::task::{parse, parse_raise};

#[test]
fn limits_keep_to_their_bounds() {
    let limit =
        |key: &str, value: Value| parse(&with(json!({ "limits": { key: value } }))).map(|task| task.limits);
    for (key, most) in [
        ("steps", 1_000_000_u64),
        ("tool_calls", 10_000_000),
        ("tokens", 1_000_000_000_000),
        ("cost_usd", 1_000_000_000),
        ("active_seconds", 31_536_000),
        ("repairs", 1000),
        ("repair_percent", 100),
        ("repair_seconds", 31_536_000),
        ("context_tokens", 100_000_000),
        ("depth", 32),
        ("agents_alive", 1000),
        ("agents", 10_000),
        ("tree_steps", 10_000_000),
        ("parallel", 64),
        ("truncations", 100),
        ("attempts", 100),
        ("output_tokens", 10_000_000),
        ("model_seconds", 86_400),
        ("approval_seconds", 31_536_000),
    ] {
        let may_be_zero =
            ["cost_usd", "repairs", "tool_calls", "repair_percent", "depth", "agents_alive", "agents"]
                .contains(&key);
        assert_eq!(limit(key, json!(0)).is_ok(), may_be_zero, "{key}");
        assert!(limit(key, json!(1)).is_ok() && limit(key, json!(most)).is_ok(), "{key}");
        assert!(limit(key, json!(1.0)).is_ok() && limit(key, json!(most as f64)).is_ok(), "{key}");
        for bad in [
            json!(most + 1),
            json!(-1),
            json!(-0.5),
            json!(1e300),
            json!(u64::MAX),
            json!(1e-9),
            json!(null),
            json!("1"),
        ] {
            assert_eq!(places(&with(json!({ "limits": { key: bad } }))), [format!("limits.{key}")], "{bad}");
        }
        assert_eq!(limit(key, json!(1.5)).is_ok(), key == "cost_usd", "{key}");
    }
    assert_eq!(limit("active_seconds", json!(60)).unwrap().active_ms, 60_000);
    assert_eq!(limit("steps", json!(1000)).unwrap().tree.steps, 1000, "a tree is no smaller than its root");
}

#[test]
fn only_the_word_makes_a_limit_unlimited() {
    let limits =
        |more: Value| parse(&with(json!({ "tools": ["read_file"], "limits": more }))).map(|task| task.limits);
    let waivable = [
        "steps",
        "tool_calls",
        "tokens",
        "cost_usd",
        "active_seconds",
        "repairs",
        "repair_percent",
        "repair_seconds",
        "context_tokens",
        "depth",
        "agents_alive",
        "agents",
        "tree_steps",
    ];
    for (limit, key) in Limit::ALL.iter().zip(Limit::ALL.iter().map(Limit::word)) {
        assert!(waivable.contains(&key.as_str()), "{key}");
        assert_eq!(limits(json!({ &key: "unlimited" })).unwrap().allowed(limit), UNLIMITED, "{key}");
        assert_ne!(limits(json!({})).unwrap().allowed(limit), UNLIMITED, "{key}");
        for bad in [json!("Unlimited"), json!("none"), json!(""), json!(null), json!(true), json!(-1)] {
            assert!(limits(json!({ &key: bad })).is_err(), "{key} {bad}");
        }
    }
    for key in ["parallel", "truncations", "attempts", "output_tokens", "model_seconds", "approval_seconds"] {
        assert!(limits(json!({ key: "unlimited" })).is_err(), "{key}");
    }
    check(
        &with(json!({ "limits": { "model_seconds": "unlimited", "steps": "unlimted" } })),
        "
        limits.steps: \"unlimted\" is no amount; did you mean \"unlimited\"?
        limits.model_seconds: this always has an end and cannot be unlimited; write a whole number of seconds from 1 to 86400
        ",
    );
}

#[test]
fn a_tool_of_the_task_may_have_a_bound_of_its_own() {
    check(
        &with(
            json!({ "tools": ["read_file"], "limits": { "tools": { "raed_file": 1, "x y": 2, "read_file": -1 } } }),
        ),
        "
        limits.tools.raed_file: the task has no tool \"raed_file\"; did you mean `read_file`?
        limits.tools.read_file: -1 is below 0; write a whole number from 0 to 10000000, or \"unlimited\"
        limits.tools.\"x y\": the task has no tool \"x y\"; name a tool of `tools` or `[[tool]]`
        ",
    );
    check(
        &with(json!({ "limits": { "tools": 5 } })),
        "limits.tools: expected a table, found the number 5; write that",
    );
}

#[test]
fn money_is_kept_to_the_micro_dollar() {
    let micros = |value: Value| {
        parse(&with(json!({ "limits": { "cost_usd": value } }))).map(|task| task.limits.micros)
    };
    for (dollars, expected) in [
        (json!(0.1), 100_000),
        (json!(2.5), 2_500_000),
        (json!(0.000_001), 1),
        (json!(0.29), 290_000),
        (json!(1e9), 1_000_000_000_000_000),
        (json!(999_999_999.999_999), 999_999_999_999_999),
        (json!(3), 3_000_000),
        (json!(0), 0),
        (json!(-0.0), 0),
    ] {
        assert_eq!(micros(dollars), Ok(expected));
    }
    check(
        &with(json!({ "limits": { "cost_usd": 0.000_000_1 } })),
        "limits.cost_usd: 1e-7 is finer than a millionth of a dollar; write an amount of dollars from 0 to 1000000000 with at most 6 decimals, or \"unlimited\"",
    );
    assert!(micros(json!(1_000_000_000.1)).is_err() && micros(json!(-0.01)).is_err());
    // What TOML calls `nan` arrives as null.
    assert!(micros(json!(f64::NAN)).is_err());
}

#[test]
fn a_limit_is_raised_in_the_words_of_the_task_file() {
    let raise = |limit, to| Ok(Raise { limit, to });
    assert_eq!(parse_raise("steps=100"), raise(Limit::Steps, 100));
    assert_eq!(parse_raise("tool_calls=5"), raise(Limit::ToolCalls, 5));
    assert_eq!(parse_raise(" tokens = 2e6 "), raise(Limit::Tokens, 2_000_000));
    assert_eq!(parse_raise("cost_usd=2.5"), raise(Limit::Money, 2_500_000));
    assert_eq!(parse_raise("active_seconds=60"), raise(Limit::ActiveTime, 60_000));
    assert_eq!(parse_raise("repairs=5"), raise(Limit::Repairs, 5));
    assert_eq!(parse_raise("repair_percent=50"), raise(Limit::RepairShare, 50));
    assert_eq!(parse_raise("repair_seconds=5"), raise(Limit::RepairTime, 5000));
    assert_eq!(parse_raise("tools.pay=2"), raise(Limit::Tool(ToolName::parse("pay").unwrap()), 2));
    assert_eq!(parse_raise("tokens=unlimited"), raise(Limit::Tokens, UNLIMITED));
    for limit in Limit::ALL {
        let text = format!("{}={}", limit.word(), crate::budget::amount(&limit, 2_000_000));
        let most = parse_raise(&text).map_or(0, |raise| raise.to);
        assert!([0, 2_000_000].contains(&most), "{text} is read as it is written, or above its bound");
    }
    let refused = |text: &str| parse_raise(text).unwrap_err();
    assert_eq!(refused("stepz=5"), "\"stepz\" is no limit that can be raised; did you mean steps?");
    assert_eq!(
        refused("steps"),
        "\"steps\" raises nothing; write LIMIT=AMOUNT with one of steps, tool_calls, tokens, cost_usd, active_seconds, repairs, repair_percent, repair_seconds, context_tokens, tree_steps, depth, agents_alive, agents, tools.NAME"
    );
    assert_eq!(
        refused("steps=1.5"),
        "steps: 1.5 is not a whole number; write a whole number from 1 to 1000000, or \"unlimited\""
    );
    for bad in [
        "",
        "=",
        "steps=",
        "steps=0",
        "steps=x",
        "steps=1=2",
        "steps=-1",
        "steps=1000001",
        "tools.=5",
        "tools.a b=5",
        "steps=Unlimited",
        "cost_usd=NaN",
        "cost_usd=inf",
        "cost_usd=-1",
        "cost_usd=1000000001",
        "cost_usd=0.0000001",
        "cost_usd=$5",
        "steps=١",
        "tokens=99999999999999999999999",
        "steps=+5",
        "steps=007",
    ] {
        assert!(parse_raise(bad).is_err(), "{bad}");
    }
}
