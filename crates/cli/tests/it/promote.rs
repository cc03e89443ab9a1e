//! What is committed is handed on to the program of the task, and told.

use serde_json::Value;

use crate::Place;

const REPLIES: &str = "  main:\n    - say: \"42\"\n";

fn remembering(script: &str) -> Place {
    let place = Place::new();
    let settings = format!(
        "goal = \"Sum up\"\nreview = \"never\"\n[workspace]\npath = \"project\"\n\
         [memory]\npromote = [\"/bin/sh\", \"-c\", \"{script}\"]\n"
    );
    place.task(&settings, REPLIES).write("task/project/here", "");
    place
}

#[test]
fn a_committed_output_is_handed_on_shown_and_its_journal_is_sound() {
    let place = remembering("cat > taken.json");
    place.bowline(&["run", "task"]).ends(0).says("promoted: its output was taken");
    let taken: Value = serde_json::from_str(&place.read("task/project/taken.json")).unwrap();
    assert_eq!(taken["output"], "42");
    place.bowline(&["show", "last"]).ends(0).says("promoted: its output was taken");
    let shown: Value = serde_json::from_str(&place.bowline(&["show", "last", "--json"]).good()).unwrap();
    assert_eq!(
        (&shown["promotion"]["key"], &shown["promotion"]["outcome"]),
        (&taken["key"], &"taken".into())
    );
    place.bowline(&["audit", "verify", "last"]).ends(0);
    place.bowline(&["resume", "last"]).ends(0);
    place.bowline(&["runs", "--open"]).ends(0);
}

#[test]
fn an_output_that_met_trouble_is_committed_all_the_same() {
    let place = remembering("test -e once || { touch once; exit 3; }");
    place.bowline(&["run", "task"]).ends(0).says("promoted: its output was taken");
    place.bowline(&["show", "last", "--events"]).ends(0).says("met trouble").says("attempt 2");
    place.bowline(&["audit", "verify", "last"]).ends(0);
}
