//! Runs that work apart: what the folder sees of them, and when.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use crate::Place;

const SETTINGS: &str = "goal = \"Tidy up\"\nreview = \"never\"\ntools = [\"write_file\", \"edit_file\", \
                        \"delete_file\"]\n[workspace]\npath = \"project\"\nmode = \"isolated\"\n";

const REPLIES: &str = "  main:\n    - calls:\n        \
    - {tool: edit_file, args: {path: a, old: one, new: two}}\n        \
    - {tool: write_file, args: {path: deep/er/new, content: \"made\\n\"}}\n        \
    - {tool: delete_file, args: {path: c}}\n    \
    - say: tidied\n";

/// Settings with a check that looks at the folder the copy is of, and does what no file tool can.
fn checked(place: &Place, script: &str) -> String {
    let original = place.path("task/project");
    let script = script.replace("ORIGINAL", &original.display().to_string());
    format!("{SETTINGS}[[check]]\nname = \"look\"\ncommand = [\"/bin/sh\", \"-c\", '''{script}''']\n")
}

fn place(settings: &str) -> Place {
    let place = Place::new();
    place.task(settings, REPLIES).write("task/project/a", "one\n").write("task/project/c", "three\n");
    place
}

fn git(place: &Place, words: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@b.c"]).args(words);
    command
        .current_dir(place.path("task/project"))
        .env("HOME", place.path("."))
        .env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn is_applied(place: &Place) -> bool {
    let text = |name: &str| fs::read_to_string(place.path(name)).unwrap_or_default();
    text("task/project/a") == "two\n"
        && text("task/project/deep/er/new") == "made\n"
        && !place.path("task/project/c").exists()
}

fn is_as_before(place: &Place) -> bool {
    let text = |name: &str| fs::read_to_string(place.path(name)).unwrap_or_default();
    text("task/project/a") == "one\n"
        && text("task/project/c") == "three\n"
        && !place.path("task/project/deep").exists()
}

#[test]
fn an_isolated_run_changes_its_folder_once_after_its_checks_and_is_undone_whole() {
    let first = Place::new();
    let script = "cat ORIGINAL/a ORIGINAL/c && test ! -e ORIGINAL/deep && grep -q one ORIGINAL/a && grep -q two a \
                  && printf x > run.sh && chmod 755 run.sh && ln -s a link";
    first
        .task(&checked(&first, script), REPLIES)
        .write("task/project/a", "one\n")
        .write("task/project/c", "three\n");
    first.bowline(&["run", "task"]).ends(0).says("changes applied");
    assert!(is_applied(&first));
    assert_eq!(fs::metadata(first.path("task/project/run.sh")).unwrap().permissions().mode() & 0o100, 0o100);
    assert_eq!(fs::read_link(first.path("task/project/link")).unwrap().to_str(), Some("a"));
    let shown = first.bowline(&["diff"]).good();
    for line in
        ["--- a/a", "+++ b/a", "-one", "+two", "+++ /dev/null", "added run.sh  (executable)", "+link to a"]
    {
        assert!(shown.contains(line), "{line} in {shown}");
    }
    first.bowline(&["diff", "last", "--stat"]).ends(0).says("5 files changed").says("+1 -1");
    let objects = first.bowline(&["diff", "last", "--json"]).ends(0).objects();
    assert_eq!((objects.len(), objects[0]["change"].as_str()), (5, Some("edited")));
    first.bowline(&["apply", "last", "--yes"]).ends(2).complains("is applied already");
    first.bowline(&["audit", "verify", "last"]).ends(0);
    first.bowline(&["undo", "last", "--dry-run"]).ends(0).says("takes the changes of 5 files back");
    first.bowline(&["undo", "last", "--yes"]).ends(0);
    assert!(is_as_before(&first) && !first.path("task/project/link").is_symlink());
    first.bowline(&["apply", "last", "--yes"]).ends(0).says("changes applied");
    assert!(is_applied(&first));
    first.bowline(&["audit", "verify", "last"]).ends(0);
}

#[test]
fn a_run_that_fails_leaves_its_folder_as_it_was() {
    let place = Place::new();
    let settings = format!("{}[limits]\nrepairs = 0\n", checked(&place, "exit 1"));
    place.task(&settings, REPLIES).write("task/project/a", "one\n").write("task/project/c", "three\n");
    place.bowline(&["run", "task"]).ends(1);
    assert!(is_as_before(&place));
    place.bowline(&["apply", "last", "--yes"]).ends(2).complains("is not committed");
}

#[test]
fn a_file_that_changed_meanwhile_keeps_everything_out_until_it_is_sorted() {
    let place = Place::new();
    let script = "grep -q one ORIGINAL/a && echo mine > ORIGINAL/a";
    place
        .task(&checked(&place, script), REPLIES)
        .write("task/project/a", "one\n")
        .write("task/project/c", "three\n");
    let ran = place.bowline(&["run", "task"]).ends(0);
    ran.says("NOT APPLIED: changed meanwhile: a").says("apply");
    assert_eq!(
        (place.read("task/project/a"), place.read("task/project/c")),
        ("mine\n".into(), "three\n".into())
    );
    let refused = place.bowline(&["apply", "last", "--yes"]).ends(2);
    let refused =
        refused.says("a: CHANGED MEANWHILE").says("    was ").says("    the run wrote ").says("    is now ");
    refused.complains("nothing was applied");
    place.bowline(&["apply", "last", "--dry-run"]).ends(1);
    place.write("task/project/a", "one\n");
    place.bowline(&["apply", "last"]).ends(2).complains("this is no terminal");
    place.bowline(&["apply", "last", "--yes"]).ends(0).says("changes applied");
    assert!(is_applied(&place));
    place.write("task/project/a", "again\n");
    place.bowline(&["undo", "last", "--yes"]).ends(2).says("CHANGED MEANWHILE");
    assert_eq!(place.read("task/project/a"), "again\n");
}

#[test]
fn a_repository_that_is_not_clean_is_seen_as_it_is_and_runs_nothing() {
    let place = place(SETTINGS);
    place.write("task/project/.gitignore", "ignored\n").write("task/project/a", "old\n");
    git(&place, &["init", "-q"]);
    git(&place, &["add", "-A"]);
    git(&place, &["commit", "-qm", "x"]);
    place.write("task/project/a", "one\n").write("task/project/untracked", "u\n");
    place.write("task/project/ignored", "i\n").write("task/project/staged", "s\n");
    git(&place, &["add", "staged"]);
    let trap = format!("touch {}; false", place.path("trapped").display());
    for key in ["core.fsmonitor", "core.pager", "filter.x.clean", "filter.x.smudge"] {
        git(&place, &["config", key, &trap]);
    }
    place.write("task/project/.gitattributes", "* filter=x\n");
    place.bowline(&["run", "task"]).ends(0).says("changes applied");
    assert!(is_applied(&place));
    assert!(!place.path("trapped").exists(), "a repository is listed, and nothing of it is run");
    let copy = place.path(&format!("home/workspaces/{}", place.last()));
    assert!(copy.join("untracked").exists() && copy.join("staged").exists());
    assert!(!copy.join("ignored").exists() && !copy.join(".git").exists());
    assert_eq!(place.read("task/project/untracked"), "u\n");
    assert_eq!(place.read("task/project/ignored"), "i\n");
    place.bowline(&["gc", "--older-than", "0s"]).ends(0);
    assert!(!copy.exists());
    assert_eq!(fs::read_dir(place.path("home/bases")).unwrap().count(), 0);
}

#[test]
fn a_run_on_a_copy_is_applied_when_somebody_asks() {
    let place = place(&SETTINGS.replace("isolated", "copy"));
    symlink("a", place.path("task/project/link")).unwrap();
    place.bowline(&["run", "task"]).ends(0).says("the original is untouched");
    assert!(is_as_before(&place));
    place.bowline(&["diff"]).ends(0).says("+two");
    place.bowline(&["apply", "last", "--yes"]).ends(0);
    assert!(is_applied(&place));
    place.bowline(&["undo", "last", "--yes"]).ends(0);
    assert!(is_as_before(&place));
}

#[test]
fn a_run_that_worked_in_place_is_shown_from_its_images() {
    let place = place(&SETTINGS.replace("isolated", "in-place"));
    place.bowline(&["run", "task"]).ends(0);
    place
        .bowline(&["diff", "last", "--stat"])
        .ends(0)
        .says("edited  a  +1 -1")
        .says("deleted c")
        .says("3 files changed");
    place.bowline(&["apply", "last", "--yes"]).ends(2).complains("worked in place");
}

#[test]
fn a_run_that_is_killed_while_it_applies_goes_on_and_nothing_is_half_done() {
    for event in ["landing_started", "changes_found", "landed"] {
        let place = place(SETTINGS);
        let mut running = place.start(&["run", "task", "--json"]);
        running.until(event);
        running.kill();
        place.bowline(&["resume"]).ends(0);
        assert!(is_applied(&place), "killed at {event}");
        place.bowline(&["audit", "verify", "last"]).ends(0);
    }
}

/// Runs the task and kills the program itself at the so-many-th rename of one of its threads,
/// while it is about to show a file. Whether it came to that: `strace` counts for each
/// thread apart, and who renames what is not the same each time.
fn is_killed_at_rename(place: &Place, when: u32) -> bool {
    let inject = format!("inject=renameat,unlinkat:signal=KILL:when={when}");
    let mut traced = Command::new("strace");
    traced.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=renameat,unlinkat", "-e", &inject]);
    let plain = place.command(&["run", "task"]);
    traced.arg(plain.get_program()).args(plain.get_args()).current_dir(place.path("."));
    traced.env("BOWLINE_HOME", place.path("home")).stdin(std::process::Stdio::null());
    !traced.output().unwrap().status.success()
}

#[test]
fn a_kill_at_any_rename_leaves_what_the_next_attempt_completes() {
    let is_there = |name: &str| Command::new(name).arg("-V").output().is_ok_and(|ran| ran.status.success());
    if !is_there("strace") {
        println!("skipped: there is no strace here");
        return;
    }
    // Three files are written apart and brought home: twelve calls, of one thread or of several.
    for when in 1..=12 {
        let tries = if when <= 6 { 30 } else { 3 };
        let killed = (0..tries).map(|_| place(SETTINGS)).find(|place| is_killed_at_rename(place, when));
        assert!(killed.is_some() || when > 6, "no thread came to rename {when}");
        if let Some(place) = killed {
            place.bowline(&["resume"]).ends(0);
            assert!(is_applied(&place), "killed at rename {when}");
        }
    }
}
