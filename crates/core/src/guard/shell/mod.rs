//! What a shell line does to the world.
//!
//! The line is cut into simple commands ([`lexer`]); each program is looked up
//! ([`program`]); the line is as strong as its strongest command. What cannot be
//! followed is [`Effect::Exec`]; nothing that may write is ever
//! [`Effect::Read`].

mod lexer;
mod names;
mod program;
#[cfg(test)]
mod tests;

use super::effect::{self, Breadth, Change, Effect, Guess};
use crate::provenance::Digest;
use lexer::{Command, Redirect};

/// Substitutions inside substitutions are followed this deep.
const DEPTH_MAX: u8 = 4;

/// What one command of a line does. Ordered: the strongest decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Act {
    /// Nothing: `true`, a comment, a keyword.
    Nothing,
    /// Moves or sets up this shell: `cd`, `export`. Weaker than looking, because
    /// `cd x && ls` is a look; alone it changes what later lines mean.
    Shell,
    /// Looks only.
    Read,
    /// Waits, or looks at what changes by itself.
    Poll,
    /// Changes files or other state.
    Write,
    /// Runs code that probably leaves the files alone, or nobody knows.
    Run,
    /// Runs code, and changes files for sure.
    RunAndWrite,
}

/// What a shell line does.
#[must_use]
pub fn classify(line: &str) -> Guess {
    let mut sum = Sum::default();
    sum.line(line, 0);
    sum.guess()
}

#[derive(Default)]
struct Sum {
    strongest: Option<Act>,
    /// Some program changes files or other state.
    writes: bool,
    /// Files that redirections fill.
    files: Vec<String>,
}

impl Sum {
    fn line(&mut self, text: &str, depth: u8) {
        if depth > DEPTH_MAX {
            return self.add(Act::Run);
        }
        let Ok(line) = lexer::cut(text) else { return self.add(Act::Run) };
        for inner in &line.substitutions {
            self.line(inner, depth + 1);
        }
        for command in &line.commands {
            self.command(command, depth);
        }
    }

    fn command(&mut self, command: &Command, depth: u8) {
        for redirect in &command.redirects {
            if let Redirect::Into(target) = redirect
                && !is_sink(&target.text)
            {
                self.files.push(target.text.clone());
                self.strongest = self.strongest.max(Some(Act::Write));
            }
        }
        let words = program::strip(&command.words);
        let act = match program::script_of(words, command) {
            Some(script) if depth < DEPTH_MAX => return self.line(&script, depth + 1),
            _ => program::act(words, command),
        };
        self.add(if command.background { act.max(Act::Run) } else { act });
    }

    fn add(&mut self, act: Act) {
        self.writes |= matches!(act, Act::Write | Act::RunAndWrite);
        self.strongest = self.strongest.max(Some(act));
    }

    /// The one file this line fills by redirection, when it changes nothing else.
    /// A relative path is no name: the shell may stand anywhere.
    fn target(&self) -> Option<Digest> {
        match self.files.as_slice() {
            [only] if !self.writes && self.strongest == Some(Act::Write) => effect::file_target(only),
            _ => None,
        }
    }

    fn guess(self) -> Guess {
        let target = self.target();
        let change = if self.writes || !self.files.is_empty() { Change::Surely } else { Change::Never };
        let (effect, change) = match self.strongest {
            // An empty line only asks what a running program has said since.
            None | Some(Act::Poll) => (Effect::Poll, change),
            Some(Act::Nothing | Act::Read) => (Effect::Read, change),
            Some(Act::Shell | Act::Write) => (Effect::Write, Change::Surely),
            Some(Act::Run | Act::RunAndWrite) => (Effect::Exec, change.max(Change::Perhaps)),
        };
        Guess { effect, change, breadth: Breadth::General, target }
    }
}

fn is_sink(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty")
}
