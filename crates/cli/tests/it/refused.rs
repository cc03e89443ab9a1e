//! Bad input: each refused with what, where, what to do, and a code.

use std::fs;

use crate::{HELLO, PLAIN, Place, SILENCE};

/// A task with these settings is refused with these words.
#[track_caller]
fn refused(settings: &str, words: &[&str]) {
    let place = Place::new();
    place.task(settings, HELLO);
    let ran = place.bowline(&["run", "task"]).ends(2);
    let ran = words.iter().fold(ran, |ran, words| ran.complains(words));
    assert!(ran.out.is_empty(), "{}", ran.out);
    assert_eq!(place.bowline(&["runs", "--json"]).good(), "", "nothing was submitted");
}

#[test]
fn a_task_that_is_none_is_refused_with_every_place() {
    refused("goal = \"x\"\ntoolz = []\n", &["task.toml is no task: 1 problem", "toolz", "tools"]);
    refused("instructions = \"x\"\n", &["goal: ", "say what is wanted"]);
    refused("goal = 7\n[limits]\nsteps = \"many\"\n", &["2 problems", "goal: ", "limits.steps: "]);
    refused(
        "goal = \"x\"\n[[plan]]\nid = \"a\"\ngoal = \"g\"\nafter = [\"b\"]\n",
        &["plan[0].after: sub-task a waits for b"],
    );
    refused("goal = \"x\"\n[output]\nschema = { type = \"objekt\" }\n", &["objekt"]);
    refused("goal = \"x\"\ntools = [\"read_fil\"]\n", &["did you mean read_file"]);
    refused("goal = \"x\"\nevidence = [\"missing.txt\"]\n", &["missing.txt"]);
    refused("goal = \"x\"\n[workspace]\npath = \"nowhere\"\n", &["nowhere"]);
    refused("goal = \n", &["not readable as TOML", "mend the TOML"]);
}

#[test]
fn a_file_that_is_not_there_is_not_taken_for_a_goal() {
    let place = Place::new();
    place.bowline(&["run", "no/such/task.toml"]).ends(2).complains("there is no file or folder");
    fs::create_dir(place.path("empty")).unwrap();
    place
        .bowline(&["run", "empty"])
        .ends(2)
        .complains("there is no task in empty")
        .complains("bowline init empty");
}

#[test]
fn a_script_that_cannot_be_read_or_is_none_is_refused_before_anything_starts() {
    let place = Place::new();
    place.task(PLAIN, HELLO);
    place.write("task/model.yaml", "script: 1\nconversations:\n  main:\n    - sayy: x\n");
    place.bowline(&["run", "task"]).ends(2).complains("did you mean `say`");
    fs::remove_file(place.path("task/model.yaml")).unwrap();
    place.bowline(&["run", "task"]).ends(2).complains("cannot read the script").complains("model.yaml");
    place.write("task/task.toml", "goal = \"x\"\nmodel = \"gpt:x\"\n");
    place.bowline(&["run", "task"]).ends(2).complains("there is no model \"gpt:x\"");
}

#[test]
fn machines_read_errors_as_json_too() {
    let place = Place::new();
    place.task("goal = 7\n", HELLO);
    let ran = place.bowline(&["run", "task", "--json"]).ends(2);
    let told = &ran.objects()[0];
    assert_eq!(told["exit"], 2);
    assert!(told["problems"][0]["what"].as_str().unwrap().starts_with("goal: "), "{told}");
}

#[test]
fn words_that_mean_nothing_are_refused() {
    let place = Place::new();
    place.bowline(&["frobnicate"]).ends(2);
    place.bowline(&["show"]).ends(2).complains("there are no runs");
    place.bowline(&["settle", "x", "a1.0"]).ends(2);
    place.bowline(&["--help"]).ends(0).says("Exit codes:").says("70  a bug");
    place.task(PLAIN, HELLO).bowline(&["run", "task", "-q"]).ends(0);
    place.bowline(&["show", "zzz"]).ends(2).complains("there is no run zzz");
    place.bowline(&["show", "../x"]).ends(2).complains("run id");
    place.bowline(&["replay", "--to", "99"]).ends(2).complains("there is no event 99");
    place.bowline(&["audit", "verify", "--expect", &"0".repeat(64)]).ends(2).complains("about one run");
}

