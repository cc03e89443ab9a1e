//! Task files: what is accepted, and what is said about the rest.

mod control;
mod invocation;
mod limits;
mod models;
mod routes;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

use super::suggest::nearest;
use super::*;
use crate::budget::{TreeLimits, UNLIMITED_COUNT};
use crate::id::ToolName;
use crate::quality::CheckHow;
use crate::tool::Touch;

/// The least task, with these keys added or replaced.
fn with(more: Value) -> Value {
    let mut raw = json!({ "goal": "Make the tests pass", "model": "scripted:model.yaml" });
    let Value::Object(more) = more else { panic!("keys to add are a table") };
    raw.as_object_mut().unwrap().extend(more);
    raw
}

/// The report on a raw task, line by line.
fn check(raw: &Value, expected: &str) {
    let report = parse(raw).map_or_else(|bad| bad.to_string(), |_| "accepted".into());
    assert_eq!(report, expected.trim().lines().map(str::trim).collect::<Vec<_>>().join("\n"), "{raw}");
}

fn places(raw: &Value) -> Vec<String> {
    parse(raw).expect_err("a bad task").problems.into_iter().map(|problem| problem.place).collect()
}

/// The whole file form of the module page.
fn full() -> Value {
    json!({
        "goal": "Make the tests pass",
        "model": "scripted:model.yaml",
        "instructions": "Keep it short.",
        "evidence": ["calc.py", "docs/a..b.md"],
        "review": "always",
        "on_failure": "keep",
        "tools": ["read_file", "edit_file"],
        "workspace": { "path": "project", "mode": "copy" },
        "output": { "schema": { "type": "object", "minProperties": 1.0 } },
        "check": [
            { "name": "tests", "command": ["python3", "-m", "unittest", ""] },
            { "name": "lint", "command": ["ruff"], "timeout_seconds": 3600 },
        ],
        "tool": [
            { "name": "run_command", "consent": "not-needed", "timeout_seconds": 30 },
            {
                "name": "pay", "command": ["./pay"], "description": "Pays.", "schema": { "type": "object" },
                "probe": ["./paid"], "consent": "ask", "repeat": "with-same-key",
            },
        ],
        "plan": [
            { "id": "mend", "goal": "Mend it", "after": ["read"] },
            { "id": "read", "goal": "Read it" },
        ],
        "limits": {
            "steps": 7, "tool_calls": 0, "tokens": 5e3, "cost_usd": 0.1, "active_seconds": 60, "repairs": 0, "parallel": 64,
            "truncations": 1, "attempts": 2, "output_tokens": 100, "model_seconds": 9, "approval_seconds": 10,
            "repair_percent": 50, "repair_seconds": 30, "depth": 0, "agents_alive": 1, "agents": 2, "tree_steps": 9,
            "context_tokens": 9000,
            "tools": { "pay": 1, "read_file": "unlimited" },
        },
    })
}

#[test]
fn a_goal_and_a_model_are_a_task_with_safe_defaults() {
    let task = plain("Say hello", "scripted:model.yaml").unwrap();
    assert_eq!((task.review, task.on_failure), (Review::WhenUnsure, OnFailure::Rollback));
    assert_eq!(task.limits, Limits::default());
    assert_eq!(task.workspace, Workspace { path: ".".into(), mode: WorkspaceMode::InPlace });
    assert!(
        task.tools.is_empty() && task.checks.is_empty() && task.plan.is_none() && task.evidence.is_empty()
    );
    assert_eq!(places(&json!({ "goal": " \n", "model": "x" })), ["goal", "model"]);
    assert_eq!(plain("", "").unwrap_err().problems.len(), 2);
}

