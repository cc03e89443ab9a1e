//! Several models, and what is tried beyond repair, as people see it.

use super::Place;

#[test]
fn a_model_in_trouble_is_stood_in_for_and_show_says_so() {
    let place = Place::new();
    place.task("goal = \"x\"\nreview = \"never\"\nfallbacks = [\"scripted:other.yaml\"]\n", "  other: []\n");
    place.write("task/other.yaml", "script: 1\nconversations:\n  main:\n    - say: done by the other\n");
    place
        .bowline(&["run", "task"])
        .ends(0)
        .says("another model is asked")
        .says("left alone for a while")
        .says("│ done by the other");
    place.bowline(&["show"]).ends(0).says("or else scripted:").says("moved").says("gave no answer");
}

#[test]
fn a_stronger_model_mends_what_the_first_could_not() {
    let place = Place::new();
    let settings = "goal = \"x\"\nreview = \"when-unchecked\"\nladder = [\"scripted:big.yaml\"]\n\
        [output]\nschema = { type = \"object\" }\n[limits]\nrepairs = 1\nrepair_percent = 100\n";
    place.task(settings, "  main:\n    - say: no\n  repair-1:\n    - say: still no\n");
    place.write("task/big.yaml", "script: 1\nconversations:\n  repair-2:\n    - say: \"{}\"\n");
    place
        .bowline(&["run", "task"])
        .ends(0)
        .says("escalated (the checks still fail after 1 repairs)")
        .says("rung 1 of the ladder")
        .says("committed");
    place.bowline(&["show"]).ends(0).says("up to scripted:").says("escalated");
}

#[test]
fn a_person_sends_back_what_could_not_be_mended_and_cannot_wave_it_through() {
    let place = Place::new();
    let settings = "goal = \"x\"\nreview = \"when-unchecked\"\nescalate = [\"person\"]\n\
        [output]\nschema = { type = \"object\" }\n[limits]\nrepairs = 1\nrepair_percent = 100\n";
    let replies =
        "  main:\n    - say: no\n  repair-1:\n    - say: still no\n  repair-2:\n    - say: \"{}\"\n";
    place.task(settings, replies);
    let asked = place.bowline(&["run", "task"]).ends(4).says("a person is asked").says("revise");
    assert!(!asked.out.contains(" approve "), "{}", asked.out);
    place.bowline(&["revise", "last", "--feedback", "write JSON"]).ends(0);
    place.bowline(&["resume", "last"]).ends(0).says("committed");
}
