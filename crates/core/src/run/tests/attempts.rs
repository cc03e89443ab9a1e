//! Passing trouble with tools: tried again, waited for, given up.

use super::build::task;
use super::{Driver, check, script};
use crate::event::Event;
use crate::tool::{Class, Invocation};

#[test]
fn what_meets_trouble_is_tried_again_under_the_same_key_until_it_works() {
    let driver = check(
        &task(),
        "
        > reply 1 put(x) read(a)
        heard 1: tool use
        start a1.0 put
        > trouble a1.0 5000
        trouble a1.0 #1: unavailable, again +5000
        ? due
        nothing
        ? wakes
        +5000, +3600000
        > +4999 tick
        > ok a1.0 #1
        refused: nothing waits for this
        > +1 tick
        start a1.0 put #2
        > late a1.0
        trouble a1.0 #2: timed out, again +5191
        > +9000 tick
        start a1.0 put #3
        > ok a1.0
        finish a1.0: ok
        start a1.1 read
        > ok a1.1
        finish a1.1: ok
        ask 2 for main
        ",
    );
    let keys = driver.events().filter_map(|event| {
        let Event::CallStarted { key, tool, .. } = event else { return None };
        (tool.as_str() == "put").then_some(*key)
    });
    let keys: Vec<_> = keys.collect();
    assert_eq!(keys.len(), 3);
    assert!(keys.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(driver.run.spend.tool_calls, 4, "attempts count");
    assert_eq!(driver.run.breakers.len(), 0, "an answer ends the row of failures");
}

#[test]
fn after_its_attempts_the_model_is_told_how_often_it_was_tried() {
    let driver = check(
        &task(),
        "
        > reply 1 read(a)
        heard 1: tool use
        start a1.0 read
        > trouble a1.0 2000
        trouble a1.0 #1: unavailable, again +2000
        > +2000 tick
        start a1.0 read #2
        > unknown a1.0
        trouble a1.0 #2: timed out, again +2191
        > +9000 tick
        start a1.0 read #3
        > trouble a1.0
        finish a1.0: unavailable
        ask 2 for main
        ? talk main
        user: mend it
        model:  [read]
        c0 failed (told): trouble a1.0
        ",
    );
    let said = format!("{:?}", driver.run.threads.values().next().unwrap().messages);
    assert!(said.contains("Tried 3 times: it was not done, and may work later."), "{said}");
}

#[test]
fn a_tool_that_asks_for_more_than_two_minutes_is_not_waited_for() {
    for (wait, expected) in [
        (120_000, "trouble a1.0 #1: unavailable, again +120000"),
        (120_001, "finish a1.0: unavailable\nask 2 for main"),
    ] {
        check(
            &task(),
            &format!(
                "> reply 1 read(a)\nheard 1: tool use\nstart a1.0 read\n> trouble a1.0 {wait}\n{expected}"
            ),
        );
    }
}

#[test]
fn what_must_not_be_repeated_gets_one_attempt() {
    let irreversible = Invocation { class: Some(Class::Irreversible), ..Invocation::default() };
    for (setup, tool) in [(task(), "pay"), (task().invocation("put", irreversible), "put")] {
        check(
            &setup,
            &format!(
                "
                > reply 1 {tool}(x)
                heard 1: tool use
                start a1.0 {tool}
                > trouble a1.0 1000
                finish a1.0: unavailable
                ask 2 for main
                "
            ),
        );
    }
}

#[test]
fn a_task_may_ask_for_more_attempts_or_for_one() {
    let attempts = |attempts| Invocation { attempts: Some(attempts), ..Invocation::default() };
    check(
        &task().invocation("read", attempts(1)),
        "
        > reply 1 read(a)
        heard 1: tool use
        start a1.0 read
        > trouble a1.0
        finish a1.0: unavailable
        ask 2 for main
        ",
    );
    let driver = Driver::new(&task().invocation("read", attempts(4)).0);
    assert_eq!(driver.run.tool("read").unwrap().attempts(), 4);
}

#[test]
fn a_retry_is_a_call_of_the_budget_and_is_not_made_where_none_is_left() {
    let driver = check(
        &task().limits(|limits| limits.tool_calls = 2),
        "
        > reply 1 read(a)
        heard 1: tool use
        start a1.0 read
        > trouble a1.0 1000
        trouble a1.0 #1: unavailable, again +1000
        > +1000 tick
        start a1.0 read #2
        > trouble a1.0 1000
        finish a1.0: unavailable
        near tool_calls 2 of 2
        ask 2 for main
        ",
    );
    assert_eq!(driver.run.spend.tool_calls, 2);
}

#[test]
fn a_call_that_backs_off_waits_while_the_run_is_paused_and_over_a_restart() {
    check(
        &task(),
        "
        > reply 1 read(a)
        heard 1: tool use
        start a1.0 read
        > trouble a1.0 2000
        trouble a1.0 #1: unavailable, again +2000
        > pause
        paused by ann
        ? wakes
        nothing
        ? needs-person
        true
        > +5000 tick
        > resume
        resumed by ann
        start a1.0 read #2
        > trouble a1.0 2000
        trouble a1.0 #2: unavailable, again +7000
        > claim
        claimed 2
        ? wakes
        +7000, +3605000
        ? needs-person
        false
        > +2000 tick
        start a1.0 read #3
        ",
    );
}

#[test]
fn a_call_that_backs_off_gets_its_answer_when_the_run_is_cancelled() {
    check(
        &task(),
        "
        > reply 1 read(a) pay(1)
        heard 1: tool use
        start a1.0 read
        > trouble a1.0 2000
        trouble a1.0 #1: unavailable, again +2000
        > cancel
        finish a1.0: cancelled
        refuse a1.1: cancelled
        halted: cancelled by ann
        ? due
        nothing
        > resume
        resumed by ann
        > claim
        claimed 2
        ask 2 for main
        ",
    );
}

#[test]
fn a_write_that_backs_off_keeps_other_writes_waiting() {
    check(
        &task().plan("a; b"),
        "
        > reply 1 write(f)
        heard 1: tool use
        start a1.0 write [f]
        > late a1.0
        trouble a1.0 #1: timed out, again +458
        > reply 2 write(g)
        heard 2: tool use
        > +2000 tick
        start a1.0 write [f] #2
        > ok a1.0
        finish a1.0: ok
        ask 3 for a
        ? due
        model 3, prepare a2.0
        ",
    );
}

#[test]
fn calls_of_one_tool_are_out_at_once_as_often_as_it_allows() {
    let at_once = Invocation { at_once: Some(2), ..Invocation::default() };
    check(
        &task().invocation("read", at_once),
        "
        > reply 1 read(a) read(b) read(c)
        heard 1: tool use
        start a1.0 read
        start a1.1 read
        > ok a1.1
        finish a1.1: ok
        start a1.2 read
        > ok a1.0
        finish a1.0: ok
        > ok a1.2
        finish a1.2: ok
        ask 2 for main
        ",
    );
}

#[test]
fn no_more_calls_of_a_run_are_out_at_once_than_32_whatever_their_tools_allow() {
    let many = Invocation { at_once: Some(40), ..Invocation::default() };
    let mut driver = Driver::new(&task().invocation("read", many).0);
    driver.feed(script::claim(1)).unwrap();
    let calls: Vec<String> = (0..40).map(|index| format!("read(f{index})")).collect();
    let reply = script::what(&driver, &format!("reply 1 {}", calls.join(" ")));
    let started =
        |events: &[Event]| events.iter().filter(|event| matches!(event, Event::CallStarted { .. })).count();
    assert_eq!(started(&driver.feed(reply).unwrap()), 32);
    let done = script::what(&driver, "ok a1.0");
    assert_eq!(started(&driver.feed(done).unwrap()), 1, "one takes the place of the one that is done");
}

#[test]
fn a_reply_with_a_thousand_calls_is_taken_in_one_pass_for_each() {
    let calls: Vec<String> = (0..1024).map(|index| format!("read(f{index})")).collect();
    let mut driver = Driver::new(&task().limits(|limits| limits.tool_calls = 2000).0);
    driver.feed(script::claim(1)).unwrap();
    let reply = script::what(&driver, &format!("reply 1 {}", calls.join(" ")));
    let events = driver.feed(reply).unwrap();
    let started = events.iter().filter(|event| matches!(event, Event::CallStarted { .. })).count();
    assert_eq!(started, 8, "reads of one tool run beside each other, so many at once");
}

#[test]
fn what_a_call_costs_is_booked_when_it_starts_and_covers_an_attempt_that_did_not_happen() {
    let costs = Invocation { cost_micros: Some(400_000), ..Invocation::default() };
    let costly = task().invocation("read", costs).limits(|limits| limits.micros = 1_000_000);
    let first = "
        > reply 1 read(a)
        heard 1: tool use
        start a1.0 read
        > trouble a1.0 1000
        trouble a1.0 #1: unavailable, again +1000
        > +1000 tick
        start a1.0 read #2
        ";
    let settled = |script: &str| check(&costly, script).run.spend.settled.micros;
    assert_eq!(settled(first), 400_020, "the first did not happen");
    let then = "
        > late a1.0
        trouble a1.0 #2: timed out, again +1191
        > +5000 tick
        start a1.0 read #3
        ";
    assert_eq!(settled(&format!("{first}{then}")), 800_020, "two attempts may have happened");
}

#[test]
fn a_call_whose_money_is_held_by_a_model_call_waits_for_it_and_is_not_looked_at() {
    let costs = Invocation { cost_micros: Some(12_000), ..Invocation::default() };
    check(
        &task().plan("a; b").invocation("read", costs).limits(|limits| limits.micros = 20_000),
        "
        > reply 1 read(x)
        heard 1: tool use
        ? due
        model 2
        > reply 2: b is done
        heard 2: end
        start a1.0 read
        done b
        ",
    );
}

#[test]
fn another_attempt_whose_money_is_held_by_a_model_call_wakes_nobody_before_that_is_home() {
    let costs = Invocation { cost_micros: Some(12_000), ..Invocation::default() };
    check(
        &task().plan("a; b").invocation("read", costs).limits(|limits| limits.micros = 30_000),
        "
        > reply 1 read(x)
        heard 1: tool use
        start a1.0 read
        > late a1.0
        trouble a1.0 #1: timed out, again +458
        ? wakes
        +3600000
        > +5000 tick
        > reply 2: b is done
        heard 2: end
        start a1.0 read #2
        done b
        ",
    );
}

#[test]
fn a_call_that_money_does_not_allow_halts_the_run() {
    let costs = Invocation { cost_micros: Some(600_000), ..Invocation::default() };
    check(
        &task().invocation("read", costs).limits(|limits| limits.micros = 500_000),
        "
        > reply 1 read(a)
        heard 1: tool use
        stopping: cost_usd of 500000
        halted: cost_usd of 500000
        > resume cost_usd=2000000
        resumed by ann cost_usd=2000000
        > claim
        claimed 2
        start a1.0 read
        ",
    );
}

#[test]
fn a_write_that_waits_for_money_is_not_looked_at_before() {
    let costs = Invocation { cost_micros: Some(15_000), ..Invocation::default() };
    check(
        &task().plan("a; b").invocation("write", costs).limits(|limits| limits.micros = 20_000),
        "
        > reply 1 write(f)
        heard 1: tool use
        ? due
        model 2
        > reply 2: b is done
        heard 2: end
        done b
        ? due
        prepare a1.0
        > prepared a1.0
        start a1.0 write [looked-at]
        ",
    );
}
