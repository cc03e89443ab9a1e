//! What a command can use up, and how it ends.

use std::time::Duration;

use bowline_cage::{Ended, Limit, Report};

use crate::{Workspace, becomes_true, cage, processes_with};

const MIB: u64 = 1024 * 1024;
const LONG: Duration = Duration::from_secs(60);

#[test]
fn the_exit_code_is_the_commands_own() {
    let Some(cage) = cage() else { return };
    let ws = Workspace::new();
    for code in [0, 1, 3, 124, 125, 126, 255] {
        let ran = ws.sh(cage, &format!("exit {code}"));
        assert_eq!((ran.ended, ran.report), (Ended::Exited(code), Report::Started));
    }
    assert_eq!(ws.sh(cage, "kill -TERM $$").ended, Ended::Exited(128 + 15));
}

#[test]
fn a_program_that_cannot_start_is_told_from_one_that_fails() {
    let Some(cage) = cage() else { return };
    let ws = Workspace::new();
    let absent = ws.run(cage, &["no-such-program"], LONG);
    assert_eq!(absent.ended, Ended::Exited(127));
    assert!(matches!(absent.report, Report::NoProgram(why) if why.contains("no-such-program")));
    let file = ws.run(cage, &["./file"], LONG);
    assert_eq!(file.ended, Ended::Exited(126));
    assert!(matches!(file.report, Report::NoProgram(_)));
}

#[test]
fn standard_input_is_empty() {
    let Some(cage) = cage() else { return };
    assert_eq!(Workspace::new().works(cage, "cat"), "");
}

#[test]
fn a_command_whose_time_is_up_leaves_no_process() {
    let Some(cage) = cage() else { return };
    let ws = Workspace::new();
    let mark = format!("77{}.5", std::process::id());
    let line = format!("setsid sleep {mark} & (setsid sh -c 'sleep {mark}' &) ; sleep {mark}");
    let ran = ws.run(cage, &["sh", "-c", &line], Duration::from_millis(500));
    assert_eq!(ran.ended, Ended::TimedOut);
    assert!(becomes_true(|| processes_with(&mark) == 0));
}

#[test]
fn what_a_command_leaves_in_the_background_ends_with_it() {
    let Some(cage) = cage() else { return };
    let ws = Workspace::new();
    let mark = format!("78{}.5", std::process::id());
    ws.works(cage, &format!("setsid sleep {mark} </dev/null >/dev/null 2>&1 & true"));
    assert!(becomes_true(|| processes_with(&mark) == 0));
}

#[test]
fn a_command_dies_with_the_program_that_started_it() {
    if cage().is_none() {
        return;
    }
    let ws = Workspace::new();
    let mark = format!("79{}.5", std::process::id());
    let mut starter = std::process::Command::new(env!("CARGO_BIN_EXE_bowline-cage"))
        .args(["run", "--write"])
        .arg(ws.root())
        .args(["--", "sh", "-c", &format!("touch up; setsid sleep {mark}")])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    assert!(becomes_true(|| ws.root().join("up").exists() && processes_with(&mark) > 1));
    starter.kill().unwrap();
    starter.wait().unwrap();
    assert!(becomes_true(|| processes_with(&mark) == 0));
}

#[test]
fn endless_output_is_cut() {
    let Some(cage) = cage() else { return };
    let ws = Workspace::new();
    let ran = ws.run(cage, &["yes"], LONG);
    assert_eq!((ran.ended, ran.output.len()), (Ended::Flooded, 1024 * 1024));
}

#[test]
fn a_fork_bomb_stays_within_its_processes() {
    let Some(cage) = cage() else { return };
    let mut ws = Workspace::new();
    ws.grant.limits.processes = 40;
    let bomb = "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass";
    let ran = ws.run(cage, &["python3", "-c", bomb], Duration::from_millis(1_500));
    // The kernel counts for ordinary users, the watch for the superuser.
    let watched = ran.report == Report::Exceeded(Limit::Processes) && ran.ended == Ended::Exited(137);
    assert!(watched || ran.ended == Ended::TimedOut, "{:?} {:?}", ran.ended, ran.report);
}

#[test]
fn memory_is_counted_over_all_processes() {
    let Some(cage) = cage() else { return };
    let mut ws = Workspace::new();
    ws.grant.limits.memory_bytes = 160 * MIB;
    let one = ws.run(cage, &["python3", "-c", "bytearray(250_000_000)"], LONG);
    assert_eq!(one.ended, Ended::Exited(1), "one process: an error it can handle");
    let many = "import os,time\nfor _ in range(4): os.fork()\nx=bytearray(40_000_000)\ntime.sleep(50)";
    let ran = ws.run(cage, &["python3", "-c", many], LONG);
    assert_eq!((ran.ended, ran.report), (Ended::Exited(137), Report::Exceeded(Limit::Memory)));
    assert!(String::from_utf8_lossy(&ran.errors).contains("too much memory"));
}

#[test]
fn files_are_limited_in_size_and_number_and_scratch_is_small() {
    let Some(cage) = cage() else { return };
    let mut ws = Workspace::new();
    ws.grant.limits.file_bytes = 4 * MIB;
    ws.grant.limits.scratch_bytes = 2 * MIB;
    ws.grant.limits.open_files = 32;
    ws.fails(cage, "dd if=/dev/zero of=big bs=1M count=100 2>&1");
    assert_eq!(std::fs::metadata(ws.root().join("big")).unwrap().len(), 4 * MIB);
    for place in ["/tmp", "/dev/shm", "$HOME"] {
        ws.fails(cage, &format!("dd if=/dev/zero of={place}/big bs=1M count=3"));
    }
    ws.fails(cage, "python3 -c 'x=[open(\"/dev/null\") for _ in range(40)]'");
    ws.fails(cage, "ulimit -n 1000");
}

#[test]
fn a_disk_that_runs_full_ends_the_command() {
    let Some(cage) = cage() else { return };
    let mut ws = Workspace::new();
    ws.grant.limits.disk_left_bytes = u64::MAX;
    let ran = ws.run(cage, &["sleep", "50"], LONG);
    assert_eq!(ran.report, Report::Exceeded(Limit::Disk));
}

#[test]
fn more_files_in_memory_than_a_machine_can_bear_end_the_command() {
    let Some(cage) = cage() else { return };
    let ws = Workspace::new();
    let make = |count: u32| {
        format!("import os\nfor i in range({count}): os.mknod(f'/tmp/{{i}}')\nimport time; time.sleep(1)")
    };
    let ran = ws.run(cage, &["python3", "-c", &make(300_000)], LONG);
    assert_eq!((ran.ended, ran.report), (Ended::Exited(137), Report::Exceeded(Limit::Files)));
    assert!(String::from_utf8_lossy(&ran.errors).contains("too many files"));
    assert_eq!(ws.run(cage, &["python3", "-c", &make(1_000)], LONG).ended, Ended::Exited(0));
}

#[test]
fn a_command_stands_back_and_cannot_step_forward() {
    let Some(cage) = cage() else { return };
    let ws = Workspace::new();
    assert_eq!(ws.works(cage, "nice").trim(), "5");
    assert_eq!(ws.works(cage, "nice -n -20 nice 2>/dev/null; true").trim(), "5");
    // Somebody who stands further back already can still start commands.
    let program = env!("CARGO_BIN_EXE_bowline-cage");
    let output =
        std::process::Command::new("nice").args(["-n", "12", program, "run", "--", "nice"]).output().unwrap();
    let niceness: i32 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
    assert!(niceness == 5 || niceness >= 12, "only the superuser starts afresh");
}
