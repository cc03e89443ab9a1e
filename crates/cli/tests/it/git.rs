//! Branches and commits that runs make in a repository, and how they are taken back.

use std::process::Command;

use crate::Place;

const SETTINGS: &str = r#"
goal = "Note it"
review = "never"
tools = ["write_file", "git_branch", "git_commit"]
[workspace]
path = "project"
mode = "in-place"
"#;

const REPLIES: &str = "  main:
    - calls: [{tool: write_file, args: {path: note.txt, content: noted}}]
    - calls: [{tool: git_branch, args: {name: before}}]
    - calls: [{tool: git_commit, args: {message: Note it}}]
    - say: noted
";

/// A task about a repository with one commit; nothing where there is no git.
fn place(more: &str) -> Option<Place> {
    if Command::new("git").arg("--version").output().is_err() {
        println!("skipped: git is not installed");
        return None;
    }
    let place = Place::new();
    place.task(&format!("{SETTINGS}{more}"), REPLIES).write("task/project/kept.txt", "kept\n");
    git(&place, &["init", "-q", "-b", "main"]);
    git(&place, &["config", "user.name", "Ann"]);
    git(&place, &["config", "user.email", "ann@example.org"]);
    git(&place, &["add", "."]);
    git(&place, &["commit", "-q", "-m", "first"]);
    Some(place)
}

#[track_caller]
fn git(place: &Place, words: &[&str]) -> String {
    let ran = Command::new("git").args(words).current_dir(place.path("task/project")).output().unwrap();
    assert!(ran.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap().trim_end().to_owned()
}

/// Branches with their commits, and what differs from them.
fn state(place: &Place) -> (String, String) {
    (git(place, &["for-each-ref", "--format=%(refname) %(subject)"]), git(place, &["status", "--porcelain"]))
}

fn before() -> (String, String) {
    ("refs/heads/main first".into(), String::new())
}

#[test]
fn a_run_that_fails_leaves_neither_its_commit_nor_its_branch_nor_its_file() {
    let Some(place) = place("[limits]\nrepairs = 0\n[[check]]\nname = \"never\"\ncommand = [\"false\"]\n")
    else {
        return;
    };
    place
        .bowline(&["run", "task"])
        .ends(1)
        .says("a3.0: git_commit")
        .says("a3.0: undone")
        .says("a2.0: undone");
    assert_eq!(state(&place), before());
    assert!(!place.path("task/project/note.txt").exists());
}

#[test]
fn a_committed_run_is_undone_by_a_person_and_what_others_built_on_it_stays() {
    let Some(place) = place("") else { return };
    place.bowline(&["run", "task"]).ends(0);
    let made = "refs/heads/before first\nrefs/heads/main Note it";
    assert_eq!(state(&place), (made.to_owned(), String::new()));
    place.bowline(&["undo", "last", "--dry-run"]).ends(0).says("a3.0  git_commit");
    git(&place, &["commit", "-q", "--allow-empty", "-m", "theirs"]);
    place.bowline(&["undo", "last", "--yes"]).ends(5).says("so it stays").says("git revert");
    assert_eq!(git(&place, &["log", "--format=%s"]), "theirs\nNote it\nfirst");
    git(&place, &["reset", "-q", "--soft", "HEAD~1"]);
    place.bowline(&["undo", "last", "--yes"]).ends(0);
    assert_eq!(state(&place), before());
}

#[test]
fn killed_at_any_event_a_run_makes_each_branch_and_commit_once() {
    for event in [7, 9, 12, 13, 14, 15, 17, 18, 19, 20, 21] {
        let Some(place) = place("") else { return };
        let mut running = place.start(&["run", "task", "--json"]);
        running.until_event(event);
        running.kill();
        place.bowline(&["resume", "last"]).ends(0);
        let made = "refs/heads/before first\nrefs/heads/main Note it";
        assert_eq!(state(&place), (made.to_owned(), String::new()), "killed at {event}");
        place.bowline(&["undo", "last", "--yes"]).ends(0);
        assert_eq!(state(&place), before(), "killed at {event}");
    }
}
