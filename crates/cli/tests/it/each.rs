//! One task for each of many files.

use std::process::Stdio;

use serde_json::Value;

use crate::Place;

const EACH: &str = "goal = \"Read {file}\"\nmodel = \"scripted:model.yaml\"\nreview = \"never\"\nsandbox = \"none\"\n\
    repair = \"from-scratch\"\neach = \"in/*.txt\"\n[workspace]\npath = \"project\"\n[[check]]\nname = \"right\"\n\
    command = [\"grep\", \"-qF\", \"record of {file}\"]\n[limits]\nrepairs = 2\n";

/// Three files; one is read right at once, one the second time, one never.
fn three_files(settings: &str) -> Place {
    let place = Place::new();
    place.write("task/task.toml", settings).write(
        "task/model.yaml",
        "script: 1\nconversations:\n  main:\n    - {say: record of in/a.txt}\n  repair-1:\n    - {say: record of in/b.txt}\n  \
         repair-2:\n    - {say: nothing}\n",
    );
    for name in ["a.txt", "b.txt", "c.txt", "notes.md"] {
        place.write(&format!("task/project/in/{name}"), "words");
    }
    place
}

#[test]
fn a_task_for_each_of_many_files_is_a_run_for_each_and_failures_are_told() {
    let place = three_files(EACH);
    let ran = place.bowline(&["run", "task"]).ends(1);
    let ran = ran.says("3 files, a run for each").says("in/a.txt  committed after 0 repairs");
    let ran = ran.says("in/b.txt  committed after 1 repair").says("in/c.txt  failed after 2 repairs");
    ran.says("2 of 3 committed").says("1 not done, and nothing is claimed about them: in/c.txt");
    assert_eq!(place.bowline(&["runs", "--json"]).objects().len(), 3);
}

#[test]
fn so_many_as_are_enough_make_it_a_success_and_a_key_keeps_it_from_being_done_twice() {
    let enough = EACH.replace("each = \"in/*.txt\"\n", "") + "[each]\nfiles = \"in/*.txt\"\nenough = 2\n";
    let place = three_files(&enough);
    let told = place.bowline(&["run", "task", "--key", "k", "--json"]).ends(0).objects();
    let files: Vec<&Value> = told.iter().filter(|line| line.get("file").is_some()).collect();
    assert_eq!(files.len(), 3);
    assert!(files.iter().all(|line| (line["ending"] == "committed") == (line["exit"] == 0)), "{files:?}");
    place.bowline(&["run", "task", "--key", "k"]).ends(0).says("2 of 3 committed");
    assert_eq!(place.bowline(&["runs", "--json"]).objects().len(), 3, "nothing was submitted again");
}

#[test]
fn files_that_are_not_there_are_refused_before_anything_starts() {
    let place = three_files(&EACH.replace("*.txt", "*.pdf"));
    place.bowline(&["run", "task"]).ends(2).complains("no file of").complains("fits `each`");
    place.write("task/task.toml", &EACH.replace("in/*.txt", "../*.txt"));
    place.bowline(&["run", "task"]).ends(2).complains("each: this is no pattern of files in the workspace");
    place.write("task/task.toml", &EACH.replace("in/*", "out/*"));
    place.bowline(&["run", "task"]).ends(2).complains("out");
}

#[test]
fn a_batch_that_is_killed_is_resumed_as_a_whole() {
    let place = three_files(EACH);
    let script = place
        .read("task/model.yaml")
        .replace("say: record of in/b.txt", "say: record of in/b.txt, stall_ms: 60000");
    place.write("task/model.yaml", &script);
    let mut child = place.command(&["run", "task"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let committed = lines.find(|line| line.as_ref().unwrap().contains("committed"));
    assert!(committed.is_some());
    child.kill().unwrap();
    child.wait().unwrap();
    place.write("task/model.yaml", &script.replace("60000", "0"));
    place.bowline(&["resume"]).ends(1);
    let endings: Vec<Value> = place.bowline(&["runs", "--json"]).objects();
    assert_eq!(endings.len(), 3);
    assert_eq!(endings.iter().filter(|run| run["ending"] == "committed").count(), 2, "{endings:?}");
}
