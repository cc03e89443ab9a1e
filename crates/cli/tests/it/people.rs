//! People who answer, pause and cancel, from processes of their own.

use crate::{HELLO, PLAIN, Place, SILENCE, example, no_cage};

const PAY: &str = r#"
goal = "Pay"
review = "never"
[workspace]
path = "project"
mode = "copy"
[[tool]]
name = "pay"
command = ["sh", "./pay.sh"]
description = "Pays."
schema = { type = "object" }
"#;

const ASKS_ONCE: &str =
    "  main:\n    - calls: [{tool: pay, args: {to: \"ada\\e[2J\", cents: 5}}]\n    - say: done\n";

/// A task whose tool kills the program in the middle of its first call.
fn deadly(place: &Place) {
    let settings = format!("{PAY}consent = \"not-needed\"\nrepeat = \"never\"\n");
    place.task(&settings, ASKS_ONCE).write("task/project/x", "");
    place.write("task/pay.sh", "echo paid >> ledger.txt\nif [ $(wc -l < ledger.txt) = 1 ]; then kill -9 $PPID; sleep 1; fi\necho ok\n");
}

#[test]
fn a_call_that_needs_consent_waits_shows_its_arguments_and_goes_on_when_somebody_says_yes() {
    if no_cage() {
        return;
    }
    let place = Place::new();
    place
        .bowline(&["run", &example("needs-approval")])
        .ends(4)
        .says("bowline approve ")
        .says("/amount_cents = 4150");
    assert!(!place.path(&format!("home/workspaces/{}/outbox.txt", place.last())).exists());
    place.bowline(&["runs"]).ends(0).says("waits: approval of a1.0");
    place.bowline(&["approve", "last"]).ends(2).says("send_invoice").complains("--yes");
    place.bowline(&["approve", "last", "a9.0", "--yes"]).ends(2).complains("it asks about a1.0");
    place.bowline(&["approve", "last", "--yes"]).ends(0).says("approved");
    place.bowline(&["resume"]).ends(0).says("a1.0: approved by tester").says("committed");
    assert_eq!(place.in_copy("outbox.txt").lines().count(), 1);
    place.bowline(&["approve", "last", "--yes"]).ends(2).complains("asks nothing");
}

#[test]
fn a_call_that_somebody_denied_is_not_made_and_the_model_reads_why() {
    let place = Place::new();
    let replies = "  main:\n    - calls: [{tool: pay, args: {}}]\n    - expect: {error: true, last_contains: too dear}\n      say: I did not pay.\n";
    place.task(PAY, replies).write("task/pay.sh", "echo paid > ledger.txt\n").write("task/project/x", "");
    place.bowline(&["run", "task"]).ends(4);
    place.bowline(&["deny", "last", "a1.0", "--reason", "too dear"]).ends(0).says("denied");
    place.bowline(&["resume", "last"]).ends(0).says("I did not pay.");
    assert!(!place.path(&format!("home/workspaces/{}/ledger.txt", place.last())).exists());
}

#[test]
fn what_a_person_is_shown_cannot_move_the_cursor() {
    let place = Place::new();
    place.task(PAY, ASKS_ONCE).write("task/pay.sh", "").write("task/project/x", "");
    let ran = place.bowline(&["run", "task"]).ends(4);
    assert!(!ran.out.contains('\u{1b}') && ran.out.contains("ada\\u{1b}[2J"), "{}", ran.out);
}

#[test]
fn a_run_that_waits_goes_on_when_another_process_answers() {
    let place = Place::new();
    place.task(PAY, ASKS_ONCE).write("task/pay.sh", "echo ok\n").write("task/project/x", "");
    let mut running = place.start(&["run", "task", "--json", "--wait"]);
    running.until("approval_requested");
    place.bowline(&["approve", "last", "--yes"]).ends(0);
    running.end().ends(0);
}

