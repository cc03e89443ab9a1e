//! A halted run that goes on with less to do, as people see it.

use crate::Place;

const IN_A_ROW: &str = r#"
goal = "A report with an appendix"
review = "never"
tools = ["list_files"]
[limits]
steps = 3
parallel = 1
[[plan]]
id = "report"
goal = "Write the report"
[[plan]]
id = "appendix"
goal = "Gather the appendix"
after = ["report"]
[[plan]]
id = "index"
goal = "Make an index of both"
after = ["appendix"]
"#;

const REPLIES: &str = "  report:\n    - say: The report.\n  appendix:\n    - calls: [{tool: list_files, args: {}}]\n    \
    - say: Half of it.\n";

fn halted() -> Place {
    let place = Place::new();
    place.task(IN_A_ROW, REPLIES);
    place.bowline(&["run", "task"]).ends(3).says("--raise steps=").says("--without index");
    place
}

#[test]
fn a_run_out_of_steps_goes_on_without_what_is_left_and_is_committed_in_part_when_a_person_agrees() {
    let place = halted();
    place
        .bowline(&["resume", "last", "--without", "appendix"])
        .ends(4)
        .says("resumed by tester, without appendix, index")
        .says("│ The report.");
    place.bowline(&["show"]).ends(0).says("resumed by tester, without appendix, index");
    place.bowline(&["approve", "last", "output", "--yes"]).ends(0);
    place.bowline(&["resume", "last"]).ends(0).says("committed IN PART, without appendix, index");
    let shown = place.bowline(&["show", "--json"]).objects().remove(0);
    assert_eq!(shown["missing"], serde_json::json!(["appendix", "index"]));
    place.bowline(&["audit", "verify"]).ends(0);
    let provenance = place.read(&format!("home/results/{}/provenance.json", place.last()));
    assert!(provenance.contains("\"missing\":[\"appendix\",\"index\"]"), "{provenance}");
}

#[test]
fn what_cannot_be_left_out_is_refused_and_the_run_stays_as_it_is() {
    let place = halted();
    let without = |names: &str| place.bowline(&["resume", "last", "--without", names]).ends(2);
    without("apendix").complains("the plan has no sub-task apendix, did you mean appendix?");
    without("report").complains("report is done already");
    let ran = without("no such name");
    assert!(ran.err.contains("must be 1 to 64 of"), "{}", ran.err);
    place.bowline(&["show"]).ends(0).says("halted");
    place.bowline(&["resume", "last", "--raise", "steps=9"]).ends(3);
    place.bowline(&["resume", "last", "--without", "index", "--raise", "steps=20"]).ends(3);
}