#[test]
fn a_beginning_of_an_id_is_enough_if_it_is_the_only_one() {
    let place = Place::new();
    place.task(PLAIN, HELLO);
    for _ in 0..40 {
        place.bowline(&["run", "task", "-q"]).ends(0);
    }
    let id = place.last();
    place.bowline(&["show", &id[..8]]).ends(0).says(&id);
    // Forty ids of 32 possible first letters: two share one.
    let runs = place.bowline(&["runs", "--all", "--json"]).objects();
    let first = |run: &serde_json::Value| run["run"].as_str().unwrap()[..1].to_owned();
    let shared = runs.iter().map(first).find(|one| runs.iter().filter(|run| first(run) == *one).count() > 1);
    place.bowline(&["show", &shared.unwrap()]).ends(2).complains("several runs begin with");
}

#[test]
fn a_store_in_use_refuses_a_second_worker_and_nobody_else() {
    let place = Place::new();
    place.task(PLAIN, SILENCE);
    let mut running = place.start(&["run", "task", "--json"]);
    running.until("step_started");
    place.bowline(&["run", "task"]).ends(2).complains("is in use by another worker (process ");
    place.bowline(&["resume"]).ends(2).complains("is in use");
    place.bowline(&["runs"]).ends(0).says("acting");
    place.bowline(&["show"]).ends(0).says("acting, at work").says("the model (main, step 1)");
    place.bowline(&["doctor"]).ends(0).says("works here");
    place.bowline(&["audit", "verify"]).ends(0).says("consistent");
    place.bowline(&["cancel", "last"]).ends(0).says("is halted");
    running.end().ends(3);
}

#[test]
fn a_store_of_another_version_or_of_somebody_else_is_left_alone() {
    let place = Place::new();
    place.task(PLAIN, HELLO).bowline(&["run", "task", "-q"]).ends(0);
    let store = rusqlite::Connection::open(place.path("home/store.db")).unwrap();
    store.execute_batch("PRAGMA user_version = 99").unwrap();
    for words in [&["run", "task"][..], &["runs"], &["resume"], &["audit", "verify"]] {
        place.bowline(words).ends(2).complains("is a store of version 99");
    }
    place.bowline(&["doctor"]).ends(1).says("version 99");
    place.write(
        "foreign/store.db",
        "this is no database, whatever it is called; it is long enough to be read as one",
    );
    place.bowline(&["--home", "foreign", "runs"]).ends(2).complains("is not a Bowline store");
}

#[test]
fn a_home_that_cannot_be_made_is_refused() {
    let place = Place::new();
    place.task(PLAIN, HELLO).write("file", "");
    place.bowline(&["--home", "file/home", "run", "task"]).ends(2).complains("cannot make");
    place.bowline(&["--home", "file/home", "doctor"]).ends(1).says("cannot be written");
}

#[test]
fn a_run_that_cannot_go_on_does_not_keep_the_others_from_going_on() {
    let place = Place::new();
    place.task("goal = \"Say hello\"\n", HELLO);
    fs::rename(place.path("task"), place.path("first")).unwrap();
    place.task("goal = \"Say hello\"\n", HELLO);
    for task in ["first", "task"] {
        place.bowline(&["run", task, "-q"]).ends(4);
        place.bowline(&["approve", "last", "--yes"]).ends(0);
    }
    fs::remove_file(place.path("first/model.yaml")).unwrap();
    let ran = place.bowline(&["resume"]).ends(2);
    assert!(ran.err.contains("cannot go on") && ran.err.contains("model.yaml"), "{}", ran.err);
    assert!(ran.out.contains("committed"), "{}", ran.out);
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for() {
    let place = Place::new();
    place.task(PLAIN, HELLO);
    let pipe = |name: &str| {
        let _ = fs::remove_file(place.path(name));
        assert!(std::process::Command::new("mkfifo").arg(place.path(name)).status().unwrap().success());
    };
    pipe("task/model.yaml");
    place.bowline(&["run", "task"]).ends(2).complains("it is no regular file").complains("model.yaml");
    pipe("task/task.toml");
    place.bowline(&["run", "task/task.toml"]).ends(2).complains("it is no regular file");
    pipe("weights.gguf");
    place.bowline(&["model", "import", "weights.gguf"]).ends(2).complains("it is no regular file");
    let _ = fs::remove_file(place.path("task/task.toml"));
    place.write("task/task.toml", "goal = \"x\"\nmodel = \"a:b\"\nagent = \"agent.toml\"\n");
    pipe("task/agent.toml");
    place.bowline(&["run", "task"]).ends(2).complains("it is no regular file").complains("agent.toml");
}
