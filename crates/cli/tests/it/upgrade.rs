//! A home of an earlier version under today's program: what is read as it is, what migrates, and
//! what is refused.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rusqlite::Connection;

use crate::{HELLO, PLAIN, Place, Ran, SILENCE, ran};

/// A store as version 1 wrote it.
const V1: &str = include_str!("../../../../fixtures/stores/v1.sql");

/// A place whose home is of version 1.
fn old() -> Place {
    let place = Place::new();
    fs::create_dir(place.path("home")).unwrap();
    make_old(&place.path("home"));
    place.task(PLAIN, HELLO);
    place
}

fn make_old(home: &Path) {
    Connection::open(home.join("store.db")).unwrap().execute_batch(V1).unwrap();
}

fn version(place: &Place) -> i64 {
    let conn = Connection::open(place.path("home/store.db")).unwrap();
    conn.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

fn copies(place: &Place) -> Vec<String> {
    let names = fs::read_dir(place.path("home")).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.contains("backup"));
    names.sort();
    names
}

#[test]
fn commands_that_read_leave_an_old_store_as_it_is() {
    let place = old();
    let run = place.last();
    for words in [
        &["runs"][..],
        &["runs", "--class", "greetings"],
        &["runs", "--deleted"],
        &["show", &run],
        &["replay", &run],
        &["export", &run, "--json"],
        &["audit", "verify"],
        &["diff", "p7xyb34b4dj4"],
        &["calibrate", "--class", "greetings"],
        &["plan", "task"],
        &["watch", "p7xyb34b4dj4"],
        &["undo", "p7xyb34b4dj4", "--dry-run"],
        &["gc", "--dry-run", "--older-than", "0s"],
        &["doctor"],
    ] {
        let said = place.bowline(words);
        assert!(!said.err.contains("version"), "{words:?}: {}", said.err);
        assert_eq!((version(&place), copies(&place).len()), (1, 0), "{words:?} changed the store");
    }
    place.bowline(&["runs", "--class", "greetings"]).ends(0).says("Ask first").says("Say hello");
    place.bowline(&["audit", "verify"]).ends(0).says("consistent");
    place.bowline(&["doctor"]).ends(0).says("version 1, today's is 3").says("`bowline migrate` does it now");
}

#[test]
fn an_answer_is_left_in_an_old_store_and_taken_in_after_the_migration() {
    let place = old();
    place.bowline(&["deny", "3mwcmq2jz2yt", "--reason", "no"]).ends(0);
    assert_eq!(version(&place), 1);
    place.bowline(&["resume", "3mwcmq2jz2yt", "-q"]);
    assert_eq!(version(&place), 3);
    place.bowline(&["show", "3mwcmq2jz2yt"]).ends(0).says("denied");
    place.bowline(&["audit", "verify"]).ends(0);
}

