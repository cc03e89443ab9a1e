//! What is tried once repairs came to nothing, and that it ends.

use super::build::{Setup, subtask_id, task};
use super::drive::Driver;
use super::world::wake;
use super::{check, script};
use crate::budget::Price;
use crate::effect::Effect;
use crate::event::{Ending, Escalation, Event, FailReason};
use crate::input::What;
use crate::run::Wait;
use crate::task::Recourse;

const WAYS: [Recourse; 4] =
    [Recourse::BiggerModel, Recourse::ReDecompose, Recourse::Partial, Recourse::Person];

/// A task that is checked by `tests`, has one round of repair, and tries these.
fn tries(ways: &[Recourse], ladder: &[&str]) -> Setup {
    let mut setup = task().check("schema").limits(|limits| limits.repairs = 1);
    setup.0.task.routes.escalate = Some(ways.to_vec());
    setup.0.task.routes.ladder = ladder.iter().map(|model| format!("scripted:{model}")).collect();
    for model in setup.0.task.routes.ladder.clone() {
        setup.0.prices.insert(model, Price { input: 9_000_000, output: 9_000_000, ..Price::default() });
    }
    setup
}

const UNMENDED: &str = "
        > reply 1: no json
        heard 1: end
        done main
        acted main
        > check 1.0 fail
        checked 1 schema: failed
        verified 1: schema failed
        control: rounds short, repair 0.770
        diagnosed by verifier: failed: schema
        repair 1
        begin repair-1
        near repairs 1 of 1
        ask 2 for repair-1
        > reply 2: still no json
        heard 2: end
        done repair-1
        repaired 1
        > check 2.0 fail
        checked 2 schema: failed
        verified 2: schema failed
        control: no round left
        ";

fn after(rest: &str) -> String {
    format!("{UNMENDED}{rest}")
}

#[test]
fn a_stronger_model_gets_rounds_of_its_own_and_commits_what_it_mends() {
    let driver = check(
        &tries(&[Recourse::BiggerModel], &["big"]),
        &after(
            "escalate: big on rung 1
            diagnosed by verifier: failed: schema
            repair 2
            begin repair-2
            ask 3 for repair-2 at big (rung 1)
            > reply 3: {}
            heard 3: end
            done repair-2
            repaired 2
            > check 3.0 pass
            checked 3 schema: passed
            verified 3: passed
            > stored
            committed: {}",
        ),
    );
    assert_eq!(driver.run.spend.repairs, 2, "rounds of the whole run are never forgotten");
}

#[test]
fn every_rung_is_climbed_once_and_then_the_run_fails_with_all_its_rounds_told() {
    let driver = check(
        &tries(&[Recourse::BiggerModel], &["big", "huge"]),
        &after(
            "escalate: big on rung 1
            diagnosed by verifier: failed: schema
            repair 2
            begin repair-2
            ask 3 for repair-2 at big (rung 1)
            > reply 3: no
            heard 3: end
            done repair-2
            repaired 2
            > check 3.0 fail
            checked 3 schema: failed
            verified 3: schema failed
            control: no round left
            escalate: huge on rung 2
            diagnosed by verifier: failed: schema
            repair 3
            begin repair-3
            ask 4 for repair-3 at huge (rung 2)
            > reply 4: no
            heard 4: end
            done repair-3
            repaired 3
            > check 4.0 fail
            checked 4 schema: failed
            verified 4: schema failed
            control: no round left
            stopping: still wrong after 3 repairs
            failed: still wrong after 3 repairs",
        ),
    );
    assert_eq!(driver.run.rung, 2);
}

