//! Many runs leave nothing behind: no open file, no child, no file on the disk.

use std::process::Command;

use crate::{Workspace, cage};

const RUNS: u64 = 30;

/// Tells the copy of this test program that it is the one to count in.
const ALONE: &str = "BOWLINE_CAGE_COUNT_ALONE";

/// In a process of its own, where no other test opens files meanwhile.
#[test]
fn many_runs_leave_nothing_behind() {
    if cage().is_none() {
        return;
    }
    if std::env::var_os(ALONE).is_some() {
        return count();
    }
    let us = std::env::current_exe().unwrap();
    let name = "leftovers::many_runs_leave_nothing_behind";
    let output = Command::new(us).args(["--exact", name, "--nocapture"]).env(ALONE, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn count() {
    let cage = cage().unwrap();
    let mut ws = Workspace::new();
    ws.grant.protected = vec![".agent".into()];
    // Ended at every stage of its coming up, and after it.
    let run = |ws: &Workspace, after_ms: u64| {
        ws.works(cage, "true");
        ws.run(cage, &["sleep", "1000"], std::time::Duration::from_millis(after_ms));
    };
    run(&ws, 100);
    let before = (open_files(), children(), files(&ws));
    for count in 0..RUNS {
        run(&ws, count % 30 * 3);
    }
    assert_eq!((open_files(), children(), files(&ws)), before);
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn children() -> String {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    tasks.map(|task| std::fs::read_to_string(task.path().join("children")).unwrap_or_default()).collect()
}

fn files(ws: &Workspace) -> usize {
    std::fs::read_dir(ws.root()).unwrap().count() + std::fs::read_dir(ws.place.path()).unwrap().count()
}
