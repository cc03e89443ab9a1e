//! Models in the place of others: who is asked, why, and how often.

use super::build::{Setup, task};
use super::check;
use crate::budget::Price;
use crate::effect::Effect;
use crate::event::Event;

/// A task with fallbacks `b` and `c`, each dearer than the one before.
fn routed() -> Setup {
    let mut setup = task();
    setup.0.task.routes.fallbacks = vec!["scripted:b".into(), "scripted:c".into()];
    for (model, times) in [("scripted:b", 10), ("scripted:c", 100)] {
        let price = Price { input: times * 1_000_000, output: times * 2_000_000, ..Price::default() };
        setup.0.prices.insert(model.into(), price);
    }
    setup
}

#[test]
fn lasting_trouble_moves_the_step_to_the_next_model_and_the_first_is_left_alone() {
    let driver = check(
        &routed(),
        "
        > fail 1 permanent
        unheard 1: permanent, somebody else
        rest test after 1 until +30000
        ask 2 for main at b (trouble with test)
        > fail 2 permanent
        unheard 2: permanent, somebody else
        rest b after 1 until +30000
        ask 3 for main at c (trouble with b)
        > reply 3 read(a)
        heard 3: tool use
        start a3.0 read
        > ok a3.0
        finish a3.0: ok
        ask 4 for main at c (test rests)
        > +30001 reply 4 read(b)
        heard 4: tool use
        start a4.0 read
        > ok a4.0
        finish a4.0: ok
        ask 5 for main
        > reply 5: done
        heard 5: end
        back test
        done main
        acted main
        verified 1: nothing to check
        > stored
        committed: done
        ",
    );
    let mut reserved = Vec::new();
    for event in driver.events() {
        if let Event::StepStarted { reserved: set_aside, .. } = event {
            reserved.push(set_aside.micros);
        }
    }
    assert_eq!([reserved[0] * 10, reserved[0] * 100], [reserved[1], reserved[2]], "{reserved:?}");
}

#[test]
fn trouble_that_may_pass_is_waited_for_as_often_as_attempts_allow_before_another_is_asked() {
    let driver = check(
        &routed(),
        "
        > fail 1 transient
        unheard 1: transient, again later
        > +1000 tick
        ask 2 for main
        > fail 2 transient
        unheard 2: transient, again later
        > +2000 tick
        ask 3 for main
        > fail 3 transient
        unheard 3: transient, somebody else
        ask 4 for main at b (trouble with test)
        ",
    );
    let mut asked = Vec::new();
    for effect in driver.run.due() {
        if let Effect::CallModel { model, attempt, .. } = effect {
            asked.push((model, attempt));
        }
    }
    assert_eq!(asked, [("scripted:b".to_owned(), 1)], "the next one has all its attempts");
}

#[test]
fn a_model_that_asks_for_too_much_patience_rests_for_as_long_as_it_asks() {
    check(
        &routed(),
        "
        > fail 1 rate_limited 300000
        unheard 1: rate limited, somebody else
        rest test after 1 until +300000
        ask 2 for main at b (trouble with test)
        > fail 2 rate_limited 99999999
        unheard 2: rate limited, somebody else
        rest b after 1 until +3600000
        ask 3 for main at c (trouble with b)
        ",
    );
}

#[test]
fn when_every_model_is_given_up_the_run_halts_and_a_resume_tries_all_again() {
    check(
        &routed(),
        "
        > fail 1 permanent
        unheard 1: permanent, somebody else
        rest test after 1 until +30000
        ask 2 for main at b (trouble with test)
        > fail 2 permanent
        unheard 2: permanent, somebody else
        rest b after 1 until +30000
        ask 3 for main at c (trouble with b)
        > fail 3 permanent
        unheard 3: permanent, not again
        rest c after 1 until +30000
        stopping: no model: permanent
        halted: no model: permanent
        > resume
        resumed by ann
        > claim
        claimed 2
        ask 4 for main
        ",
    );
}

#[test]
fn five_unanswered_attempts_in_a_row_open_the_breaker_whoever_made_them() {
    check(
        &routed().plan("a; b").limits(|limits| limits.attempts = 9),
        "
        > fail 1 transient
        unheard 1: transient, again later
        > fail 2 timed_out
        unheard 2: timed out, again later
        > +4000 tick
        ask 3 for a
        ask 4 for b
        > fail 3 transient
        unheard 3: transient, again later
        > fail 4 transient
        unheard 4: transient, again later
        > +8000 tick
        ask 5 for a
        ask 6 for b
        > fail 5 transient
        unheard 5: transient, again later
        rest test after 5 until +42000
        > reply 6: done
        heard 6: end
        back test
        done b
        ",
    );
}

#[test]
fn a_critic_that_cannot_be_reached_is_stood_in_for_and_costs_what_its_stand_in_costs() {
    let mut setup = routed().check("tests");
    setup.0.task.critic = Some("scripted:judge".into());
    setup.0.critic_price = Some(Price { input: 3_000_000, output: 3_000_000, ..Price::default() });
    check(
        &setup,
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
        > fail 2 permanent
        unheard 2: permanent, somebody else
        rest judge after 1 until +30000
        ask 3 for critique 1 at b (trouble with judge)
        ",
    );
}

#[test]
fn a_run_with_one_model_is_never_moved_and_remembers_no_trouble() {
    let driver = check(
        &task(),
        "
        > fail 1 permanent
        unheard 1: permanent, not again
        stopping: no model: permanent
        halted: no model: permanent
        ",
    );
    assert!(driver.run.resting.is_empty());
}

#[test]
fn a_crash_says_nothing_about_the_model_that_was_asked() {
    check(
        &routed(),
        "
        > fail 1 permanent
        unheard 1: permanent, somebody else
        rest test after 1 until +30000
        ask 2 for main at b (trouble with test)
        > claim
        claimed 2
        unheard 2: lost, not again
        ask 3 for main at b (trouble with test)
        ",
    );
}
