//! No room: the program says so, ends with the code that is written down, loses
//! nothing it has shown, and goes on when there is room again.
//!
//! A disk that is really full is a small file system in a name space of our own,
//! which needs no rights; where the system does not allow that, the test says so
//! and passes. A limit on the size of files needs nothing at all.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::{Place, Ran, ran};

/// Steps of the task, each of which fills the store a little more.
const STEPS: usize = 10;
/// What each of them writes.
const STEP_BYTES: usize = 40_000;
/// The shell found no way to make a small disk.
const NO_DISK: i32 = 99;

/// Fills a small disk up, lets the program run into its end, and makes room.
const ON_A_SMALL_DISK: &str = r#"
bowline=$1 home=$2 leave=$3
mount -t tmpfs -o size=16m,mode=700 tmpfs "$home" || exit 99
head -c $(((16384 - leave) * 1024)) /dev/zero > "$home/filler" || exit 99
does() {
    name=$1; shift
    "$bowline" --home "$home" "$@" > "$name.out" 2> "$name.err" < /dev/null
    echo $? > "$name.code"
}
does full run task --json --key one
rm "$home/filler"
does again run task --json --key one
does audit audit verify
does export export last --json
"#;

/// Starts the program with files that cannot grow. The limit is in blocks of 512
/// bytes; the signal that comes with it is not for us.
const WITH_SMALL_FILES: &str = r#"
trap '' XFSZ
ulimit -f $(($1 * 2))
shift
exec "$@"
"#;

/// Where a process came to when it ran out of room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    /// There was no run yet.
    Nowhere,
    /// The run was under way.
    HalfWay,
    /// There was room enough.
    ToTheEnd,
}

fn filling() -> Place {
    let place = Place::new();
    let mut replies = String::from("  main:\n");
    for step in 0..STEPS {
        let content = format!("{step} ").repeat(STEP_BYTES / 2);
        replies.push_str(&format!(
            "    - calls: [{{tool: write_file, args: {{path: f{step}.txt, content: \"{content}\"}}}}]\n"
        ));
    }
    replies.push_str("    - {expect: {error: false}, say: filled}\n");
    let settings =
        "goal = \"Fill it\"\nreview = \"never\"\ntools = [\"write_file\"]\n[workspace]\npath = \"project\"\n";
    place.task(settings, &replies).write("task/project/x", "");
    fs::create_dir(place.path("home")).unwrap();
    place
}

/// What the script kept of one of its commands.
fn kept(place: &Place, name: &str) -> Ran {
    let code = place.read(&format!("{name}.code")).trim().parse().unwrap();
    Ran { code, out: place.read(&format!("{name}.out")), err: place.read(&format!("{name}.err")) }
}

/// A command in a name space where we may mount.
fn own_name_space(words: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount"]).args(words).stdin(Stdio::null());
    command.env("USER", "tester").env_remove("XDG_DATA_HOME");
    command
}

fn events(ran: &Ran) -> Vec<Value> {
    ran.objects().into_iter().filter(|line| line.get("event").is_some()).collect()
}

/// The processes of one trial, in order.
struct Trial {
    /// Without room.
    full: Ran,
    /// The same again, with room.
    again: Ran,
    audit: Ran,
    export: Ran,
}

/// Judges a trial, and says how far the first process came.
fn judge(place: &Place, trial: Trial, codes: &[i32], left: &str) -> Came {
    let Trial { full, again, audit, export } = trial;
    let again = again.ends(0);
    audit.ends(0);
    if full.code != 0 {
        assert!(codes.contains(&full.code), "{left}: {full:?}");
        assert!(
            full.err.contains("error: ") && full.err.contains("  → "),
            "{left}: no remedy in {}",
            full.err
        );
        assert!(!full.err.contains("panicked"), "{left}: {}", full.err);
        let last = full.objects().pop().unwrap();
        assert_eq!(last["exit"].as_i64(), Some(full.code.into()), "{left}: {last}");
    }
    // What was shown is kept, in the same run, and what was written is written once.
    let mut journal = Vec::new();
    for record in export.ends(0).objects() {
        journal.extend(record["events"].as_array().unwrap().iter().cloned());
    }
    let shown = events(&full);
    for line in &shown {
        let seq = usize::try_from(line["seq"].as_u64().unwrap()).unwrap();
        assert_eq!(journal.get(seq - 1), Some(&line["event"]), "{left}: event {seq} was shown and is lost");
    }
    let runs = |ran: &Ran| events(ran).first().map(|line| line["run"].clone());
    assert!(shown.is_empty() || full.code == 0 || runs(&full) == runs(&again), "{left}: another run");
    for step in 0..STEPS {
        assert_eq!(place.read(&format!("task/project/f{step}.txt")).len(), STEP_BYTES, "{left}");
    }
    match (full.code, shown.is_empty()) {
        (0, _) => Came::ToTheEnd,
        (_, true) => Came::Nowhere,
        (_, false) => Came::HalfWay,
    }
}

#[test]
fn a_run_on_a_full_disk_is_refused_loses_nothing_and_goes_on_when_there_is_room() {
    if !own_name_space(&["true"]).output().is_ok_and(|made| made.status.success()) {
        println!("SKIPPED: this system gives us no name space to mount a small disk in");
        return;
    }
    let mut came = Vec::new();
    for left_kb in [0, 64, 200, 400, 8000] {
        let place = filling();
        let mut script = own_name_space(&["sh", "-c", ON_A_SMALL_DISK, "sh", env!("CARGO_BIN_EXE_bowline")]);
        script.arg(place.path("home")).arg(left_kb.to_string()).current_dir(place.folder.path());
        let script = ran(script);
        if script.code == NO_DISK {
            println!("SKIPPED: a small disk cannot be mounted here: {}", script.err.trim());
            return;
        }
        script.ends(0);
        let kept = |name| kept(&place, name);
        let trial =
            Trial { full: kept("full"), again: kept("again"), audit: kept("audit"), export: kept("export") };
        came.push(judge(&place, trial, &[2], &format!("{left_kb} KB left")));
    }
    for place in [Came::Nowhere, Came::HalfWay, Came::ToTheEnd] {
        assert!(came.contains(&place), "nothing came {place:?}: {came:?}");
    }
}

#[test]
fn a_run_whose_store_must_not_grow_stops_loses_nothing_and_goes_on_when_it_may() {
    let mut came = Vec::new();
    for most_kb in [0, 64, 200, 400, 8000] {
        let place = filling();
        let run = ["run", "task", "--json", "--key", "one"];
        let mut limited = Command::new("sh");
        limited.args(["-c", WITH_SMALL_FILES, "sh", &most_kb.to_string(), env!("CARGO_BIN_EXE_bowline")]);
        limited.args(run).current_dir(place.folder.path()).stdin(Stdio::null());
        limited.env("BOWLINE_HOME", place.path("home")).env("USER", "tester").env_remove("XDG_DATA_HOME");
        let trial = Trial {
            full: ran(limited),
            again: place.bowline(&run),
            audit: place.bowline(&["audit", "verify"]),
            export: place.bowline(&["export", "last", "--json"]),
        };
        came.push(judge(&place, trial, &[2, 70], &format!("files of {most_kb} KB")));
    }
    for place in [Came::Nowhere, Came::HalfWay, Came::ToTheEnd] {
        assert!(came.contains(&place), "nothing came {place:?}: {came:?}");
    }
}
