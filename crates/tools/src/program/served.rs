//! Programs that stay: started once, spoken to over their pipes, ended when told
//! or when dropped. In the cage and environment of any other program.
//!
//! What never happens here: a program of this kind outliving its [`Hosted`], or
//! its output being read by anybody but the caller.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use bowline_cage::Hold;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use super::{DRAIN_MAX, Ended, Group, Program, Ran, ended, is_own_exit};
use crate::sandbox::{Author, Sandbox, Sweep};

/// A program to start and keep. Who wrote the task wrote its words, so the files
/// they name are granted for reading.
#[derive(Debug)]
pub struct Served<'a> {
    /// Program and arguments.
    pub argv: &'a [String],
    /// Where it runs.
    pub folder: &'a Path,
    /// In what it runs.
    pub sandbox: &'a Sandbox,
    /// Variables besides the usual ones.
    pub variables: Vec<(&'a str, String)>,
}

/// What to speak to a program through.
#[derive(Debug)]
pub struct ServedPipes {
    /// What it reads.
    pub input: ChildStdin,
    /// What it writes.
    pub output: ChildStdout,
    /// What it complains about. Somebody must read it, or the program stops.
    pub errors: ChildStderr,
}

/// A program that runs. Dropping it kills the program and what it started.
#[derive(Debug)]
pub struct Hosted {
    // In the order in which they must go: the hold leaves its stand-ins only to a
    // command that was killed before.
    group: Group,
    child: Child,
    hold: Option<Hold>,
    sweep: Option<Sweep>,
    program: String,
}

impl Served<'_> {
    /// Starts it. The error is why it could not.
    pub async fn start(self) -> Result<(Hosted, ServedPipes), String> {
        let program = self.argv.first().cloned().unwrap_or_default();
        let plan = Program {
            argv: self.argv,
            author: Author::Task,
            folder: self.folder,
            sandbox: self.sandbox,
            is_own_tool: false,
            variables: self.variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            input: Vec::new(),
            limit: Duration::MAX,
        };
        let (command, mut hold, sweep) = plan.command().await?;
        let child = plan.spawn(command, Stdio::piped()).inspect_err(|_| hold.iter_mut().for_each(Hold::gone));
        let mut child = child.map_err(|not_started| not_started.message())?;
        let group = Group::of(&child);
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let hosted = Hosted { group, child, hold, sweep, program };
        match pipes {
            (Some(input), Some(output), Some(errors)) => Ok((hosted, ServedPipes { input, output, errors })),
            _ => Err(format!("{:?} was started without pipes", hosted.program)),
        }
    }
}

impl Hosted {
    /// How it ended, in words, if it has.
    pub fn ended(&mut self) -> Option<String> {
        let ended = ended(Ok(self.child.try_wait().ok()??));
        let Some(hold) = &self.hold else { return Some(ended.in_words(Duration::ZERO)) };
        let ran = Ran { ended, output: String::new(), errors: String::new(), told: Vec::new() };
        let told = super::told_by_cage(&self.program, ran, hold.report());
        Some(told.map_or_else(|why| why, |ran| ran.ended.in_words(Duration::ZERO)))
    }

    /// Ends it and waits until nothing of it is left, or a moment has passed and it
    /// is killed. Close its pipes first: a polite program ends by itself then.
    pub async fn end(mut self, grace: Duration) -> Option<Ended> {
        let waited = tokio::time::timeout(grace, self.child.wait()).await;
        let mut status = waited.ok();
        if let Some(hold) = self.hold.as_mut() {
            hold.end();
            if status.is_none() {
                status = tokio::time::timeout(DRAIN_MAX, self.child.wait()).await.ok();
            }
            if status.as_ref().is_some_and(is_own_exit) {
                hold.gone();
            }
        }
        self.group.kill();
        if status.is_none() {
            status = tokio::time::timeout(DRAIN_MAX, self.child.wait()).await.ok();
        }
        if let Some(sweep) = self.sweep.take() {
            // Nobody reads it any more; the next program's output tells of what is found later.
            sweep.after().await;
        }
        status.map(ended)
    }
}
