//! Planning, decomposing, retrieving.

use super::build::task;
use super::{check_from_start, show};
use crate::provenance::Digest;

#[test]
fn a_task_without_a_plan_gets_one_subtask_and_pays_no_model_call_for_it() {
    check_from_start(
        &task(),
        "
        > claim
        claimed 1
        planned main
        order main
        retrieved
        begin main
        ask 1 for main
        ? due
        model 1
        ",
    );
}

#[test]
fn a_given_plan_is_taken_and_its_order_puts_dependencies_first() {
    check_from_start(
        &task().plan("c < a b; b < a; a").limits(|limits| limits.parallel = 1),
        "
        > claim
        claimed 1
        planned a; b < a; c < a, b
        order a, b, c
        retrieved
        begin a
        ask 1 for a
        ",
    );
}

#[test]
fn evidence_is_read_and_hashed_before_any_model_is_asked_and_opens_the_conversation() {
    let driver = check_from_start(
        &task().evidence(&["notes.txt", "sum.rs"]),
        "
        > claim
        claimed 1
        planned main
        order main
        ? due
        evidence notes.txt sum.rs
        > evidence notes.txt=one sum.rs=two
        retrieved notes.txt, sum.rs
        begin main
        ask 1 for main
        ? due
        model 1
        ",
    );
    let opening = show::talk(&driver.run, "main").join("\n");
    for (path, content) in [("notes.txt", "one"), ("sum.rs", "two")] {
        let quoted = format!("{path}:/<file {path}: {content}>");
        assert!(opening.contains(&quoted), "{quoted} in {opening}");
        let hashed = driver.run.evidence.iter().any(|item| item.sha256 == Digest::of(content.as_bytes()));
        assert!(hashed, "{path}");
    }
}

#[test]
fn a_missing_file_fails_the_run_before_any_model_is_asked() {
    check_from_start(
        &task().evidence(&["notes.txt"]),
        "
        > claim
        claimed 1
        planned main
        order main
        > no evidence notes.txt
        stopping: notes.txt missing
        failed: notes.txt missing
        ",
    );
}

#[test]
fn nothing_moves_before_a_worker_has_claimed_the_run() {
    check_from_start(
        &task(),
        "
        ? due
        nothing
        ? needs-person
        false
        > tick
        refused: the run is not claimed
        > reply 1: early
        refused: the run is not claimed
        > evidence a=1
        refused: the run is not claimed
        ",
    );
}

#[test]
fn evidence_that_comes_twice_is_refused() {
    check_from_start(
        &task().evidence(&["a"]),
        "
        > claim
        claimed 1
        planned main
        order main
        > evidence a=1
        retrieved a
        begin main
        ask 1 for main
        > evidence a=2
        refused: nothing waits for this
        > no evidence a
        refused: nothing waits for this
        ",
    );
}
