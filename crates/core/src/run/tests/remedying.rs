//! Rounds that look alike: four remedies, in order, each once.

use super::build::{Setup, task};
use super::check;
use super::controlling::{ACTED, failed, repaired};

const SAME: &str = "the answer is forty two and nothing else";

fn setup() -> Setup {
    task().check("tests").limits(|limits| limits.repairs = 20)
}

/// Four rounds that give the same answer, with these remedies from the third on.
fn circle(remedies: [&str; 3]) -> String {
    let [first, second, third] = remedies;
    [
        ACTED,
        &failed(1, "repair 0.770"),
        &repaired(1, SAME),
        &failed(2, "repair 1.000"),
        &repaired(2, SAME),
        &failed(3, "stalled, repair 1.000"),
        &format!("round 3 is like 1 before\nremedy for 2: {first}\n"),
        &repaired(3, SAME),
        &failed(4, "stalled, repair 1.000"),
        &format!("round 4 is like 1 before\nremedy for 2: {second}\n"),
        &repaired(4, SAME),
        &failed(5, "stalled, repair 1.000"),
        &format!("round 5 is like 1 before\nremedy for 2: {third}\n"),
    ]
    .concat()
}

const SWITCH: &str = "minimal edit, not full regeneration";

#[test]
fn without_anything_to_read_again_a_person_is_the_third_remedy_and_lets_it_go_on() {
    let story = circle([SWITCH, "variation 1", "person"])
        + "stopping: stuck: round 5 is still like round 4, after every other remedy
        halted: stuck: round 5 is still like round 4, after every other remedy
        > resume
        resumed by ann
        > claim
        claimed 2
        "
        + &repaired(5, SAME)
        + &failed(6, "stalled, repair 1.000")
        + "round 6 is like 1 before
        repair 6
        begin repair-6
        ask 13 for repair-6
        ";
    check(&setup(), &story);
}

#[test]
fn evidence_is_read_again_before_the_repair_that_needs_it() {
    let story = circle([SWITCH, "variation 1", "fresh evidence"])
        + "? due
        evidence a
        ? waits
        nothing
        > evidence a=fresh
        retrieved a
        repair 5
        begin repair-5
        ask 11 for repair-5
        ";
    let story =
        format!("> evidence a=stale\nretrieved a\nbegin main\nask 1 for main\n{}", story.trim_start());
    let driver = check(&setup().evidence(&["a"]), &story);
    let opening = format!("{:?}", driver.run.threads.values().last().unwrap().messages);
    assert!(!driver.run.mending.rereading && opening.contains("fresh") && !opening.contains("stale"));
}

#[test]
fn evidence_that_is_gone_does_not_end_the_repair() {
    let story = circle([SWITCH, "variation 1", "fresh evidence"])
        + "> no evidence a
        retrieved a
        repair 5
        begin repair-5
        ask 11 for repair-5
        ";
    let story =
        format!("> evidence a=stale\nretrieved a\nbegin main\nask 1 for main\n{}", story.trim_start());
    check(&setup().evidence(&["a"]), &story);
}

#[test]
fn a_defect_that_comes_back_after_another_does_not_start_over() {
    let other = "something else entirely with quite different words in it";
    let story = [
        ACTED,
        &failed(1, "repair 0.770"),
        &repaired(1, SAME),
        &failed(2, "repair 1.000"),
        &repaired(2, SAME),
        &failed(3, "stalled, repair 1.000"),
        &format!("round 3 is like 1 before\nremedy for 2: {SWITCH}\n"),
        &repaired(3, other),
        &failed(4, "stalled, repair 1.000"),
        &repaired(4, SAME),
        &failed(5, "stalled, repair 1.000"),
        "round 5 is like 2 before
        remedy for 2: variation 1
        repair 5
        begin repair-5
        ask 11 for repair-5
        ",
    ];
    let driver = check(&setup(), &story.concat());
    let opening =
        format!("{:?}", driver.run.threads.get(&super::build::subtask_id("repair-5")).unwrap().messages);
    assert!(opening.contains("This is variation 1"), "{opening}");
}
