//! Bounds: exactly what is allowed, and not one more.

use super::build::task;
use super::check;
use crate::event::Event;
use crate::run::tests::drive::Driver;

fn steps(driver: &Driver) -> usize {
    driver.events().filter(|event| matches!(event, Event::StepStarted { .. })).count()
}

#[test]
fn a_limit_of_n_steps_is_exactly_n_questions_to_a_model() {
    let driver = check(
        &task().limits(|limits| limits.steps = 3),
        "
        > reply 1 read(a)
        heard 1: tool use
        start a1.0 read
        > ok a1.0
        finish a1.0: ok
        ask 2 for main
        > reply 2 read(b)
        heard 2: tool use
        start a2.0 read
        > ok a2.0
        finish a2.0: ok
        ask 3 for main, the last
        > reply 3: half of it
        heard 3: end
        stopping: steps 4 of 3
        halted: steps 4 of 3; so far: half of it
        ",
    );
    assert_eq!(steps(&driver), 3);
}

#[test]
fn an_answer_with_the_last_step_is_in_time() {
    check(
        &task().limits(|limits| limits.steps = 1),
        "
        > reply 1: done
        heard 1: end
        done main
        acted main
        verified 1: nothing to check
        > stored
        committed: done
        ",
    );
}

#[test]
fn retries_count_as_steps() {
    let driver = check(
        &task().limits(|limits| limits.steps = 2),
        "
        > fail 1 transient
        unheard 1: transient, again later
        > +1000 tick
        ask 2 for main
        > fail 2 transient
        unheard 2: transient, again later
        > +2000 tick
        stopping: steps 3 of 2
        halted: steps 3 of 2
        ",
    );
    assert_eq!(steps(&driver), 2);
}

#[test]
fn steps_of_subtasks_critics_and_repairs_share_one_limit() {
    let driver = check(
        &task().check("tests").limits(|limits| limits.steps = 2),
        "
        > reply 1: done
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
        stopping: steps 3 of 2
        halted: steps 3 of 2; so far: done
        ",
    );
    assert_eq!(steps(&driver), 2);
}

#[test]
fn a_limit_of_zero_steps_asks_no_model() {
    let driver = check(
        &task().limits(|limits| limits.steps = 0),
        "
        ? phase
        halted
        ",
    );
    assert_eq!(steps(&driver), 0);
}

#[test]
fn what_is_in_flight_comes_home_before_a_limit_halts_the_run() {
    check(
        &task().plan("a; b").limits(|limits| limits.steps = 2),
        "
        > reply 1 read(a)
        heard 1: tool use
        start a1.0 read
        > ok a1.0
        finish a1.0: ok
        stopping: steps 3 of 2
        ? due
        model 2
        > reply 2: b is done
        heard 2: end
        halted: steps 3 of 2
        ",
    );
}

#[test]
fn a_limit_of_n_tool_calls_is_exactly_n_starts() {
    check(
        &task().limits(|limits| limits.tool_calls = 2),
        "
        > reply 1 read(a) read(b) read(c)
        heard 1: tool use
        start a1.0 read
        start a1.1 read
        stopping: tool_calls 3 of 2
        ? due
        tool a1.0 #1, tool a1.1 #1
        > ok a1.0
        finish a1.0: ok
        > ok a1.1
        finish a1.1: ok
        halted: tool_calls 3 of 2
        ",
    );
}

#[test]
fn refused_calls_and_repeats_do_not_count_as_tool_calls() {
    check(
        &task().limits(|limits| limits.tool_calls = 1),
        "
        > reply 1 nosuch(x) read(a)
        heard 1: tool use
        refuse a1.0: unknown tool
        start a1.1 read
        > claim
        claimed 2
        start a1.1 read #2
        > ok a1.1
        finish a1.1: ok
        near tool_calls 1 of 1
        ask 2 for main
        > reply 2 read(b)
        heard 2: tool use
        stopping: tool_calls 2 of 1
        halted: tool_calls 2 of 1
        ",
    );
}

#[test]
fn a_question_that_might_use_more_tokens_than_are_left_is_not_sent() {
    // One reservation is about 4,096 tokens of output and 250 of input.
    check(
        &task().limits(|limits| limits.tokens = 4500),
        "
        > fail 1 timed_out
        unheard 1: timed out, again later
        > +2000 tick
        stopping: tokens of 4500
        halted: tokens of 4500
        ",
    );
}

