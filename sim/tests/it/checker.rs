//! The checker: its own tests, and its agreement with the core about what a
//! journal is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bowline_core::event::Event;
use bowline_core::id::{Millis, RunId};
use bowline_core::journal::Record;
use bowline_core::provenance::{Digest, args_digest};
use bowline_sim::ledger::wire::args_hash;
use bowline_sim::oracle::{ClientLine, ClientLog, Evidence, OracleError, ToldEnding, check};
use serde_json::{Value, json};

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("checker")
}

#[test]
fn the_checkers_own_tests_pass() {
    let output = Command::new("python3")
        .args(["-B", "-m", "unittest", "test_check"])
        .current_dir(scripts())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_ledger_names_arguments_as_the_core_does() {
    for text in [
        "{}",
        r#"{"b":1,"a":[true,null,"x\u0000\n\t\"\\/"],"é":{"z":-3,"A":18446744073709551615}}"#,
        "{\"\u{ffff}\":1,\"\u{1f600}\":2,\"\\u0001\u{7f}\":\"\u{2028}\"}",
    ] {
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(args_hash(&value), args_digest(text).to_string(), "{text}");
    }
}

/// A run that calls no tool and is cancelled, as the core writes it.
fn events() -> Vec<Vec<Value>> {
    let limits = serde_json::to_value(bowline_core::budget::Limits::default()).unwrap();
    let task = json!({
        "goal": "say \"é\u{1}\u{7f}\u{2028}😀\"\n", "model": "scripted:x", "review": "never", "on_failure": "rollback",
        "limits": limits, "workspace": {"path": "w", "mode": "copy"},
    });
    let tool = json!({
        "name": "odd", "description": "", "touch": "read", "repeat": "freely", "consent": "not-needed",
        "probes": false, "timeout_ms": 1,
        "schema": {"😀": 1, "\u{ffff}": 2, "z": [0.5, 1e16, 1e-7, 100000.0, -0.0, 1e21, 1.5e300, 0.000_001], "a": null},
    });
    let submitted = json!({"task": task, "tools": [tool], "key": "k1", "seed": "0000000000000000", "fingerprint": Digest::ZERO});
    let payload = json!({"inline": "done"});
    vec![
        vec![json!({"submitted": submitted})],
        vec![
            json!({"claimed": {"epoch": 1, "worker": "w"}}),
            json!({"step_started": {"step": 1, "purpose": {"act": "main"}, "request": Digest::ZERO,
                "reserved": {"tokens": 10, "micros": 0}}}),
        ],
        vec![
            json!({"step_finished": {"step": 1, "stop": "end", "usage": {"input": 3}, "text": payload}}),
            json!({"ended": {"contract": 1, "ending": {"halted": {"why": {"cancelled": {"by": "ann"}}}}}}),
        ],
    ]
}

/// The journal as `bowline export RUN --json` prints it.
fn export() -> Vec<Value> {
    let run = RunId::parse("r1").unwrap();
    let (mut prev, mut seq, mut lines) = (Digest::ZERO, 1, Vec::new());
    for (at, events) in (1000..).zip(events()) {
        let events: Vec<Event> =
            events.into_iter().map(|event| serde_json::from_value(event).unwrap()).collect();
        let record = Record::seal(prev, &run, seq, Millis(at), &events);
        let body: Value = serde_json::from_str(&record.body).unwrap();
        lines.push(json!({
            "run": record.run, "seq": seq, "at": at, "format": record.format, "hash": record.hash,
            "prev": prev, "events": body,
        }));
        prev = record.hash;
        seq += events.len() as u64;
    }
    lines
}

fn evidence(folder: &Path, journal: &[Value]) -> Evidence {
    let evidence = Evidence {
        client: folder.join("client.jsonl"),
        ledger: folder.join("ledger.jsonl"),
        journal: folder.join("journal"),
        states: None,
    };
    let mut log = ClientLog::open(&evidence.client).unwrap();
    log.write(&ClientLine::Submit { key: "k1".into(), task: "t".into() }).unwrap();
    log.write(&ClientLine::Ack { key: "k1".into(), run: "r1".into() }).unwrap();
    log.killed("r1").unwrap();
    log.write(&ClientLine::End { run: "r1".into(), ending: None, exit: None }).unwrap();
    let ending = Some(ToldEnding::Halted);
    log.write(&ClientLine::End { run: "r1".into(), ending, exit: Some(0) }).unwrap();
    fs::write(&evidence.ledger, "").unwrap();
    fs::create_dir(&evidence.journal).unwrap();
    let lines: String = journal.iter().map(|line| format!("{line}\n")).collect();
    fs::write(evidence.journal.join("r1.jsonl"), lines).unwrap();
    evidence
}

fn verdict(journal: &[Value]) -> (bool, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let verdict = check(&scripts().join("check.py"), &evidence(folder.path(), journal)).unwrap();
    (verdict.is_clean, verdict.lines)
}

#[test]
fn the_checker_accepts_a_journal_that_the_core_sealed() {
    let (is_clean, lines) = verdict(&export());
    assert!(is_clean, "{lines:#?}");
    assert!(lines.contains(&"J1: ok, 3 records".to_owned()), "{lines:#?}");
    assert!(lines.contains(&"O1: ok, 1 acknowledged runs".to_owned()), "{lines:#?}");
}

#[test]
fn the_checker_refuses_the_same_journal_with_any_part_changed() {
    let changes: [(&str, Value); 5] = [
        ("/0/at", json!(999)),
        ("/1/seq", json!(3)),
        ("/1/events/0/claimed/epoch", json!(2)),
        ("/0/events/0/submitted/task/goal", json!("another")),
        ("/2/prev", json!(Digest::ZERO)),
    ];
    for (place, value) in changes {
        let mut journal = Value::Array(export());
        *journal.pointer_mut(place).unwrap() = value;
        let (is_clean, lines) = verdict(journal.as_array().unwrap());
        let caught = lines.iter().any(|line| line.starts_with("J1: run r1: record"));
        assert!(!is_clean && caught, "{place}: {lines:#?}");
    }
}

#[test]
fn evidence_that_is_missing_is_no_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let evidence = evidence(folder.path(), &export());
    fs::remove_file(&evidence.ledger).unwrap();
    let answer = check(&scripts().join("check.py"), &evidence);
    assert!(matches!(answer, Err(OracleError::NoVerdict { .. })), "{answer:?}");
}
