//! Journals: replayed, exported, examined, damaged, removed.

use std::fs;

use rusqlite::Connection;
use serde_json::Value;

use crate::{HELLO, PLAIN, Place};

fn committed() -> (Place, String) {
    let place = Place::new();
    place.task(PLAIN, HELLO);
    let lines = place.bowline(&["run", "task", "--json"]).ends(0).objects();
    let head = lines.last().unwrap()["head"].as_str().unwrap().to_owned();
    (place, head)
}

/// A run that waits for a person, so that it can be gone on with.
fn waiting() -> Place {
    let place = Place::new();
    place.task("goal = \"Say hello\"\n", HELLO).bowline(&["run", "task", "-q"]).ends(4);
    place
}

fn store(place: &Place) -> Connection {
    Connection::open(place.path("home/store.db")).unwrap()
}

#[test]
fn a_flipped_bit_is_found_by_an_audit_and_the_run_is_not_touched() {
    let place = waiting();
    let changed = "UPDATE records SET body = replace(body, 'Say hello', 'Say hellp') WHERE seq = 1";
    assert_eq!(store(&place).execute(changed, []).unwrap(), 1);
    place.bowline(&["audit", "verify"]).ends(1).says("record 1 of run").says("does not match its hash");
    place.bowline(&["approve", "last", "--yes"]).ends(0);
    place.bowline(&["resume", "last"]).ends(2).complains("does not match its hash").complains("backup");
    place.bowline(&["doctor"]).ends(1).says("damaged");
    let lines = place.bowline(&["audit", "verify", "--json"]).ends(1).objects();
    assert_eq!(lines[0]["ok"], false);
}

