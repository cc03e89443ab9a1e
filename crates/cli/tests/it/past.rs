//! What was started with an earlier version is finished with this one: the same endings, the
//! same outputs, nothing done twice, and journals that begin as they did.
//!
//! Homes, steps and expectations are recorded (`fixtures/past`). The clock of the program is
//! set to when each home was left.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use rusqlite::Connection;
use serde_json::Value;
use xtask::past::{Fixture, Programs, Scenario, Set, World, manifest, sets};

use crate::{Place, no_cage};

/// Seconds after which nobody is waited for any more.
const LATER: u64 = 400 * 24 * 60 * 60;

/// This program, and a clock that can be set.
struct Today {
    folder: tempfile::TempDir,
}

impl Today {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        symlink(env!("CARGO_BIN_EXE_bowline"), folder.path().join("bowline")).unwrap();
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-o"]).arg(folder.path().join("clock.so"));
        let built = cc.arg(root().join("fixtures/past/clock.c")).args(["-ldl"]).output().unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        Self { folder }
    }

    /// The program, at this time in seconds since 1970.
    #[expect(clippy::disallowed_methods, reason = "the time of the machine is what is made up for")]
    fn at(&self, seconds: u64) -> Programs {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        let shift = i128::from(seconds) - i128::from(now);
        let clock = self.folder.path().join("clock.so").display().to_string();
        Programs::in_folder(self.folder.path())
            .with("LD_PRELOAD", &clock)
            .with("BOWLINE_PAST_SECONDS", &shift.to_string())
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

fn every() -> Vec<Set> {
    sets(&root()).unwrap()
}

fn fixtures() -> Vec<Fixture> {
    every().iter().flat_map(|set| set.fixtures().unwrap()).collect()
}

/// Finishes a home and compares it with what was recorded: every difference, in words.
fn differences(fixture: &Fixture, today: &Today, change: impl Fn(&World)) -> Vec<String> {
    let world = fixture.unpack().unwrap();
    change(&world);
    let programs = today.at(fixture.expected.left_at);
    let mut found = Vec::new();
    let mut note = |what: &str, is: String, was: String| {
        if is != was {
            found.push(format!("{}: {what}\n  is  {is}\n  was {was}", fixture.name));
        }
    };
    let left = fixture.left(&world, &programs).unwrap();
    note("where it was left", format!("{left:?}"), format!("{:?}", fixture.expected.left));
    if let Err(error) = fixture.finish(&world, &programs) {
        return vec![format!("{}: {error:#}", fixture.name)];
    }
    let (is, was) = (fixture.facts(&world, &programs).unwrap(), &fixture.expected.facts);
    note("its runs", format!("{:?}", is.runs), format!("{:?}", was.runs));
    note("the world outside", format!("{:?}", is.outside), format!("{:?}", was.outside));
    note("its files", format!("{:?}", is.files), format!("{:?}", was.files));
    let rewritten = fixture.rewritten(&world, &programs).unwrap();
    note("journals that no longer begin as they did", format!("{rewritten:?}"), "[]".into());
    if let Err(error) = fixture.verify(&world, &programs) {
        found.push(format!("{}: {error:#}", fixture.name));
    }
    found
}

/// Finishes homes, and fails with all that differs.
#[track_caller]
fn finish(fixtures: &[Fixture], change: impl Fn(&World)) {
    assert!(!fixtures.is_empty());
    let today = Today::new();
    let found: Vec<String> =
        fixtures.iter().flat_map(|fixture| differences(fixture, &today, &change)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Rows of a home's store that were changed.
fn changed(world: &World, sql: &str) -> usize {
    Connection::open(world.home().join("store.db")).unwrap().execute(sql, []).unwrap()
}

#[test]
fn what_an_earlier_version_left_open_is_finished_as_it_would_have_been_then() {
    finish(&fixtures(), |_| {});
}

#[test]
fn without_any_checkpoint_it_is_finished_the_same() {
    // From the other end, so that two processes seldom wait for the same place.
    let mut fixtures = fixtures();
    fixtures.retain(|fixture| fixture.scenario.checkpoint && !fixture.expected.left.is_empty());
    fixtures.reverse();
    finish(&fixtures, |world| {
        assert_ne!(changed(world, "DELETE FROM checkpoints"), 0, "each run had one");
    });
}

#[test]
fn a_checkpoint_of_a_shape_nobody_knows_is_thrown_away_and_the_run_finished_the_same() {
    let mut fixtures = fixtures();
    fixtures.retain(|fixture| ["in-flight", "rollback", "undo"].contains(&fixture.name.as_str()));
    finish(&fixtures, |world| {
        assert_ne!(changed(world, "UPDATE checkpoints SET version = 4000000"), 0, "each run had one");
    });
}

#[test]
fn a_checkpoint_that_says_less_than_its_hash_is_thrown_away_and_the_run_finished_the_same() {
    let mut fixtures = fixtures();
    fixtures.retain(|fixture| ["plan-parallel", "repairing"].contains(&fixture.name.as_str()));
    finish(&fixtures, |world| {
        assert_ne!(changed(world, "UPDATE checkpoints SET state = substr(state, 1, length(state) - 1)"), 0);
    });
}

#[test]
fn what_was_recorded_is_as_it_was_recorded() {
    for set in every() {
        assert_eq!(manifest::check(&set.folder).unwrap(), Vec::<String>::new(), "set {}", set.name);
    }
}

#[test]
fn a_recorded_file_that_was_changed_is_named() {
    let copy = tempfile::tempdir().unwrap();
    let set = every().remove(0);
    let copied = Command::new("cp").arg("-R").arg(&set.folder).arg(copy.path()).status().unwrap();
    assert!(copied.success());
    let folder = copy.path().join(&set.name);
    let expected = folder.join("homes/rollback/expected.json");
    let text = fs::read_to_string(&expected).unwrap();
    fs::write(&expected, text.replace("failed", "committed")).unwrap();
    let wrong = manifest::check(&folder).unwrap();
    assert_eq!(wrong, ["homes/rollback/expected.json was changed: what was recorded is never changed"]);
}

/// Every row of every table of a home's store. Looked at in a copy: whoever opens a store may
/// move its log into the database, which changes no row.
fn rows(world: &World) -> Vec<String> {
    let copy = tempfile::tempdir().unwrap();
    for name in ["store.db", "store.db-wal"] {
        let from = world.home().join(name);
        if from.exists() {
            fs::copy(from, copy.path().join(name)).unwrap();
        }
    }
    let store = Connection::open(copy.path().join("store.db")).unwrap();
    let names = "SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY name";
    let mut tables = store.prepare(names).unwrap();
    let tables: Vec<(String, String)> =
        tables.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect();
    let mut rows = Vec::new();
    for (table, sql) in tables {
        rows.push(sql);
        let mut all = store.prepare(&format!("SELECT * FROM {table} ORDER BY 1, 2")).unwrap();
        let width = all.column_count();
        let mut found = all.query([]).unwrap();
        while let Some(row) = found.next().unwrap() {
            let cells = (0..width).map(|at| format!("{:?}", row.get_ref(at).unwrap()));
            rows.push(format!("{table} {}", cells.collect::<Vec<_>>().join(" ")));
        }
    }
    rows
}

#[test]
fn who_only_looks_at_an_old_home_sees_what_is_there_and_changes_nothing() {
    let today = Today::new();
    let mut fixtures = fixtures();
    fixtures.retain(|fixture| !fixture.expected.left.is_empty());
    // From the middle on: others come from both ends.
    let middle = fixtures.len() / 2;
    fixtures.rotate_left(middle);
    for fixture in fixtures {
        let world = fixture.unpack().unwrap();
        let programs = today.at(fixture.expected.left_at);
        let before = rows(&world);
        let last = &fixture.expected.left[fixture.expected.left.len() - 1];
        let looks = [
            vec!["runs", "--open"],
            vec!["show", &last.run, "--events"],
            vec!["replay", &last.run],
            vec!["audit", "verify"],
        ];
        for words in looks {
            let ran = programs.bowline(&world, &words).unwrap();
            assert_eq!(ran.0, 0, "{}: {words:?}\n{}", fixture.name, ran.1);
        }
        assert_eq!(fixture.left(&world, &programs).unwrap(), fixture.expected.left, "{}", fixture.name);
        assert!(rows(&world) == before, "{}: its store was written to", fixture.name);
    }
}

#[test]
fn an_old_home_on_a_disk_that_is_read_only_is_read_or_refused_with_what_to_do() {
    let today = Today::new();
    let fixtures: Vec<Fixture> = fixtures()
        .into_iter()
        .filter(|fixture| ["in-flight", "many-files"].contains(&fixture.name.as_str()))
        .collect();
    for fixture in fixtures {
        let world = fixture.unpack().unwrap();
        let programs = today.at(fixture.expected.left_at);
        let home = world.home().display().to_string();
        let mounted = format!("mount --bind {home} {home} && mount -o remount,ro,bind {home}");
        let inside =
            |script: &str| programs.sh(&world, &format!("unshare -rm sh -c '{mounted} && {script}'"));
        if inside("true").unwrap().0 != 0 {
            println!("skipped: this user may not mount anything");
            return;
        }
        let before = rows(&world);
        for look in ["runs", "show last", "export last --json", "audit verify"] {
            let (code, printed) = inside(&format!("bowline {look}")).unwrap();
            let is_refused = code == 2 && printed.contains("error: ") && printed.contains("  → ");
            assert!(code == 0 || is_refused, "{}: {look}: {code}\n{printed}", fixture.name);
        }
        assert!(rows(&world) == before, "{}", fixture.name);
    }
}

#[test]
fn questions_nobody_answered_for_a_year_have_expired_when_an_old_home_is_taken_up() {
    let today = Today::new();
    for name in ["approval-call", "approval-output"] {
        let fixture = every()[0].fixture(name).unwrap();
        let world = fixture.unpack().unwrap();
        let programs = today.at(fixture.expected.left_at + LATER);
        let (_, printed) = programs.bowline(&world, &["resume"]).unwrap();
        assert!(printed.contains("nobody answered in time"), "{printed}");
        for run in fixture.facts(&world, &programs).unwrap().runs {
            assert!(run.ending.is_some(), "{name}: {run:?}");
        }
        // What was answered in time, in letters nobody had read, counts for nothing now.
        let outside = fixture.facts(&world, &programs).unwrap().outside;
        assert_eq!(outside, Vec::<String>::new(), "{name}: nothing that needs a yes was done");
        fixture.verify(&world, &programs).unwrap();
    }
}

#[test]
fn examples_of_earlier_versions_end_as_they_did() {
    if no_cage() {
        return;
    }
    let today = Today::new();
    let programs = Programs::in_folder(today.folder.path());
    for set in every() {
        assert_eq!(set.played(&programs).unwrap(), set.examples().unwrap(), "set {}", set.name);
    }
}

/// A key no file knows, which makes whoever reads it tell those it does know.
const UNKNOWN: &str = "qqqqqqqq";

fn with_unknown(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: serde_json::Map<_, _> =
                members.iter().map(|(name, value)| (name.clone(), with_unknown(value))).collect();
            members.insert(UNKNOWN.into(), Value::from(1));
            Value::Object(members)
        }
        Value::Array(items) => items.iter().map(with_unknown).collect(),
        other => other.clone(),
    }
}

/// The keys of every table, by where it is.
fn keys(value: &Value, at: &str, found: &mut BTreeMap<String, BTreeSet<String>>) {
    match value {
        Value::Object(members) => {
            found.entry(at.into()).or_default().extend(members.keys().cloned());
            for (name, value) in members {
                keys(value, &format!("{at}{name}."), found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, at, found)),
        _ => {}
    }
}

#[test]
fn the_next_set_holds_tasks_and_manifests_with_every_key_there_is() {
    let path = root().join("fixtures/past/scenarios/every-key.toml");
    let scenario = Scenario::parse(&fs::read_to_string(path).unwrap()).unwrap();
    let place = Place::new();
    for (name, text) in &scenario.files {
        place.write(name, text);
    }
    // Which keys a kind of table knows, and which of them are used somewhere.
    let mut tables: BTreeMap<String, [BTreeSet<String>; 2]> = BTreeMap::new();
    for (name, text) in scenario.files.iter().filter(|(name, _)| name.ends_with(".toml")) {
        let value: Value = toml::from_str(text).unwrap();
        let mut used = BTreeMap::new();
        keys(&value, "", &mut used);
        let odd = name.replace(".toml", ".json");
        let told = place.write(&odd, &with_unknown(&value).to_string()).bowline(&["check", &odd]).ends(2);
        let lines: Vec<&str> = told.err.lines().collect();
        for pair in lines.windows(2) {
            let Some((at, table)) = pair[0].split_once(&format!("{UNKNOWN}: `{UNKNOWN}` is not known "))
            else {
                continue;
            };
            let Some((_, known)) = pair[1].split_once(" knows ") else { continue };
            let at: String =
                at.trim().split('[').map(|part| part.rsplit(']').next().unwrap_or(part)).collect();
            let entry = tables.entry(table.into()).or_default();
            entry[0].extend(known.split(", ").map(str::to_owned));
            entry[1].extend(used.get(&at).cloned().unwrap_or_default());
        }
    }
    assert!(tables.len() > 30, "{:?}", tables.keys());
    for (table, [known, used]) in tables {
        let missing: Vec<_> = known.difference(&used).collect();
        assert!(missing.is_empty(), "{table}: no file of every-key.toml uses {missing:?}");
    }
}
