//! The scenarios as files: tasks the core accepts, and what is found wrong with them.

use super::*;

fn world() -> World {
    World { sim: "bowline-sim".into(), ledger: "ledger".into() }
}

#[test]
fn every_scenario_is_a_task_the_core_accepts_with_a_reply_for_every_sub_task() {
    for scenario in Scenario::ALL.into_iter().chain([Scenario::Brief]) {
        let folder = tempfile::tempdir().unwrap();
        let stage = Stage::set(scenario, folder.path(), &world()).unwrap();
        let raw: Value = serde_json::from_slice(&fs::read(stage.task()).unwrap()).unwrap();
        let task = bowline_core::task::parse(&raw).unwrap();
        let script = script::of(scenario).remove(0).1;
        let known = script["conversations"].as_object().unwrap();
        let subtasks = task.plan.as_ref().map(|plan| plan.subtasks()).unwrap_or_default();
        assert!(subtasks.iter().all(|subtask| known.contains_key(subtask.id.as_str())), "{scenario:?}");
    }
}

#[test]
fn files_that_are_changed_missing_or_left_behind_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let stage = Stage::set(Scenario::Rollback, folder.path(), &world()).unwrap();
    let wrong = || stage.wrong_files(folder.path(), true).unwrap();
    assert_eq!(wrong(), Vec::<String>::new());
    fs::write(stage.workspace().join("old.txt"), "as it wa\n").unwrap();
    fs::write(stage.workspace().join("deep/extra.txt"), "").unwrap();
    fs::create_dir_all(stage.workspace().join("deep/fresh/empty")).unwrap();
    fs::remove_file(stage.workspace().join("deep/keep.txt")).unwrap();
    let found = wrong();
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(found[0].ends_with("keep.txt is missing") && found[2].ends_with("extra.txt should not be there"));
    assert!(found[3].ends_with("deep/fresh/empty/ should not be there"), "{found:?}");
}

#[test]
fn a_run_on_a_copy_must_leave_the_original_alone() {
    let folder = tempfile::tempdir().unwrap();
    let stage = Stage::set(Scenario::Plan, folder.path(), &world()).unwrap();
    let copy = folder.path().join("copy");
    fs::create_dir(&copy).unwrap();
    fs::write(copy.join("notes.txt"), "one\ntwo\n").unwrap();
    fs::write(copy.join("report.txt"), "the final report\n").unwrap();
    assert_eq!(stage.wrong_files(&copy, true).unwrap(), Vec::<String>::new());
    fs::write(stage.workspace().join("report.txt"), "the final report\n").unwrap();
    assert_eq!(stage.wrong_files(&copy, true).unwrap().len(), 1);
}
