//! The plan of a task, shown and judged before it runs.

use serde_json::{Value, json};

use crate::{Place, example};

const GIVEN: &str = r#"
goal = "Ship it"
tools = ["read_file"]
[planning]
facts = ["tree clean"]
[[plan]]
id = "build"
goal = "Build it"
needs = ["tree clean"]
makes = ["binary"]
seconds = 40
[[plan]]
id = "tidy"
goal = "Tidy up"
breaks = ["binary"]
seconds = 5
[[plan]]
id = "ship"
goal = "Ship it"
needs = ["binary"]
uses = ["read_file"]
seconds = 10
"#;

const METHODS: &str = r#"
goal = "Ship it"
[planning]
start = "ship"
facts = ["mirror is up"]
[[method]]
task = "ship"
name = "as usual"
[[method.step]]
id = "get"
task = "fetch"
with = { what = "the sources" }
[[method.step]]
id = "send"
goal = "Send it"
[[method]]
task = "fetch"
name = "mirror"
when = ["mirror is up"]
[[method.step]]
id = "near"
goal = "Fetch {what} from the mirror"
[[method]]
task = "fetch"
name = "origin"
cost = 5
[[method.step]]
id = "far"
goal = "Fetch {what} from the origin"
"#;

#[test]
fn a_given_plan_is_shown_with_order_path_and_verdicts_and_nothing_runs() {
    let place = Place::new();
    place.task(GIVEN, "[]\n");
    place
        .bowline(&["plan", "task"])
        .ends(0)
        .says("plan of 3 sub-tasks, 0 choices")
        .says("critical path 55 s: build > ship > tidy")
        .says("link          build needs \"tree clean\" from the beginning")
        .says("order added   build before ship: makes \"binary\" for it")
        .says("order added   ship before tidy: ship needs \"binary\" whole")
        .says("holds    preconditions")
        .says("valid");
    assert!(place.bowline(&["runs", "--json"]).good().is_empty());
}

#[test]
fn methods_make_the_plan_with_what_to_fall_back_on() {
    let place = Place::new();
    place.task(METHODS, "[]\n");
    let told = place.bowline(&["plan", "task", "--format", "json"]).ends(0);
    let told: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(told["valid"], true);
    assert_eq!(told["plan"][0]["id"], "get");
    assert_eq!(told["plan"][0]["branches"][0]["name"], "mirror");
    assert_eq!(told["plan"][0]["branches"][0]["nodes"][0]["goal"], "Fetch the sources from the mirror");
    assert_eq!(told["plan"][0]["branches"][1]["name"], "origin");
    assert_eq!(told["plan"][1]["after"][0], "get");
    place
        .bowline(&["plan", "task", "--format", "mermaid"])
        .ends(0)
        .says("flowchart TD\n")
        .says("subgraph n1_0[\"mirror\"]");
    place.bowline(&["plan", "task", "--format", "dot"]).ends(0).says("digraph plan {").says("shape=diamond");
}

#[test]
fn a_plan_that_cannot_work_is_told_with_remedies_and_refused() {
    let place = Place::new();
    place.task(&GIVEN.replace("[\"tree clean\"]\n[[plan]]", "[]\n[[plan]]"), "[]\n");
    place
        .bowline(&["plan", "task"])
        .ends(2)
        .says("FAILS    preconditions")
        .says("build needs \"tree clean\", which nobody makes; add a sub-task that makes \"tree clean\"")
        .says("not valid");
    place.task(&format!("{GIVEN}[limits]\ntokens = 100\n"), "[]\n");
    place.bowline(&["plan", "task"]).ends(2).says("FAILS    tokens").says("raise limits.tokens");
}

#[test]
fn optional_work_that_does_not_fit_is_left_out_and_told() {
    let place = Place::new();
    let extra = "[[plan]]\nid = \"extra\"\ngoal = \"More\"\noptional = true\ntokens = 90000\n[limits]\ntokens = 50000\n";
    place.task(&format!("{GIVEN}{extra}"), "[]\n");
    place
        .bowline(&["plan", "task"])
        .ends(0)
        .says("left out      extra: short of tokens, saves 90000 tokens")
        .says("plan of 3 sub-tasks");
}