#[test]
fn programs_are_caged_unless_the_task_says_otherwise_in_so_many_words() {
    let with = |sandbox: serde_json::Value| json!({ "goal": "x", "model": "a:b", "sandbox": sandbox });
    let cage = |read: &[&str], write: &[&str]| Sandbox::Cage {
        read: read.iter().map(ToString::to_string).collect(),
        write: write.iter().map(ToString::to_string).collect(),
    };
    let plain = plain("x", "a:b").unwrap();
    assert_eq!(plain.sandbox, cage(&[], &[]));
    assert!(serde_json::to_value(&plain).unwrap().get("sandbox").is_none(), "old fingerprints stay");
    assert_eq!(parse(&with(json!("cage"))).unwrap().sandbox, cage(&[], &[]));
    assert_eq!(parse(&with(json!("none"))).unwrap().sandbox, Sandbox::None);
    assert_eq!(parse(&with(json!("if-available"))).unwrap().sandbox, Sandbox::IfAvailable);
    let granted = parse(&with(json!({ "read": ["/opt"], "write": ["/var/x"] }))).unwrap();
    assert_eq!(granted.sandbox, cage(&["/opt"], &["/var/x"]));
    let again: Task = serde_json::from_value(serde_json::to_value(&granted).unwrap()).unwrap();
    assert_eq!(again, granted);
    assert_eq!(places(&with(json!("off"))), ["sandbox"]);
    assert_eq!(places(&with(json!({ "reed": [], "read": [7] }))), ["sandbox.reed", "sandbox.read[0]"]);
}

#[test]
fn nothing_is_reached_unless_the_task_lists_it() {
    let with = |network: serde_json::Value, privacy: &str| json!({ "goal": "x", "model": "a:b", "network": network, "privacy": privacy });
    let none = plain("x", "a:b").unwrap();
    assert!(!none.network.is_granted() && none.privacy == Privacy::Standard);
    let written = serde_json::to_value(&none).unwrap();
    assert!(written.get("network").is_none() && written.get("privacy").is_none(), "old fingerprints stay");

    let hosts = json!(["api.example.com", "*.example.org:8443", "127.0.0.1:80", "[::1]:8080", "*:443"]);
    let listed = with(json!({ "hosts": hosts, "schemes": ["https", "https"], "ports": [443] }), "standard");
    let task = parse(&listed).unwrap();
    assert_eq!(task.network.hosts.len(), 5);
    assert_eq!(
        (task.network.schemes.as_slice(), task.network.ports.as_slice()),
        (&[Scheme::Https][..], &[443][..])
    );
    let again: Task = serde_json::from_value(serde_json::to_value(&task).unwrap()).unwrap();
    assert_eq!(again, task);

    let bad =
        json!({ "hosts": ["https://a.example", "a b", "a.*.b", "x", "x"], "schemes": ["ftp"], "ports": [0] });
    let found = places(&with(bad, "standard"));
    for place in [
        "network.hosts[0]",
        "network.hosts[1]",
        "network.hosts[2]",
        "network.hosts[4]",
        "network.schemes[0]",
        "network.ports[0]",
    ] {
        assert!(found.contains(&place.to_owned()), "{place}: {found:?}");
    }
    assert_eq!(places(&with(json!({ "hosts": ["a.example", "*"] }), "private")), ["network.hosts[1]"]);
    assert_eq!(parse(&with(json!({ "hosts": ["*"] }), "sovereign")).unwrap().privacy, Privacy::Sovereign);
    assert_eq!(places(&with(json!({}), "secret")), ["privacy"]);
}

