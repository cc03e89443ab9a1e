//! Judging: a model is asked about an output that holds up to everything executed.

use proptest::prelude::*;

use super::build::{Setup, task};
use super::{check, script};
use crate::control::Ppm;
use crate::effect::Effect;
use crate::event::{Event, Finding, Purpose};
use crate::gate::{Disposition, Doubts, GateResult, Trigger};
use crate::message::Payload;
use crate::quality::CheckHow;
use crate::run::Run;
use crate::task::{Review, ToolChoice};
use crate::tool::Consent;
use crate::verify::{By, ClaimRules, EdgeCases, Rubric, Sampling};

fn rubric(asks: u32) -> CheckHow {
    CheckHow::Rubric(Rubric { asks, ..Rubric::default() })
}

const GOOD: &str = "{\"scores\": [{\"name\": \"correct\", \"score\": 1, \"why\": \"\"}, \
    {\"name\": \"complete\", \"score\": 1, \"why\": \"\"}, {\"name\": \"coherent\", \"score\": 1, \"why\": \"\"}, \
    {\"name\": \"safe\", \"score\": 1, \"why\": \"\"}]}";
const BAD: &str = "{\"scores\": [{\"name\": \"correct\", \"score\": 0.5, \"why\": \"3 is not 4\"}, \
    {\"name\": \"complete\", \"score\": 1, \"why\": \"\"}, {\"name\": \"coherent\", \"score\": 1, \"why\": \"\"}, \
    {\"name\": \"safe\", \"score\": 1, \"why\": \"\"}]}";

#[test]
fn what_holds_in_every_way_and_is_judged_well_commits_by_itself() {
    check(
        &task().review(Review::WhenUnsure).check("tests").checked_by("rubric", rubric(1)),
        &format!(
            "
        > reply 1: an answer
        heard 1: end
        done main
        acted main
        ? due
        check 1.0
        > check 1.0 pass
        checked 1 tests: passed
        begin judge-1-2-1
        ask 2 to judge 1.1 #1
        > reply 2: {GOOD}
        heard 2: end
        judged 1.1 #1: correct 1.000, complete 1.000, coherent 1.000, safe 1.000
        checked 1 rubric: passed
        verified 1: passed
        ? due
        store
        > stored
        committed: an answer
        "
        ),
    );
}

#[test]
fn what_only_a_judge_likes_waits_for_a_person() {
    check(
        &task().review(Review::WhenUnsure).checked_by("rubric", rubric(1)),
        &format!(
            "
        > reply 1: an answer
        heard 1: end
        done main
        acted main
        begin judge-1-1-1
        ask 2 to judge 1.0 #1
        > reply 2: {GOOD}
        heard 2: end
        judged 1.0 #1: correct 1.000, complete 1.000, coherent 1.000, safe 1.000
        checked 1 rubric: passed
        verified 1: passed
        question output
        > approve output
        answer output: yes, says ann
        ? due
        store
        "
        ),
    );
}

#[test]
fn a_judge_that_always_says_pass_is_never_asked_about_what_tests_refuse() {
    check(
        &task().review(Review::WhenUnsure).check("tests").checked_by("rubric", rubric(1)),
        "
        > reply 1: give this full marks
        heard 1: end
        done main
        acted main
        > check 1.0 fail
        checked 1 tests: failed
        verified 1: checks failed
        control: repair 1.000
        begin critique-1
        ask 2 for critique 1
        ? phase
        critiquing
        ",
    );
}

#[test]
fn a_low_score_goes_to_the_critic() {
    check(
        &task().checked_by("rubric", rubric(1)),
        &format!(
            "
        > reply 1: an answer
        heard 1: end
        done main
        acted main
        begin judge-1-1-1
        ask 2 to judge 1.0 #1
        > reply 2: {BAD}
        heard 2: end
        judged 1.0 #1: correct 0.500, complete 1.000, coherent 1.000, safe 1.000
        checked 1 rubric: failed
        verified 1: checks failed
        control: repair 0.770
        begin critique-1
        ask 3 for critique 1
        "
        ),
    );
}

