//! Repairing within its bound, and undoing when there is nothing left to try.

use super::build::task;
use super::check;
use crate::control::{Ppm, Strategy};
use crate::effect::Effect;
use crate::event::{Ending, Finding};
use crate::message::{Message, Payload};
use crate::quality::CheckHow;
use crate::run::Run;
use crate::run::tests::show;
use crate::verify::{By, Opinion, Sampling};

#[test]
fn a_repair_that_passes_is_committed() {
    check(
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
        > reply 2 read(a)
        heard 2: tool use
        start a2.0 read
        > ok a2.0
        finish a2.0: ok
        ask 3 for repair-1
        > reply 3: {}
        heard 3: end
        done repair-1
        repaired 1
        ? due
        check 2.0
        > check 2.0 pass
        checked 2 schema: passed
        verified 2: passed
        > stored
        committed: {}
        ",
    );
}

#[test]
fn repairs_are_bounded_then_writes_are_undone_last_first_and_the_run_fails() {
    let driver = check(
        &task().check("schema").limits(|limits| limits.repairs = 1),
        "
        > reply 1 write(f) write(g)
        heard 1: tool use
        start a1.0 write [f]
        > ok a1.0
        finish a1.0: ok
        > prepared a1.1
        start a1.1 write [looked-at]
        > ok a1.1
        finish a1.1: ok
        ask 2 for main
        > reply 2: no json
        heard 2: end
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
        ask 3 for repair-1
        > reply 3 write(h)
        heard 3: tool use
        start a3.0 write [h]
        > ok a3.0
        finish a3.0: ok
        ask 4 for repair-1
        > reply 4: still no json
        heard 4: end
        done repair-1
        repaired 1
        > check 2.0 fail
        checked 2 schema: failed
        verified 2: schema failed
        control: no round left
        stopping: still wrong after 1 repairs
        rollback: still wrong after 1 repairs
        ? due
        restore a3.0
        > restored a1.1
        refused: nothing waits for this
        > restored a3.0
        restored a3.0: as before
        ? due
        restore a1.1
        > restored a3.0
        refused: nothing waits for this
        > restored a1.1
        restored a1.1: as before
        > restored a1.0
        restored a1.0: as before
        failed: still wrong after 1 repairs
        > restored a1.0
        refused: the run has ended
        ",
    );
    let Some(Ending::Failed { partial: Some(partial), .. }) = driver.run.ending() else { panic!() };
    assert_eq!(show::texts(partial), "still no json", "a failed run shows its best output");
}

#[test]
fn the_last_failure_asks_no_critic() {
    check(
        &task().check("tests").limits(|limits| limits.repairs = 0),
        "
        > reply 1: done
        heard 1: end
        done main
        acted main
        > check 1.0 fail
        checked 1 tests: failed
        verified 1: checks failed
        control: no round left
        stopping: still wrong after 0 repairs
        failed: still wrong after 0 repairs
        ",
    );
}