#[test]
fn an_audit_names_every_problem_and_not_only_the_first() {
    let place = Place::new();
    let long = format!("  main:\n    - say: {}\n", "hello ".repeat(200));
    place.task(PLAIN, &long).bowline(&["run", "task", "-q"]).ends(0);
    let store = store(&place);
    store.execute("UPDATE records SET at = at + 1 WHERE seq = 1", []).unwrap();
    store.execute("UPDATE records SET body = 'x' WHERE seq = 2", []).unwrap();
    store.execute("DELETE FROM blobs", []).unwrap();
    let found = place.bowline(&["audit", "verify", "--json"]).ends(1).objects();
    let problems: Vec<&str> =
        found[0]["problems"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for words in ["record 1 of", "record 2 of", "is not understood", "follows where", "is not in the store"] {
        assert!(problems.iter().any(|problem| problem.contains(words)), "no {words:?} in {problems:#?}");
    }
}

#[test]
fn a_store_that_was_cut_off_consistently_is_found_only_with_the_expected_head() {
    let (place, head) = committed();
    place
        .bowline(&["audit", "verify", "last", "--expect", &head])
        .ends(0)
        .says("nothing was rewritten or cut off");
    let store = store(&place);
    store
        .execute_batch(
            "DELETE FROM records WHERE seq = (SELECT max(seq) FROM records);
             UPDATE runs SET ended = 0, summary = json_set(summary, '$.ending', NULL, '$.phase', 'committing'),
                 next_seq = (SELECT seq + count FROM records ORDER BY seq DESC LIMIT 1),
                 head = (SELECT hash FROM records ORDER BY seq DESC LIMIT 1);",
        )
        .unwrap();
    place.bowline(&["audit", "verify", "last"]).ends(0).says("proves consistency only");
    place.bowline(&["audit", "verify", "last", "--expect", &head]).ends(1).says("rewritten or cut off");
}

#[test]
fn a_head_that_was_printed_at_a_halt_is_still_proved_after_the_run_went_on() {
    let place = Place::new();
    let replies = "  main:\n    - calls: [{tool: list_files}]\n    - say: done\n";
    place.task("goal = \"x\"\nreview = \"never\"\ntools = [\"list_files\"]\n[limits]\nsteps = 1\n", replies);
    let halted = place.bowline(&["run", "task", "--json"]).ends(3).objects();
    let head = halted.last().unwrap()["head"].as_str().unwrap().to_owned();
    place.bowline(&["resume", "last", "--raise", "steps=3", "-q"]).ends(0);
    place.bowline(&["audit", "verify", "last", "--expect", &head]).ends(0).says("came after it");
}

#[test]
fn replay_shows_the_state_at_any_event() {
    let (place, _) = committed();
    place.bowline(&["replay", "--to", "1"]).ends(0).says("phase       planning").says("after event 1");
    let at =
        |to: &str| place.bowline(&["replay", "last", "--to", to, "--json"]).ends(0).objects().pop().unwrap();
    assert_eq!(at("7")["state"]["phase"], "acting");
    assert_eq!(at("7")["state"]["digest"], at("7")["state"]["digest"]);
    assert_ne!(at("7")["state"]["digest"], at("6")["state"]["digest"]);
    place.bowline(&["replay"]).ends(0).says("phase       committed");
}

#[test]
fn an_exported_journal_is_a_chain_of_records_as_they_are_stored() {
    let (place, head) = committed();
    let records = place.bowline(&["export", "last", "--json"]).ends(0).objects();
    let mut prev = Value::from("0".repeat(64));
    let mut next = 1;
    for record in &records {
        assert_eq!((&record["prev"], &record["seq"]), (&prev, &Value::from(next)));
        next += record["events"].as_array().unwrap().len();
        prev = record["hash"].clone();
    }
    assert_eq!(prev, head.as_str());
    place.bowline(&["export", "last", "--out", "there"]).ends(0).says("there/journal.jsonl");
    assert_eq!(place.read("there/output.txt"), "Hello.");
    assert_eq!(place.read("there/journal.jsonl").lines().count(), records.len());
    let results = format!("home/results/{}/provenance.json", place.last());
    assert_eq!(place.read("there/provenance.json"), place.read(&results));
    let statement: Value = serde_json::from_str(&place.read("there/statement.json")).unwrap();
    let hello = "2d8bd7d9bb5f85ba643f0110d50cb506a1fe439e769a22503193ea6046bb87f7";
    assert_eq!(statement["subject"][0]["name"], "output.txt");
    assert_eq!(statement["subject"][0]["digest"]["sha256"], hello, "of \"Hello.\"");
    assert_eq!(statement["predicate"]["run"], place.last().as_str());
    place.bowline(&["export", "last", "--out", "there"]).ends(2).complains("nothing is overwritten");
}

#[test]
fn old_runs_that_have_ended_are_removed_with_their_folders_and_nothing_else_is() {
    let place = waiting();
    let open = place.last();
    place.task(
        "goal = \"Say hello\"\nreview = \"never\"\n[workspace]\npath = \"project\"\nmode = \"copy\"\n",
        HELLO,
    );
    place.write("task/project/x", "").bowline(&["run", "task", "-q"]).ends(0);
    let done = place.last();
    place.bowline(&["gc"]).ends(0).says("0 runs removed");
    place
        .bowline(&["gc", "--older-than", "0s", "--dry-run"])
        .ends(0)
        .says(&format!("would remove run {done}"));
    assert!(place.path(&format!("home/workspaces/{done}/x")).exists());
    fs::create_dir_all(place.path("home/workspaces/gone123")).unwrap();
    place.bowline(&["doctor"]).ends(0).says("1 folder without a run");
    let removed = place.bowline(&["gc", "--older-than", "0s"]).ends(0);
    removed.says(&format!("removed run {done}")).says("gone123: its run is gone");
    assert!(!place.path(&format!("home/workspaces/{done}")).exists());
    assert!(!place.path(&format!("home/results/{done}")).exists());
    assert!(!place.path("home/workspaces/gone123").exists());
    assert_eq!(place.last(), open);
    place.bowline(&["cancel", &open]).ends(0);
    place.bowline(&["gc", "--older-than", "0s"]).ends(0).says("0 runs removed");
    place.bowline(&["gc", "--older-than", "0s", "--halted"]).ends(0).says("1 run removed");
}

#[test]
fn a_doctor_looks_at_a_healthy_place_and_finds_it_so() {
    let place = Place::new();
    place.bowline(&["doctor"]).ends(0).says("none yet");
    assert!(!place.path("home").exists(), "looking makes nothing");
    let (place, _) = committed();
    let lines = place.bowline(&["doctor", "--json"]).ends(0).objects();
    assert!(lines.iter().all(|line| line["health"] != "bad" && line["check"].is_string()), "{lines:?}");
}
