//! Programs: run without a shell, bounded in time and output, never outliving
//! the call.
//!
//! A program gets a process group of its own. When it exits, when its time is up
//! or when the caller drops the future, the whole group is killed; when we are
//! killed, the program dies with us. Its
//! environment holds nothing but what is listed in [`environment`].
//!
//! In a cage ([`crate::sandbox`]) nothing it started survives it. Without one, a
//! child that leaves the group (`setsid`) escapes the kill, and the program may do
//! whatever the user may do. See [`UNSANDBOXED_WARNING`].

mod capture;
mod command;
mod command_tool;
pub(crate) mod git;
mod served;
mod tether;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal};
use tokio::process::{Child, Command};

use bowline_cage::{Hold, Report};
use bowline_core::event::Confinement;
use capture::Capture;

use crate::ToolOutput;
use crate::sandbox::{self, Author, Sandbox, Sweep, Wish};

pub(crate) use command::RunCommand;
pub(crate) use command_tool::{CommandCall, command_spec};
pub use served::{Hosted, Served, ServedPipes};
pub(crate) use tether::tie;

/// What a person should know before programs run without a cage: for the command line to print.
pub const UNSANDBOXED_WARNING: &str = "commands are not sandboxed: they run with your rights, outside the workspace \
too, and can use the network; give consent only to commands you would run yourself";

/// What is kept of each output stream while a program runs.
const STREAM_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How long is waited for pipes to close once the program is gone.
const DRAIN_MAX: Duration = Duration::from_secs(2);

/// How long the surroundings of a program may take before it starts.
const SETUP_MAX: Duration = Duration::from_secs(10);

/// How long a tool of ours may take beyond its time limit: to make the surroundings of
/// a program, to end it from the inside, to wait for it and for its pipes; and a bit.
pub const OVERRUN_MAX: Duration = SETUP_MAX.saturating_add(DRAIN_MAX.saturating_mul(3)).saturating_add(SLACK);
const SLACK: Duration = Duration::from_secs(4);

/// A program to run.
#[derive(Debug)]
pub(crate) struct Program<'a> {
    /// Program and arguments.
    pub(crate) argv: &'a [String],
    /// Who wrote them.
    pub(crate) author: Author,
    /// Where it runs.
    pub(crate) folder: &'a Path,
    /// In what it runs.
    pub(crate) sandbox: &'a Sandbox,
    /// A tool that the task or the agent declares, which does what its author wrote:
    /// it may write where the agent may not.
    pub(crate) is_own_tool: bool,
    /// Variables besides the usual ones.
    pub(crate) variables: Vec<(String, String)>,
    /// What it reads.
    pub(crate) input: Vec<u8>,
    /// After this long it is killed.
    pub(crate) limit: Duration,
}

/// A program that ran.
#[derive(Debug)]
pub(crate) struct Ran {
    /// How it ended.
    pub(crate) ended: Ended,
    /// Its standard output.
    pub(crate) output: String,
    /// Its standard error.
    pub(crate) errors: String,
    /// What we have to say about what it did.
    pub(crate) told: Vec<String>,
}

/// Why a program did not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotStarted {
    /// It cannot, now or later.
    Lasting(String),
    /// The machine was too busy for it.
    Passing(String),
}

impl NotStarted {
    /// In words.
    pub(crate) fn message(self) -> String {
        match self {
            Self::Lasting(message) | Self::Passing(message) => message,
        }
    }
}

impl From<String> for NotStarted {
    fn from(message: String) -> Self {
        Self::Lasting(message)
    }
}

impl From<NotStarted> for ToolOutput {
    fn from(why: NotStarted) -> Self {
        match why {
            NotStarted::Lasting(message) => Self::error(message),
            NotStarted::Passing(message) => Self::trouble(message, None),
        }
    }
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Exited(i32),
    /// Killed by this signal, not by us.
    Killed(i32),
    /// Killed by us: its time was up.
    TimedOut,
    /// Nobody knows: the system would not tell.
    Lost,
}

impl Ended {
    /// In words, for the last line of an output.
    #[must_use]
    pub fn in_words(self, limit: Duration) -> String {
        match self {
            Self::Exited(code) => format!("[exit code {code}]"),
            Self::Killed(signal) => format!("[killed by signal {signal}]"),
            Self::TimedOut => format!("[killed after {} s: the time was up]", limit.as_secs_f64()),
            Self::Lost => "[it is not known how it ended]".to_owned(),
        }
    }
}

