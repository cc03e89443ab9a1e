//! The calls of one reply: order, turns and answers.

use super::build::task;
use super::{Driver, check, script, show};
use crate::event::Event;
use crate::input::What;
use crate::message::{Message, Payload};
use crate::untrusted::Mark;

#[test]
fn reads_of_one_reply_run_beside_each_other_and_answers_enter_in_order() {
    check(
        &task(),
        "
        > reply 1 read(a) read(b) read(c): looking
        heard 1: tool use
        start a1.0 read
        start a1.1 read
        start a1.2 read
        ? due
        tool a1.0 #1, tool a1.1 #1, tool a1.2 #1
        > ok a1.2
        finish a1.2: ok
        > ok a1.0
        finish a1.0: ok
        > error a1.1
        finish a1.1: error
        ask 2 for main
        ? talk main
        user: mend it
        model: looking [read, read, read]
        c0: ok a1.0
        c1 failed: error a1.1
        c2: ok a1.2
        ",
    );
}

#[test]
fn a_write_waits_for_the_reads_before_it_and_holds_up_those_behind_it() {
    check(
        &task(),
        "
        > reply 1 read(a) write(f) read(b)
        heard 1: tool use
        start a1.0 read
        ? due
        tool a1.0 #1
        > ok a1.0
        finish a1.0: ok
        ? due
        prepare a1.1
        > prepared a1.1
        start a1.1 write [looked-at]
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
fn a_write_whose_turn_comes_with_the_reply_starts_from_the_look_taken_then() {
    check(
        &task(),
        "
        > reply 1 write(f) write(g)
        heard 1: tool use
        start a1.0 write [f]
        > ok a1.0
        finish a1.0: ok
        ? due
        prepare a1.1
        > prepared a1.1
        start a1.1 write [looked-at]
        > ok a1.1
        finish a1.1: ok
        ask 2 for main
        ",
    );
}

#[test]
fn programs_run_one_after_the_other() {
    check(
        &task(),
        "
        > reply 1 build(x) build(y)
        heard 1: tool use
        start a1.0 build
        ? due
        tool a1.0 #1
        > ok a1.0
        finish a1.0: ok
        start a1.1 build
        > ok a1.1
        finish a1.1: ok
        ask 2 for main
        ",
    );
}

#[test]
fn writes_of_all_subtasks_take_turns() {
    check(
        &task().plan("a; b"),
        "
        > reply 1 write(f)
        heard 1: tool use
        start a1.0 write [f]
        > reply 2 write(g)
        heard 2: tool use
        ? due
        tool a1.0 #1
        > prepared a2.0
        > ok a1.0
        finish a1.0: ok
        ask 3 for a
        ? due
        model 3, prepare a2.0
        > prepared a2.0
        start a2.0 write [looked-at]
        ? due
        model 3, tool a2.0 #1
        > ok a2.0
        finish a2.0: ok
        ask 4 for b
        ",
    );
}

#[test]
fn what_cannot_run_is_refused_to_the_model_and_the_rest_goes_on() {
    check(
        &task(),
        "
        > reply 1 nosuch(x) !read(a) write(f!) read(b)
        heard 1: tool use
        refuse a1.0: unknown tool
        refuse a1.1: bad arguments
        refuse a1.2: unprepared
        start a1.3 read
        > ok a1.3
        finish a1.3: ok
        ask 2 for main
        ? talk main
        user: mend it
        model:  [nosuch, read, write, read]
        c0 failed: no tool nosuch
        c1 failed: path is missing
        c2 failed: no such folder
        c3: ok a1.3
        ",
    );
}

#[test]
fn a_reply_of_refused_calls_alone_leads_straight_to_the_next_question() {
    check(
        &task(),
        "
        > reply 1 nosuch(x) !read(a)
        heard 1: tool use
        refuse a1.0: unknown tool
        refuse a1.1: bad arguments
        ask 2 for main
        ? talk main
        user: mend it
        model:  [nosuch, read]
        c0 failed: no tool nosuch
        c1 failed: path is missing
        ",
    );
}

#[test]
fn a_file_that_cannot_be_looked_at_later_is_refused_too() {
    check(
        &task(),
        "
        > reply 1 read(a) write(f)
        heard 1: tool use
        start a1.0 read
        > ok a1.0
        finish a1.0: ok
        > unprepared a1.1
        refuse a1.1: unprepared
        ask 2 for main
        ",
    );
}

#[test]
fn a_doubled_result_or_one_of_no_call_is_refused() {
    check(
        &task(),
        "
        > reply 1 read(a) read(b)
        heard 1: tool use
        start a1.0 read
        start a1.1 read
        > ok a1.0
        finish a1.0: ok
        > ok a1.0
        refused: nothing waits for this
        > ok a1.7
        refused: nothing waits for this
        > ok a9.0
        refused: nothing waits for this
        > ok a1.1 #2
        refused: nothing waits for this
        > prepared a1.1
        refused: nothing waits for this
        > probe a1.1 happened
        refused: nothing waits for this
        ",
    );
}

#[test]
fn an_action_has_its_own_key_which_is_the_same_in_every_replay() {
    let driver = check(
        &task(),
        "
        > reply 1 read(a) read(b)
        heard 1: tool use
        start a1.0 read
        start a1.1 read
        ",
    );
    let keys: Vec<_> = driver
        .events()
        .filter_map(|event| if let Event::CallStarted { key, .. } = event { Some(*key) } else { None })
        .collect();
    assert_eq!(keys.len(), 2);
    assert_ne!(keys[0], keys[1]);
    assert!(show::due(&driver.run).contains("tool a1.0 #1, tool a1.1 #1"));
}

#[test]
fn what_a_tool_says_is_fenced_and_what_we_say_about_a_call_is_not() {
    let mut driver = Driver::new(&task().0);
    driver.feed(script::claim(1)).unwrap();
    for line in ["reply 1 read(a) read(b) read(c) !read(d)", "ok a1.0", "error a1.1"] {
        driver.feed(script::what(&driver, line)).unwrap();
    }
    let mut silent = script::what(&driver, "ok a1.2");
    if let What::CallReturned { result, .. } = &mut silent {
        result.output = Payload::inline("");
    }
    driver.feed(silent).unwrap();
    let marks: Vec<Option<Mark>> = driver
        .run
        .threads
        .values()
        .flat_map(|thread| thread.messages.iter())
        .filter_map(|message| match message {
            Message::ToolResult { mark, .. } => Some(mark.clone()),
            Message::System(_) | Message::User(_) | Message::Assistant { .. } | Message::Briefing(_) => None,
        })
        .collect();
    let of = |action: &str| Some(Mark::of(&driver.run.seed, action));
    assert_eq!(marks, [of("a1.0"), of("a1.1"), None, None]);
    assert_ne!(of("a1.0"), of("a1.1"));
}