#[test]
fn the_first_run_brings_an_old_store_up_says_so_and_names_the_copy() {
    let place = old();
    let ran = place.bowline(&["run", "task", "--json"]).ends(0);
    assert!(ran.err.contains("copied to") && ran.err.contains("store.v1.backup-1.db"), "{}", ran.err);
    assert!(ran.err.contains("tombstones") && ran.err.contains("is of version 3 now"), "{}", ran.err);
    // What machines read is the run and nothing else.
    assert!(ran.objects().iter().all(|line| line.get("run").is_some()));
    assert_eq!(copies(&place), ["store.v1.backup-1.db"]);
    let mode = fs::metadata(place.path("home/store.v1.backup-1.db")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(place.bowline(&["runs"]).good().lines().count(), 1 + 4);
    place.bowline(&["doctor"]).ends(0).says("1 from before migrations");
    let again = place.bowline(&["run", "task", "--json"]).ends(0);
    assert!(!again.err.contains("version"), "{}", again.err);
}

#[test]
fn a_migration_can_be_asked_for_without_a_copy_and_once_is_enough() {
    let place = old();
    place.bowline(&["migrate", "--no-backup"]).ends(0).says("the store is of version 3");
    assert!(copies(&place).is_empty());
    place.bowline(&["migrate"]).ends(0).says("nothing to do");
    place.bowline(&["gc", "--older-than", "0s"]).ends(0).says("1 run removed");
    place.bowline(&["runs", "--deleted"]).ends(0).says("p7xyb34b4dj4").says("tester");
}

#[test]
fn what_needs_todays_version_is_refused_beside_a_worker_of_an_earlier_one() {
    let place = old();
    let lock = fs::File::create(place.path("home/worker.lock")).unwrap();
    lock.try_lock().unwrap();
    for words in [&["gc", "--older-than", "0s"][..], &["migrate"], &["run", "task"], &["resume"]] {
        place.bowline(words).ends(2).complains("in use by another worker");
        assert_eq!(version(&place), 1, "{words:?}");
    }
    // Reading, and leaving messages, work beside it.
    place.bowline(&["runs"]).ends(0).says("Ask first");
    place.bowline(&["deny", "3mwcmq2jz2yt", "--reason", "no"]).ends(0);
    drop(lock);
    place.bowline(&["gc", "--older-than", "0s"]).ends(0).says("1 run removed");
}

#[test]
fn a_worker_under_whom_the_store_gets_another_version_stops_and_says_so() {
    let place = Place::new();
    place.task("goal = \"Wait\"\nreview = \"never\"\n", SILENCE);
    let mut at_work = place.start(&["run", "task", "--json"]);
    at_work.until("step_started");
    let conn = Connection::open(place.path("home/store.db")).unwrap();
    conn.execute_batch("PRAGMA user_version = 4").unwrap();
    // What it is told now is no start of more work: the next thing it writes is refused.
    at_work.signal(rustix::process::Signal::INT);
    let ended = at_work.end();
    let ended = ended.ends(2);
    assert!(ended.err.contains("brought from version 3 to 4 by another process"), "{}", ended.err);
    assert!(ended.err.contains("start again"), "{}", ended.err);
    conn.execute_batch("PRAGMA user_version = 3").unwrap();
    drop(conn);
    place.bowline(&["audit", "verify"]).ends(0);
}

#[test]
fn a_store_from_the_future_is_refused_with_both_versions_and_left_alone() {
    let place = old();
    Connection::open(place.path("home/store.db")).unwrap().execute_batch("PRAGMA user_version = 9").unwrap();
    let before = fs::read(place.path("home/store.db")).unwrap();
    for words in [&["runs"][..], &["run", "task"], &["migrate"], &["gc"], &["deny", "last", "--reason", "x"]]
    {
        place
            .bowline(words)
            .ends(2)
            .complains("is a store of version 9; this build knows versions 1 to 3")
            .complains("newer Bowline");
    }
    place.bowline(&["doctor"]).ends(1).says("version 9");
    assert_eq!(fs::read(place.path("home/store.db")).unwrap(), before);
}

#[test]
fn a_store_that_is_cut_or_is_none_of_ours_is_refused_with_what_to_do() {
    let place = old();
    let path = place.path("home/store.db");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..3 * 4096]).unwrap();
    for words in [&["run", "task"][..], &["migrate"], &["runs"]] {
        place.bowline(words).ends(2).complains("damaged").complains("backup");
    }
    assert_eq!(fs::read(&path).unwrap().len(), 3 * 4096, "it is left as it was found");
    fs::write(&path, &whole).unwrap();
    Connection::open(&path).unwrap().execute_batch("PRAGMA application_id = 7").unwrap();
    for words in [&["run", "task"][..], &["migrate"], &["runs"]] {
        place.bowline(words).ends(2).complains("is not a Bowline store").complains("another place");
    }
    assert!(copies(&place).is_empty());
}

#[test]
fn a_home_that_belongs_to_somebody_else_is_not_migrated() {
    let place = old();
    if std::os::unix::fs::chown(place.path("home/store.db"), Some(4321), None).is_err() {
        println!("SKIPPED: only root can give files away");
        return;
    }
    std::os::unix::fs::chown(place.path("home"), Some(4321), None).unwrap();
    for words in [&["run", "task"][..], &["migrate"], &["runs"]] {
        place.bowline(words).ends(2).complains("belongs to").complains("a place of your own");
    }
    assert_eq!(version(&place), 1);
}

