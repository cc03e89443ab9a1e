//! The cage, tried from outside: each test runs real commands in it. Where the
//! machine has no bubblewrap they say so and pass; that the cage then refuses is
//! tested in [`missing`].

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that cannot go on shall fail at that line"
)]

mod bounds;
mod files;
mod leftovers;
mod missing;
mod outside;

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use bowline_cage::{Bounds, Cage, Ended, Grant, Launcher, Missing, Outside, Ran};

fn launcher() -> Launcher {
    Launcher { program: env!("CARGO_BIN_EXE_bowline-cage").into(), args: vec!["launch".into()] }
}

/// The cage of this machine, if it has what it takes.
fn cage() -> Option<&'static Cage> {
    static CAGE: OnceLock<Option<Cage>> = OnceLock::new();
    let found = CAGE.get_or_init(|| match Cage::find(launcher(), &Outside::here()) {
        Ok(cage) => Some(cage),
        Err(missing @ (Missing::Bubblewrap(_) | Missing::Namespaces { .. })) => {
            println!("skipped: {missing}; {}", missing.remedy());
            None
        }
        Err(other) => panic!("{other}"),
    });
    found.as_ref()
}

/// A workspace with a file in it, writable.
struct Workspace {
    place: tempfile::TempDir,
    grant: Grant,
}

impl Workspace {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("ws")).unwrap();
        std::fs::create_dir(place.path().join("out")).unwrap();
        std::fs::write(place.path().join("out/secret"), "secret").unwrap();
        let grant = Grant { write: vec![place.path().join("ws")], ..Grant::default() };
        let workspace = Self { place, grant };
        workspace.write("file", "text");
        workspace
    }

    fn root(&self) -> std::path::PathBuf {
        self.place.path().join("ws")
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.root().join(name)).ok()
    }

    fn run(&self, cage: &Cage, argv: &[&str], deadline: Duration) -> Ran {
        let caged = cage.command(&self.grant, argv, &self.root()).unwrap();
        caged.run(Bounds { deadline, output_bytes: 1024 * 1024 }).unwrap()
    }

    /// Runs a line of shell to its end.
    fn sh(&self, cage: &Cage, line: &str) -> Ran {
        self.run(cage, &["sh", "-c", line], Duration::from_secs(60))
    }

    fn works(&self, cage: &Cage, line: &str) -> String {
        let ran = self.sh(cage, line);
        assert_eq!(ran.ended, Ended::Exited(0), "{line}: {}", String::from_utf8_lossy(&ran.errors));
        String::from_utf8(ran.output).unwrap()
    }

    fn fails(&self, cage: &Cage, line: &str) -> String {
        let ran = self.sh(cage, line);
        assert!(matches!(ran.ended, Ended::Exited(1..)), "{line}: {:?}", ran);
        String::from_utf8(ran.errors).unwrap()
    }
}

/// Processes on this machine with this text on their command line.
fn processes_with(text: &str) -> usize {
    let holds = |path: &Path| {
        let words = std::fs::read(path.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains(text)
    };
    std::fs::read_dir("/proc").unwrap().flatten().filter(|entry| holds(&entry.path())).count()
}

/// Looks again and again until it is so. The wait is for the kernel, which ends
/// processes in its own time; the deadline is only for the failing case.
fn becomes_true(mut is_so: impl FnMut() -> bool) -> bool {
    (0..1_000).any(|_| {
        is_so() || {
            std::thread::sleep(Duration::from_millis(10));
            false
        }
    })
}
