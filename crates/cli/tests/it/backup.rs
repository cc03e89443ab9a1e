//! Homes that are backed up and brought back, and what a second copy of a run may not do.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use rusqlite::Connection;

use crate::{HELLO, PLAIN, Place, Ran, SILENCE, ran};

/// A task that pays once, by adding a line to a file outside of everything.
const PAYS: &str = r#"goal = "Pay"
review = "never"
sandbox = "none"
[workspace]
path = "project"
mode = "copy"
[[tool]]
name = "pay"
description = "Pays."
command = ["sh", "./pay.sh"]
schema = { type = "object" }
repeat = "never"
consent = "ask"
"#;
const REPLIES: &str = "  main:\n    - calls: [{tool: pay, args: {}}]\n    - say: Paid.\n";

/// A run that waits until a person agrees to its payment.
fn about_to_pay() -> Place {
    let place = Place::new();
    place.task(PAYS, REPLIES).write("task/project/notes.txt", "one\n");
    let ledger = place.path("ledger").display().to_string();
    place.write("task/pay.sh", &format!("cat > /dev/null; echo \"$BOWLINE_KEY\" >> {ledger}\n"));
    place.bowline(&["run", "task", "-q"]).ends(4);
    place
}

fn payments(place: &Place) -> usize {
    fs::read_to_string(place.path("ledger")).unwrap_or_default().lines().count()
}

/// The same program at the home that was brought back.
fn there(place: &Place, words: &[&str]) -> Ran {
    let mut command = place.command(words);
    command.env("BOWLINE_HOME", place.path("back"));
    ran(command)
}

