//! Whose a home is: only what this user has made, adopted or named is opened.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::{Place, Ran, ran};

/// A place with a repository in `project`, whose home is found, not named.
fn project() -> Place {
    let place = Place::new();
    let settings =
        "goal = \"Say hello\"\nreview = \"never\"\n[workspace]\npath = \"files\"\nmode = \"isolated\"\n";
    place.write("task/files/shared.txt", "x").task(settings, "  main:\n    - say: hello\n");
    fs::create_dir_all(place.path("project/.git")).unwrap();
    fs::create_dir_all(place.path("project/sub")).unwrap();
    place
}

fn command(place: &Place, folder: &str, words: &[&str]) -> Command {
    let mut command = place.command(words);
    command.current_dir(place.path(folder));
    command.env_remove("BOWLINE_HOME").env("XDG_DATA_HOME", place.path("data"));
    command
}

fn there(place: &Place, folder: &str, words: &[&str]) -> Ran {
    ran(command(place, folder, words))
}

/// Every file of a folder that others can do something with.
fn open_to_others(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let about = path.symlink_metadata().unwrap();
            if about.permissions().mode() & 0o077 != 0 {
                found.push(path.display().to_string());
            }
            // The files in a copy of a workspace keep the modes of the work.
            if about.is_dir() && path.file_name().unwrap() != "workspaces" {
                folders.push(path);
            }
        }
    }
    found
}

#[test]
fn a_first_run_in_a_project_makes_a_home_that_is_believed_from_below() {
    let place = project();
    there(&place, "project", &["run", "../task"]).ends(0);
    let listed = there(&place, "project/sub", &["runs"]).good();
    assert!(listed.contains("Say hello"), "{listed}");
}

#[test]
fn a_home_is_for_its_user_alone_whatever_the_umask() {
    let place = project();
    let mut shell = Command::new("sh");
    shell.args(["-c", "umask 000; exec \"$0\" run ../task"]).arg(env!("CARGO_BIN_EXE_bowline"));
    shell.current_dir(place.path("project")).env("XDG_DATA_HOME", place.path("data"));
    ran(shell).ends(0);
    let home = place.path("project/.bowline");
    assert_eq!(fs::metadata(&home).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(open_to_others(&home), Vec::<String>::new());
}

#[test]
fn a_home_that_was_copied_or_moved_or_made_by_somebody_is_not_opened_until_it_is_adopted() {
    let place = project();
    there(&place, "project", &["run", "../task"]).ends(0);
    fs::create_dir_all(place.path("clone/deep")).unwrap();
    fs::rename(place.path("project/.bowline"), place.path("clone/.bowline")).unwrap();
    for words in [&["resume"][..], &["runs"], &["show", "last"], &["run", "../../task"], &["gc", "--dry-run"]]
    {
        let refused = there(&place, "clone/deep", words);
        assert_eq!(refused.code, 2, "{words:?}: {refused:?}");
        assert!(refused.err.contains("neither made nor adopted"), "{words:?}: {}", refused.err);
        assert!(refused.err.contains("bowline adopt"), "{words:?}: {}", refused.err);
    }
    let unasked = there(&place, "clone", &["adopt", "."]);
    assert_eq!(unasked.code, 2, "{unasked:?}");
    assert!(unasked.out.contains("Say hello") && unasked.err.contains("--yes"), "{unasked:?}");
    there(&place, "clone", &["adopt", ".", "--yes"]).ends(0);
    assert!(there(&place, "clone/deep", &["runs"]).good().contains("Say hello"));
}

#[test]
fn a_home_that_is_named_needs_no_register() {
    let place = project();
    there(&place, "project", &["run", "../task"]).ends(0);
    fs::remove_dir_all(place.path("data")).unwrap();
    assert_eq!(there(&place, "project", &["runs"]).code, 2);
    assert!(there(&place, "project", &["--home", ".bowline", "runs"]).good().contains("Say hello"));
}

#[test]
fn a_home_others_can_write_to_is_refused_named_or_not() {
    let place = project();
    there(&place, "project", &["run", "../task"]).ends(0);
    fs::set_permissions(place.path("project"), Permissions::from_mode(0o777)).unwrap();
    for words in [&["runs"][..], &["--home", ".bowline", "runs"]] {
        let refused = there(&place, "project", words);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.err.contains("everybody can write to"), "{}", refused.err);
        assert!(refused.err.contains("chmod go-w"), "{}", refused.err);
    }
}

#[test]
fn an_unknown_home_above_does_not_reach_into_a_repository() {
    let place = project();
    fs::create_dir(place.path(".bowline")).unwrap();
    there(&place, "project", &["run", "../task"]).ends(0);
    assert!(place.path("project/.bowline/store.db").exists());
    // Outside of a repository there is nothing nearer, so it is said.
    assert_eq!(there(&place, "task", &["runs"]).code, 2);
    assert_eq!(there(&place, "task", &["run", "."]).code, 2);
}

#[test]
fn a_link_to_a_home_is_not_followed_when_it_is_found() {
    let place = project();
    there(&place, "project", &["run", "../task"]).ends(0);
    fs::create_dir(place.path("other")).unwrap();
    std::os::unix::fs::symlink(place.path("project/.bowline"), place.path("other/.bowline")).unwrap();
    let refused = there(&place, "other", &["runs"]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("it is a link"), "{}", refused.err);
}

#[test]
fn the_doctor_closes_what_others_could_read() {
    let place = project();
    there(&place, "project", &["run", "../task"]).ends(0);
    let home = place.path("project/.bowline");
    for (path, mode) in [(home.clone(), 0o755), (home.join("store.db"), 0o644)] {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    let told = there(&place, "project", &["doctor"]);
    assert!(told.out.contains("others could read 2 files here; they no longer can"), "{}", told.out);
    assert_eq!(open_to_others(&home), Vec::<String>::new());
}

#[test]
fn a_store_that_acts_by_itself_is_no_store() {
    let place = project();
    there(&place, "project", &["run", "../task"]).ends(0);
    let conn = rusqlite::Connection::open(place.path("project/.bowline/store.db")).unwrap();
    conn.execute_batch("CREATE TRIGGER t AFTER UPDATE ON runs BEGIN UPDATE records SET body = 'forged'; END")
        .unwrap();
    drop(conn);
    let refused = there(&place, "project", &["runs"]);
    assert_eq!(refused.code, 2, "{refused:?}");
}
