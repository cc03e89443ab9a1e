//! What runs did is undone from the terminal, and an undo that failed is told.

use std::fs;

use serde_json::Value;

use crate::Place;

const SETTINGS: &str = "goal = \"Tidy up\"\nreview = \"never\"\ntools = [\"write_file\", \"edit_file\", \"move_file\", \
                        \"delete_file\"]\n[workspace]\npath = \"project\"\n";

const REPLIES: &str = "  main:\n    - calls:\n        \
    - {tool: edit_file, args: {path: a, old: one, new: two}}\n        \
    - {tool: write_file, args: {path: deep/er/new, content: made}}\n        \
    - {tool: move_file, args: {from: a, to: b}}\n        \
    - {tool: delete_file, args: {path: c}}\n    \
    - say: tidied\n";

fn tidied() -> Place {
    let place = Place::new();
    place.task(SETTINGS, REPLIES).write("task/project/a", "one\n").write("task/project/c", "three\n");
    place.bowline(&["run", "task"]).ends(0);
    assert_eq!(place.read("task/project/b"), "two\n");
    place
}

fn is_as_before(place: &Place) -> bool {
    let text = |name: &str| fs::read_to_string(place.path(name)).unwrap_or_default();
    text("task/project/a") == "one\n"
        && text("task/project/c") == "three\n"
        && !place.path("task/project/b").exists()
        && !place.path("task/project/deep").exists()
}

#[test]
fn a_committed_run_is_shown_and_undone_and_its_journal_stays_consistent() {
    let place = tidied();
    let shown = place.bowline(&["show", "last", "--json"]).good();
    let head = serde_json::from_str::<Value>(&shown).unwrap()["head"].as_str().unwrap().to_owned();
    let dry = place.bowline(&["undo", "last", "--dry-run"]).ends(0);
    let dry = dry.says("would undo 4 calls").says("a1.3  delete_file c: deleted → 6 bytes");
    dry.says("a1.2  move_file a: moved to b → here").says("deep/er/new").says("→ not there");
    assert!(!is_as_before(&place), "a dry run changes nothing");
    place.bowline(&["undo", "last"]).ends(2).complains("this is no terminal");
    assert!(!is_as_before(&place));
    place.bowline(&["undo", "last", "--yes"]).ends(0).says("undone: 4 calls as before");
    assert!(is_as_before(&place));
    place
        .bowline(&["audit", "verify", "last", "--expect", &head])
        .ends(0)
        .says("the expected head is there unchanged");
    place.bowline(&["show"]).ends(0).says("committed");
    place.bowline(&["undo", "last", "--yes"]).ends(2).complains("nothing to undo");
}

#[test]
fn a_file_that_somebody_changed_is_shown_three_ways_and_never_overwritten() {
    let place = tidied();
    place.write("task/project/b", "mine\n");
    let refused = place.bowline(&["undo", "last", "--yes"]).ends(2);
    let refused = refused.says("CHANGED SINCE").says("    was            here");
    let refused = refused.says("    the run wrote  moved to b").says("    is now         not there");
    refused.complains("changed since by somebody else; nothing was undone");
    assert!(!place.path("task/project/c").exists(), "nothing was undone");
    let undone = place.bowline(&["undo", "last", "--yes", "--leave-changed", "--json"]).ends(1);
    let last = undone.objects().pop().unwrap();
    assert_eq!(last["finished"], true);
    assert_eq!(last["undone"][0]["outcome"], "compensated");
    assert_eq!(place.read("task/project/b"), "mine\n");
    assert_eq!(place.read("task/project/c"), "three\n");
}

#[test]
fn an_undo_that_is_killed_goes_on_when_it_is_asked_for_again() {
    let place = tidied();
    let mut running = place.start(&["undo", "last", "--yes", "--json"]);
    running.until("undo_started");
    running.kill();
    let ran = place.bowline(&["undo", "last", "--yes"]);
    assert!(ran.code == 0 || ran.err.contains("nothing to undo"), "{} {}", ran.out, ran.err);
    assert!(is_as_before(&place));
    place.bowline(&["audit", "verify", "last"]).ends(0);
}

#[test]
fn a_run_whose_undo_fails_ends_with_a_code_of_its_own_and_says_what_is_left() {
    let place = Place::new();
    let settings = "goal = \"Book\"\non_alert = [\"/bin/sh\", \"-c\", \"cat > alert\"]\n\
        [workspace]\npath = \"project\"\n[limits]\nrepairs = 0\n[[check]]\nname = \"never\"\ncommand = [\"false\"]\n\
        [[tool]]\nname = \"book\"\ncommand = [\"/bin/sh\", \"-c\", \"echo 7\"]\ndescription = \"Books.\"\n\
        schema = { type = \"object\" }\nundo = { command = [\"/bin/sh\", \"-c\", \"echo gone >&2; exit 3\"] }\n\
        [[tool]]\nname = \"pay\"\ncommand = [\"true\"]\ndescription = \"Pays.\"\nschema = { type = \"object\" }\n\
        consent = \"not-needed\"\n";
    let replies = "  main:\n    - calls: [{tool: book, args: {}}, {tool: pay, args: {}}]\n    - say: done\n";
    place.task(settings, replies);
    fs::create_dir(place.path("task/project")).unwrap();
    let ran = place.bowline(&["run", "task"]).ends(5);
    let ran = ran.says("rolling back; nothing undoes a1.1").says("ALERT: a1.0 could not be undone");
    ran.says("a1.0  book: could not be undone")
        .says("a1.1  pay: cannot be undone: its tool declares no undo");
    assert!(place.read("task/project/alert").contains("gone"));
    place.bowline(&["watch", "last"]).ends(5);
    let refused = "goal = \"Book\"\n[[tool]]\nname = \"book\"\ncommand = [\"true\"]\ndescription = \"Books.\"\n\
        schema = { type = \"object\" }\nundo = { command = [\"true\", \"{what/id}\"], probe = \"look\" }\n";
    place.task(refused, replies);
    place.bowline(&["check", "task"]).ends(2).complains("expected a list of words");
    let refused = refused.replace(", probe = \"look\"", "");
    place.task(&refused, replies);
    place.bowline(&["check", "task"]).ends(2).complains("names nothing");
}
