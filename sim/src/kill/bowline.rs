//! The real program: how it is started, killed and asked.
//!
//! A kill at a system call is made by `strace`, which takes hold of the store's
//! thread or runs beside the program as its grandchild: the process we wait for
//! is the program itself, so its status tells what really ended it. Output goes to files, never to a pipe that a
//! tracer or an orphan could hold open.

use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use super::attach;
use super::error::KillError;
use super::fault::{Fault, Place};
use super::moment::{Call, Moment};
use crate::clock::now_ms;

/// How long any one process may take.
const DEADLINE_MS: u64 = 60_000;
/// How often a process is asked whether it has ended.
const POLL: Duration = Duration::from_millis(1);
/// How often a trace is looked at until its last line is there.
const TRACE_POLLS_MAX: u32 = 2_000;
const SIGKILL: i32 = 9;

/// The program, with a home of its own.
#[derive(Clone, Debug)]
pub struct Bowline {
    /// The program.
    pub program: PathBuf,
    /// Where its runs are kept.
    pub home: PathBuf,
}

/// What a process of the program works on.
#[derive(Clone, Copy, Debug)]
pub enum Errand<'a> {
    /// Submit a task under a key, and run it.
    Run {
        /// The task file.
        task: &'a Path,
        /// The idempotency key.
        key: &'a str,
    },
    /// Go on with a run.
    Resume {
        /// Which.
        run: &'a str,
    },
    /// Bring the store to today's version.
    Migrate,
    /// Undo a run that has ended.
    Undo {
        /// Which.
        run: &'a str,
        /// Files that somebody changed since are left.
        leave_changed: bool,
    },
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By our signal, before it was done.
    Killed,
    /// By itself.
    Exited(i32),
}

/// A process that ended, and what it printed.
#[derive(Clone, Debug)]
pub struct Finished {
    /// How.
    pub ended: Ended,
    /// Standard output.
    pub printed: String,
    /// Standard error.
    pub complained: String,
    /// How long it took.
    pub took_ms: u64,
}

impl Bowline {
    /// The files of the store that are written as a run goes on.
    fn store_files(&self) -> [PathBuf; 2] {
        ["store.db", "store.db-wal"].map(|name| self.home.join(name))
    }

    /// Works on a run, and is killed at the moment, if there is one. `clean_ms`
    /// is what a run takes that nobody kills; output is kept below `notes`.
    pub fn work(
        &self,
        errand: Errand<'_>,
        moment: Option<Moment>,
        clean_ms: u64,
        notes: &Path,
    ) -> Result<Finished, KillError> {
        let plain = || Command::new(&self.program);
        let (mut command, strike) = match moment {
            None => (plain(), Strike::Never),
            Some(Moment::After(permille)) => {
                (plain(), Strike::After(Duration::from_micros(clean_ms * u64::from(permille))))
            }
            Some(Moment::Entering(call, nth)) if call.is_of_the_store_thread() => {
                (plain(), Strike::InStoreThread(self.tracer(call, nth)))
            }
            Some(Moment::Entering(call, nth)) => {
                let mut command = self.tracer(call, nth);
                // From the start, every thread, and as our grandchild: we wait for the program.
                command.args(["-D", "-f"]).arg(&self.program);
                (command, Strike::Never)
            }
        };
        self.words(&mut command, errand);
        self.finish(command, strike, notes)
    }

    /// Works on a run with a fault, or with none, and writes down every call that could have one.
    pub fn suffer(
        &self,
        errand: Errand<'_>,
        fault: Option<Fault>,
        trace: &Path,
        notes: &Path,
    ) -> Result<Finished, KillError> {
        let names: Vec<&str> = Place::ALL.iter().flat_map(|place| place.words()).copied().collect();
        let mut command = Command::new("strace");
        command.args(["-D", "-f", "-y", "-Y", "-q", "-s", "1", "-e", "signal=none", "-e"]);
        command.arg(format!("trace={}", names.join(",")));
        if let Some(fault) = fault {
            command.arg("-e").arg(fault.inject());
        }
        command.arg("-o").arg(trace).arg(&self.program);
        self.words(&mut command, errand);
        let finished = self.finish(command, Strike::Never, notes)?;
        // The tracer is not our child: it writes its last line when all it traced is gone.
        let polls = if finished.ended == Ended::Killed { 0 } else { TRACE_POLLS_MAX };
        for _ in 0..polls {
            let text = std::fs::read_to_string(trace).map_err(KillError::io(trace))?;
            let ended = |line: &str| line.contains(" +++ exited with ") || line.contains(" +++ killed by ");
            if text.lines().next_back().is_some_and(ended) {
                break;
            }
            thread::sleep(POLL);
        }
        Ok(finished)
    }