#[test]
fn everything_the_file_form_offers_arrives_in_the_task() {
    let task = parse(&full()).unwrap();
    assert_eq!(task.instructions.as_deref(), Some("Keep it short."));
    assert_eq!(task.evidence, ["calc.py", "docs/a..b.md"]);
    assert_eq!((task.review, task.on_failure), (Review::Always, OnFailure::Keep));
    assert_eq!(task.workspace, Workspace { path: "project".into(), mode: WorkspaceMode::Copy });
    assert_eq!(
        task.limits,
        Limits {
            steps: 7,
            tool_calls: 0,
            tokens: 5000,
            micros: 100_000,
            active_ms: 60_000,
            repairs: 0,
            parallel: 64,
            truncations: 1,
            attempts: 2,
            output_tokens: 100,
            model_ms: 9000,
            approval_ms: 10_000,
            repair_percent: 50,
            repair_ms: 30_000,
            context_tokens: 9000,
            tools: [("pay", 1), ("read_file", UNLIMITED_COUNT)]
                .map(|(name, most)| (ToolName::parse(name).unwrap(), most))
                .into(),
            tree: TreeLimits { depth: 0, agents_alive: 1, agents: 2, steps: 9 },
        }
    );
    let plan: Vec<_> =
        task.plan.as_ref().unwrap().subtasks().iter().map(|subtask| subtask.id.as_str()).collect();
    assert_eq!(plan, ["read", "mend"]);
}

#[test]
fn the_output_schema_becomes_the_first_check() {
    let task = parse(&full()).unwrap();
    let names: Vec<_> = task.checks.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(names, ["output schema", "tests", "lint"]);
    assert_eq!(task.checks[0].how, CheckHow::Schema(json!({ "type": "object", "minProperties": 1 })));
    let argv = ["python3", "-m", "unittest", ""].map(str::to_owned).to_vec();
    assert_eq!(task.checks[1].how, CheckHow::Command { argv, timeout_ms: 120_000 });
    assert_eq!(task.checks[2].how, CheckHow::Command { argv: vec!["ruff".into()], timeout_ms: 3_600_000 });
}

#[test]
fn tools_are_named_or_set_or_brought_along() {
    let tools = parse(&full()).unwrap().tools;
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["read_file", "edit_file", "run_command", "pay"]);
    assert_eq!((tools[2].consent, tools[2].timeout_ms), (Some(Consent::NotNeeded), Some(30_000)));
    assert!(tools[2].command.is_none() && tools[2].repeat.is_none());
    assert_eq!((tools[3].consent, tools[3].repeat), (Some(Consent::Ask), Some(Repeat::WithSameKey)));
    assert_eq!(
        tools[3].command,
        Some(CommandTool {
            argv: vec!["./pay".into()],
            description: "Pays.".into(),
            schema: json!({ "type": "object" }),
            probe: Some(vec!["./paid".into()]),
            secrets: Vec::new(),
        })
    );
}

#[test]
fn all_problems_are_reported_at_once() {
    check(
        &json!({
            "gaol": "typo",
            "model": "nothing",
            "steps": 5,
            "review": "sometimes",
            "evidence": ["../secret", 7],
            "workspace": { "mode": "Copy", "goal": "x" },
            "check": [{ "name": "a", "command": [] }, { "command": "make", "timeout": 5 }],
            "limits": { "steps": 0, "parallel": 65, "step": 1 },
        }),
        r#"
        gaol: `gaol` is not known at the top of the file; did you mean `goal`?
        steps: `steps` belongs in `[limits]`; move it there
        goal: `goal` is missing; say what is wanted, as in goal = "Make the tests pass"
        evidence[0]: "../secret" leaves the workspace; write a path below the workspace, without `..`
        evidence[1]: expected a text, found the number 7; write that
        review: "sometimes" is none of "when-unsure" or "when-unchecked" or "always" or "never"; write "when-unsure" or "when-unchecked" or "always" or "never"
        workspace.goal: `goal` belongs at the top of the file or in `[[plan]]`; move it there
        workspace.mode: "Copy" is none of "copy" or "in-place" or "isolated"; did you mean "copy"?
        check[1].timeout: `timeout` is not known in `[[check]]`; did you mean `timeout_seconds`?
        check[0].command: the command is empty; name a program, as in ["make", "test"]
        check[1].name: `name` is missing; say what people call it, as in name = "tests"
        check[1].command: expected a list of words, as in ["make", "test"], found the text "make"; write that
        model: there is no table [models.nothing]; write kind:argument, as in "openai:gpt-5", or describe it in [models.nothing]
        limits.step: `step` is not known in `[limits]`; did you mean `steps`?
        limits.steps: 0 is below 1; write a whole number from 1 to 1000000, or "unlimited"
        limits.parallel: 65 is above 64; write a whole number from 1 to 64
        "#,
    );
}

