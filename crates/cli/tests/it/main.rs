//! The real program in transcripts: what it prints, and what it ends with.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that meets what it did not expect stops there"
)]

mod agents;
mod approvals;
mod backup;
mod caged;
mod canaries;
mod context;
mod crash;
mod delete;
mod each;
mod full_disk;
mod git;
mod golden;
mod guard;
mod homes;
mod isolation;
mod journal;
#[cfg(feature = "local-model")]
mod local;
mod mcp;
mod outlet;
mod output;
mod past;
mod people;
mod plan;
mod promote;
mod refused;
mod remote;
mod routes;
mod scope;
mod terminal;
#[cfg(feature = "local-model")]
#[path = "../../../local/tests/it/tiny.rs"]
mod tiny;
mod trouble;
mod undo;
mod upgrade;
mod verification;
mod walls;
mod working;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};

use serde_json::Value;

/// A folder of its own, with a home for runs.
struct Place {
    folder: tempfile::TempDir,
}

/// What a command printed, and what it ended with.
#[derive(Debug)]
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> &Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Writes a task into the folder `task`, with these conversations.
    fn task(&self, settings: &str, conversations: &str) -> &Self {
        // The cage has tests of its own, which are skipped where there is none.
        let sandbox = if settings.contains("sandbox") { "" } else { "sandbox = \"none\"\n" };
        self.write("task/task.toml", &format!("model = \"scripted:model.yaml\"\n{sandbox}{settings}"));
        self.write("task/model.yaml", &format!("script: 1\nconversations:\n{conversations}"))
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bowline"));
        command.args(words).current_dir(self.folder.path());
        command.env("BOWLINE_HOME", self.path("home")).env("USER", "tester").env_remove("XDG_DATA_HOME");
        command.stdin(Stdio::null());
        command
    }

    /// Runs a command to its end.
    fn bowline(&self, words: &[&str]) -> Ran {
        ran(self.command(words))
    }

    /// Starts a command whose lines are read one by one.
    fn start(&self, words: &[&str]) -> Running {
        let mut child = self.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let complaints = BufReader::new(child.stderr.take().unwrap());
        Running { child, lines, complaints }
    }

    /// The id of the newest run.
    fn last(&self) -> String {
        let listed = self.bowline(&["runs", "--json"]).good();
        let newest: Value = serde_json::from_str(listed.lines().next().expect("a run")).unwrap();
        newest["run"].as_str().unwrap().to_owned()
    }

    /// A file of the newest run's copy of its workspace.
    fn in_copy(&self, name: &str) -> String {
        self.read(&format!("home/workspaces/{}/{name}", self.last()))
    }
}

fn ran(mut command: Command) -> Ran {
    let done = command.output().unwrap();
    let ran = Ran {
        code: done.status.code().unwrap_or(-1),
        out: String::from_utf8(done.stdout).unwrap(),
        err: String::from_utf8(done.stderr).unwrap(),
    };
    output::hold(&command, &ran.out);
    ran
}

impl Ran {
    /// It ended so.
    #[track_caller]
    fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, code, "\n--- out\n{}\n--- err\n{}", self.out, self.err);
        self
    }

    /// Its output, if it ended well.
    #[track_caller]
    fn good(self) -> String {
        self.ends(0).out
    }

    /// It printed this.
    #[track_caller]
    fn says(self, words: &str) -> Self {
        assert!(self.out.contains(words), "no {words:?} in\n--- out\n{}\n--- err\n{}", self.out, self.err);
        self
    }

    /// It complained so, and said what to do.
    #[track_caller]
    fn complains(self, words: &str) -> Self {
        assert!(self.err.contains(words), "no {words:?} in\n--- err\n{}", self.err);
        assert!(self.err.contains("error: ") && self.err.contains("  → "), "no remedy in\n{}", self.err);
        self
    }

    /// It remarked so beside its result.
    #[track_caller]
    fn remarks(self, words: &str) -> Self {
        assert!(self.err.contains(words), "no {words:?} in\n--- err\n{}", self.err);
        self
    }

    /// It printed this nowhere.
    #[track_caller]
    fn lacks(self, words: &str) -> Self {
        let found = self.out.contains(words) || self.err.contains(words);
        assert!(!found, "{words:?} in\n--- out\n{}\n--- err\n{}", self.out, self.err);
        self
    }

    /// Every line as JSON.
    #[track_caller]
    fn objects(&self) -> Vec<Value> {
        self.out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}")))
            .collect()
    }
}

/// A command at work.
struct Running {
    child: Child,
    lines: BufReader<ChildStdout>,
    complaints: BufReader<ChildStderr>,
}

impl Running {
    /// Reads until a line has these words in it.
    #[track_caller]
    fn until(&mut self, words: &str) -> String {
        let mut read = String::new();
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                let mut err = String::new();
                self.complaints.read_to_string(&mut err).unwrap();
                panic!("no {words:?} in\n--- out\n{read}\n--- err\n{err}");
            }
            if line.contains(words) {
                return line;
            }
            read.push_str(&line);
        }
    }

    /// Reads standard error until a line has these words in it.
    #[track_caller]
    fn complaint(&mut self, words: &str) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.complaints.read_line(&mut line).unwrap(), 0, "no {words:?} on standard error");
            if line.contains(words) {
                return line;
            }
        }
    }

    /// Reads until the event of that number.
    #[track_caller]
    fn until_event(&mut self, seq: u64) {
        loop {
            let line = self.until("\"event\"");
            let event: Value = serde_json::from_str(&line).unwrap();
            if event["seq"].as_u64() == Some(seq) {
                return;
            }
        }
    }

    /// Kills it as hard as it gets.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends it a signal.
    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Reads the rest and waits for its end.
    fn end(mut self) -> Ran {
        let (mut out, mut err) = (String::new(), String::new());
        self.lines.read_to_string(&mut out).unwrap();
        self.complaints.read_to_string(&mut err).unwrap();
        Ran { code: self.child.wait().unwrap().code().unwrap_or(-1), out, err }
    }
}

/// Whether commands cannot be caged on this machine, which is then said.
fn no_cage() -> bool {
    let lines = Place::new().bowline(&["doctor", "--json"]).objects();
    let missing = lines.iter().find(|line| line["check"] == "sandbox" && line["health"] == "warn");
    if let Some(missing) = missing {
        println!("skipped: {}; {}", missing["found"], missing["remedy"]);
    }
    missing.is_some()
}

/// A folder of the repository.
fn example(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    root.join("examples").join(name).display().to_string()
}

/// A task that needs no tools and is checked by nobody.
const PLAIN: &str = "goal = \"Say hello\"\nreview = \"never\"\n";
/// Its one reply.
const HELLO: &str = "  main:\n    - say: Hello.\n";
/// A reply that never comes.
const SILENCE: &str = "  main:\n    - stall: forever\n";
