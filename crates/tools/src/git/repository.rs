//! The repository of a workspace: git asked for one thing at a time, without the programs
//! that its settings name, and in a cage of its own where the run has one.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use bowline_cage::Outside;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::NotDone;
use super::caged::Room;
use super::settings::Settings;
use crate::program::git;
use crate::{Sandbox, background};

/// Most bytes that are read of an answer.
const ANSWER_MAX: u64 = 32 * 1024 * 1024;
/// Most characters of a complaint.
const SAID_MAX: usize = 500;
/// Longest time for one file.
const FILE_MAX: Duration = Duration::from_secs(30);
/// What git takes for a reference that must not be there.
const NOTHING: &str = "";

/// A repository whose top is the workspace.
pub(crate) struct Repository {
    folder: PathBuf,
    /// Where git is looked for.
    outside: Outside,
    settings: Settings,
    /// In what git runs; `None`: in nothing.
    room: Option<Room>,
}

/// What git is asked.
#[derive(Default)]
pub(super) struct Question<'a> {
    pub(super) words: &'a [&'a str],
    pub(super) input: &'a [u8],
    pub(super) variables: &'a [(&'a str, &'a str)],
}

/// What git said, and whether it could do it.
pub(super) struct Answer {
    pub(super) is_yes: bool,
    pub(super) output: Vec<u8>,
    said: String,
}

impl Repository {
    /// The repository of this folder, which must be its top: what is above a workspace is
    /// not the agent's.
    pub(super) async fn open(folder: &Path, sandbox: &Sandbox) -> Result<Self, NotDone> {
        let outside = sandbox.outside(folder);
        let mut this = Self { folder: folder.to_owned(), outside, settings: Settings::default(), room: None };
        // These two read settings and no file of the workspace, so they need no cage.
        let words = ["config", "--list", "-z", "--show-scope", "--show-origin"];
        let listed = this.ask(&words).await?;
        if !listed.is_yes {
            return Err(no_repository(&listed.said));
        }
        let mut writable = vec![folder.to_owned()];
        writable.extend_from_slice(sandbox.also_written());
        this.settings = Settings::of(&listed.output, folder, &writable)?;
        let words = ["rev-parse", "--show-prefix", "--absolute-git-dir", "--git-common-dir"];
        let found = this.ask(&words).await?;
        let text = found.text();
        let (true, [prefix, own, common]) = (found.is_yes, &text.split('\n').collect::<Vec<_>>()[..]) else {
            return Err(no_repository(&found.said));
        };
        if !prefix.is_empty() {
            return Err(NotDone::refused(
                "the workspace is not the top folder of its repository",
                "name the top folder as the workspace, with mode \"in-place\"",
            ));
        }
        let places = [folder.join(own), folder.join(common)];
        this.room = Room::of(sandbox, folder, places, &this.settings.files).await?;
        Ok(this)
    }

    /// What git answers to these words, if it can.
    pub(super) async fn tell(&self, words: &[&str]) -> Result<String, NotDone> {
        self.told(&Question { words, ..Question::default() }).await
    }

    /// The same for a question with more to it.
    pub(super) async fn told(&self, question: &Question<'_>) -> Result<String, NotDone> {
        let answer = self.put(question).await?;
        let text = answer.text();
        if answer.is_yes { Ok(text) } else { Err(answer.refusal(question.words)) }
    }

    /// Git's answer, yes or no.
    pub(super) async fn ask(&self, words: &[&str]) -> Result<Answer, NotDone> {
        self.put(&Question { words, ..Question::default() }).await
    }

    /// The commit a name stands for; `None`: there is none.
    pub(super) async fn commit_at(&self, name: &str) -> Result<Option<String>, NotDone> {
        let name = format!("{name}^{{commit}}");
        let found = self.ask(&["rev-parse", "--quiet", "--verify", "--end-of-options", &name]).await?;
        Ok(found.is_yes.then(|| found.text()))
    }

    /// The reference that is checked out: of a branch, or `HEAD` itself where there is none.
    pub(super) async fn checked_out(&self) -> Result<String, NotDone> {
        let found = self.ask(&["symbolic-ref", "--quiet", "HEAD"]).await?;
        Ok(if found.is_yes { found.text() } else { "HEAD".to_owned() })
    }