#[test]
fn what_waits_for_a_person_is_not_valid() {
    let place = Place::new();
    let settings = "goal = \"x\"\n[[tool]]\nname = \"pay\"\ncommand = [\"true\"]\ndescription = \"Pays.\"\n\
                    schema = { type = \"object\" }\nconsent = \"ask\"\n[[plan]]\nid = \"a\"\ngoal = \"Pay\"\n\
                    uses = [\"pay\", \"red_file\"]\n";
    place.task(settings, "[]\n");
    place
        .bowline(&["plan", "task"])
        .ends(2)
        .says("BLOCKED  permissions")
        .says("pay waits for a person before each call")
        .says("there is no tool red_file");
}

#[test]
fn methods_with_mistakes_are_refused_with_every_place() {
    let place = Place::new();
    place.task(&METHODS.replace("task = \"fetch\"\nwith", "task = \"fech\"\nwith"), "[]\n");
    let refused = place.bowline(&["plan", "task"]).ends(2);
    refused.complains("method[0].step[0]: no method is for \"fech\"").complains("did you mean \"fetch\"?");
    place.task(&METHODS.replace("start = \"ship\"", "start = \"shp\""), "[]\n");
    place.bowline(&["check", "task"]).ends(2).complains("planning.start").complains("did you mean \"ship\"?");
    place.task(&METHODS.replace("cost = 5", "cots = 5"), "[]\n");
    place.bowline(&["check", "task"]).ends(2).complains("method[2].cots").complains("did you mean `cost`?");
    place.task(&METHODS.replace("[planning]\nstart = \"ship\"\n", "[planning]\n"), "[]\n");
    place.bowline(&["check", "task"]).ends(2).complains("nothing says which task the methods are for");
}

#[test]
fn a_task_without_a_plan_has_one_subtask_and_one_of_the_models_is_not_known_yet() {
    let place = Place::new();
    place.task("goal = \"x\"\n", "[]\n");
    place.bowline(&["plan", "task"]).ends(0).says("plan of 1 sub-task").says("valid");
    place.task("goal = \"x\"\n[planning]\nby = \"model\"\n", "[]\n");
    place.bowline(&["plan", "task"]).ends(2).complains("the model makes the plan");
}

#[test]
fn the_example_with_two_ways_falls_back_chooses_and_commits() {
    let place = Place::new();
    place.bowline(&["plan", &example("two-ways")]).ends(0).says("plan of 5 sub-tasks, 2 choices");
    let ran = place.bowline(&["run", &example("two-ways")]).ends(0);
    ran.says("find falls back from branch 1 to branch 2").says("answer: its condition holds, takes branch 1");
    place.bowline(&["show"]).ends(0).says("archive/nightly.log is not there").says("committed");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "it measures itself; the bound is generous")]
fn a_large_plan_is_judged_while_somebody_waits() {
    let place = Place::new();
    let subtask = |number: usize| {
        let before = number.checked_sub(60).map(|before| format!("n{before}"));
        let done = before.as_ref().map(|before| format!("{before} is done"));
        let broken = (number % 40 == 39).then(|| format!("n{} is done", number - 35));
        json!({
            "id": format!("n{number}"), "goal": "do it", "tokens": 1, "seconds": 1,
            "after": before.into_iter().collect::<Vec<_>>(), "needs": done.into_iter().collect::<Vec<_>>(),
            "makes": [format!("n{number} is done")], "breaks": broken.into_iter().collect::<Vec<_>>(),
        })
    };
    let plan: Vec<Value> = (0..2_000).map(subtask).collect();
    let task = json!({ "goal": "x", "model": "scripted:model.yaml", "plan": plan });
    place.write("large.json", &task.to_string());
    let start = std::time::Instant::now();
    place.bowline(&["plan", "large.json"]).ends(0).says("plan of 2000 sub-tasks").says("valid");
    // A debug build on a busy machine; what grows with the square takes far longer.
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}
