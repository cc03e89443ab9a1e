//! Script files: what is read, what is refused, and where.

use std::fs;
use std::path::Path;

use bowline_models::scripted::Script;
use bowline_models::{OpenModelError, Unwatched, open};
use serde_json::{Value, json};

use crate::{request, user};

const EXAMPLE: &str = "
script: 1
usage: {input: 100, output: 20}
conversations:
  main:
    - say: no
      calls:
        - tool: read_file
          args: {path: calc.py}
    - expect: {last_contains: 'def add', tools: [edit_file]}
      say: |
        Done.
  critique:
    - say: '{\"summary\": \"x\"}'
";

fn open_text(name: &str, text: &str) -> Result<(), OpenModelError> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(name), text).unwrap();
    open(&format!("scripted:{name}"), dir.path()).map(drop)
}

#[tokio::test]
async fn a_yaml_file_and_the_same_as_json_give_the_same_replies() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("s.yaml"), EXAMPLE).unwrap();
    let same = json!({"script": 1, "usage": {"input": 100, "output": 20}, "conversations": {"main": [
        {"say": "no", "calls": [{"tool": "read_file", "args": {"path": "calc.py"}}]}]}});
    fs::write(dir.path().join("s.json"), same.to_string()).unwrap();
    let mut answers = Vec::new();
    for name in ["s.yaml", "s.json"] {
        let model = open(&format!("scripted:{name}"), dir.path()).unwrap();
        answers.push(model.call(request(vec![user("go")]), &Unwatched).await.unwrap());
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!((&*answers[0].text, answers[0].calls.len()), ("no", 1));
}

#[test]
fn an_unknown_kind_lists_the_kinds_there_are() {
    for reference in ["gpt", "openai:gpt", "scripted:", "", "Scripted:x"] {
        let error = open(reference, Path::new(".")).err().unwrap();
        assert!(matches!(error, OpenModelError::UnknownKind { .. }));
        assert!(error.to_string().contains("the kinds are scripted:PATH"), "{error}");
        assert!(error.remedy().contains("scripted:"));
    }
}

#[test]
fn a_file_that_is_missing_or_no_yaml_says_so_with_the_place() {
    let missing = open("scripted:nowhere.yaml", Path::new("/nonexistent")).err().unwrap();
    assert!(matches!(missing, OpenModelError::Unreadable { .. }));
    match open_text("s.yaml", "script: 1\nconversations:\n  main: [\n") {
        Err(OpenModelError::Syntax { line, column, .. }) => {
            assert!(line >= 3 && column >= 1, "{line}:{column}")
        }
        other => panic!("{other:?}"),
    }
    match open_text("s.json", "{\n  \"script\": }") {
        Err(OpenModelError::Syntax { line: 2, column: 13, .. }) => {}
        other => panic!("{other:?}"),
    }
    assert!(matches!(open_text("s.yaml", "script: 1\nscript: 1\n"), Err(OpenModelError::Syntax { .. })));
}

fn check(value: Value, expected: &str) {
    let bad = Script::from_value(value.clone()).err().unwrap_or_else(|| panic!("{value} was read"));
    assert_eq!(bad.to_string(), expected);
    assert!(!bad.remedy().is_empty());
}

fn reply_problem(reply: Value, expected: &str) {
    check(json!({"script": 1, "conversations": {"main": [{"say": "ok"}, reply]}}), expected);
}

#[test]
fn a_script_of_another_version_is_refused() {
    check(json!({"script": 2}), "`script` must be 1, the version of the file's form, and is 2");
    check(json!({"conversations": {}}), "`script` must be 1, the version of the file's form, and is missing");
    check(
        json!([]),
        "`script` must be 1, the version of the file's form, and is missing: the file is a list",
    );
}

#[test]
fn an_unknown_key_is_an_error_with_the_place_and_the_nearest_key() {
    check(
        json!({"script": 1, "conversation": {}}),
        "the file: unknown key `conversation`, did you mean `conversations`?",
    );
    reply_problem(json!({"call": []}), "main[1]: unknown key `call`, did you mean `calls`?");
    reply_problem(
        json!({"calls": [{"tool": "x", "arg": {}}]}),
        "main[1].calls[0]: unknown key `arg`, did you mean `args`?",
    );
    reply_problem(
        json!({"say": "x", "expect": {"zzzzzz": 1}}),
        "main[1].expect: unknown key `zzzzzz`; the keys are last_contains, contains, system_contains, tools, schema, answers, error",
    );
}

#[test]
fn a_value_of_the_wrong_kind_is_an_error_with_the_place() {
    for (reply, expected) in [
        (json!({}), "main[1]: a reply needs `say` or `calls`"),
        (json!({"say": 5}), "main[1].say: must be a text, not 5 (quote it)"),
        (json!({"calls": {}}), "main[1].calls: must be a list, not a map"),
        (json!({"calls": [{}]}), "main[1].calls[0]: a call needs `tool`"),
        (
            json!({"calls": [{"tool": "x", "args": {}, "raw_args": ""}]}),
            "main[1].calls[0]: `args` and `raw_args` exclude each other",
        ),
        (
            json!({"calls": [{"tool": "x", "id": "a"}, {"tool": "x", "id": "a"}]}),
            "main[1]: two calls of main have the id \"a\"",
        ),
        (
            json!({"stop": "cut"}),
            "main[1].stop: must be end, tool_use, truncated, refused or filtered, not \"cut\"",
        ),
        (json!({"say": "x", "stall": "long"}), "main[1].stall: must be forever, not \"long\""),
        (json!({"say": "x", "stream": 0}), "main[1].stream: must be 1 to 10000 pieces, not 0"),
        (
            json!({"say": "x", "fails": ["transient", "lost"]}),
            "main[1].fails[1]: must be transient, rate_limited, {rate_limited: MILLISECONDS}, timed_out or permanent, not \"lost\"",
        ),
        (json!({"say": "x", "expect": {"error": 1}}), "main[1].expect.error: must be true or false, not 1"),
        (
            json!({"say": "x", "usage": {"input": 1, "cached": 2}}),
            "main[1].usage: `cached` is part of `input` and `reasoning` part of `output`: neither can be more",
        ),
    ] {
        reply_problem(reply, expected);
    }
}
