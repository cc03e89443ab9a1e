//! Verification as people see it: judges, gates, review and revision.

use crate::{Place, example};

#[test]
fn the_judged_example_is_broken_by_an_edge_case_mended_and_committed() {
    let place = Place::new();
    let ran = place.bowline(&["run", &example("judged")]).ends(0);
    ran.says("check tests: passed (2 of 2 tests)")
        .says("check edge cases: failed (1 of 2 tests)")
        .says("verified, round 1: checks failed; shut: tests 0.800 of 1.000")
        .says("check rubric: passed (0.947; 3 answers up to 0.100 apart)")
        .says("verified, round 2: everything passed, confidence 0.9");
    let shown = place.bowline(&["show"]).ends(0);
    shown.says("schema").says("not applicable: schema, consistent").says("confidence 0.9").says("committed");
    place.bowline(&["audit", "verify", "last"]).ends(0);
}

const RUBRIC: &str = "goal = \"Say hello\"\n[rubric]\n";
const GOOD: &str = r#"{"scores": [{"name": "correct", "score": 1, "why": ""}, {"name": "complete", "score": 1, "why": ""},
    {"name": "coherent", "score": 1, "why": ""}, {"name": "safe", "score": 1, "why": ""}]}"#;

fn replies(rounds: u32) -> String {
    let good = GOOD.replace('\n', " ");
    let judges = (1..=rounds).map(|round| format!("  judge-{round}-1-1:\n    - say: '{good}'\n"));
    format!("  main:\n    - say: hello\n  repair-1:\n    - say: good morning\n{}", judges.collect::<String>())
}

#[test]
fn what_only_a_judge_likes_is_shown_to_a_person_who_may_send_it_back() {
    let place = Place::new();
    place.task(RUBRIC, &replies(2));
    place.bowline(&["run", "task"]).ends(4).says("waits for a person").says("revise");
    let asked = place.bowline(&["revise", "last", "--feedback", "say it in the morning"]).ends(0);
    asked
        .says("│ hello")
        .says("correct 1.000 of 0.850")
        .says("a person is asked: the run is not sure enough of it")
        .says("only a judge was asked")
        .says("sent back");
    place.bowline(&["resume", "last"]).ends(4).says("asks for changes: say it in the morning");
    place.bowline(&["approve", "last", "--yes"]).ends(0).says("│ good morning");
    place.bowline(&["resume", "last"]).ends(0).says("committed");
}

#[test]
fn calibration_counts_what_people_said() {
    let place = Place::new();
    place.bowline(&["calibrate"]).ends(2).complains("there are no runs");
    place.task(&format!("class = \"greetings\"\n{RUBRIC}"), &replies(1));
    place.bowline(&["run", "task"]).ends(4);
    place.bowline(&["deny", "last", "--reason", "no"]).ends(0);
    place.bowline(&["resume", "last"]).ends(1);
    let shown = place.bowline(&["calibrate", "--class", "greetings"]).ends(0);
    shown
        .says("1 output people judged, of class greetings")
        .says("0.900 – 1.000")
        .says("30 outcomes are needed");
    place.bowline(&["calibrate", "--class", "other"]).ends(0).says("0 outputs");
    place.bowline(&["calibrate", "--json"]).ends(0).says("\"outcomes\":1");
}

#[test]
fn contradictions_are_refused_with_their_place() {
    let place = Place::new();
    let refused = |task: &str, why: &str| {
        place.task(task, "  main:\n    - say: x\n");
        place.bowline(&["run", "task"]).ends(2).complains(why);
    };
    refused("goal = \"x\"\n[quality]\ncorrect = 0.5\n", "looser = true");
    refused("goal = \"x\"\n[rubric]\n[quality]\nsafe = 0.9\nlooser = true\n", "the gate asks for 0.900");
    refused("goal = \"x\"\n[quality]\nauto = 0.96\nreview = 0.97\n", "make `review` at most `auto`");
    let dimension = "goal = \"x\"\n[[rubric.dimension]]\nname = \"fun\"\nabout = \"0: no\"\nweight = 0.5\n";
    refused(dimension, "make them 1 together");
    refused("goal = \"x\"\n[claims]\n", "name files in `evidence`");
    refused("goal = \"x\"\n[consistency]\nsamples = 4\n", "ask for 3, 5 or 7");
    refused("goal = \"x\"\n[[check]]\nname = \"a\"\nmatches = \"(\"\n", "pattern");
    refused("goal = \"x\"\n[[check]]\nname = \"a\"\nexists = true\n", "name it, as in file");
    refused(
        "goal = \"x\"\n[[check]]\nname = \"a\"\ncommand = [\"x\"]\nmatches = \"y\"\n",
        "means nothing beside",
    );
    refused("goal = \"x\"\n[edge_cases]\ncases = 2\n", "`command` is missing");
}

#[test]
fn a_value_that_does_not_fit_is_mended_alone_and_put_back() {
    let place = Place::new();
    let task = "goal = \"Extract\"\n[output]\nschema = { type = \"object\", required = [\"name\", \"price\"], \
        properties = { price = { type = \"number\" } } }\n";
    let replies = "  main:\n    - say: '{\"name\": \"lamp\", \"price\": \"two\"}'\n  repair-1:\n    - expect: \
        { contains: [\"the value at /price\", \"two\"] }\n      say: '2'\n";
    place.task(task, replies);
    let ran = place.bowline(&["run", "task"]).ends(0);
    ran.says("repair 1 begins, minimal edit of the value at /price").says("{\"name\":\"lamp\",\"price\":2}");
    place.task(task, &replies.replace("say: '2'", "say: 'about two'"));
    let ran = place.bowline(&["run", "task"]).ends(3);
    ran.says("repair 1 changed nothing: the replacement is not JSON");
}