#[test]
fn a_call_in_doubt_is_never_repeated_by_itself_and_a_person_settles_it() {
    for (how, payments, reads) in [
        ("--happened", 1, "settled by tester: it happened"),
        ("--repeat", 2, "made now"),
        ("--give-up", 1, "given up"),
    ] {
        let place = Place::new();
        deadly(&place);
        let died = place.bowline(&["run", "task"]);
        assert_eq!(died.code, -1, "killed by its own tool");
        place.bowline(&["resume", "last"]).ends(4).says("nobody knows whether a1.0 happened").says("settle ");
        place.bowline(&["resume"]).ends(0);
        assert_eq!(place.in_copy("ledger.txt").lines().count(), 1);
        place.bowline(&["settle", "last", "a2.0", how]).ends(2).complains("in doubt are a1.0");
        place.bowline(&["settle", "last", "a1.0", how]).ends(0).says("settled");
        place.bowline(&["resume", "last"]).ends(0).says(reads);
        assert_eq!(place.in_copy("ledger.txt").lines().count(), payments, "{how}");
    }
}

#[test]
fn a_run_at_work_is_paused_resumed_and_cancelled_from_elsewhere() {
    let place = Place::new();
    place.task(PLAIN, SILENCE);
    let mut running = place.start(&["run", "task", "--json", "--wait"]);
    running.until("step_started");
    place.bowline(&["pause", "last"]).ends(0).says("is paused");
    running.until("paused");
    place.bowline(&["pause", "last"]).ends(0).says("paused already");
    place.bowline(&["cancel", "last"]).ends(0).says("is halted").says("resume");
    running.end().ends(3);
    place.bowline(&["cancel", "last"]).ends(2).complains("has ended: halted");
    place.bowline(&["pause", "last"]).ends(2).complains("has ended: halted");
}

#[test]
fn a_run_nobody_works_on_is_paused_and_cancelled_at_once() {
    let place = Place::new();
    place.task(PLAIN, SILENCE);
    let mut running = place.start(&["run", "task", "--json"]);
    running.until("step_started");
    running.kill();
    place.task(PLAIN, HELLO);
    place.bowline(&["runs"]).ends(0).says("acting (stopped)");
    place.bowline(&["pause", "last"]).ends(0).says("is paused");
    place.bowline(&["resume"]).ends(0);
    place.bowline(&["runs"]).ends(0).says("paused");
    place.bowline(&["cancel", "last"]).ends(0).says("is halted");
    place.bowline(&["resume", "last"]).ends(0).says("committed");
    place.bowline(&["cancel", "last"]).ends(2).complains("an ending is final");
}

#[test]
fn a_paused_run_takes_answers_and_goes_on_only_when_it_is_resumed() {
    let place = Place::new();
    place.task(PAY, ASKS_ONCE).write("task/pay.sh", "echo paid > ledger.txt\n").write("task/project/x", "");
    place.bowline(&["run", "task"]).ends(4);
    place.bowline(&["pause", "last"]).ends(0).says("is paused");
    place.bowline(&["approve", "last", "--yes"]).ends(0);
    place.bowline(&["resume"]).ends(4).says("a1.0: approved by tester");
    assert!(!place.path(&format!("home/workspaces/{}/ledger.txt", place.last())).exists());
    place.bowline(&["resume", "last"]).ends(0).says("resumed by tester");
    assert_eq!(place.in_copy("ledger.txt"), "paid\n");
}

#[test]
fn watching_shows_every_event_of_another_process_and_ends_with_it() {
    let place = Place::new();
    place.task(PAY, ASKS_ONCE).write("task/pay.sh", "echo ok\n").write("task/project/x", "");
    let mut running = place.start(&["run", "task", "--json", "--wait"]);
    running.until("approval_requested");
    let mut watching = place.start(&["watch", "last", "--json"]);
    watching.until("approval_requested");
    place.bowline(&["approve", "last", "--yes"]).ends(0);
    running.end().ends(0);
    let watched = watching.end().ends(0).objects();
    assert_eq!(watched.last().unwrap()["ending"], "committed");
    place.bowline(&["watch", "last"]).ends(0).says("submitted: Pay").says("committed");
}