impl Ran {
    /// Everything it printed and how it ended.
    pub(crate) fn transcript(&self, limit: Duration) -> String {
        let mut text = self.output.clone();
        let mut line = |line: &str| {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(line);
        };
        if !self.errors.is_empty() {
            line("[standard error]\n");
            line(&self.errors);
        }
        self.told.iter().for_each(|told| line(told));
        line(&self.ended.in_words(limit));
        text
    }

    /// What it printed, and what we have to say about it.
    pub(crate) fn answer(self) -> String {
        self.told.into_iter().fold(self.output, |text, told| text + "\n" + &told)
    }
}

impl Program<'_> {
    /// Runs it to its end, or to ours.
    pub(crate) async fn run(self) -> Result<Ran, NotStarted> {
        // No part of the time limit, which is the program's own.
        let made = tokio::time::timeout(SETUP_MAX, self.command()).await;
        let late = |_| NotStarted::Passing(format!("the sandbox was not ready within {SETUP_MAX:?}"));
        let (command, mut hold, sweep) = made.map_err(late)??;
        let input = whole(&self.input).inspect_err(|_| hold.iter_mut().for_each(Hold::gone))?;
        let mut child = self.spawn(command, input).inspect_err(|_| hold.iter_mut().for_each(Hold::gone))?;
        // Dropped before the hold, which lets the cage go but leaves its stand-ins.
        let mut group = Group::of(&child);
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let (mut output, mut errors) = (Capture::new(STREAM_BYTES_MAX), Capture::new(STREAM_BYTES_MAX));
        let ended = {
            let mut pipes = pin!(async {
                tokio::join!(output.fill(stdout), errors.fill(stderr));
            });
            let mut closed = false;
            let exit = tokio::time::timeout(self.limit, async {
                loop {
                    tokio::select! {
                        () = &mut pipes, if !closed => closed = true,
                        status = child.wait() => return status,
                    }
                }
            });
            let exit = exit.await;
            let gone = end(&mut child, hold.as_mut(), &exit).await;
            if !gone {
                group.kill();
            }
            if !closed {
                // A child that left the group may hold the pipes open for ever.
                let _ = tokio::time::timeout(DRAIN_MAX, pipes).await;
            }
            match exit {
                Ok(status) => ended(status),
                Err(_) => {
                    let _ = tokio::time::timeout(DRAIN_MAX, child.wait()).await;
                    Ended::TimedOut
                }
            }
        };
        let told = match sweep {
            Some(sweep) => sweep.after().await,
            None => Vec::new(),
        };
        let ran = Ran { ended, output: output.into_text(), errors: errors.into_text(), told };
        match hold {
            Some(hold) => {
                let program = self.argv.first().map(String::as_str).unwrap_or_default();
                Ok(told_by_cage(program, ran, hold.report())?)
            }
            None => Ok(ran),
        }
    }

    async fn command(&self) -> Result<(Command, Option<Hold>, Option<Sweep>), String> {
        match self.sandbox {
            Sandbox::Off => Ok((self.plain()?, None, None)),
            Sandbox::Caged { cages, read, write, narrow, outlet, .. } => {
                match self.sandbox.confinement().await {
                    Ok(Confinement::Caged) => {}
                    Ok(Confinement::Uncaged) => return Ok((self.plain()?, None, None)),
                    Err(missing) => return Err(format!("{}; {}", missing.what, missing.remedy)),
                }
                let wish = Wish {
                    argv: self.argv.to_vec(),
                    author: self.author,
                    folder: self.folder.to_owned(),
                    variables: self.variables.clone(),
                    read: read.clone(),
                    write: write.clone(),
                    narrow: narrow.clone().filter(|_| !self.is_own_tool),
                };
                let (caged, sweep) = sandbox::caged(cages, wish, outlet.as_ref()).await?;
                Ok((Command::from(caged.command), Some(caged.hold), Some(sweep)))
            }
        }
    }

    fn plain(&self) -> Result<Command, String> {
        let (program, arguments) = self.argv.split_first().ok_or("the command is empty")?;
        // A relative program with a folder in it is meant from where it runs.
        let path = if program.contains('/') { self.folder.join(program) } else { program.into() };
        let mut command = Command::new(path);
        command
            .args(arguments)
            .current_dir(self.folder)
            .env_clear()
            .envs(environment())
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .process_group(0);
        Ok(command)
    }

    fn spawn(&self, mut command: Command, input: Stdio) -> Result<Child, NotStarted> {
        let program = self.argv.first().map(String::as_str).unwrap_or_default();
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        tether::tie(&mut command);
        command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => NotStarted::Lasting(format!("there is no program {program:?}")),
            _ if is_passing(&error) => NotStarted::Passing(format!("{program:?} cannot be started: {error}")),
            _ => NotStarted::Lasting(format!("{program:?} cannot be started: {error}")),
        })
    }
}

