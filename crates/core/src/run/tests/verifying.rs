//! Verifying: what was found and where it leads.

use serde_json::json;

use super::build::task;
use super::check;
use super::drive::Driver;
use crate::effect::Effect;
use crate::task::Review;

#[test]
fn passing_checks_commit_without_a_person() {
    check(
        &task().review(Review::WhenUnchecked).check("schema").check("tests"),
        "
        > reply 1: {}
        heard 1: end
        done main
        acted main
        ? due
        check 1.0
        > check 1.0 pass
        checked 1 schema: passed
        ? due
        check 1.1
        > check 1.1 pass
        checked 1 tests: passed
        verified 1: passed
        ? due
        store
        > stored
        committed: {}
        ",
    );
}

#[test]
fn whoever_answers_with_the_whole_output_is_told_its_shape() {
    let shape = |driver: &Driver| match driver.run.due().first() {
        Some(Effect::CallModel { schema, .. }) => schema.clone(),
        other => panic!("{other:?}"),
    };
    let first = check(&task().check("schema"), "");
    assert_eq!(shape(&check(&task().plan("a; b < a").check("schema"), "")), None, "only b is the output");
    assert_eq!(shape(&first), Some(json!({ "type": "object" })));
    let repair = check(
        &task().check("schema"),
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
        ",
    );
    assert_eq!(shape(&repair), Some(json!({ "type": "object" })));
    assert_eq!(shape(&check(&task().check("tests"), "")), None);
}

#[test]
fn a_schema_that_fails_goes_straight_to_repair_without_a_critic() {
    check(
        &task().check("schema").check("tests"),
        "
        > reply 1: no json
        heard 1: end
        done main
        acted main
        > check 1.0 fail
        checked 1 schema: failed
        verified 1: schema failed
        control: repair 1.000
        diagnosed by verifier: failed: schema
        repair 1
        begin repair-1
        ask 2 for repair-1
        ? phase
        repairing
        ",
    );
}

#[test]
fn a_command_that_fails_goes_to_the_critic_after_every_check_was_made() {
    check(
        &task().check("tests").check("lint"),
        "
        > reply 1: done
        heard 1: end
        done main
        acted main
        > check 1.0 fail
        checked 1 tests: failed
        ? due
        check 1.1
        > check 1.1 pass
        checked 1 lint: passed
        verified 1: checks failed
        control: repair 0.385
        begin critique-1
        ask 2 for critique 1
        ? phase
        critiquing
        ? talk critique-1
        user: The task:/mend it//What was delivered:/<the delivered output: done>//What the checks found:/- tests: failed:/<check tests: [{\"name\":\"adds\",\"message\":\"1 + 1 is 3\",\"place\":\"sum.rs:4\"}]>/- lint: passed
        ",
    );
}

#[test]
fn a_check_that_could_not_run_is_no_pass() {
    check(
        &task().check("tests"),
        "
        > reply 1: done
        heard 1: end
        done main
        acted main
        > check 1.0 broken
        checked 1 tests: could not run
        verified 1: checks failed
        control: repair 1.000
        begin critique-1
        ask 2 for critique 1
        ? phase
        critiquing
        ",
    );
    check(
        &task().check("schema"),
        "
        > reply 1: done
        heard 1: end
        done main
        acted main
        > check 1.0 broken
        checked 1 schema: could not run
        verified 1: schema failed
        control: repair 1.000
        diagnosed by verifier: failed: schema
        repair 1
        begin repair-1
        ask 2 for repair-1
        ? phase
        repairing
        ",
    );
}

#[test]
fn nothing_to_check_is_no_pass_and_a_person_is_asked() {
    check(
        &task().review(Review::WhenUnchecked),
        "
        > reply 1: done
        heard 1: end
        done main
        acted main
        verified 1: nothing to check
        question output
        ? due
        nothing
        ? waits
        answer about output
        > stored
        refused: nothing waits for this
        > approve output
        answer output: yes, says ann
        ? due
        store
        > stored
        committed: done
        ",
    );
}

#[test]
fn nothing_to_check_commits_where_the_task_says_that_nobody_is_asked() {
    check(
        &task().review(Review::Never),
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
fn a_result_of_another_round_or_check_is_refused() {
    check(
        &task().check("tests").check("lint"),
        "
        > check 1.0 pass
        refused: nothing waits for this
        > reply 1: done
        heard 1: end
        done main
        acted main
        > check 1.1 pass
        refused: nothing waits for this
        > check 2.0 pass
        refused: nothing waits for this
        > check 1.0 pass
        checked 1 tests: passed
        > check 1.0 pass
        refused: nothing waits for this
        > check 1.2 pass
        refused: nothing waits for this
        > stored
        refused: nothing waits for this
        ",
    );
}
