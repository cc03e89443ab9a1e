//! Tools in trouble, in the words people read.

use crate::Place;

const SETTINGS: &str = r#"
goal = "Buy"
review = "always"

[[tool]]
name = "shop"
command = ["sh", "-c", "echo closed; exit 69"]
description = "Sells things."
schema = { type = "object" }
consent = "not-needed"
repeat = "freely"
attempts = 2
"#;

#[test]
fn a_tool_that_stays_away_is_told_of_and_left_alone() {
    let place = Place::new();
    let buy = |number: u32| format!("    - calls: [{{tool: shop, args: {{n: {number}}}}}]\n");
    let calls: String = (1..=4).map(buy).collect();
    let told = "    - {expect: {last_contains: \"is not called now\"}, say: it is closed}\n";
    place.task(SETTINGS, &format!("  main:\n{calls}{told}"));
    place
        .bowline(&["run", "task"])
        .ends(4)
        .says("a1.0: attempt 1 met trouble (not available), tries again: closed")
        .says("a1.0: not available in ")
        .says("shop: failed 5 times in a row, not called for a while")
        .says("a4.0: refused (not available): shop failed again and again");
    place
        .bowline(&["show"])
        .ends(0)
        .says("a1.0  shop: not available, 2 attempts")
        .says("left alone  shop, which failed 5 times in a row; tried again in ");
}

#[test]
fn several_attempts_at_a_command_that_must_not_be_repeated_are_refused_with_a_remedy() {
    let place = Place::new();
    let settings = SETTINGS.replace("repeat = \"freely\"", "repeat = \"never\"");
    place.task(&settings, "  main:\n    - {say: hello}\n");
    let ran = place.bowline(&["run", "task"]).ends(2);
    assert!(ran.err.contains("shop would be tried 2 times"), "{}", ran.err);
    assert!(ran.err.contains("leave `attempts` out"), "{}", ran.err);
}

#[test]
fn a_tool_that_is_not_there_has_a_substitute_that_the_model_is_told_to_use() {
    let place = Place::new();
    let other = "substitute = \"market\"\n[[tool]]\nname = \"market\"\ncommand = [\"sh\", \"-c\", \"echo sold\"]\n\
                 description = \"Sells things too.\"\nschema = { type = \"object\" }\nconsent = \"not-needed\"\n";
    let calls = "  main:\n    - calls: [{tool: shop, args: {}}]\n    - {expect: {last_contains: \"Use market instead.\"}, \
                 calls: [{tool: market, args: {}}]}\n    - {expect: {last_contains: sold}, say: bought}\n";
    place.task(&format!("{SETTINGS}{other}").replace("\"always\"", "\"never\""), calls);
    place.bowline(&["run", "task"]).ends(0).says("a1.0: not available in ").says("│ bought");
    let nobody = SETTINGS.to_owned() + "substitute = \"market\"\n";
    place.task(&nobody, calls);
    place
        .bowline(&["run", "task"])
        .ends(2)
        .complains("shop has the substitute market, and the run has no such tool");
}

#[test]
fn a_program_that_takes_too_long_is_ended_and_tried_again_if_that_is_allowed() {
    let place = Place::new();
    let slow_once = "test -e tried && echo open && exit; touch tried; exec sleep 600";
    let settings = SETTINGS
        .replace("echo closed; exit 69", slow_once)
        .replace("repeat = \"freely\"", "repeat = \"freely\"\ntimeout_seconds = 1")
        .replace("\"always\"", "\"never\"");
    let calls = "  main:\n    - calls: [{tool: shop, args: {}}]\n    - {expect: {last_contains: open}, say: bought}\n";
    place.task(&settings, calls);
    place
        .bowline(&["run", "task"])
        .ends(0)
        .says("a1.0: attempt 1 met trouble (no answer in time)")
        .says("│ bought");
}

#[test]
fn a_program_that_takes_too_long_and_must_not_be_repeated_leaves_a_person_to_decide() {
    let place = Place::new();
    let settings = SETTINGS
        .replace("echo closed; exit 69", "exec sleep 600")
        .replace("repeat = \"freely\"\nattempts = 2", "timeout_seconds = 1");
    let calls = "  main:\n    - calls: [{tool: shop, args: {}}]\n    - {expect: {last_contains: sold}, say: bought}\n";
    place.task(&settings, calls);
    place.bowline(&["run", "task"]).ends(4).says("a1.0").says("settle");
    place.bowline(&["settle", "last", "a1.0", "--happened", "--result", "sold"]).ends(0);
    place.bowline(&["resume", "last"]).ends(4).says("│ bought");
}
