//! Deleted runs: what is left of them, and that no byte of what was in them is.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{HELLO, PLAIN, Place, SILENCE};

/// What must be nowhere afterwards: of the goal, a file, a tool's output, an error, an answer, a
/// message, and of a text too long to stand in the journal.
const CANARIES: [&str; 7] = [
    "goal-canary-7f3a",
    "file-canary-91bc",
    "output-canary-02de",
    "error-canary-5a5a",
    "answer-canary-c0de",
    "message-canary-e1f2",
    "large-canary-d4d4",
];

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() { files_below(&path, found) } else { found.push(path) }
    }
}

/// In which files of the home each canary is.
fn found(place: &Place) -> Vec<String> {
    let mut files = Vec::new();
    files_below(&place.path("home"), &mut files);
    let mut found = Vec::new();
    for file in files {
        let bytes = fs::read(&file).unwrap();
        for canary in CANARIES {
            if bytes.windows(canary.len()).any(|window| window == canary.as_bytes()) {
                found.push(format!("{canary} in {}", file.file_name().unwrap().display()));
            }
        }
    }
    found
}

/// A run with a canary in everything, that has ended; beside others.
fn told() -> (Place, String) {
    let place = Place::new();
    place.task(PLAIN, HELLO).bowline(&["run", "task", "-q"]).ends(0);
    let large = "large-canary-d4d4 ".repeat(600);
    let settings = r#"goal = "Keep goal-canary-7f3a to yourself"
review = "always"
tools = ["write_file", "read_file"]
[workspace]
path = "project"
mode = "copy"
[[tool]]
name = "look"
description = "Looks."
command = ["sh", "-c", "cat > /dev/null; echo output-canary-02de; echo error-canary-5a5a >&2; exit 3"]
schema = { type = "object" }
consent = "not-needed"
"#;
    let replies = format!(
        "  main:\n    - calls: [{{tool: write_file, args: {{path: a.txt, content: \"file-canary-91bc {large}\"}}}}]\n    \
         - calls: [{{tool: look, args: {{}}}}]\n    - calls: [{{tool: read_file, args: {{path: a.txt}}}}]\n    \
         - say: answer-canary-c0de\n"
    );
    place.task(settings, &replies).write("task/project/x", "");
    place.bowline(&["run", "task", "-q"]).ends(4);
    let run = place.last();
    place.bowline(&["deny", &run, "--reason", "message-canary-e1f2"]).ends(0);
    place.bowline(&["resume", &run, "-q"]);
    (place, run)
}

fn ended(place: &Place, run: &str) {
    let shown = place.bowline(&["show", run, "--json"]).objects();
    if shown[0]["ending"].is_null() {
        place.bowline(&["cancel", run]).ends(0);
    }
}

#[test]
fn no_byte_of_a_deleted_run_is_left_in_the_home() {
    let (place, run) = told();
    ended(&place, &run);
    let before = found(&place);
    for canary in CANARIES {
        assert!(before.iter().any(|line| line.starts_with(canary)), "{canary} was nowhere: {before:?}");
    }
    place.bowline(&["delete", &run, "--yes"]).ends(0).says("deleted");
    assert_eq!(found(&place), Vec::<String>::new());
    // The others are what they were, and the store is sound.
    place.bowline(&["audit", "verify"]).ends(0).says("consistent");
    place.bowline(&["doctor"]).ends(0).says("1 run");
    assert!(!place.path(&format!("home/workspaces/{run}")).exists());
    assert!(!place.path(&format!("home/results/{run}")).exists());
}

