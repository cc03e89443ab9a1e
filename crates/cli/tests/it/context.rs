//! Conversations that outgrow their model, as people see it.

use super::Place;

/// Reads four files of 6 kB, one after the other, and is done.
fn reader(place: &Place, limits: &str) {
    let settings = format!(
        "goal = \"x\"\nreview = \"never\"\ntools = [\"read_file\"]\n[limits]\noutput_tokens = 200\n{limits}"
    );
    let read = |name: &str| format!("    - calls: [{{tool: read_file, args: {{path: {name}}}}}]\n");
    let replies: String = ["a", "b", "c", "d"].iter().map(|name| read(name)).collect();
    place.task(&settings, &format!("  main:\n{replies}    - say: read them all\n"));
    for name in ["a", "b", "c", "d"] {
        place.write(&format!("task/{name}"), &format!("this is {name}\n").repeat(600));
    }
}

#[test]
fn show_and_watch_say_what_a_conversation_had_no_room_for() {
    let place = Place::new();
    reader(&place, "context_tokens = 7500\n");
    place
        .bowline(&["run", "task"])
        .ends(0)
        .says("main: left out to fit scripted:")
        .says("outputs of tools")
        .says("│ read them all");
    place.bowline(&["show"]).ends(0).says("left out").says("outputs of tools");
    place.bowline(&["show", "--json"]).ends(0).says("\"elisions\"").says("call it again to read it");
}

#[test]
fn a_run_without_room_says_what_is_too_long_and_goes_on_with_more() {
    let place = Place::new();
    reader(&place, "context_tokens = 2500\n");
    let halted =
        place.bowline(&["run", "task"]).ends(3).says("does not fit").says("the task's context_tokens");
    let raise = halted.out.split_whitespace().find(|word| word.starts_with("context_tokens="));
    let raise = raise.expect("a command that can be copied").to_owned();
    place
        .bowline(&["resume", "last", "--raise", &raise])
        .ends(0)
        .says("left out to fit")
        .says("│ read them all");
}