#[test]
fn each_round_counts_against_the_bound() {
    check(
        &task().check("tests").limits(|limits| limits.repairs = 2),
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
        > reply 2: {\"summary\":\"one\",\"defects\":[]}
        heard 2: end
        diagnosed by critic: one
        repair 1
        begin repair-1
        ask 3 for repair-1
        > reply 3: again
        heard 3: end
        done repair-1
        repaired 1
        > check 2.0 fail
        checked 2 tests: failed
        verified 2: checks failed
        control: rounds short, repair 1.000
        begin critique-2
        ask 4 for critique 2
        > reply 4: {\"summary\":\"two\",\"defects\":[]}
        heard 4: end
        diagnosed by critic: two
        repair 2
        begin repair-2
        near repairs 2 of 2
        ask 5 for repair-2
        > reply 5: again
        heard 5: end
        done repair-2
        repaired 2
        > check 3.0 fail
        checked 3 tests: failed
        verified 3: checks failed
        control: no round left
        stopping: still wrong after 2 repairs
        failed: still wrong after 2 repairs
        ",
    );
}

#[test]
fn a_task_that_keeps_its_files_undoes_nothing() {
    check(
        &task().keep().check("schema").limits(|limits| limits.repairs = 0),
        "
        > reply 1 write(f)
        heard 1: tool use
        start a1.0 write [f]
        > ok a1.0
        finish a1.0: ok
        ask 2 for main
        > reply 2: no json
        heard 2: end
        done main
        acted main
        > check 1.0 fail
        checked 1 schema: failed
        verified 1: schema failed
        control: no round left
        stopping: still wrong after 0 repairs
        failed: still wrong after 0 repairs
        ",
    );
}

#[test]
fn what_one_subtask_wrote_is_undone_when_another_fails_and_nothing_else_is_due() {
    check(
        &task().plan("a; b; c"),
        "
        > reply 1 write(f)
        heard 1: tool use
        start a1.0 write [f]
        > ok a1.0
        finish a1.0: ok
        ask 4 for a
        > reply 2 wipe(disk) write(g)
        heard 2: tool use
        question a2.0
        > fail 3 transient
        unheard 3: transient, again later
        > reply 4 refused: no
        heard 4: refused
        stopping: model refused: no
        refuse a2.0: cancelled
        refuse a2.1: cancelled
        rollback: model refused: no
        ? due
        restore a1.0
        ? wakes
        nothing
        ? waits
        nothing
        > +99999 tick
        > approve a2.0
        not now: nobody asked about this
        > restored a1.0
        restored a1.0: as before
        failed: model refused: no
        ",
    );
}

#[test]
fn an_undo_is_finished_even_if_the_working_time_is_used_up() {
    check(
        &task().limits(|limits| limits.active_ms = 1000),
        "
        > reply 1 write(f)
        heard 1: tool use
        start a1.0 write [f]
        > ok a1.0
        finish a1.0: ok
        ask 2 for main
        > reply 2 refused: no
        heard 2: refused
        stopping: model refused: no
        rollback: model refused: no
        ? wakes
        nothing
        > +5000 tick
        > +5000 restored a1.0
        restored a1.0: as before
        failed: model refused: no
        ",
    );
}

#[test]
fn a_write_that_failed_is_undone_all_the_same() {
    check(
        &task(),
        "
        > reply 1 write(f)
        heard 1: tool use
        start a1.0 write [f]
        > error a1.0
        finish a1.0: error
        ask 2 for main
        > reply 2 refused: no
        heard 2: refused
        stopping: model refused: no
        rollback: model refused: no
        > restored a1.0
        restored a1.0: as before
        failed: model refused: no
        ",
    );
}

#[test]
fn an_undo_that_is_not_due_is_refused() {
    check(
        &task(),
        "
        > restored a1.0
        refused: nothing waits for this
        > reply 1 write(f)
        heard 1: tool use
        start a1.0 write [f]
        > restored a1.0
        refused: nothing waits for this
        ",
    );
}

/// What the model that works now is asked: the opening of its conversation, and how freely.
fn asked(run: &Run) -> (Vec<Message>, Option<Ppm>) {
    let asked = run.due().into_iter().find_map(|effect| {
        let Effect::CallModel { messages, temperature, .. } = effect else { return None };
        Some((messages.iter().take(2).cloned().collect(), temperature))
    });
    asked.unwrap()
}

const FAILED_TWICE: &str = "
    > reply 1: an answer
    heard 1: end
    done main
    acted main
    > check 1.0 fail
    checked 1 tests: failed
    verified 1: checks failed
    control: repair 0.770
    diagnosed by verifier: failed: tests
    repair 1
    begin repair-1
    ask 2 for repair-1
    > reply 2: an answer
    heard 2: end
    done repair-1
    repaired 1
    > check 2.0 fail
    checked 2 tests: failed
    verified 2: checks failed
    control: repair 1.000
    diagnosed by verifier: failed: tests
    repair 2
    begin repair-2
    ask 3 for repair-2
    ";

#[test]
fn work_that_is_done_afresh_opens_as_it_did_and_grows_freer_and_no_critic_is_asked() {
    let setup = task().afresh().check("tests");
    let first = asked(&check(&setup, "").run);
    let again = check(&setup, FAILED_TWICE).run;
    assert_eq!(again.mending.strategy, Some(Strategy::FullRegeneration));
    let again = asked(&again);
    assert_eq!(again.0, first.0);
    assert_eq!((first.1, again.1), (None, Some(Ppm(300_000))));
}

#[test]
fn an_answer_that_holds_waits_for_another_that_is_the_same() {
    let how = CheckHow::Consistent(Sampling { samples: 0, by: By::Vote, agree: 2, rivals: 0 });
    let setup = task().afresh().check("tests").checked_by("consistency", how);
    let run = check(
        &setup,
        "
        > reply 1: an answer
        heard 1: end
        done main
        acted main
        > check 1.0 pass
        checked 1 tests: passed
        > check 1.1 fail
        checked 1 consistency: failed
        verified 1: checks failed
        control: repair 0.385
        diagnosed by verifier: failed: consistency
        repair 1
        begin repair-1
        ask 2 for repair-1
        > reply 2: an answer
        heard 2: end
        done repair-1
        repaired 1
        > check 2.0 pass
        checked 2 tests: passed
        ",
    )
    .run;
    let compared = run.due().into_iter().find_map(|effect| {
        if let Effect::RunCheck { opinions, .. } = effect { Some(opinions) } else { None }
    });
    assert_eq!(compared, Some(vec![Opinion::Sample(Payload::inline("an answer"))]));
    assert_eq!(run.mending.failed, [], "it may come again");
}

/// The answers that the model that works now shall not give again.
fn not_again(run: &Run) -> Vec<Payload> {
    let failed = run
        .due()
        .into_iter()
        .find_map(|effect| if let Effect::CallModel { failed, .. } = effect { Some(failed) } else { None });
    failed.unwrap()
}

#[test]
fn answers_that_failed_are_told_to_whoever_does_the_work_anew() {
    let setup = task().afresh().check("tests");
    assert_eq!(not_again(&check(&setup, "").run), []);
    assert_eq!(not_again(&check(&setup, FAILED_TWICE).run), [Payload::inline("an answer")]);
    let another = FAILED_TWICE.replace("reply 2: an answer", "reply 2: another");
    let failed = ["an answer", "another"].map(Payload::inline);
    assert_eq!(not_again(&check(&setup, &another).run), failed);
}

#[test]
fn the_last_sixteen_answers_that_failed_are_remembered() {
    let mut run = check(&task().afresh().check("tests"), "").run;
    for number in 0..20 {
        run.output = Some(vec![Payload::inline(&format!("answer {number}"))]);
        run.note_failed(Finding::ChecksFailed);
        run.note_failed(Finding::Passed);
    }
    let expected: Vec<Payload> = (4..20).map(|number| Payload::inline(&format!("answer {number}"))).collect();
    assert_eq!(run.mending.failed, expected);
}

#[test]
fn an_answer_that_is_mended_is_forbidden_to_nobody() {
    let mut run = check(&task().check("tests"), "").run;
    run.output = Some(vec![Payload::inline("an answer")]);
    run.note_failed(Finding::SchemaFailed);
    assert_eq!(run.mending.failed, []);
}