#[test]
fn a_deleted_run_leaves_word_that_it_was_there_and_by_whom() {
    let place = Place::new();
    place.task(PLAIN, HELLO);
    let lines = place.bowline(&["run", "task", "--json"]).ends(0).objects();
    let (run, head) = (place.last(), lines.last().unwrap()["head"].as_str().unwrap().to_owned());
    place.bowline(&["delete", &run, "--yes"]).ends(0);
    place.bowline(&["runs"]).ends(0).says("no runs yet");
    place.bowline(&["runs", "--deleted"]).ends(0).says(&run).says(&head).says("tester");
    let left = place.bowline(&["runs", "--deleted", "--json"]).ends(0).objects();
    assert_eq!(
        (&left[0]["deleted"]["run"], &left[0]["deleted"]["head"]),
        (&run.as_str().into(), &head.as_str().into())
    );
    place.bowline(&["show", &run]).ends(0).says("was deleted by tester");
    assert_eq!(place.bowline(&["show", &run, "--json"]).objects()[0]["deleted"]["run"], run.as_str());
    place.bowline(&["audit", "verify", &run]).ends(0).says("was deleted by tester");
    place.bowline(&["audit", "verify", &run, "--expect", &head]).ends(0);
    place
        .bowline(&["audit", "verify", &run, "--expect", &"0".repeat(64)])
        .ends(1)
        .says("another one than expected");
    // Once more is the same, and there is nothing else to delete.
    place.bowline(&["delete", &run, "--yes"]).ends(0).says("deleted");
    place.bowline(&["delete", "nobody", "--yes"]).ends(2).complains("there is no run nobody");
    assert_eq!(place.bowline(&["runs", "--deleted", "--json"]).objects().len(), 1);
}

#[test]
fn an_open_run_is_not_deleted_and_nobody_is_asked_in_a_script() {
    let place = Place::new();
    place.task("goal = \"Say hello\"\n", HELLO).bowline(&["run", "task", "-q"]).ends(4);
    place.bowline(&["delete", "last", "--yes"]).ends(2).complains("has not ended").complains("cancel");
    place.bowline(&["cancel", "last"]).ends(0);
    place.bowline(&["delete", "last"]).ends(2).complains("nobody can be asked").complains("--yes");
    place.bowline(&["runs"]).ends(0).says("Say hello");
    place.bowline(&["delete", "last", "--yes"]).ends(0);
}

#[test]
fn nothing_is_deleted_beside_a_run_at_work() {
    let place = Place::new();
    place.task(PLAIN, HELLO).bowline(&["run", "task", "-q"]).ends(0);
    let done = place.last();
    place.task(PLAIN, SILENCE);
    let mut at_work = place.start(&["run", "task", "--json"]);
    at_work.until("step_started");
    place.bowline(&["delete", &done, "--yes"]).ends(2).complains("in use by another worker");
    at_work.kill();
    place.bowline(&["delete", &done, "--yes"]).ends(0);
}

#[test]
fn content_that_others_share_stays_with_them() {
    let place = Place::new();
    let large = "shared words ".repeat(900);
    place.task(PLAIN, &format!("  main:\n    - say: \"{large}\"\n"));
    place.bowline(&["run", "task", "-q"]).ends(0);
    let first = place.last();
    place.bowline(&["run", "task", "-q"]).ends(0);
    let second = place.last();
    place.bowline(&["delete", &first, "--yes"]).ends(0);
    place.bowline(&["audit", "verify", &second]).ends(0).says("consistent");
    place.bowline(&["export", &second, "--out", "there"]).ends(0);
    assert!(place.read("there/output.txt").contains("shared words"));
}

#[test]
fn a_copy_from_before_a_migration_is_told_and_goes_with_the_run_if_wanted() {
    let place = Place::new();
    place.task(PLAIN, HELLO).bowline(&["run", "task", "-q"]).ends(0);
    place.write("home/store.v1.backup-1.db", "what it was, goal-canary-7f3a");
    place
        .bowline(&["delete", "last", "--yes"])
        .ends(2)
        .complains("before a migration")
        .complains("--with-copies");
    place.bowline(&["runs"]).ends(0).says("Say hello");
    place.bowline(&["delete", "last", "--yes", "--with-copies"]).ends(0);
    assert_eq!(found(&place), Vec::<String>::new());
    assert!(!place.path("home/store.v1.backup-1.db").exists());
    let left: Vec<Value> = place.bowline(&["runs", "--deleted", "--json"]).objects();
    assert_eq!(left.len(), 1);
}
