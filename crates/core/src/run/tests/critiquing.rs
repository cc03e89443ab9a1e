//! Critiquing: a diagnosis, or the failures themselves.

use super::build::task;
use super::check;
use crate::effect::Effect;
use crate::quality::{DiagnosedBy, Severity};

#[test]
fn a_structured_answer_becomes_the_diagnosis_and_opens_the_repair() {
    let driver = check(
        &task().check("tests"),
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
        > reply 2: {\"summary\":\"off by one\",\"defects\":[{\"what\":\"sum\",\"severity\":\"critical\"},{\"what\":\"name\"}]}
        heard 2: end
        diagnosed by critic: off by one
        repair 1
        begin repair-1
        ask 3 for repair-1
        ? talk repair-1
        user: What was delivered:/<the delivered output: done>//What the checks found:/- tests: failed:/<check tests: [{\"name\":\"adds\",\"message\":\"1 + 1 is 3\",\"place\":\"sum.rs:4\"}]>//Diagnosis:/<the critic: {/  \"summary\": \"off by one\",/  \"defects\": [/    {/      \"what\": \"sum\",/      \"severity\": \"critical\"/    },/    {/      \"what\": \"name\",/      \"severity\": \"major\"/    }/  ],/  \"by\": \"critic\",/  \"cause\": {/    \"cause\": \"logic_error\",/    \"trust\": \"likely\",/    \"rule\": \"test_failed\",/    \"why\": \"1 + 1 is 3\"/  }/}>//mend it//Do not patch what was delivered: it is too far from what is wanted. Do the work anew from the task, and take over only what the checks have shown to hold.//Mend what is wrong, then reply with the complete new result.
        ",
    );
    let diagnosis = driver.run.diagnosis.as_ref().unwrap();
    assert_eq!(diagnosis.by, DiagnosedBy::Critic);
    let severities: Vec<_> = diagnosis.defects.iter().map(|defect| defect.severity).collect();
    assert_eq!(severities, [Severity::Critical, Severity::Major]);
}

#[test]
fn a_diagnosis_in_a_fence_is_read_too() {
    let mut driver = check(
        &task().check("tests"),
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
        ",
    );
    let mut reply = super::script::reply(&driver.run, "2: x");
    reply.head = "```json\n{\"summary\": \"fenced\", \"defects\": []}\n```\n".into();
    driver.feed(crate::input::What::ModelReplied { step: 2, reply }).unwrap();
    assert_eq!(driver.run.diagnosis.as_ref().unwrap().summary, "fenced");
}

#[test]
fn an_answer_that_is_no_diagnosis_is_asked_for_once_more_then_the_failures_speak() {
    let driver = check(
        &task().check("tests"),
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
        > reply 2: it looks fine to me
        heard 2: end
        notice critique-1
        ask 3 for critique 1
        > reply 3: really
        heard 3: end
        diagnosed by verifier: failed: tests
        repair 1
        begin repair-1
        ask 4 for repair-1
        ",
    );
    let diagnosis = driver.run.diagnosis.as_ref().unwrap();
    assert_eq!(diagnosis.by, DiagnosedBy::Verifier);
    assert_eq!(diagnosis.defects[0].what, "adds: 1 + 1 is 3");
    assert_eq!(diagnosis.defects[0].place.as_deref(), Some("sum.rs:4"));
}

#[test]
fn the_second_answer_of_a_critic_may_be_the_diagnosis() {
    check(
        &task().check("tests"),
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
        > reply 2: hm
        heard 2: end
        notice critique-1
        ask 3 for critique 1
        > reply 3: {\"summary\":\"found it\",\"defects\":[]}
        heard 3: end
        diagnosed by critic: found it
        repair 1
        begin repair-1
        ask 4 for repair-1
        ",
    );
}

#[test]
fn a_critic_has_no_tools_and_is_told_the_shape_of_its_answer() {
    let driver = check(
        &task().check("tests"),
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
        > reply 2 read(a) pay(10)
        heard 2: tool use
        refuse a2.0: unknown tool
        refuse a2.1: unknown tool
        ask 3 for critique 1
        ",
    );
    let due = driver.run.due();
    let Some(Effect::CallModel { tools, schema, .. }) = due.first() else { panic!("{due:?}") };
    assert!(tools.is_empty());
    assert_eq!(*schema, Some(crate::run::diagnosis_schema()));
}

#[test]
fn a_critic_that_only_calls_tools_is_not_asked_for_ever() {
    check(
        &task().check("tests"),
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
        > reply 2 read(a)
        heard 2: tool use
        refuse a2.0: unknown tool
        ask 3 for critique 1
        > reply 3 read(a)
        heard 3: tool use
        refuse a3.0: unknown tool
        diagnosed by verifier: failed: tests
        repair 1
        begin repair-1
        ask 4 for repair-1
        > reply 4: {\"summary\":\"late\",\"defects\":[]}
        heard 4: end
        done repair-1
        repaired 1
        ",
    );
}

#[test]
fn a_plan_may_use_the_names_of_critics_and_repairs() {
    check(
        &task().plan("critique-1; repair-1 < critique-1").check("tests"),
        "
        > reply 1: first
        heard 1: end
        done critique-1
        begin repair-1
        ask 2 for repair-1
        > reply 2: second
        heard 2: end
        done repair-1
        acted repair-1
        > check 1.0 fail
        checked 1 tests: failed
        verified 1: checks failed
        control: repair 0.770
        begin critique-1-2
        ask 3 for critique 1
        > reply 3: {\"summary\":\"off by one\",\"defects\":[]}
        heard 3: end
        diagnosed by critic: off by one
        repair 1
        begin repair-1-2
        ask 4 for repair-1-2
        > reply 4: mended
        heard 4: end
        done repair-1-2
        repaired 1
        > check 2.0 pass
        checked 2 tests: passed
        verified 2: passed
        > stored
        committed: mended
        ",
    );
}