#[test]
fn an_unknown_key_is_answered_with_the_best_guess() {
    check(
        &with(json!({ "max": 1 })),
        "max: `max` is not known at the top of the file; remove it; the top of the file \
        knows version, goal, agent, model, models, instructions, evidence, each, repair, review, on_failure, on_alert, tools, workspace, sandbox, network, privacy, output, check, tool, plan, planning, method, limits, guard, control, class, critic, fallbacks, ladder, escalate, quality, rubric, claims, edge_cases, consistency, memory",
    );
    check(
        &with(json!({ "tokenz": 1 })),
        "tokenz: `tokenz` is not known at the top of the file; did you mean `tokens` in `[limits]`?",
    );
    check(
        &with(json!({ "checks": [] })),
        "checks: `checks` is not known at the top of the file; did you mean `check`?",
    );
    check(
        &with(json!({ "timeout_seconds": 1 })),
        "timeout_seconds: `timeout_seconds` belongs in `[[check]]` or in `[edge_cases]` or in `[memory]` or in `[[tool]]`; move it there",
    );
    check(&with(json!({ "a\nb": 1, "output": { "schema": {}, "path": 1 } })), "
        \"a\\nb\": `\"a\\nb\"` is not known at the top of the file; remove it; the top of the file \
        knows version, goal, agent, model, models, instructions, evidence, each, repair, review, on_failure, on_alert, tools, workspace, sandbox, network, privacy, output, check, tool, plan, planning, method, limits, guard, control, class, critic, fallbacks, ladder, escalate, quality, rubric, claims, edge_cases, consistency, memory
        output.path: `path` belongs in `[workspace]`; move it there");
}

#[test]
fn a_wrong_type_is_named_with_what_came() {
    check(&json!([1]), "task: expected a table, found a list; write that");
    for (key, place, expected) in [
        ("goal", "goal", "a text"),
        ("model", "model", "a text"),
        ("instructions", "instructions", "a text"),
        ("evidence", "evidence", "a list"),
        ("review", "review", "\"when-unsure\" or \"when-unchecked\" or \"always\" or \"never\""),
        ("on_failure", "on_failure", "\"rollback\" or \"keep\""),
        ("tools", "tools", "a list"),
        ("workspace", "workspace", "a table"),
        ("output", "output", "a table"),
        ("check", "check", "a list"),
        ("tool", "tool", "a list"),
        ("plan", "plan", "a list"),
        ("limits", "limits", "a table"),
    ] {
        let bad = parse(&with(json!({ key: true }))).unwrap_err();
        let first = &bad.problems[0];
        assert_eq!(
            (first.place.as_str(), &first.what),
            (place, &format!("expected {expected}, found `true`"))
        );
        assert_eq!(bad.problems.len(), 1, "{bad}");
        assert!(parse(&with(json!({ key: null }))).unwrap_err().to_string().contains("leave the key out"));
    }
    check(
        &with(json!({ "check": { "name": "a" } })),
        "check: expected a list of tables, found a table; write `[[check]]`",
    );
    check(
        &with(json!({ "limits": { "steps": "5" } })),
        "limits.steps: expected a whole number, found the text \"5\"; write that",
    );
}

#[test]
fn what_leaves_the_workspace_is_no_evidence() {
    for bad in [
        "..",
        "../a",
        "a/../b",
        "a/..",
        "/etc/passwd",
        "\\\\host\\share",
        "a\\..\\b",
        "C:\\x",
        "c:x",
        "",
        "a\0b",
    ] {
        assert_eq!(places(&with(json!({ "evidence": ["ok", bad] }))), ["evidence[1]"], "{bad:?}");
    }
    assert!(parse(&with(json!({ "evidence": ["a/..b/c..", ".hidden", "./x", "ü/ä b.txt"] }))).is_ok());
    assert_eq!(places(&with(json!({ "evidence": ["a", "a"] }))), ["evidence[1]"]);
}

#[test]
fn a_model_is_a_kind_and_an_argument() {
    for bad in ["", "scripted", "scripted:", ":x", "two words:x", "scripted: ", "a:b\n", "é:x"] {
        assert_eq!(places(&with(json!({ "model": bad }))), ["model"], "{bad:?}");
    }
    for good in ["scripted:model.yaml", "openai:gpt-x:latest", "local_2:/srv/model"] {
        assert!(parse(&with(json!({ "model": good }))).is_ok(), "{good}");
    }
}

#[test]
fn names_are_given_once() {
    let tool = |name: &str| json!({ "name": name });
    assert_eq!(places(&with(json!({ "tools": ["a", "a"] }))), ["tools[1]"]);
    assert_eq!(places(&with(json!({ "tools": ["a"], "tool": [tool("b"), tool("a")] }))), ["tool[1].name"]);
    assert_eq!(places(&with(json!({ "tools": ["a b"] }))), ["tools[0]"]);
    let named = |name: &str| json!({ "name": name, "command": ["true"] });
    assert_eq!(places(&with(json!({ "check": [named("a"), named("b"), named("a")] }))), ["check[2].name"]);
    assert_eq!(
        places(&with(json!({ "output": { "schema": {} }, "check": [named("output schema")] }))),
        ["check[0].name"]
    );
    assert!(parse(&with(json!({ "check": [named("output schema")] }))).is_ok());
}

#[test]
fn a_command_tool_is_described_and_a_built_in_is_not() {
    assert_eq!(
        places(&with(json!({ "tool": [{ "name": "pay", "command": ["./pay"] }] }))),
        ["tool[0].description", "tool[0].schema"]
    );
    assert_eq!(
        places(&with(
            json!({ "tool": [{ "name": "read_file", "description": "x", "schema": {}, "probe": ["x"] }] })
        )),
        ["tool[0].description", "tool[0].schema", "tool[0].probe"]
    );
    let pay = |key: &str, value: Value| {
        let mut tool = json!({ "name": "pay", "command": ["./pay"], "description": "x", "schema": {} });
        tool[key] = value;
        with(json!({ "tool": [tool] }))
    };
    for (key, bad) in [
        ("command", json!([])),
        ("command", json!([""])),
        ("command", json!("./pay")),
        ("probe", json!([])),
        ("schema", json!(true)),
        ("schema", json!([])),
        ("description", json!(" ")),
        ("consent", json!("maybe")),
        ("repeat", json!("once")),
        ("timeout_seconds", json!(0)),
        ("timeout_seconds", json!(3601)),
    ] {
        let places = places(&pay(key, bad));
        assert!(places.len() == 1 && places[0].starts_with(&format!("tool[0].{key}")), "{places:?}");
    }
    assert_eq!(places(&pay("command", json!(["a", 1]))), ["tool[0].command[1]"]);
}

#[test]
fn a_plan_that_cannot_work_is_refused_where_it_stands() {
    let plan = |rows: Value| with(json!({ "plan": rows }));
    check(
        &plan(json!([])),
        "plan: a plan needs at least one sub-task; give it a sub-task, or leave the plan out",
    );
    check(
        &plan(json!([{ "id": "a", "goal": "x", "after": ["b"] }])),
        "plan[0].after: sub-task a waits for b, which is not in the plan; name a sub-task of the plan",
    );
    for reserved in ["critique", "critique-1", "repair-", "repair-1"] {
        assert_eq!(places(&plan(json!([{ "id": reserved, "goal": "x" }]))), ["plan[0].id"]);
    }
    assert!(
        parse(&plan(json!([{ "id": "critiques", "goal": "x" }, { "id": "repair", "goal": "x" }]))).is_ok()
    );
    // What could not be read is not reported a second time as missing from the plan.
    assert_eq!(
        places(&plan(
            json!([{ "id": "a b", "goal": "x" }, { "id": "c", "goal": " ", "after": ["a b", 1] }, 5])
        )),
        ["plan[2]", "plan[0].id", "plan[1].goal", "plan[1].after[0]", "plan[1].after[1]"]
    );
}

#[test]
fn everything_has_a_cap() {
    let long = |bytes: usize| "x".repeat(bytes);
    assert!(parse(&with(json!({ "goal": long(64 * 1024) }))).is_ok());
    let mut deep = json!({});
    for _ in 0..64 {
        deep = json!({ "properties": deep });
    }
    let names: Vec<_> = (0..129).map(|place| format!("n{place}")).collect();
    let subtasks: Vec<_> =
        (0..10_001).map(|place| json!({ "id": format!("n{place}"), "goal": "x" })).collect();
    for (raw, place) in [
        (json!({ "goal": long(64 * 1024 + 1) }), "goal"),
        (json!({ "instructions": long(64 * 1024 + 1) }), "instructions"),
        (json!({ "model": format!("a:{}", long(511)) }), "model"),
        (json!({ "evidence": [long(4097)] }), "evidence[0]"),
        (json!({ "evidence": names }), "evidence"),
        (json!({ "tools": names }), "tools"),
        (json!({ "plan": subtasks }), "plan"),
        (json!({ "check": [{ "name": long(129), "command": ["x"] }] }), "check[0].name"),
        (json!({ "check": [{ "name": "a", "command": vec!["x"; 257] }] }), "check[0].command"),
        (json!({ "check": [{ "name": "a", "command": ["x", long(8193)] }] }), "check[0].command[1]"),
        (json!({ "output": { "schema": deep } }), "output.schema"),
        (json!({ "output": { "schema": { "title": long(64 * 1024) } } }), "output.schema"),
        (json!({ "workspace": { "path": long(4097) } }), "workspace.path"),
    ] {
        assert_eq!(places(&with(raw)), [place]);
    }
    let unknown: serde_json::Map<_, _> =
        (0..500).map(|place| (format!("unknown{place}"), json!(1))).collect();
    assert_eq!(places(&Value::Object(unknown)).len(), 100);
}

#[test]
fn a_long_or_hostile_text_is_quoted_short_and_escaped() {
    let report = parse(&with(json!({ "review": format!("\u{1b}[31m\n{}", "x".repeat(10_000)) })))
        .unwrap_err()
        .to_string();
    assert!(report.len() < 300 && !report.contains(['\u{1b}', '\n']), "{report}");
}

#[test]
fn the_fingerprint_is_of_the_task_and_its_tools() {
    let task = parse(&full()).unwrap();
    let spec = |description: &str| ToolSpec {
        name: ToolName::parse("pay").unwrap(),
        description: description.into(),
        schema: json!({ "b": 1, "a": 2.5 }),
        touch: Touch::Exec,
        repeat: Repeat::Never,
        consent: Consent::Ask,
        probes: true,
        timeout_ms: 5,
        effect: None,
        needs: None,
        given: false,
        invocation: Default::default(),
        undo: None,
    };
    let fingerprint = Submission::fingerprint_of(&task, &[spec("Pays.")]);
    let reread: Task = serde_json::from_str(&serde_json::to_string(&task).unwrap()).unwrap();
    assert_eq!(reread, task);
    assert_eq!(Submission::fingerprint_of(&reread, &[spec("Pays.")]), fingerprint);
    assert_ne!(Submission::fingerprint_of(&task, &[spec("Pays twice.")]), fingerprint);
    assert_ne!(Submission::fingerprint_of(&task, &[]), fingerprint);
    let other = Task { review: Review::Never, ..task };
    assert_ne!(Submission::fingerprint_of(&other, &[spec("Pays.")]), fingerprint);
}

#[test]
fn the_nearest_word_is_named_only_if_it_is_near() {
    let words = ["steps", "tokens", "timeout_seconds", "on_failure", "in-place", "goal", "id"];
    for (word, expected) in [
        ("step", Some("steps")),
        ("setps", Some("steps")),
        ("STEPS", Some("steps")),
        ("token", Some("tokens")),
        ("timeout", Some("timeout_seconds")),
        ("on-failure", Some("on_failure")),
        ("in_place", Some("in-place")),
        ("gaol", Some("goal")),
        ("goals", Some("goal")),
        ("ids", Some("id")),
        ("x", None),
        ("", None),
        ("banana", None),
        ("go", None),
        ("é", None),
    ] {
        assert_eq!(nearest(word, words), expected, "{word}");
    }
    assert_eq!(nearest("ab", ["ax", "ab", "abc"]), Some("ab"));
    assert_eq!(nearest(&"steps".repeat(100), words), None);
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i16>().prop_map(|quarters| Value::from(f64::from(quarters) / 4.0)),
        "[a-z:/.]{0,6}".prop_map(Value::from),
        Just(json!("never")),
    ];
    let key = prop::sample::select(vec![
        "goal", "model", "name", "command", "schema", "id", "after", "steps", "cost_usd", "path", "mode",
        "huh",
    ]);
    leaf.prop_recursive(4, 32, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(key.clone(), inner, 0..4).prop_map(|map| Value::Object(
                map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            )),
        ]
    })
}

