//! Tools that fail again and again are left alone, then tried by one call.

use super::build::task;
use super::{Driver, check};
use crate::id::ToolName;
use crate::task::ToolChoice;
use crate::tool::Invocation;

/// A run whose tool `read` gets one attempt a call and failed five times.
fn opened() -> Driver {
    let once = Invocation { attempts: Some(1), ..Invocation::default() };
    check(
        &task().invocation("read", once),
        "
        > reply 1 read(a) read(b) read(c) read(d) read(e)
        heard 1: tool use
        start a1.0 read
        start a1.1 read
        start a1.2 read
        start a1.3 read
        start a1.4 read
        > late a1.0
        finish a1.0: timed out
        > trouble a1.1
        finish a1.1: unavailable
        > trouble a1.2
        finish a1.2: unavailable
        > trouble a1.3
        finish a1.3: unavailable
        > trouble a1.4
        finish a1.4: unavailable
        open read after 5 until +30000
        ask 2 for main
        ",
    )
}

#[test]
fn five_failures_in_a_row_open_it_and_the_model_is_told_when_it_is_tried_again() {
    let driver = super::play(
        opened(),
        "
        > +1000 reply 2 read(f) build(x)
        heard 2: tool use
        refuse a2.0: unavailable
        start a2.1 build
        > ok a2.1
        finish a2.1: ok
        ask 3 for main
        ",
    );
    let said = format!("{:?}", driver.run.threads.values().next().unwrap().messages);
    assert!(said.contains("It is tried again in 29 s"), "{said}");
}

#[test]
fn a_model_is_pointed_to_the_substitute_of_a_tool_that_is_not_there_and_of_a_look_that_came_too_late() {
    let mut setup = task().invocation("read", Invocation { attempts: Some(1), ..Invocation::default() });
    let stands_in = |name: &str, other: &str| ToolChoice {
        name: name.into(),
        substitute: Some(ToolName::parse(other).unwrap()),
        ..ToolChoice::default()
    };
    setup.0.task.tools = vec![stands_in("read", "build"), stands_in("put", "build")];
    let once = Invocation { attempts: Some(1), ..Invocation::default() };
    let driver = check(
        &setup.invocation("put", once),
        "
        > reply 1 read(a) read(b) read(c) read(d) read(e)
        heard 1: tool use
        start a1.0 read
        start a1.1 read
        start a1.2 read
        start a1.3 read
        start a1.4 read
        > late a1.0
        finish a1.0: timed out
        > trouble a1.1
        finish a1.1: unavailable
        > error a1.2
        finish a1.2: error
        > ok a1.3
        finish a1.3: ok
        > ok a1.4
        finish a1.4: ok
        ask 2 for main
        > reply 2 put(x)
        heard 2: tool use
        start a2.0 put
        > late a2.0
        finish a2.0: timed out
        ask 3 for main
        ",
    );
    let told = format!("{:?}", driver.run.threads.values().next().unwrap().messages);
    assert_eq!(told.matches("Use build instead.").count(), 2, "late look, and not there: {told}");
}

#[test]
fn after_the_wait_one_call_tries_it_and_an_answer_closes_it() {
    super::play(
        opened(),
        "
        > +30000 reply 2 read(f) read(g) read(h)
        heard 2: tool use
        start a2.0 read
        > claim
        claimed 2
        start a2.0 read #2
        > error a2.0
        finish a2.0: error
        close read
        start a2.1 read
        start a2.2 read
        ",
    );
}

#[test]
fn a_trial_that_fails_opens_it_for_twice_as_long_and_never_for_more_than_ten_minutes() {
    let mut driver = opened();
    let (mut step, mut waits) = (2, vec![30_000_u64]);
    for _ in 0..6 {
        let wait = *waits.last().unwrap();
        super::feed(&mut driver, &format!("+{wait} reply {step} read(f{step})"));
        let told = super::feed(&mut driver, &format!("trouble a{step}.0"));
        let opened = told.iter().find(|line| line.starts_with("open read")).unwrap();
        let until: u64 = opened.rsplit('+').next().unwrap().parse().unwrap();
        waits.push(until - driver.now.since(super::show::START));
        step += 1;
    }
    assert_eq!(waits, [30_000, 60_000, 120_000, 240_000, 480_000, 600_000, 600_000]);
}

#[test]
fn a_tool_that_answers_with_errors_is_there() {
    let driver = check(
        &task(),
        "
        > reply 1 read(a) read(b) read(c) read(d) read(e) read(f)
        heard 1: tool use
        start a1.0 read
        start a1.1 read
        start a1.2 read
        start a1.3 read
        start a1.4 read
        start a1.5 read
        > error a1.0
        finish a1.0: error
        > error a1.1
        finish a1.1: error
        > error a1.2
        finish a1.2: error
        > error a1.3
        finish a1.3: error
        > error a1.4
        finish a1.4: error
        > error a1.5
        finish a1.5: error
        switch main: same error
        ask 2 for main
        ",
    );
    assert_eq!(driver.run.breakers.len(), 0);
}

#[test]
fn a_call_that_backs_off_while_its_tool_is_left_alone_is_answered() {
    let driver = check(
        &task(),
        "
        > reply 1 read(a) read(b) read(c)
        heard 1: tool use
        start a1.0 read
        start a1.1 read
        start a1.2 read
        > trouble a1.0 1000
        trouble a1.0 #1: unavailable, again +1000
        > trouble a1.1 1000
        trouble a1.1 #1: unavailable, again +1000
        > trouble a1.2 20000
        trouble a1.2 #1: unavailable, again +20000
        > +1000 tick
        start a1.0 read #2
        start a1.1 read #2
        > trouble a1.0 1000
        trouble a1.0 #2: unavailable, again +2000
        > trouble a1.1 1000
        finish a1.1: unavailable
        open read after 5 until +31000
        > +1000 tick
        finish a1.0: unavailable
        > +18000 tick
        finish a1.2: unavailable
        ask 2 for main
        ",
    );
    assert_eq!(driver.run.breakers.len(), 1);
}

#[test]
fn a_lost_reply_of_what_must_not_be_repeated_is_a_failure_of_its_tool() {
    let driver = check(
        &task(),
        "
        > reply 1 pay(1)
        heard 1: tool use
        start a1.0 pay
        > late a1.0
        doubt a1.0: lost reply, ask person
        ",
    );
    let breaker = driver.run.breakers.values().next().unwrap();
    assert_eq!((breaker.failures, breaker.until), (1, None));
    super::play(driver, "> claim\nclaimed 2");
}
