//! An agent that goes in circles is told, then stopped; nothing it did is lost.

use super::build::task;
use super::{check, play, show};
use crate::event::Event;

/// One more look at the same file, which is blocked.
fn blocked(step: u32) -> String {
    format!("> reply {step} read(a)\nheard {step}: tool use\nblock a{step}.0: same in one world\n")
}

const FIRST_LOOK: &str = "
    > reply 1 read(a)
    heard 1: tool use
    start a1.0 read
    > ok a1.0
    finish a1.0: ok
    ask 2 for main
";

#[test]
fn a_second_look_at_what_did_not_change_is_answered_with_what_is_known() {
    let story = format!("{FIRST_LOOK}{}ask 3 for main", blocked(2));
    let driver = check(&task(), &story);
    let talk = show::talk(&driver.run, "main");
    assert_eq!(talk.last().unwrap(), "c0 (told): ok a1.0", "the known result, with a notice");
    assert_eq!(driver.run.spend.tool_calls, 1, "a blocked call is not made and not counted");
}

#[test]
fn three_blocks_switch_the_strategy_and_three_more_end_the_run_which_a_person_may_let_go_on() {
    let mut story = format!("{FIRST_LOOK}{}ask 3 for main\n{}ask 4 for main\n", blocked(2), blocked(3));
    story += &format!("{}switch main: blocked\nask 5 for main\n", blocked(4));
    let driver = check(&task(), &story);
    let told = show::talk(&driver.run, "main").pop().unwrap();
    assert!(told.starts_with("user: You are going in circles"), "{told}");
    let more = format!("{}ask 6 for main\n{}ask 7 for main\n", blocked(5), blocked(6));
    let end = "> reply 7 read(a)
        heard 7: tool use
        stopping: circles: same in one world
        halted: circles: same in one world
        > resume
        resumed by ann
        > claim
        claimed 2
        start a7.0 read";
    play(driver, &format!("{more}{end}"));
}

#[test]
fn a_look_after_a_change_is_made() {
    check(
        &task(),
        &format!(
            "{FIRST_LOOK}
            > reply 2 write(a)
            heard 2: tool use
            start a2.0 write [a]
            > ok a2.0
            finish a2.0: ok
            ask 3 for main
            > reply 3 read(a)
            heard 3: tool use
            start a3.0 read"
        ),
    );
}

#[test]
fn what_stands_twice_in_one_reply_is_made_once_for_both() {
    let driver = check(
        &task(),
        "
        > reply 1 read(a) read(b) read(a)
        heard 1: tool use
        start a1.0 read
        start a1.1 read
        > ok a1.0
        finish a1.0: ok
        block a1.2: duplicate in batch
        > error a1.1
        finish a1.1: error
        ask 2 for main
        ",
    );
    let talk = show::talk(&driver.run, "main");
    assert_eq!(talk[talk.len() - 3..], ["c0: ok a1.0", "c1 failed: error a1.1", "c2 (told): ok a1.0"]);
}

#[test]
fn what_was_seen_before_a_change_is_looked_at_again_after_it() {
    check(
        &task(),
        "
        > reply 1 read(a) put(x) read(a)
        heard 1: tool use
        start a1.0 read
        > ok a1.0
        finish a1.0: ok
        start a1.1 put
        > ok a1.1
        finish a1.1: ok
        start a1.2 read
        > ok a1.2
        finish a1.2: ok
        ask 2 for main
        ",
    );
}

#[test]
fn a_call_that_must_not_be_repeated_is_never_folded_into_another() {
    check(
        &task(),
        "
        > reply 1 pay(10) pay(10)
        heard 1: tool use
        start a1.0 pay
        > ok a1.0
        finish a1.0: ok
        start a1.1 pay
        ",
    );
}

#[test]
fn an_invented_tool_is_refused_and_the_agent_told_to_change_its_ways() {
    let driver = check(
        &task(),
        "
        > reply 1 fly(a)
        heard 1: tool use
        refuse a1.0: unknown tool
        ask 2 for main
        > reply 2 fly(b)
        heard 2: tool use
        refuse a2.0: unknown tool
        switch main: unknown tool
        ask 3 for main
        ",
    );
    let findings = driver
        .events()
        .filter_map(|event| if let Event::StrategySwitched { why, .. } = event { Some(why) } else { None });
    for why in findings {
        assert!(!why.trail.is_empty() && !why.setting.is_empty() && !why.notice.is_empty(), "{why:?}");
    }
}

#[test]
fn a_repair_that_gives_the_same_answer_with_the_same_diagnosis_is_reported() {
    check(
        &task().check("tests"),
        "
        > reply 1: the answer is forty two and nothing else
        heard 1: end
        done main
        acted main
        > check 1.0 fail
        checked 1 tests: failed
        verified 1: checks failed
        control: repair 0.770
        begin critique-1
        ask 2 for critique 1
        > reply 2: {\"summary\":\"off by one\",\"defects\":[]}
        heard 2: end
        diagnosed by critic: off by one
        repair 1
        begin repair-1
        ask 3 for repair-1
        > reply 3: the answer is forty two and nothing else
        heard 3: end
        done repair-1
        repaired 1
        > check 2.0 fail
        checked 2 tests: failed
        verified 2: checks failed
        control: repair 1.000
        begin critique-2
        ask 4 for critique 2
        > reply 4: {\"summary\":\"off by one\",\"defects\":[]}
        heard 4: end
        diagnosed by critic: off by one
        round 2 is like 1 before
        remedy for 1: full regeneration, not section rewrite
        repair 2
        begin repair-2
        ask 5 for repair-2
        ",
    );
}

#[test]
fn a_run_that_stops_does_not_forget_to_ask_a_person() {
    let mut story = format!("{FIRST_LOOK}{}ask 3 for main\n{}ask 4 for main\n", blocked(2), blocked(3));
    story += &format!("{}switch main: blocked\nask 5 for main\n", blocked(4));
    story += &format!("{}ask 6 for main\n{}ask 7 for main\n", blocked(5), blocked(6));
    let driver = check(&task(), &story);
    play(
        driver,
        "
        > reply 7 read(a) wipe(b)
        heard 7: tool use
        question a7.1
        stopping: circles: same in one world
        halted: circles: same in one world
        > resume
        resumed by ann
        > claim
        claimed 2
        start a7.0 read
        > ok a7.0
        finish a7.0: ok
        ",
    );
}

#[test]
fn a_call_a_person_said_yes_to_is_made_however_often_it_was_made_before() {
    let calls: Vec<String> = (0..6).map(|at| format!("a1.{at}")).collect();
    let mut story = format!("> reply 1 {}\nheard 1: tool use\n", ["wipe(a)"; 6].join(" "));
    story.extend(calls.iter().map(|call| format!("question {call}\n")));
    for call in &calls {
        story += &format!("> approve {call}\nanswer {call}: yes, says ann\nstart {call} wipe\n");
        story += &format!("> ok {call}\nfinish {call}: ok\n");
    }
    check(&task(), &format!("{story}ask 2 for main"));
}