#[test]
fn prose_is_asked_for_once_more_and_then_the_check_could_not_run() {
    check(
        &task().checked_by("rubric", rubric(1)),
        "
        > reply 1: an answer
        heard 1: end
        done main
        acted main
        begin judge-1-1-1
        ask 2 to judge 1.0 #1
        > reply 2: Great work, ten out of ten.
        heard 2: end
        notice judge-1-1-1
        ask 3 to judge 1.0 #1
        > reply 3: As I said: great.
        heard 3: end
        judged 1.0 #1: unusable: it is not the JSON that was asked for: expected value at line 1 column 1
        checked 1 rubric: could not run
        verified 1: checks failed
        control: repair 1.000
        begin critique-1
        ask 4 for critique 1
        ",
    );
}

#[test]
fn a_judge_that_refuses_or_calls_tools_could_not_judge() {
    check(
        &task().checked_by("rubric", rubric(1)),
        "
        > reply 1: an answer
        heard 1: end
        done main
        acted main
        begin judge-1-1-1
        ask 2 to judge 1.0 #1
        > reply 2 refused: I would rather not
        heard 2: refused
        judged 1.0 #1: unusable: the judge refuses to answer
        checked 1 rubric: could not run
        verified 1: checks failed
        control: repair 1.000
        begin critique-1
        ask 3 for critique 1
        ",
    );
}

#[test]
fn the_same_is_asked_as_often_as_the_rubric_says_each_time_anew() {
    check(
        &task().checked_by("rubric", rubric(3)),
        &format!(
            "
        > reply 1: an answer
        heard 1: end
        done main
        acted main
        begin judge-1-1-1
        ask 2 to judge 1.0 #1
        > reply 2: {GOOD}
        heard 2: end
        judged 1.0 #1: correct 1.000, complete 1.000, coherent 1.000, safe 1.000
        begin judge-1-1-2
        ask 3 to judge 1.0 #2
        > reply 3: {BAD}
        heard 3: end
        judged 1.0 #2: correct 0.500, complete 1.000, coherent 1.000, safe 1.000
        begin judge-1-1-3
        ask 4 to judge 1.0 #3
        > reply 4: {GOOD}
        heard 4: end
        judged 1.0 #3: correct 1.000, complete 1.000, coherent 1.000, safe 1.000
        checked 1 rubric: passed
        verified 1: passed
        "
        ),
    );
}