    /// Works on a run that nobody kills and writes down its system calls.
    pub fn trace(&self, errand: Errand<'_>, trace: &Path, notes: &Path) -> Result<Finished, KillError> {
        let names: Vec<&str> = Call::ALL.iter().flat_map(|call| call.words()).copied().collect();
        let mut command = Command::new("strace");
        command
            .args(["-f", "-y", "-Y", "-qq", "-e", "signal=none", "-e"])
            .arg(format!("trace={}", names.join(",")));
        command.arg("-o").arg(trace).arg(&self.program);
        self.words(&mut command, errand);
        self.finish(command, Strike::Never, notes)
    }

    /// Asks something that takes no work: `export`, `approve`, `settle`.
    pub fn ask(&self, words: &[&str], notes: &Path) -> Result<Finished, KillError> {
        let mut command = Command::new(&self.program);
        command.arg("--home").arg(&self.home).args(words);
        let finished = self.finish(command, Strike::Never, notes)?;
        match finished.ended {
            Ended::Exited(0) => Ok(finished),
            Ended::Exited(_) | Ended::Killed => Err(KillError::Refused {
                words: words.join(" "),
                complained: finished.complained.trim().to_owned(),
            }),
        }
    }

    fn words(&self, command: &mut Command, errand: Errand<'_>) {
        command.arg("--home").arg(&self.home);
        match errand {
            Errand::Run { task, key } => command.arg("run").arg(task).args(["--json", "--key", key]),
            Errand::Migrate => command.arg("migrate"),
            Errand::Resume { run } => command.args(["resume", run, "--json"]),
            Errand::Undo { run, leave_changed } => command
                .args(["undo", run, "--yes", "--json"])
                .args(leave_changed.then_some("--leave-changed")),
        };
    }

    /// Kills whoever enters the call for the n-th time.
    fn tracer(&self, call: Call, nth: u32) -> Command {
        let names = call.words().join(",");
        let mut command = Command::new("strace");
        command.args(["-qq", "-o", "/dev/null", "-e", "signal=none"]);
        command.arg("-e").arg(format!("trace={names}"));
        command.arg("-e").arg(format!("inject={names}:signal=SIGKILL:when={nth}"));
        if call.is_on_the_store() {
            for path in self.store_files() {
                command.arg("-P").arg(path);
            }
        }
        command
    }

    fn finish(&self, mut command: Command, strike: Strike, notes: &Path) -> Result<Finished, KillError> {
        let (out, err) = (notes.with_extension("out"), notes.with_extension("err"));
        let create = |path: &Path| File::create(path).map_err(KillError::io(path));
        command.stdin(Stdio::null()).stdout(create(&out)?).stderr(create(&err)?);
        command.env_remove("BOWLINE_HOME").env("USER", "harness");
        let started = now_ms();
        let failed = |source| KillError::Program { program: self.program.clone(), source };
        let mut child = command.spawn().map_err(failed)?;
        let (kill_after, tracer) = match strike {
            Strike::Never => (None, None),
            Strike::After(delay) => (Some(delay), None),
            Strike::InStoreThread(tracer) => match attach::to_the_store_thread(&mut child, tracer) {
                Ok(tracer) => (None, tracer),
                Err(error) => {
                    child.kill().and_then(|()| child.wait()).map_err(failed)?;
                    return Err(error);
                }
            },
        };
        let status = wait(&mut child, kill_after).map_err(failed)?;
        if let Some(mut tracer) = tracer {
            // It ends with what it traces.
            wait(&mut tracer, None).map_err(failed)?;
        }
        let took_ms = now_ms().saturating_sub(started);
        let read = |path: &Path| std::fs::read(path).map_err(KillError::io(path));
        let finished = Finished {
            ended: Ended::Exited(0),
            printed: String::from_utf8_lossy(&read(&out)?).into_owned(),
            complained: String::from_utf8_lossy(&read(&err)?).into_owned(),
            took_ms,
        };
        let ended = match status.map(|status| (status.code(), status.signal())) {
            Some((Some(code), _)) => Ended::Exited(code),
            Some((None, Some(SIGKILL))) => Ended::Killed,
            Some((None, signal)) => {
                return Err(KillError::Died { signal, complained: finished.complained });
            }
            None => return Err(KillError::Hung { after_ms: DEADLINE_MS, complained: finished.complained }),
        };
        Ok(Finished { ended, ..finished })
    }
}

/// How a process is killed.
enum Strike {
    Never,
    After(Duration),
    InStoreThread(Command),
}

/// Waits for the end; `None` when it did not come in time and was made to.
fn wait(child: &mut Child, kill_after: Option<Duration>) -> std::io::Result<Option<ExitStatus>> {
    if let Some(delay) = kill_after {
        thread::sleep(delay);
        if child.try_wait()?.is_none() {
            child.kill()?;
        }
        return child.wait().map(Some);
    }
    for _ in 0..DEADLINE_MS {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(POLL);
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}
