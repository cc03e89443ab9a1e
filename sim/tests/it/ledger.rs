//! Ledger and command tool as processes.

use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use bowline_sim::ledger::wire::{EntryKind, Operation};
use bowline_sim::oracle::{LedgerProcess, OracleError, read_ledger};

const PROGRAM: &str = env!("CARGO_BIN_EXE_bowline-sim");

fn spawn(errand: &str, folder: &Path, action: &str, args: &str) -> Child {
    let mut child = Command::new(PROGRAM)
        .args(["tool", errand, "--dir"])
        .arg(folder)
        .env_clear()
        .envs([("BOWLINE_RUN", "r1"), ("BOWLINE_ACTION", action), ("BOWLINE_EPOCH", "3")])
        .envs([("BOWLINE_KEY", format!("key of {action}")), ("BOWLINE_ATTEMPT", "1".into())])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(args.as_bytes()).unwrap();
    child
}

fn tool(errand: &str, folder: &Path, action: &str, args: &str) -> (Option<i32>, String) {
    let Output { status, stdout, .. } = spawn(errand, folder, action, args).wait_with_output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap())
}

fn start(folder: &Path) -> LedgerProcess {
    LedgerProcess::start(Path::new(PROGRAM), folder).unwrap()
}

#[test]
fn a_payment_is_on_disk_when_the_tool_prints_its_receipt() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = start(folder.path());
    let paid = tool("pay", folder.path(), "a1.0", r#"{"amount": 5}"#);
    let receipt: serde_json::Value = serde_json::from_str(&paid.1).unwrap();
    assert_eq!((paid.0, receipt), (Some(0), serde_json::json!({"amount": 5, "op": "pay", "receipt": 1})));
    let entries = read_ledger(&ledger.file()).unwrap();
    assert_eq!(entries, ledger.dump().unwrap());
    let [entry] = entries.as_slice() else { panic!("{entries:?}") };
    assert_eq!((entry.op, entry.kind, entry.epoch, entry.amount), (Operation::Pay, EntryKind::Effect, 3, 5));
    assert_eq!((entry.run.as_str(), entry.action.as_str(), entry.attempt), ("r1", "a1.0", 1));
    ledger.stop().unwrap();
}

#[test]
fn a_probe_tells_what_happened_from_what_did_not() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = start(folder.path());
    let paid = tool("pay", folder.path(), "a1.0", r#"{"amount": 5}"#);
    assert_eq!(tool("look-pay", folder.path(), "a1.0", r#"{"amount": 5}"#), paid);
    assert_eq!(tool("look-pay", folder.path(), "a2.0", "").0, Some(1));
    assert_eq!(tool("look-put", folder.path(), "a1.0", "").0, Some(1));
    ledger.stop().unwrap();
    assert_eq!(tool("look-pay", folder.path(), "a1.0", "").0, Some(75));
}

#[test]
fn a_dropped_reply_leaves_the_tool_in_doubt_and_the_payment_made() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = start(folder.path());
    let lost = tool("slow_pay", folder.path(), "a1.0", r#"{"amount": 5, "drop_reply": true}"#);
    assert_eq!(lost, (Some(75), String::new()));
    assert_eq!(tool("look-slow_pay", folder.path(), "a1.0", "").0, Some(0));
    let refused = tool("slow_pay", folder.path(), "a2.0", r#"{"amount": 5, "delay_ms": 60001}"#);
    assert_eq!(refused.0, Some(1));
    assert_eq!(ledger.dump().unwrap().len(), 2);
}

#[test]
fn a_delayed_reply_delays_nobody_else_and_a_killed_caller_has_paid() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = start(folder.path());
    let mut slow = spawn("slow_pay", folder.path(), "a1.0", r#"{"amount": 5, "delay_ms": 60000}"#);
    // The probe is the synchronisation: it is asked until the payment is there.
    while tool("look-slow_pay", folder.path(), "a1.0", "").0 != Some(0) {}
    assert_eq!(slow.try_wait().unwrap(), None);
    slow.kill().unwrap();
    assert_eq!(slow.wait().unwrap().signal(), Some(9));
    let effects = |ledger: &LedgerProcess| {
        ledger.dump().unwrap().iter().filter(|entry| entry.kind == EntryKind::Effect).count()
    };
    assert_eq!(effects(&ledger), 1);
    ledger.stop().unwrap();
}

#[test]
fn a_killed_ledger_comes_back_with_all_it_answered() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = start(folder.path());
    for action in ["a1.0", "a1.1"] {
        assert_eq!(tool("put", folder.path(), action, "{}").0, Some(0));
    }
    // Dropping it sends SIGKILL: no orderly end.
    let file = ledger.file();
    drop(ledger);
    let mut torn = std::fs::OpenOptions::new().append(true).open(&file).unwrap();
    torn.write_all(b"{\"n\":3,\"op\":\"pa").unwrap();
    drop(torn);
    let ledger = start(folder.path());
    let printed = tool("put", folder.path(), "a1.1", "{}").1;
    let receipt: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(receipt, serde_json::json!({"amount": 0, "op": "put", "receipt": 2}));
    let last = ledger.dump().unwrap().pop().unwrap();
    assert_eq!((last.n, last.kind, last.of), (3, EntryKind::Duplicate, Some(2)));
}

#[test]
fn a_second_ledger_in_the_same_folder_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let _ledger = start(folder.path());
    let second = LedgerProcess::start(Path::new(PROGRAM), folder.path());
    assert!(matches!(second, Err(OracleError::NotReady { .. })), "{second:?}");
    assert_eq!(tool("put", folder.path(), "a1.0", "{}").0, Some(0));
}

#[test]
fn many_callers_at_once_each_get_their_own_entry() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = start(folder.path());
    let callers: Vec<Child> = (0..64)
        .map(|index| spawn("pay", folder.path(), &format!("a1.{index}"), r#"{"amount": 1}"#))
        .collect();
    for caller in callers {
        assert!(caller.wait_with_output().unwrap().status.success());
    }
    let mut actions: Vec<String> = ledger.dump().unwrap().into_iter().map(|entry| entry.action).collect();
    actions.sort();
    actions.dedup();
    assert_eq!(actions.len(), 64);
    ledger.stop().unwrap();
}

#[test]
fn a_command_line_that_makes_no_sense_is_no_answer_of_a_tool() {
    for words in [vec![], vec!["tool", "steal", "--dir", "."], vec!["ledger"]] {
        let output = Command::new(PROGRAM).args(&words).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(64), "{words:?}");
    }
}