#[test]
fn the_work_is_broken_down_otherwise_with_the_diagnosis_at_hand() {
    let driver = check(
        &tries(&[Recourse::ReDecompose], &[]),
        &after(
            "diagnosed by verifier: failed: schema
            escalate: plan anew
            begin plan-2
            ask 3 for plan 2
            > reply 3: {\"plan\":[{\"id\":\"one\",\"goal\":\"first\"},{\"id\":\"two\",\"goal\":\"then\",\"after\":[\"one\"]}]}
            heard 3: end
            planned one; two < one
            order one, two
            retrieved
            begin one
            ask 4 for one
            > reply 4: half
            heard 4: end
            done one
            begin two
            ask 5 for two
            > reply 5: {}
            heard 5: end
            done two
            acted two
            > check 3.0 pass
            checked 3 schema: passed
            verified 3: passed
            > stored
            committed: {}",
        ),
    );
    let mut told = String::new();
    for event in driver.events() {
        if let Event::SubtaskStarted { subtask, opening } = event
            && subtask.as_str() == "plan-2"
        {
            told = serde_json::to_string(opening).unwrap();
        }
    }
    assert!(told.contains("1 + 1 is 3") && told.contains("failed: schema"), "{told}");
}

#[test]
fn a_planner_that_gives_no_plan_leaves_it_to_the_next_way() {
    check(
        &tries(&[Recourse::ReDecompose, Recourse::Person], &[]),
        &after(
            "diagnosed by verifier: failed: schema
            escalate: plan anew
            begin plan-2
            ask 3 for plan 2
            > reply 3: no
            heard 3: end
            notice plan-2
            ask 4 for plan 2
            > reply 4: no
            heard 4: end
            notice plan-2
            ask 5 for plan 2
            > reply 5: no
            heard 5: end
            notice plan-2
            ask 6 for plan 2
            > reply 6: no
            heard 6: end
            escalate: person 1
            question output
            ? waits
            answer about output",
        ),
    );
}

#[test]
fn a_person_can_send_an_unmended_output_back_but_never_agree_to_it() {
    check(
        &tries(&[Recourse::Person], &[]),
        &after(
            "escalate: person 1
            diagnosed by verifier: failed: schema
            question output
            ? needs-person
            true
            > approve output
            not now: its checks fail, so nobody can agree to it: send it back, or deny it
            > back write json
            answer output: not like this, says ann: write json
            diagnosed by person: ann asks for changes
            repair 2
            begin repair-2
            ask 3 for repair-2
            > reply 3: {}
            heard 3: end
            done repair-2
            repaired 2
            > check 3.0 pass
            checked 3 schema: passed
            verified 3: passed
            > stored
            committed: {}",
        ),
    );
}

#[test]
fn a_person_who_says_no_to_an_unmended_output_ends_the_run() {
    check(
        &tries(&[Recourse::Person], &[]),
        &after(
            "escalate: person 1
            diagnosed by verifier: failed: schema
            question output
            > deny output
            answer output: no, says ann: too dear
            stopping: output denied by ann: too dear
            failed: output denied by ann: too dear",
        ),
    );
}

/// Two parts, each with a check of its own, and one of the whole.
fn in_parts() -> Setup {
    let mut setup = task().plan("a; b").check("of-a").check("of-b").check("whole");
    setup = setup.limits(|limits| limits.repairs = 0);
    for (place, part) in [(0, "a"), (1, "b")] {
        setup.0.task.checks[place].part = Some(subtask_id(part));
    }
    setup.0.task.routes.escalate = Some(vec![Recourse::Partial]);
    setup
}

const PARTS: &str = "
        > reply 1: A
        heard 1: end
        done a
        > reply 2: B
        heard 2: end
        done b
        acted a, b
        ";

#[test]
fn the_part_that_holds_is_verified_for_itself_and_committed_when_a_person_agrees() {
    let driver = check(
        &in_parts(),
        &format!(
            "{PARTS}
            > check 1.0 pass
            checked 1 of-a: passed
            > check 1.1 fail
            checked 1 of-b: failed
            > check 1.2 pass
            checked 1 whole: passed
            verified 1: checks failed
            control: no round left
            escalate: without b
            ? due
            check 2.0
            > check 2.0 pass
            checked 2 of-a: passed
            checked 2 of-b: not applicable
            ? due
            check 2.2
            > check 2.2 pass
            checked 2 whole: passed
            verified 2: passed
            question output
            > stored
            refused: nothing waits for this
            > approve output
            answer output: yes, says ann
            > stored
            committed without b: A"
        ),
    );
    let Some(Ending::Committed { missing, .. }) = driver.run.ending() else { panic!() };
    assert_eq!(missing, &[subtask_id("b")]);
}

#[test]
fn a_part_that_does_not_hold_for_itself_is_not_committed() {
    let driver = check(
        &in_parts(),
        &format!(
            "{PARTS}
            > check 1.0 pass
            checked 1 of-a: passed
            > check 1.1 fail
            checked 1 of-b: failed
            > check 1.2 pass
            checked 1 whole: passed
            verified 1: checks failed
            control: no round left
            escalate: without b
            > check 2.0 pass
            checked 2 of-a: passed
            checked 2 of-b: not applicable
            > check 2.2 fail
            checked 2 whole: failed
            verified 2: checks failed
            stopping: still wrong after 0 repairs
            failed: still wrong after 0 repairs"
        ),
    );
    let Some(Ending::Failed { partial: Some(best), .. }) = driver.run.ending() else { panic!() };
    assert_eq!(best.len(), 4, "what is delivered is the whole, with its headings");
}

#[test]
fn no_part_is_taken_while_a_check_of_the_whole_fails_or_a_part_was_never_checked() {
    let whole_fails = "
            > check 1.0 pass
            checked 1 of-a: passed
            > check 1.1 fail
            checked 1 of-b: failed
            > check 1.2 fail
            checked 1 whole: failed
            verified 1: checks failed
            control: no round left
            stopping: still wrong after 0 repairs
            failed: still wrong after 0 repairs";
    check(&in_parts(), &format!("{PARTS}{whole_fails}"));
    let mut unchecked = in_parts();
    unchecked.0.task.checks[0].part = None;
    let only_b = "
            > check 1.0 pass
            checked 1 of-a: passed
            > check 1.1 fail
            checked 1 of-b: failed
            > check 1.2 pass
            checked 1 whole: passed
            verified 1: checks failed
            control: no round left
            stopping: still wrong after 0 repairs
            failed: still wrong after 0 repairs";
    check(&unchecked, &format!("{PARTS}{only_b}"));
}

#[test]
fn a_controller_that_is_obeyed_escalates_before_it_halts() {
    let mut setup = tries(&[Recourse::BiggerModel], &["big"]).limits(|limits| limits.repairs = 9);
    setup.0.task.control.obedience = crate::control::Obedience::Obey;
    setup.0.task.control.stall = 1;
    let driver = finish(&setup, |_| false);
    let mut order = Vec::new();
    for event in driver.events() {
        if let Event::Escalated(_) = event {
            order.push("escalated");
        }
        if let Event::Ended { ending: Ending::Halted { .. }, .. } = event {
            order.push("halted");
        }
    }
    assert_eq!(order, ["escalated", "halted"]);
}

/// Plays a run whose checks say what `passes` says of their round, and whose person always
/// sends things back, until it is over.
fn finish(setup: &Setup, passes: impl Fn(u32) -> bool) -> Driver {
    let mut driver = Driver::new(&setup.0);
    driver.feed(script::claim(1)).unwrap();
    for _ in 0..2000 {
        if driver.run.ending().is_some() {
            return driver;
        }
        let input = next(&mut driver, &passes);
        driver.feed(input).unwrap();
    }
    panic!("it does not end");
}

fn next(driver: &mut Driver, passes: &impl Fn(u32) -> bool) -> What {
    let due = driver.run.due();
    let line = match due.iter().find(|effect| wake(effect).is_none()) {
        Some(Effect::CallModel { step, purpose: crate::event::Purpose::Plan(_), .. }) => {
            format!("reply {step}: {{\"plan\":[{{\"id\":\"main\",\"goal\":\"again\"}}]}}")
        }
        Some(Effect::CallModel { step, .. }) => format!("reply {step}: try {step}"),
        Some(Effect::RunCheck { round, index, .. }) => {
            format!("check {round}.{index} {}", if passes(*round) { "pass" } else { "fail" })
        }
        Some(Effect::ReadEvidence { .. }) => "evidence".into(),
        Some(Effect::StoreResult { .. }) => "stored".into(),
        Some(Effect::Splice { round, .. }) => format!("spliced {round}"),
        Some(other) => panic!("{other:?}"),
        None => match driver.run.waits().first() {
            Some(Wait::Approval { .. }) => "back once more".into(),
            Some(other) => panic!("{other:?}"),
            None => {
                driver.now = due.iter().filter_map(wake).min().expect("something to wait for");
                "tick".into()
            }
        },
    };
    script::what(driver, &line)
}

#[test]
fn whatever_a_task_asks_for_it_ends_and_nothing_is_tried_more_often_than_it_may_be() {
    for chosen in 0..16_u32 {
        for rungs in 0..3_usize {
            for repairs in 0..3_u32 {
                for passes_in in [0, 3, 7] {
                    let is_chosen = |place: &usize| (chosen >> place) & 1 == 1;
                    let ways: Vec<Recourse> = (0..4).filter(is_chosen).map(|place| WAYS[place]).collect();
                    let ladder: Vec<&str> = ["big", "huge"].into_iter().take(rungs).collect();
                    let setup = tries(&ways, &ladder).limits(|limits| {
                        limits.repairs = repairs;
                        limits.steps = 1000;
                        limits.repair_percent = 100;
                    });
                    let driver = finish(&setup, |round| round == passes_in);
                    holds(&driver, rungs, repairs);
                }
            }
        }
    }
}

fn holds(driver: &Driver, rungs: usize, repairs: u32) {
    let mut steps = Vec::new();
    for event in driver.events() {
        if let Event::Escalated(what) = event {
            steps.push(&what.step);
        }
    }
    let count = |wanted: fn(&Escalation) -> bool| steps.iter().filter(|step| wanted(step)).count();
    let climbed = count(|step| matches!(step, Escalation::BiggerModel { .. }));
    let anew = count(|step| matches!(step, Escalation::ReDecompose));
    let parted = count(|step| matches!(step, Escalation::Partial { .. }));
    let asked = count(|step| matches!(step, Escalation::Person { .. }));
    assert!(climbed <= rungs && anew <= 1 && parted <= 1 && asked <= 3);
    let most = u32::try_from(1 + climbed + anew + parted + asked).unwrap() * repairs;
    assert!(driver.run.spend.repairs <= most, "{} of {most} rounds", driver.run.spend.repairs);
    match driver.run.ending() {
        Some(Ending::Committed { .. }) => {
            let gates = &driver.run.assurance.as_ref().unwrap().gates;
            assert!(gates.iter().all(|gate| gate.is_open()), "a failing gate lets nothing through");
        }
        // Halted: rounds that look alike, once everything else was tried.
        Some(Ending::Failed { why: FailReason::RepairsExhausted { .. }, .. } | Ending::Halted { .. }) => {}
        Some(Ending::Failed { .. }) | None => panic!("{:?}", driver.run.ending()),
    }
}