#[test]
fn what_is_reserved_for_one_subtask_is_not_there_for_another_until_it_is_settled() {
    check(
        &task().plan("a; b").limits(|limits| limits.tokens = 8000),
        "
        ? due
        model 1
        > reply 1: a is done
        heard 1: end
        ask 2 for b
        done a
        > reply 2: b is done
        heard 2: end
        done b
        acted a, b
        verified 1: nothing to check
        ",
    );
    check(
        &task().plan("a; b").limits(|limits| limits.tokens = 8000),
        "
        > fail 1 timed_out
        unheard 1: timed out, again later
        stopping: tokens of 8000
        halted: tokens of 8000
        ",
    );
}

#[test]
fn a_question_that_waits_for_another_to_settle_is_not_woken_before() {
    check(
        &task().plan("a; b").limits(|limits| limits.tokens = 9000),
        "
        > fail 1 rate_limited 60000
        unheard 1: rate limited, again later
        ? wakes
        +60000, +3600000
        > fail 2 rate_limited 1000
        unheard 2: rate limited, again later
        > +1500 tick
        ask 3 for b
        ? wakes
        +60000, +3600000
        ",
    );
    check(
        &task().plan("a; b").limits(|limits| limits.tokens = 8000),
        "
        > fail 1 rate_limited 1000
        unheard 1: rate limited, again later
        ask 2 for b
        ? wakes
        +3600000
        > +1500 tick
        > reply 2: b is done
        heard 2: end
        ask 3 for a
        done b
        ",
    );
}

#[test]
fn a_question_that_might_cost_more_than_is_left_is_not_sent() {
    check(
        &task().limits(|limits| limits.micros = 8000),
        "
        ? phase
        halted
        ",
    );
    check(
        &task().limits(|limits| limits.micros = 9000),
        "
        > fail 1 timed_out
        unheard 1: timed out, again later
        > +2000 tick
        stopping: cost_usd of 9000
        halted: cost_usd of 9000
        ",
    );
}

#[test]
fn working_time_is_bounded_and_the_run_wakes_up_to_see_it() {
    check(
        &task().limits(|limits| limits.active_ms = 1000),
        "
        ? wakes
        +1000
        > +999 tick
        > +1 tick
        stopping: active_seconds of 1000
        > +50 reply 1 read(a)
        heard 1: tool use
        halted: active_seconds of 1000
        ",
    );
}

#[test]
fn waiting_for_people_pauses_and_down_time_use_no_working_time() {
    let driver = check(
        &task().limits(|limits| limits.active_ms = 1000),
        "
        > +100 reply 1 wipe(disk)
        heard 1: tool use
        question a1.0
        > +50000 approve a1.0
        answer a1.0: yes, says ann
        start a1.0 wipe
        > +100 ok a1.0
        finish a1.0: ok
        ask 2 for main
        > +100 reply 2 read(a)
        heard 2: tool use
        start a2.0 read
        > +100 pause
        paused by ann
        > +100 ok a2.0
        finish a2.0: ok
        > +50000 resume
        resumed by ann
        ask 3 for main
        > +50000 claim
        claimed 2
        unheard 3: lost, not again
        ask 4 for main
        > +100 reply 4: done
        heard 4: end
        done main
        acted main
        verified 1: nothing to check
        ",
    );
    assert_eq!(driver.run.spend.active_ms, 600);
}

#[test]
fn a_clock_that_goes_backwards_gives_no_working_time_back() {
    let mut driver = check(
        &task(),
        "
        > +500 reply 1 read(a)
        heard 1: tool use
        start a1.0 read
        ",
    );
    driver.now = crate::id::Millis(0);
    let driver = super::play(
        driver,
        "
        > ok a1.0
        finish a1.0: ok
        ask 2 for main
        ",
    );
    assert_eq!(driver.run.spend.active_ms, 500);
    assert_eq!(driver.run.now, super::show::START.plus(500));
}

#[test]
fn a_provider_that_bills_more_than_reserved_is_booked_in_full() {
    let mut driver = check(&task(), "? due\nmodel 1");
    let mut reply = super::script::reply(&driver.run, "1: done");
    reply.usage.output = 900_000;
    reply.micros = 4_000_000;
    driver.feed(crate::input::What::ModelReplied { step: 1, reply }).unwrap();
    assert_eq!(driver.run.spend.settled.tokens, 900_010);
    assert_eq!(driver.run.spend.settled.micros, 4_000_000);
    assert_eq!(driver.run.reserved, crate::budget::Cost::default());
}