/// A command in a name space where we may mount, with a script that gets the program first.
fn in_own_name_space(place: &Place, script: &str, size_kb: u64) -> Option<Ran> {
    let own = |words: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount"]).args(words).stdin(Stdio::null());
        command.env("USER", "tester").env_remove("XDG_DATA_HOME").current_dir(place.folder.path());
        command
    };
    if !own(&["true"]).output().is_ok_and(|made| made.status.success()) {
        println!("SKIPPED: this system gives us no name space to mount in");
        return None;
    }
    let mut command = own(&["sh", "-c", script, "sh", env!("CARGO_BIN_EXE_bowline")]);
    command.arg(place.path("home")).arg(size_kb.to_string());
    let ran = ran(command);
    (ran.code != 99).then_some(ran)
}

/// Puts the home on a small disk, and migrates there; then makes room.
const ON_A_SMALL_DISK: &str = r#"
bowline=$1 home=$2 size=$3
mkdir disk; mount -t tmpfs -o size=${size}k,mode=700 tmpfs disk || exit 99
cp "$home/store.db" disk/
"$bowline" --home disk migrate > full.out 2> full.err; echo $? > full.code
ls -A disk > full.left
cp disk/store.db full.db
mount -o remount,size=16m disk
"$bowline" --home disk migrate > again.out 2> again.err || exit 1
"$bowline" --home disk audit verify
"#;

#[test]
fn a_migration_without_room_is_refused_leaves_the_store_as_it_was_and_is_done_once_there_is_room() {
    let place = old();
    let store = fs::metadata(place.path("home/store.db")).unwrap().len() / 1024;
    for spare in [44, 80, store, store + 44] {
        for name in ["disk", "full.db"] {
            let _ = fs::remove_dir(place.path(name));
        }
        let Some(done) = in_own_name_space(&place, ON_A_SMALL_DISK, store + spare) else { return };
        done.ends(0).says("consistent");
        assert_eq!(place.read("full.code").trim(), "2", "{spare} KB: {}", place.read("full.err"));
        let said = place.read("full.err");
        assert!(said.contains("error: ") && said.contains("free some space"), "{spare} KB: {said}");
        assert!(!place.read("full.left").contains("part"), "{spare} KB: {}", place.read("full.left"));
        let conn = Connection::open(place.path("full.db")).unwrap();
        let version: i64 = conn.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
        assert_eq!(version, 1, "{spare} KB");
    }
}

/// Makes the home read-only, and tries everything.
const READ_ONLY: &str = r#"
bowline=$1 home=$2
mount --bind "$home" "$home" && mount -o remount,ro,bind "$home" || exit 99
"$bowline" --home "$home" migrate > ro.out 2> ro.err; echo $? > ro.code
"$bowline" --home "$home" run task >> ro.out 2>> ro.err; echo $? >> ro.code
for words in runs "show p7xyb34b4dj4" "audit verify" "export p7xyb34b4dj4 --json" "runs --class greetings"; do
    "$bowline" --home "$home" $words > /dev/null 2>> read.err; echo $? >> read.code
done
"#;

#[test]
fn a_store_on_a_read_only_disk_is_read_and_not_migrated_and_nothing_is_lost() {
    let place = old();
    let before = fs::read(place.path("home/store.db")).unwrap();
    // As long as somebody has it open, its log is there, without which nothing can be read here.
    let open = Connection::open(place.path("home/store.db")).unwrap();
    open.query_row("SELECT count(*) FROM runs", [], |_| Ok(())).unwrap();
    if in_own_name_space(&place, READ_ONLY, 0).is_none() {
        return;
    }
    assert_eq!(place.read("read.code"), "0\n0\n0\n0\n0\n", "{}", place.read("read.err"));
    drop(open);
    assert_eq!(place.read("ro.code"), "2\n2\n", "{}", place.read("ro.err"));
    assert!(place.read("ro.err").contains("  → "), "{}", place.read("ro.err"));
    assert_eq!(fs::read(place.path("home/store.db")).unwrap(), before);
    place.bowline(&["migrate"]).ends(0);
}