/// Too many processes, open files or pages at this moment, or a program that is being written.
fn is_passing(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let passing = [Errno::AGAIN, Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::TXTBSY];
    error.raw_os_error().is_some_and(|code| passing.iter().any(|errno| errno.raw_os_error() == code))
}

/// What a cage says about a program, in the words for one without.
fn told_by_cage(program: &str, ran: Ran, report: Report) -> Result<Ran, String> {
    let ended = match (ran.ended, report) {
        (Ended::Exited(127), Report::NoProgram(_)) => {
            return Err(format!("there is no program {program:?} in the sandbox"));
        }
        (Ended::Exited(_), Report::NoProgram(why)) => {
            return Err(format!("{program:?} cannot be started: {why}"));
        }
        (Ended::Exited(_), Report::NoCage) => {
            return Err(format!("the sandbox did not come up: {}", ran.errors.trim()));
        }
        (Ended::Exited(_), Report::Refused(why)) => {
            return Err(format!("the sandbox did not come up: {why}"));
        }
        // The launcher was gone before it could tell.
        (Ended::Exited(_), Report::Starting) => Ended::Lost,
        // So a shell says it, and so does the launcher.
        (Ended::Exited(code @ 129..=192), _) => Ended::Killed(code - 128),
        (ended, _) => ended,
    };
    Ok(Ran { ended, ..ran })
}

/// All a program gets to know of ours.
fn environment() -> Vec<(&'static str, OsString)> {
    let ours = |name: &str, otherwise: &str| std::env::var_os(name).unwrap_or_else(|| otherwise.into());
    vec![
        ("PATH", ours("PATH", "/usr/local/bin:/usr/bin:/bin")),
        ("HOME", ours("HOME", "/")),
        ("LANG", ours("LANG", "C.UTF-8")),
        ("TMPDIR", ours("TMPDIR", "/tmp")),
        ("TERM", "dumb".into()),
    ]
}

/// What a program reads, whole before it starts: through a pipe it could read half of
/// it, and act on that, when we are killed while we write.
fn whole(input: &[u8]) -> Result<Stdio, NotStarted> {
    let kept = || -> io::Result<File> {
        let mut file = File::from(memfd_create("bowline-input", MemfdFlags::CLOEXEC)?);
        file.write_all(input)?;
        file.rewind()?;
        Ok(file)
    };
    kept().map(Stdio::from).map_err(|error| NotStarted::Passing(format!("its input cannot be kept: {error}")))
}

/// Sees to it that a caged program ends from the inside, which leaves nothing behind.
/// True when it has. Without a cage there is no inside.
async fn end(child: &mut Child, hold: Option<&mut Hold>, exit: &Exit) -> bool {
    let Some(hold) = hold else { return false };
    hold.end();
    let gone = match exit {
        Ok(status) => is_own_exit(status),
        Err(_) => {
            tokio::time::timeout(DRAIN_MAX, child.wait()).await.is_ok_and(|status| is_own_exit(&status))
        }
    };
    if gone {
        hold.gone();
    }
    gone
}

/// How a program came back, or that its time ran out.
type Exit = Result<io::Result<ExitStatus>, tokio::time::error::Elapsed>;

fn is_own_exit(status: &io::Result<ExitStatus>) -> bool {
    status.as_ref().is_ok_and(|status| status.code().is_some())
}

fn ended(status: io::Result<ExitStatus>) -> Ended {
    match status.map(|status| (status.code(), status.signal())) {
        Ok((Some(code), _)) => Ended::Exited(code),
        Ok((None, Some(signal))) => Ended::Killed(signal),
        Ok((None, None)) | Err(_) => Ended::Lost,
    }
}

/// A process group that is killed once: when told, or when dropped.
#[derive(Debug)]
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw))
    }

    fn kill(&mut self) {
        if let Some(group) = self.0.take() {
            // Gone already is what we want.
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(ended: Ended, report: Report) -> Result<Ended, String> {
        let ran = Ran { ended, output: String::new(), errors: String::new(), told: Vec::new() };
        told_by_cage("x", ran, report).map(|ran| ran.ended)
    }

    #[test]
    fn a_program_that_may_have_been_started_is_in_doubt() {
        assert_eq!(told(Ended::Exited(137), Report::Starting), Ok(Ended::Lost));
        assert_eq!(told(Ended::Exited(1), Report::Starting), Ok(Ended::Lost));
        assert!(told(Ended::Exited(1), Report::NoCage).is_err());
        assert!(told(Ended::Exited(127), Report::NoProgram("x".into())).is_err());
        assert_eq!(told(Ended::Exited(1), Report::Started), Ok(Ended::Exited(1)));
    }
}
