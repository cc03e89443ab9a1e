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
