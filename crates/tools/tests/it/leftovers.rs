//! A thousand calls leave nothing behind: no open file, no process, no temporary file.
//!
//! Counted in a process that does nothing else, which this test starts from itself.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use bowline_core::input::Returned;
use bowline_core::tool::{Class, Invocation};
use bowline_tools::{CallContext, Registry};
use serde_json::json;

use crate::{OK, Yard, choice, command_choice};

/// Set in the process that counts.
const ALONE: &str = "BOWLINE_TEST_ALONE";
const CALLS: usize = 1000;

#[derive(Debug, PartialEq, Eq)]
struct Left {
    open_files: usize,
    children: BTreeSet<u32>,
    temporary: BTreeSet<String>,
}

fn left() -> Left {
    let names = |folder: &Path| -> BTreeSet<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    };
    Left {
        open_files: names(Path::new("/proc/self/fd")).len(),
        children: names(Path::new("/proc")).iter().filter_map(|name| child_of_ours(name)).collect(),
        temporary: names(&std::env::temp_dir()),
    }
}

/// The process of this number, if we are its parent; dead ones that nobody waited for too.
fn child_of_ours(name: &str) -> Option<u32> {
    let process: u32 = name.parse().ok()?;
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?;
    (parent.parse() == Ok(std::process::id())).then_some(process)
}

async fn call(yard: &Yard, registry: &Registry, round: usize) {
    let (name, args) = match round % 5 {
        0 => ("look", json!({ "exit": 0 })),
        1 => ("look", json!({ "exit": 3 })),
        2 => ("read_file", json!({ "path": "a" })),
        3 => ("write_file", json!({ "path": "b", "content": round.to_string() })),
        _ => ("run_command", json!({ "argv": ["sh", "-c", "sleep 60 & exit 0"] })),
    };
    let (tool, args) = registry.examine(name, &args.to_string()).unwrap();
    if round.is_multiple_of(100) {
        // Ended by its deadline, and ended because nobody wants it any more.
        let late = CallContext { timeout: Duration::from_millis(20), ..yard.ctx() };
        let (slow, slow_args) = registry.examine("run_command", r#"{"argv": ["sleep", "60"]}"#).unwrap();
        assert_eq!(slow.run(slow_args.clone(), &late).await.how, Returned::Unknown);
        let ctx = yard.ctx();
        let dropped = tokio::time::timeout(Duration::from_millis(20), slow.run(slow_args, &ctx)).await;
        assert!(dropped.is_err());
    }
    let context = match name {
        "write_file" => {
            let prepared = tool.prepare(&args, &yard.ctx()).await.unwrap().unwrap();
            CallContext { image: Some(crate::image(&prepared)), ..yard.ctx() }
        }
        _ => yard.ctx(),
    };
    let output = tool.run(args, &context).await;
    assert!(round % 5 == 1 || output.how == OK, "{name}: {output:?}");
}

async fn calls_leave_nothing() {
    let yard = Yard::new();
    yard.write("a", "text");
    let pure = Invocation { class: Some(Class::Pure), ..Invocation::default() };
    let mut look = command_choice("look", &["sh", "-c", "exit $(tr -dc 0-9)"]);
    look.invocation = pure;
    let names = ["read_file", "write_file", "run_command"].map(choice);
    let registry = Registry::new(&[look].into_iter().chain(names).collect::<Vec<_>>()).unwrap();
    // What is opened once and kept is there after the first rounds.
    for round in 0..10 {
        call(&yard, &registry, round).await;
    }
    let before = left();
    for round in 0..CALLS {
        call(&yard, &registry, round).await;
    }
    // A child that was killed when its call was dropped is waited for by the runtime.
    let settled = async {
        while left() != before {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let settled = tokio::time::timeout(Duration::from_secs(20), settled).await;
    assert!(settled.is_ok(), "before: {before:?}, after: {:?}", left());
}

#[test]
fn a_thousand_calls_leave_no_open_file_no_process_and_no_temporary_file() {
    if std::env::var_os(ALONE).is_some() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(calls_leave_nothing());
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let ran = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["leftovers::", "--test-threads", "1", "--nocapture"])
        .env(ALONE, "1")
        .env("TMPDIR", temporary.path())
        .output()
        .unwrap();
    let told = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && told.contains("1 passed"), "{told}");
}
