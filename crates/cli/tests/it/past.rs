//! What was started with an earlier version is finished with this one: the same endings, the
//! same outputs, nothing done twice, and journals that begin as they did.
//!
//! Homes, steps and expectations are recorded (`fixtures/past`). The clock of the program is
//! set to when each home was left.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use rusqlite::Connection;
use xtask::past::{Fixture, Programs, Set, World, sets};

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

fn store(world: &World) -> Option<Connection> {
    let path = world.home().join("store.db");
    path.exists().then(|| Connection::open(path).unwrap())
}

#[test]
fn what_an_earlier_version_left_open_is_finished_as_it_would_have_been_then() {
    finish(&fixtures(), |_| {});
}

#[test]
fn without_any_checkpoint_it_is_finished_the_same() {
    // From the other end, so that two processes seldom wait for the same place.
    let mut fixtures = fixtures();
    fixtures.retain(|fixture| fixture.scenario.checkpoint);
    fixtures.reverse();
    finish(&fixtures, |world| {
        let removed = store(world).map(|store| store.execute("DELETE FROM checkpoints", []).unwrap());
        assert_ne!(removed, Some(0), "each run had one");
    });
}
