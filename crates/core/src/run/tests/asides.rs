//! Side questions: tool calls that are paid for like steps.

use super::build::{Setup, task};
use super::{Driver, check, script};
use crate::budget::{Allowance, Cost, Limit, Share};
use crate::event::Event;
use crate::id::RunId;
use crate::input::Input;
use crate::run::decide;
use crate::tool::Repeat;

/// What attempts at calls set aside, in order.
fn reservations(driver: &Driver) -> Vec<Cost> {
    let set_aside =
        |event: &Event| if let Event::CallStarted { reserved, .. } = event { *reserved } else { None };
    driver.events().filter_map(set_aside).collect()
}

fn repeated(repeat: Repeat) -> Setup {
    let Setup(mut submission) = task();
    submission.tools.iter_mut().filter(|spec| spec.asks_model()).for_each(|spec| spec.repeat = repeat);
    Setup(submission)
}

#[test]
fn a_side_question_is_a_step_and_a_call_and_pays_what_it_used() {
    let driver = check(
        &task(),
        "
        > reply 1 ask(q) read(a)
        heard 1: tool use
        start a1.0 ask
        start a1.1 read
        > ok a1.0 $30
        finish a1.0: ok
        > ok a1.1
        finish a1.1: ok
        ask 3 for main
        ",
    );
    let [reserved] = reservations(&driver)[..] else { panic!("only the question sets something aside") };
    assert!(reserved.tokens > 1024 && reserved.micros > 1024, "{reserved:?}");
    assert_eq!(driver.run.spend.steps, 3, "two steps of the conversation and the question");
    assert_eq!(driver.run.spend.tool_calls, 2);
    assert_eq!(driver.run.spend.settled, Cost { tokens: 15 + 30, micros: 20 + 30 });
}

#[test]
fn a_side_question_that_says_nothing_of_its_cost_is_paid_as_reserved() {
    for (how, paid) in [("ok a1.0", true), ("error a1.0", true), ("trouble a1.0 130000", false)] {
        let mut driver = check(&task(), "> reply 1 ask(q)\nheard 1: tool use\nstart a1.0 ask");
        let before = driver.run.spend.settled;
        let reserved = reservations(&driver)[0];
        driver.feed(script::what(&driver, how)).unwrap();
        let expected = if paid { reserved } else { Cost::default() };
        assert_eq!(driver.run.spend.settled.minus(before), expected, "{how}");
    }
}

#[test]
fn a_lost_side_question_is_paid_and_asked_again_until_its_attempts_are_used_up() {
    let driver = check(
        &task(),
        "
        > reply 1 ask(q)
        heard 1: tool use
        start a1.0 ask
        > claim
        claimed 2
        trouble a1.0 #1: lost, again +0
        start a1.0 ask #2
        > claim
        claimed 3
        trouble a1.0 #2: lost, again +0
        start a1.0 ask #3
        > claim
        claimed 4
        finish a1.0: timed out
        ask 5 for main
        ",
    );
    let paid = reservations(&driver).into_iter().fold(Cost { tokens: 15, micros: 20 }, Cost::plus);
    assert_eq!(driver.run.spend.settled, paid, "every lost attempt is paid as reserved");
    // Only the answer that it timed out counts; a process that died says nothing about the model.
    assert!(driver.run.breakers.values().all(|breaker| breaker.failures == 1), "{:?}", driver.run.breakers);
}

#[test]
fn a_lost_side_question_is_not_asked_again_beyond_the_limits() {
    check(
        &task().limits(|limits| limits.steps = 2),
        "
        > reply 1 ask(q)
        heard 1: tool use
        start a1.0 ask
        > claim
        claimed 2
        trouble a1.0 #1: lost, again +0
        stopping: steps 3 of 2
        halted: steps 3 of 2
        ",
    );
}

#[test]
fn limits_refuse_a_side_question_before_it_starts() {
    let started = |setup: &Setup, length: usize| {
        let mut driver = Driver::new(&setup.0);
        driver.feed(script::claim(1)).unwrap();
        let line = format!("reply 1 ask({})", "q".repeat(length));
        driver.feed(script::what(&driver, &line)).unwrap();
        assert_eq!(driver.run.ending().is_none(), !reservations(&driver).is_empty());
        !reservations(&driver).is_empty()
    };
    assert!(started(&task(), 1));
    assert!(!started(&task().limits(|limits| limits.steps = 1), 1), "steps");
    assert!(!started(&task().limits(|limits| limits.tool_calls = 0), 1), "tool calls");
    // A byte is a third of a token, and a token of input a micro-dollar.
    let tokens = task().limits(|limits| limits.tokens = 5_000);
    assert!(started(&tokens, 3_000) && !started(&tokens, 12_000), "tokens");
    let money = task().limits(|limits| limits.micros = 9_500);
    assert!(started(&money, 3_000) && !started(&money, 30_000), "money");
}

