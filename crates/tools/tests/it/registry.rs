//! The registry: which calls can run at all, and what the model is told.

use std::sync::Arc;

use bowline_core::input::CallProblem;
use bowline_core::task::ToolChoice;
use bowline_core::tool::{Consent, Repeat, Touch};
use bowline_tools::{BadTools, Registry};
use serde_json::json;

use crate::{choice, command_choice};

const ALL: [&str; 6] = ["read_file", "write_file", "edit_file", "list_files", "search_files", "run_command"];

fn all() -> Registry {
    Registry::new(&ALL.map(choice)).unwrap()
}

fn problem(tool: &str, args: &str) -> String {
    match all().examine(tool, args) {
        Err(CallProblem::UnknownTool(text) | CallProblem::BadArguments(text)) => text,
        Ok(_) => panic!("{tool} {args} can run"),
    }
}

#[test]
fn the_built_in_tools_have_the_rules_they_are_known_for() {
    let rules: Vec<_> = all()
        .specs()
        .into_iter()
        .map(|spec| (spec.touch, spec.repeat, spec.consent, spec.timeout_ms))
        .collect();
    let file = |touch| (touch, Repeat::Freely, Consent::NotNeeded, 120_000);
    assert_eq!(
        rules,
        [
            file(Touch::Read),
            file(Touch::Write),
            file(Touch::Write),
            file(Touch::Read),
            file(Touch::Read),
            (Touch::Exec, Repeat::Never, Consent::Ask, 30_000)
        ]
    );
    for spec in all().specs() {
        assert_eq!(spec.schema["additionalProperties"], json!(false), "{}", spec.name);
        assert!(spec.description.len() > 40);
    }
}

#[test]
fn a_task_may_change_the_rules_and_a_command_starts_from_the_careful_ones() {
    let changed = ToolChoice {
        consent: Some(Consent::NotNeeded),
        repeat: Some(Repeat::WithSameKey),
        timeout_ms: Some(5),
        ..choice("run_command")
    };
    let mut probing = command_choice("pay", &["pay"]);
    probing.command.as_mut().unwrap().probe = Some(vec!["paid".to_owned()]);
    let specs = Registry::new(&[changed, probing]).unwrap().specs();
    assert_eq!(
        (specs[0].consent, specs[0].repeat, specs[0].timeout_ms),
        (Consent::NotNeeded, Repeat::WithSameKey, 5)
    );
    assert_eq!(
        (specs[1].consent, specs[1].repeat, specs[1].timeout_ms),
        (Consent::Ask, Repeat::Never, 30_000)
    );
    assert!(specs[1].probes && specs[1].touch == Touch::Exec);
}

#[test]
fn a_set_of_tools_that_cannot_be_is_refused_with_the_reason() {
    let zero = ToolChoice { timeout_ms: Some(0), ..choice("read_file") };
    let mut remote = command_choice("x", &["x"]);
    remote.command.as_mut().unwrap().schema = json!({"$ref": "https://example.com/s.json"});
    let mut probe = command_choice("x", &["x"]);
    probe.command.as_mut().unwrap().probe = Some(vec![]);
    for (choices, expected) in [
        (
            vec![choice("readfile")],
            "there is no built-in tool \"readfile\", did you mean read_file?; the built-in tools are",
        ),
        (vec![choice("zzz")], "there is no built-in tool \"zzz\"; the built-in tools are"),
        (vec![choice("read file")], "tool name \"read file\" must be"),
        (vec![choice("read_file"), choice("read_file")], "two tools are called read_file"),
        (vec![command_choice("read_file", &["cat"])], "read_file is the name of a built-in tool"),
        (vec![command_choice("x", &[])], "the command of x is empty"),
        (vec![probe], "the probe of x is empty"),
        (vec![zero], "the time limit of read_file is zero"),
        (
            vec![remote],
            "the schema of x cannot be used: the reference \"https://example.com/s.json\" leads outside",
        ),
    ] {
        let bad = Registry::new(&choices).unwrap_err();
        assert!(bad.to_string().starts_with(expected), "{bad}");
        assert!(!bad.remedy().is_empty());
    }
}

#[test]
fn a_tool_of_the_librarys_user_joins_the_others() {
    let mut registry = Registry::new(&[choice("read_file")]).unwrap();
    let own = Registry::new(&[command_choice("own", &["x"])]).unwrap();
    registry.add(Arc::clone(own.get("own").unwrap())).unwrap();
    assert!(registry.examine("own", "{}").is_ok());
    let twice = registry.add(Arc::clone(own.get("own").unwrap())).unwrap_err();
    assert!(matches!(twice, BadTools::Twice { .. }));
}

#[test]
fn an_unknown_tool_is_answered_with_the_nearest_name() {
    for (asked, expected) in
        [("readfile", "read_file"), ("Read-File", "read_file"), ("run_comand", "run_command")]
    {
        assert!(
            problem(asked, "{}").contains(&format!("did you mean {expected}?")),
            "{}",
            problem(asked, "{}")
        );
    }
    let far = problem("teleport", "{}");
    assert!(!far.contains("did you mean") && far.contains("the tools are read_file, write_file"), "{far}");
    let none = Registry::default().examine("x", "{}").err().unwrap();
    assert_eq!(none, CallProblem::UnknownTool("there is no tool \"x\"; there are no tools".to_owned()));
}

#[test]
fn arguments_that_do_not_fit_are_told_where_and_what_was_expected() {
    let takes = ". It takes all (optional), new (required), old (required), path (required)";
    assert_eq!(
        problem("edit_file", r#"{"path": 5, "old": "a", "new": "b"}"#),
        format!("the arguments of edit_file cannot be used: at /path: 5 is not of type \"string\"{takes}")
    );
    for (args, expected) in [
        (r#"{"path": "a"}"#, "\"old\" is a required property; \"new\" is a required property"),
        (r#"{"path": "a", "old": "a", "new": "b", "pth": 1}"#, "('pth' was unexpected)"),
        ("not json", "they are not valid JSON: expected"),
        ("[]", "they must be a JSON object"),
        ("", "they are not valid JSON: EOF"),
        (r#"{"path": "a", "path": "b", "old": "a", "new": "b"}"#, "the key \"path\" stands twice"),
    ] {
        let told = problem("edit_file", args);
        assert!(told.contains(expected), "{told}");
    }
    let deep = format!("{{\"path\": {}{}}}", "[".repeat(70), "]".repeat(70));
    assert!(problem("read_file", &deep).contains("nested deeper than 64"));
    let long = format!("{{\"path\": \"{}\"}}", "x".repeat(256 * 1024));
    assert!(problem("read_file", &long).contains("the most is 262144"));
}