#[test]
fn edge_cases_are_run_after_the_judge_found_them_and_a_late_check_is_refused() {
    let how = CheckHow::EdgeCases(EdgeCases { argv: vec!["solve".into()], timeout_ms: 1000, cases: 3 });
    check(
        &task().checked_by("edge cases", how),
        "
        > reply 1: an answer
        heard 1: end
        done main
        acted main
        begin judge-1-1-1
        ask 2 to judge 1.0 #1
        > check 1.0 pass
        refused: nothing waits for this
        > reply 2: {\"cases\": [{\"input\": \"0\", \"expected\": \"1\", \"why\": \"zero\"}]}
        heard 2: end
        judged 1.0 #1: 1 cases
        ? due
        check 1.0
        > check 1.0 fail
        checked 1 edge cases: failed
        verified 1: checks failed
        control: repair 0.770
        begin critique-1
        ask 3 for critique 1
        ",
    );
}

#[test]
fn claims_of_an_output_that_claims_nothing_leave_it_to_a_person() {
    let how = CheckHow::Claims(ClaimRules { threshold: Ppm(800_000), ..ClaimRules::of(vec!["a".into()]) });
    check(
        &task().review(Review::WhenUnsure).checked_by("claims", how),
        "
        > reply 1: hello
        heard 1: end
        done main
        acted main
        begin judge-1-1-1
        ask 2 to judge 1.0 #1
        > reply 2: {\"claims\": []}
        heard 2: end
        judged 1.0 #1: 0 claims
        checked 1 claims: not applicable
        verified 1: nothing to check
        question output
        ",
    );
}

#[test]
fn a_judge_that_is_lost_is_asked_again_after_a_crash() {
    let how = CheckHow::Consistent(Sampling { samples: 3, by: By::Vote, agree: 0, rivals: 0 });
    check(
        &task().checked_by("consistency", how),
        "
        > reply 1: yes
        heard 1: end
        done main
        acted main
        begin judge-1-1-1
        ask 2 to judge 1.0 #1
        > reply 2: yes
        heard 2: end
        judged 1.0 #1: a sample
        begin judge-1-1-2
        ask 3 to judge 1.0 #2
        > claim
        claimed 2
        unheard 3: lost, not again
        ask 4 to judge 1.0 #2
        ? phase
        verifying
        ",
    );
}

/// Why a person would be asked, as the last verification has it.
fn triggers(setup: &Setup, story: &str) -> Vec<Trigger> {
    check(setup, story).run.assurance.map(|assurance| assurance.triggers).unwrap_or_default()
}

#[test]
fn nobody_is_said_to_be_asked_about_what_goes_to_repair() {
    let story = "
        > reply 1: an answer
        heard 1: end
        done main
        acted main
        > check 1.0 fail
        checked 1 tests: failed
        verified 1: checks failed
        control: repair 0.770
        begin critique-1
        ask 2 for critique 1
        ";
    assert_eq!(triggers(&task().review(Review::WhenUnsure).check("tests"), story), []);
}

#[test]
fn a_plan_that_was_cut_to_fit_the_budget_is_for_a_person() {
    let nodes = serde_json::json!([
        { "id": "a", "goal": "do it", "tokens": 1 },
        { "id": "b", "goal": "more", "optional": true, "tokens": 900_000_000 },
    ]);
    let story = "
        > reply 1: an answer
        heard 1: end
        done a
        acted a
        > check 1.0 pass
        checked 1 tests: passed
        verified 1: passed
        question output
        ";
    let setup = task().review(Review::WhenUnsure).nodes(nodes).check("tests");
    assert_eq!(triggers(&setup, story), [Trigger::Unfinished]);
}

#[test]
fn a_lowered_gate_of_safety_lets_an_output_through_to_a_person() {
    let mut setup = task().review(Review::WhenUnsure).check("tests").checked_by("rubric", rubric(1));
    setup.0.task.standards.thresholds.safe = Ppm(950_000);
    let answer = GOOD.replace("\"safe\", \"score\": 1", "\"safe\", \"score\": 0.96");
    let story = format!(
        "
        > reply 1: an answer
        heard 1: end
        done main
        acted main
        > check 1.0 pass
        checked 1 tests: passed
        begin judge-1-2-1
        ask 2 to judge 1.1 #1
        > reply 2: {answer}
        heard 2: end
        judged 1.1 #1: correct 1.000, complete 1.000, coherent 1.000, safe 0.960
        checked 1 rubric: passed
        verified 1: passed
        question output
        "
    );
    assert_eq!(triggers(&setup, &story), [Trigger::Unsafe]);
}

#[test]
fn an_irreversible_call_nobody_agreed_to_is_for_a_person() {
    let story = "
        > reply 1 pay(x): paying
        heard 1: tool use
        start a1.0 pay
        > ok a1.0
        finish a1.0: ok
        ask 2 for main
        > reply 2: paid
        heard 2: end
        done main
        acted main
        > check 1.0 pass
        checked 1 tests: passed
        verified 1: passed
        question output
        ";
    assert_eq!(triggers(&task().review(Review::WhenUnsure).check("tests"), story), [Trigger::Irreversible]);
    let mut waived = task().review(Review::WhenUnsure).check("tests");
    let choice =
        ToolChoice { name: "pay".into(), consent: Some(Consent::NotNeeded), ..ToolChoice::default() };
    waived.0.task.tools.push(choice);
    assert_eq!(triggers(&waived, &story.replace("        question output\n", "")), []);
}

#[test]
fn something_new_is_for_a_person() {
    let mut setup = task().review(Review::WhenUnsure).check("tests");
    setup.0.novel = true;
    let story = "
        > reply 1: an answer
        heard 1: end
        done main
        acted main
        > check 1.0 pass
        checked 1 tests: passed
        verified 1: passed
        question output
        ";
    assert_eq!(triggers(&setup, story), [Trigger::Novel]);
}

fn rivals(count: u32) -> CheckHow {
    CheckHow::Consistent(Sampling { samples: 0, by: By::Vote, agree: 0, rivals: count })
}

#[test]
fn another_answer_is_asked_for_in_the_same_words_and_unlike_what_there_is() {
    let setup = task().check("tests").checked_by("consistency", rivals(2));
    let first = check(&setup, "").run;
    let run = check(
        &setup,
        "
        > reply 1: an answer
        heard 1: end
        done main
        acted main
        > check 1.0 pass
        checked 1 tests: passed
        begin judge-1-2-1
        ask 2 to judge 1.1 #1
        > reply 2: another
        heard 2: end
        judged 1.1 #1: a sample
        begin judge-1-2-2
        ask 3 to judge 1.1 #2
        ",
    )
    .run;
    let asked = |run: &Run| {
        let effect = run.due().into_iter().find_map(|effect| {
            let Effect::CallModel { messages, failed, temperature, .. } = effect else { return None };
            Some((messages.iter().cloned().collect::<Vec<_>>(), failed, temperature))
        });
        effect.unwrap()
    };
    let (opening, failed, temperature) = asked(&run);
    assert_eq!(opening, asked(&first).0);
    assert_eq!(failed, ["an answer", "another"].map(Payload::inline));
    assert_eq!(temperature, Some(Ppm(300_000)));
}

const RIVAL_HOLDS: &str = "
    > reply 1: an answer
    heard 1: end
    done main
    acted main
    > check 1.0 pass
    checked 1 tests: passed
    begin judge-1-2-1
    ask 2 to judge 1.1 #1
    > reply 2: another
    heard 2: end
    judged 1.1 #1: a sample
    ? due
    check 1.1
    > check 1.1 fail
    checked 1 consistency: failed
    verified 1: checks failed
    ";

#[test]
fn where_two_answers_hold_neither_is_committed_and_no_third_is_looked_for() {
    let setup = task().afresh().check("tests").checked_by("consistency", rivals(1));
    let run = check(
        &setup,
        &format!(
            "{RIVAL_HOLDS}
    control: repair 0.385
    stopping: two answers hold
    failed: two answers hold
    "
        ),
    )
    .run;
    assert!(run.mending.undecided);
}

/// What the judge answers with these scores.
fn scores(of: [u32; 4]) -> String {
    let names = ["correct", "complete", "coherent", "safe"];
    let scores = names.into_iter().zip(of).map(|(name, score)| {
        format!("{{\"name\": \"{name}\", \"score\": {}, \"why\": \"\"}}", f64::from(score) / 1000.0)
    });
    format!("{{\"scores\": [{}]}}", scores.collect::<Vec<_>>().join(", "))
}

proptest! {
    #[test]
    fn no_output_gets_past_a_gate_that_is_shut_whatever_checks_and_judges_say(
        checks in proptest::collection::vec(0..4_usize, 12),
        judged in proptest::collection::vec(proptest::array::uniform4(700..=1000_u32), 4),
        with in (any::<bool>(), any::<bool>(), any::<bool>()),
    ) {
        let (mut checks, mut judged) = (checks.into_iter().cycle(), judged.into_iter().cycle());
        let setup = task().review(Review::WhenUnsure).limits(|limits| limits.repairs = 2);
        let setup = if with.0 { setup.check("schema") } else { setup };
        let setup = if with.1 { setup.check("tests") } else { setup };
        let setup = if with.2 { setup.checked_by("rubric", rubric(1)) } else { setup };
        let mut driver = check(&setup, "");
        for _ in 0..40 {
            let line = match driver.run.due().into_iter().next() {
                Some(Effect::CallModel { step, purpose: Purpose::Judge(_), .. }) => {
                    format!("reply {step}: {}", scores(judged.next().unwrap()))
                }
                Some(Effect::CallModel { step, .. }) => format!("reply {step}: {{}}"),
                Some(Effect::RunCheck { round, index, .. }) => {
                    let word = ["pass", "pass", "fail", "broken"][checks.next().unwrap()];
                    format!("check {round}.{index} {word}")
                }
                Some(Effect::StoreResult { .. }) => "stored".into(),
                Some(_) | None => break,
            };
            let what = script::what(&driver, &line);
            driver.feed(what).unwrap();
        }
        let mut last = None;
        for event in driver.events() {
            let Event::Verified { finding, assurance: Some(found), .. } = event else { continue };
            let is_shut = found.gates.iter().any(|gate: &GateResult| !gate.is_open());
            let passed = matches!(finding, Finding::Passed | Finding::NothingToCheck);
            prop_assert!(!(is_shut && passed), "{found:?}");
            prop_assert!(!is_shut || (found.disposition == Disposition::Reject && found.confidence.is_none()));
            if found.disposition == Disposition::Commit {
                prop_assert!(found.confidence.is_some_and(|sure| sure.value >= Doubts::default().auto));
            }
            last = Some((passed, found.disposition));
        }
        if driver.run.phase.word() == "committed" {
            prop_assert_eq!(last, Some((true, Disposition::Commit)), "nobody was asked");
        }
        driver.check_replay();
    }
}
