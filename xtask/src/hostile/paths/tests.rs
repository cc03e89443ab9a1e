//! The runner itself: it passes what is right and fails what is wrong.

use std::fs;

use super::*;

const SCRIPT: &str = "set -e; mkdir -p $1/ws/swap $1/outside $1/ws-evil; cd $1/ws
echo secret-outside > ../outside/secret.txt; echo s > swap/secret.txt; echo s > plain; ln ../outside/secret.txt hard
truncate -s 1G large";

fn scored(lines: &[&str]) -> Score {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("fixture_paths.sh"), SCRIPT).unwrap();
    fs::write(folder.path().join("paths.jsonl"), lines.join("\n")).unwrap();
    run(&folder.path().join("paths.jsonl"), Options::default()).unwrap()
}

#[test]
fn cases_that_go_as_they_should_pass() {
    let score = scored(&[
        r#"{"id": "1", "op": "read", "input": "{ROOT}/plain", "expect": "allow"}"#,
        r#"{"id": "2", "op": "read", "input": "../{ROOTNAME}-evil/x", "expect": "deny"}"#,
        r#"{"id": "3", "op": "read", "input": "nothing", "expect": "deny", "also_ok": "notfound"}"#,
        r#"{"id": "4", "op": "write", "input": "hard", "expect": "allow", "assert_same": "{OUT}/secret.txt"}"#,
        r#"{"id": "5", "op": "rename", "input": "plain -> moved", "expect": "allow"}"#,
        r#"{"id": "6", "op": "delete", "input": "{OUT}/secret.txt", "expect": "deny"}"#,
        r#"{"id": "7", "op": "read", "input": "large", "expect": "limit"}"#,
        r#"{"id": "8", "op": "delete", "input": "swap/secret.txt", "expect": "no_escape", "iterations": 50}"#,
    ]);
    assert_eq!(score.failed, []);
    assert_eq!(score.passed, 8);
    let [(id, figures)] = &score.figures[..] else { panic!("one race: {:?}", score.figures) };
    assert!(id == "8" && figures.starts_with("50 rounds, "), "{id} {figures}");
}

#[test]
fn a_wrong_verdict_and_a_secret_in_an_answer_fail() {
    let score = scored(&[
        r#"{"id": "verdict", "op": "read", "input": "plain", "expect": "deny"}"#,
        r#"{"id": "secret", "op": "read", "input": "hard", "expect": "allow"}"#,
        r#"{"id": "unread", "op": "lick", "input": "plain", "expect": "allow"}"#,
        r#"{"id": "no race", "op": "read", "input": "nothing/x", "expect": "no_escape"}"#,
    ]);
    let failed: Vec<_> = score.failed.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!((score.passed, failed), (0, vec!["verdict", "secret", "unread", "no race"]));
}

#[test]
fn a_set_without_its_files_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("paths.jsonl"), "").unwrap();
    let error = run(&folder.path().join("paths.jsonl"), Options::default()).unwrap_err().to_string();
    assert!(error.contains("fixture_paths.sh is missing"), "{error}");
}