#[test]
fn a_side_question_of_a_repair_counts_for_its_share() {
    let transcript = |rest: &str| {
        format!(
            "
            > reply 1: no json
            heard 1: end
            done main
            acted main
            > check 1.0 fail
            checked 1 schema: failed
            verified 1: schema failed
            control: repair 0.770
            diagnosed by verifier: failed: schema
            repair 1
            begin repair-1
            ask 2 for repair-1
            > reply 2 ask(q)
            heard 2: tool use
            {rest}
            "
        )
    };
    let narrow = |tokens| {
        task().check("schema").limits(move |limits| {
            (limits.tokens, limits.output_tokens, limits.repair_percent) = (tokens, 500, 10);
        })
    };
    check(&narrow(100_000), &transcript("start a2.0 ask"));
    let mut driver = check(&narrow(100_000), &transcript("start a2.0 ask"));
    driver.feed(script::what(&driver, "ok a2.0 $9800")).unwrap();
    let used = driver.run.repair_spend.settled;
    assert_eq!(used.tokens, 15 + 9_800, "what a question used is part of the repair");
    assert!(driver.run.ending().is_some(), "and leaves no room for another step of it");
}

#[test]
fn a_tree_that_has_nothing_left_refuses_a_side_question() {
    let mut driver = Driver::new(&task().0);
    driver.feed(script::claim(1)).unwrap();
    let share =
        |limit, used, allowed| Share { limit, of: RunId::parse("p").unwrap(), used, held: 0, allowed };
    for (limit, used, allowed) in
        [(Limit::TreeSteps, 5, 5), (Limit::Tokens, 99_900, 100_000), (Limit::Money, 99_900, 100_000)]
    {
        let allowance = Some(Allowance(vec![share(limit.clone(), used, allowed)]));
        let what = script::what(&driver, "reply 1 ask(q)");
        let events = decide(&driver.run, &Input { allowance, ..Input::at(driver.now, what) }).unwrap();
        assert!(!events.iter().any(|event| matches!(event, Event::CallStarted { .. })), "{limit:?}");
        assert!(events.iter().any(|event| matches!(event, Event::Ended { .. })), "{limit:?}");
    }
}

#[test]
fn a_side_question_waits_for_what_other_calls_hold() {
    // Two conversations: while the other one's step is out, there is no room for the question.
    let question = "q".repeat(3_000);
    check(
        &task().plan("a; b").limits(|limits| (limits.tokens, limits.output_tokens) = (3_000, 1_000)),
        &format!(
            "
            > reply 1 ask({question})
            heard 1: tool use
            > reply 2: done
            heard 2: end
            start a1.0 ask
            done b
            "
        ),
    );
}

#[test]
fn a_cancelled_side_question_is_paid_as_reserved() {
    let driver = check(
        &task(),
        "
        > reply 1 ask(q)
        heard 1: tool use
        start a1.0 ask
        > cancel
        finish a1.0: cancelled
        halted: cancelled by ann
        ",
    );
    assert_eq!(driver.run.spend.settled.minus(reservations(&driver)[0]), Cost { tokens: 15, micros: 20 });
    assert_eq!(driver.run.reserved, Cost::default());
}

#[test]
fn a_task_that_never_repeats_a_side_question_pays_it_when_it_is_in_doubt() {
    let driver = check(
        &repeated(Repeat::Never),
        "
        > reply 1 ask(q)
        heard 1: tool use
        start a1.0 ask
        > claim
        claimed 2
        doubt a1.0: crash, ask person
        > settle a1.0 did-not
        settled a1.0: did not happen, says ann
        start a1.0 ask #2
        ",
    );
    let first = reservations(&driver)[0];
    assert_eq!(driver.run.spend.settled, first.plus(Cost { tokens: 15, micros: 20 }));
    assert_eq!(driver.run.reserved, reservations(&driver)[1]);
}