fn names(place: &Place, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(place.path(folder)).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_is_brought_back_is_what_was_backed_up_and_every_run_is_proved() {
    let place = Place::new();
    place.task(PLAIN, HELLO).bowline(&["run", "task", "-q"]).ends(0);
    let done = place.last();
    let isolated =
        "goal = \"Say hello\"\nreview = \"never\"\n[workspace]\npath = \"project\"\nmode = \"copy\"\n";
    place.task(isolated, HELLO).write("task/project/run.sh", "x");
    fs::set_permissions(place.path("task/project/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("run.sh", place.path("task/project/link")).unwrap();
    place.bowline(&["run", "task", "-q"]).ends(0);
    let copied = place.last();
    let before = place.bowline(&["audit", "verify"]).good();
    place.bowline(&["backup", "saved"]).ends(0).says("bowline restore");
    assert_eq!(fs::metadata(place.path("saved")).unwrap().permissions().mode() & 0o777, 0o600);
    fs::remove_dir_all(place.path("home")).unwrap();
    place.bowline(&["restore", "saved", "back"]).ends(0).says("every run was examined");
    assert_eq!(there(&place, &["audit", "verify"]).good(), before);
    assert_eq!(place.read(&format!("back/results/{done}/output.txt")), "Hello.");
    let script = place.path(&format!("back/workspaces/{copied}/run.sh"));
    assert_eq!(fs::metadata(script).unwrap().permissions().mode() & 0o777, 0o755);
    let link = fs::read_link(place.path(&format!("back/workspaces/{copied}/link"))).unwrap();
    assert_eq!(link.to_str(), Some("run.sh"));
    assert_eq!(fs::metadata(place.path("back")).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(names(&place, "."), ["back", "saved", "task"], "nothing is left over");
    there(&place, &["doctor"]).ends(0);
    // It is a home like any other.
    there(&place, &["run", "task", "-q"]).ends(0);
}

#[test]
fn a_payment_made_after_the_backup_is_not_made_again_by_the_copy() {
    let place = about_to_pay();
    let run = place.last();
    place.bowline(&["backup", "saved"]).ends(0);
    // The first home goes on, and pays.
    place.bowline(&["approve", &run, "--yes"]).ends(0);
    place.bowline(&["resume", &run, "-q"]).ends(0);
    assert_eq!(payments(&place), 1);

    let told = place.bowline(&["restore", "saved", "back"]).ends(0);
    told.says("1 run had not ended").says("in doubt before they are made").says("--restored");
    there(&place, &["runs"]).ends(0).says("restored");
    // Not by itself, not by an answer, not by being asked to go on.
    there(&place, &["resume"]).ends(0);
    there(&place, &["approve", &run, "--yes"]);
    there(&place, &["resume"]).ends(0);
    let refused = there(&place, &["resume", &run]).ends(2);
    refused.complains("may have gone on elsewhere since").complains("--restored");
    assert_eq!(payments(&place), 1);

    let taken = there(&place, &["resume", &run, "--restored"]);
    assert!(taken.err.contains("pay may have been made since"), "{}", taken.err);
    let waits = taken.code == 4;
    assert!(waits, "{taken:?}");
    // The person agrees to the call, and is asked whether it was made before it is.
    there(&place, &["approve", &run, "--yes"]);
    there(&place, &["resume", &run, "-q"]).ends(4);
    assert_eq!(payments(&place), 1, "it was paid twice");
    there(&place, &["show", &run, "--events"]).ends(0).says("elsewhere since the backup");
    there(&place, &["settle", &run, "a1.0", "--happened", "--result", "paid"]).ends(0);
    there(&place, &["resume", &run, "-q"]).ends(0);
    assert_eq!(payments(&place), 1);
    there(&place, &["audit", "verify"]).ends(0);
}

#[test]
fn a_payment_that_was_not_made_elsewhere_is_made_once_a_person_says_so() {
    let place = about_to_pay();
    let run = place.last();
    place.bowline(&["backup", "saved"]).ends(0);
    place.bowline(&["restore", "saved", "back"]).ends(0);
    there(&place, &["resume", &run, "--restored", "-q"]).ends(4);
    there(&place, &["approve", &run, "--yes"]);
    there(&place, &["resume", &run, "-q"]).ends(4);
    assert_eq!(payments(&place), 0);
    there(&place, &["settle", &run, "a1.0", "--repeat"]).ends(0);
    there(&place, &["resume", &run, "-q"]).ends(0);
    assert_eq!(payments(&place), 1);
}

#[test]
fn a_halted_run_that_was_brought_back_is_not_reopened_unasked() {
    let place = Place::new();
    let settings = "goal = \"x\"\nreview = \"never\"\ntools = [\"list_files\"]\n[limits]\nsteps = 1\n";
    place.task(settings, "  main:\n    - calls: [{tool: list_files}]\n    - say: done\n");
    place.bowline(&["run", "task", "-q"]).ends(3);
    place.bowline(&["backup", "saved"]).ends(0);
    place.bowline(&["restore", "saved", "back"]).ends(0);
    there(&place, &["resume", "last", "--raise", "steps=3"]).ends(2).complains("--restored");
    there(&place, &["resume", "last", "--raise", "steps=3", "--restored", "-q"]).ends(0);
}

#[test]
fn a_home_is_backed_up_while_a_run_is_at_work_in_it() {
    let place = Place::new();
    place.task(PLAIN, SILENCE);
    let mut at_work = place.start(&["run", "task", "--json"]);
    at_work.until("step_started");
    place.bowline(&["backup", "saved"]).ends(0);
    at_work.kill();
    place.bowline(&["restore", "saved", "back"]).ends(0).says("1 run had not ended");
    there(&place, &["audit", "verify"]).ends(0).says("consistent");
}

#[test]
fn a_home_of_an_earlier_version_is_backed_up_as_it_is_and_brought_back_to_todays() {
    let place = Place::new();
    fs::create_dir(place.path("home")).unwrap();
    let conn = Connection::open(place.path("home/store.db")).unwrap();
    conn.execute_batch(include_str!("../../../../fixtures/stores/v1.sql")).unwrap();
    place.bowline(&["backup", "saved"]).ends(0);
    let version: i64 = conn.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    assert_eq!(version, 1);
    place.bowline(&["restore", "saved", "back"]).ends(0).says("2 runs had not ended");
    there(&place, &["runs", "--class", "greetings"]).ends(0).says("Say hello");
}

#[test]
fn nothing_is_written_over() {
    let place = Place::new();
    place.task(PLAIN, HELLO).bowline(&["run", "task", "-q"]).ends(0);
    place.write("there", "mine");
    place.bowline(&["backup", "there"]).ends(2).complains("is there already");
    assert_eq!(place.read("there"), "mine");
    place.bowline(&["backup", "home/store.db"]).ends(2).complains("is there already");
    place.bowline(&["backup", "home/saved"]).ends(2).complains("lies in the home");
    place.bowline(&["backup", "home/results/saved"]).ends(2).complains("lies in the home");
    place.bowline(&["backup", "nowhere/saved"]).ends(2).complains("nowhere");
    place.bowline(&["backup", "saved"]).ends(0);
    place.bowline(&["restore", "saved", "home"]).ends(2).complains("is a home already");
    fs::create_dir(place.path("full")).unwrap();
    place.write("full/mine", "x");
    place.bowline(&["restore", "saved", "full"]).ends(2).complains("is not empty");
    place.bowline(&["restore", "saved", "there"]).ends(2).complains("is there");
    fs::create_dir(place.path("empty")).unwrap();
    place.bowline(&["restore", "saved", "empty"]).ends(0);
    assert_eq!(names(&place, "."), ["empty", "full", "home", "saved", "task", "there"]);
}

#[test]
fn a_backup_that_was_cut_or_changed_is_refused_and_leaves_nothing_behind() {
    let place = Place::new();
    place.task(PLAIN, HELLO).bowline(&["run", "task", "-q"]).ends(0);
    place.bowline(&["backup", "saved"]).ends(0);
    let whole = fs::read(place.path("saved")).unwrap();
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    for (bytes, said) in [
        (&whole[..whole.len() / 2], "it is cut off"),
        (&whole[..whole.len() - 1], "it is cut off"),
        (&changed[..], "it was changed since it was made"),
        (&b"something else"[..], "it is no backup"),
    ] {
        fs::write(place.path("bad"), bytes).unwrap();
        place.bowline(&["restore", "bad", "back"]).ends(2).complains(said);
        assert_eq!(names(&place, "."), ["bad", "home", "saved", "task"], "{said}");
    }
    place.bowline(&["restore", "missing", "back"]).ends(2).complains("missing");
}

#[test]
fn a_backup_of_a_damaged_store_is_not_taken_for_a_home() {
    let place = Place::new();
    place.task(PLAIN, HELLO).bowline(&["run", "task", "-q"]).ends(0);
    let conn = Connection::open(place.path("home/store.db")).unwrap();
    conn.execute("UPDATE records SET body = replace(body, 'Say hello', 'Say hellp') WHERE seq = 1", [])
        .unwrap();
    place.bowline(&["backup", "saved"]).ends(0);
    let refused = place.bowline(&["restore", "saved", "back"]).ends(2);
    assert!(refused.err.contains("does not match its hash"), "{}", refused.err);
    refused.complains("is not consistent").complains("earlier backup");
    assert_eq!(names(&place, "."), ["home", "saved", "task"]);
}

/// Puts the home on a disk of its own, fills it, and backs up to it; then brings back onto a full one.
const BACKED_UP_ON_A_FULL_DISK: &str = r#"
bowline=$1 home=$2
mkdir disk; mount -t tmpfs -o size=64k,mode=700 tmpfs disk || exit 99
"$bowline" --home "$home" backup disk/saved > full.out 2> full.err; echo $? > full.code
"$bowline" --home "$home" backup saved > ok.out 2> ok.err; echo $? >> full.code
"$bowline" restore saved disk/back > back.out 2> back.err; echo $? >> full.code
ls -A disk > left
"#;

#[test]
fn a_full_disk_refuses_a_backup_and_a_restore_and_nothing_is_left_on_it() {
    let place = Place::new();
    place.task(PLAIN, HELLO).bowline(&["run", "task", "-q"]).ends(0);
    let own = |words: &[&str]| {
        let mut command = std::process::Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount"]).args(words);
        command.stdin(std::process::Stdio::null()).env("USER", "tester").current_dir(place.folder.path());
        command
    };
    if !own(&["true"]).output().is_ok_and(|made| made.status.success()) {
        println!("SKIPPED: this system gives us no name space to mount in");
        return;
    }
    let mut script = own(&["sh", "-c", BACKED_UP_ON_A_FULL_DISK, "sh", env!("CARGO_BIN_EXE_bowline")]);
    script.arg(place.path("home"));
    if ran(script).code == 99 {
        println!("SKIPPED: a small disk cannot be mounted here");
        return;
    }
    let said = [place.read("full.err"), place.read("back.err")];
    assert_eq!(place.read("full.code"), "2\n0\n2\n", "{said:?}");
    assert!(said.iter().all(|said| said.contains("error: ") && said.contains("free some space")), "{said:?}");
    assert_eq!(place.read("left"), "");
}