    /// Moves a reference, unless it is not where it was. `None`: it is not there.
    pub(super) async fn move_ref(
        &self,
        name: &str,
        (from, to): (Option<&str>, Option<&str>),
        why: &str,
    ) -> Result<(), NotDone> {
        let from = from.unwrap_or(NOTHING);
        let answer = match to {
            Some(to) => self.ask(&["update-ref", "--create-reflog", "-m", why, name, to, from]).await?,
            None => self.ask(&["update-ref", "-m", why, "-d", name, from]).await?,
        };
        if answer.is_yes {
            return Ok(());
        }
        let is_there = self.commit_at(name).await?;
        if is_there.as_deref().unwrap_or(NOTHING) == from {
            return Err(answer.refusal(&["update-ref"]));
        }
        Err(NotDone::Raced { name: name.to_owned() })
    }

    /// A file of git's own, below the workspace or not.
    pub(super) async fn own_file(&self, name: &str) -> Result<PathBuf, NotDone> {
        Ok(self.folder.join(self.tell(&["rev-parse", "--git-path", name]).await?))
    }

    pub(super) async fn put(&self, question: &Question<'_>) -> Result<Answer, NotDone> {
        let (mut command, hold) = match &self.room {
            Some(room) => {
                let carried = self.settings.taken_out.iter().chain(&self.settings.carried);
                let (command, hold) = room.command(carried, question).await?;
                (command, Some(hold))
            }
            None => {
                let command = git::command(&self.folder, &self.outside);
                let mut command =
                    command.map_err(|missing| NotDone::NoGit(format!("{missing}; {}", missing.remedy())))?;
                command.args(self.settings.taken_out.iter().flat_map(|setting| ["-c", setting]));
                command.args(question.words).envs(question.variables.iter().copied());
                (command, None)
            }
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let lost = |error: std::io::Error| NotDone::NoGit(error.to_string());
        let mut child = command.spawn().map_err(lost)?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let feed = async {
            if let Some(mut stdin) = stdin {
                // A git that wants no more has said why.
                let _ = stdin.write_all(question.input).await;
            }
        };
        let (mut output, mut said) = (Vec::new(), Vec::new());
        let read = async {
            if let Some(stdout) = stdout {
                stdout.take(ANSWER_MAX + 1).read_to_end(&mut output).await?;
            }
            std::io::Result::Ok(())
        };
        let hear = async {
            if let Some(stderr) = stderr {
                stderr.take(ANSWER_MAX).read_to_end(&mut said).await?;
            }
            std::io::Result::Ok(())
        };
        let ((), read, heard) = tokio::join!(feed, read, hear);
        read.and(heard).map_err(lost)?;
        if output.len() as u64 > ANSWER_MAX {
            return Err(NotDone::NoGit("it said more than can be read".into()));
        }
        let ended = child.wait().await.map_err(lost)?;
        let said: String = String::from_utf8_lossy(&said).trim().chars().take(SAID_MAX).collect();
        super::caged::settled(hold, &ended, &said)?;
        Ok(Answer { is_yes: ended.success(), output, said })
    }
}

fn no_repository(said: &str) -> NotDone {
    NotDone::refused(
        format!("there is no repository that git can use in the workspace: {said}"),
        "work in the folder itself (workspace.mode = \"in-place\"), or `git init` it first",
    )
}

/// Copies a file, if it is there.
pub(super) async fn copy(from: PathBuf, to: PathBuf) {
    let _ = background::run(FILE_MAX, move |_| std::fs::copy(from, to).is_ok()).await;
}

/// Removes a file, if it is there.
pub(super) async fn remove(file: PathBuf) {
    let _ = background::run(FILE_MAX, move |_| std::fs::remove_file(file).is_ok()).await;
}

impl Answer {
    /// What it said, as one text.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.output).trim_end_matches('\n').to_owned()
    }

    /// Names that it listed, each ended by a zero byte. One that is no text is left out.
    pub(super) fn names(&self) -> Vec<String> {
        let names = self.output.split(|byte| *byte == 0);
        let names = names.filter_map(|name| String::from_utf8(name.to_vec()).ok());
        names.filter(|name| !name.is_empty()).collect()
    }

    pub(super) fn refusal(self, words: &[&str]) -> NotDone {
        let verb = words.first().copied().unwrap_or_default().to_owned();
        NotDone::Git { verb, said: self.said }
    }
}