/// The same cases in every run: a red test stays red.
fn fixed() -> ProptestConfig {
    ProptestConfig { rng_seed: RngSeed::Fixed(8785), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(fixed())]

    #[test]
    fn whatever_is_written_is_a_task_or_a_report(
        key in prop::sample::select(vec!["goal", "tools", "tool", "check", "plan", "limits", "output", "workspace", "evidence"]),
        value in anything(),
    ) {
        match parse(&with(json!({ key: value }))) {
            Ok(task) => prop_assert_eq!(serde_json::from_str::<Task>(&serde_json::to_string(&task).unwrap()).unwrap(), task),
            Err(bad) => {
                prop_assert!(!bad.problems.is_empty());
                prop_assert!(bad.problems.iter().all(|problem| problem.place.starts_with(key) && !problem.remedy.is_empty()), "{}", bad);
            }
        }
    }
}

#[test]
fn a_task_says_who_takes_what_it_commits() {
    let with = |memory: serde_json::Value| json!({ "goal": "x", "model": "a:b", "memory": memory });
    let plain = plain("x", "a:b").unwrap();
    assert!(plain.memory.is_none());
    assert!(serde_json::to_value(&plain).unwrap().get("memory").is_none(), "old fingerprints stay");
    let task = parse(&with(json!({ "promote": ["./remember", "it"] }))).unwrap();
    let memory = task.memory.clone().unwrap();
    assert_eq!((memory.promote.len(), memory.timeout_ms()), (2, PROMOTE_MS));
    let again: Task = serde_json::from_value(serde_json::to_value(&task).unwrap()).unwrap();
    assert_eq!(again, task);
    let patient = parse(&with(json!({ "promote": ["x"], "timeout_seconds": 3600 }))).unwrap();
    assert_eq!(patient.memory.unwrap().timeout_ms(), 3_600_000);
    assert_eq!(places(&with(json!({}))), ["memory.promote"]);
    assert_eq!(places(&with(json!({ "promote": "x" }))), ["memory.promote"]);
    assert_eq!(places(&with(json!({ "promote": [] }))), ["memory.promote"]);
    assert_eq!(
        places(&with(json!({ "promote": ["x"], "timeout_seconds": 3601 }))),
        ["memory.timeout_seconds"]
    );
    assert_eq!(places(&with(json!({ "promote": ["x"], "promot": 1 }))), ["memory.promot"]);
}
