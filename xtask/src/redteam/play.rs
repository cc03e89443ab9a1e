//! One play of a scenario: a world is made, the steps are done in it, and what
//! became of it is asked. Everything happens in a folder of its own, as ordinary
//! users where the scenario wants them, and nothing stays running.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::scenario::{Play, Scenario, Step, User};

/// Longest time for a question.
const QUESTION: Duration = Duration::from_secs(20);
/// How often a process is looked at.
const LOOK: Duration = Duration::from_millis(5);
/// Most bytes of what a step printed that are looked through.
const PRINTED_MAX: usize = 8 * 1024 * 1024;

/// What became of a play.
pub(super) struct Outcome {
    /// Whether the attack worked.
    pub(super) worked: bool,
    /// What was not as the scenario wants it.
    pub(super) wrong: Vec<String>,
    /// What the steps printed, for whoever looks for the cause.
    pub(super) printed: String,
}

struct World<'a> {
    scenario: &'a Scenario,
    play: Play,
    programs: &'a Path,
    folder: TempDir,
    /// Process groups that were started.
    groups: Vec<u32>,
}

/// Plays it once. An error is one of the machine's, not of the scenario's.
pub(super) fn play(scenario: &Scenario, play: Play, programs: &Path) -> Result<Outcome> {
    let folder = tempfile::Builder::new().prefix("bowline-redteam-").tempdir()?;
    let mut world = World { scenario, play, programs, folder, groups: Vec::new() };
    world.make()?;
    let mut outcome = Outcome { worked: false, wrong: Vec::new(), printed: String::new() };
    for (number, step) in (1..).zip(&scenario.step) {
        if step.play.is_none_or(|only| only == play) {
            world.step(number, step, &mut outcome)?;
        }
    }
    outcome.worked = world.ask(&scenario.worked.run)?;
    if let Some(held) = &scenario.held
        && play == Play::Guarded
        && !world.ask(&held.run)?
    {
        outcome.wrong.push("what [held] asks for is not true".into());
    }
    Ok(outcome)
}

impl World<'_> {
    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn out(&self) -> PathBuf {
        self.path().join("out")
    }

    /// Homes, and the files of the scenario, each with its owner.
    fn make(&self) -> Result<()> {
        fs::set_permissions(self.path(), Permissions::from_mode(0o755))?;
        self.give(self.path(), User::Alice)?;
        fs::create_dir(self.out())?;
        for user in [User::Root, User::Alice, User::Mallory] {
            let home = self.home(user);
            fs::create_dir_all(&home)?;
            fs::set_permissions(&home, Permissions::from_mode(0o700))?;
            self.give(&home, user)?;
        }
        for (name, text) in &self.scenario.files {
            let owner = if name.starts_with("mallory/") { User::Mallory } else { User::Alice };
            let path = self.path().join(name);
            let missing: Vec<&Path> =
                path.ancestors().skip(1).take_while(|folder| !folder.exists()).collect();
            for folder in missing.into_iter().rev() {
                fs::create_dir(folder)?;
                self.give(folder, owner)?;
            }
            fs::write(&path, self.scenario.fill(text, self.play))
                .with_context(|| format!("cannot make {name}"))?;
            self.give(&path, owner)?;
        }
        Ok(())
    }

    fn home(&self, user: User) -> PathBuf {
        self.path().join("homes").join(user.name())
    }

    fn give(&self, path: &Path, user: User) -> Result<()> {
        match user.number().filter(|_| self.scenario.has_users()) {
            Some(number) => Ok(chown(path, Some(number), Some(number))?),
            None => Ok(()),
        }
    }

    fn step(&mut self, number: usize, step: &Step, outcome: &mut Outcome) -> Result<()> {
        let printed = self.out().join(number.to_string());
        let file = File::create(&printed)?;
        let mut command = self.command(&step.run, step.user);
        command.stdout(file.try_clone()?).stderr(file);
        let folder = self.path().join(step.folder.as_deref().unwrap_or("."));
        if !folder.is_dir() {
            outcome.wrong.push(format!("step {number}: there is no folder {}", folder.display()));
            return Ok(());
        }
        let ended = self.run(command.current_dir(folder), Duration::from_secs(step.seconds))?;
        let mut text = fs::read(&printed)?;
        text.truncate(PRINTED_MAX);
        let text = String::from_utf8_lossy(&text);
        outcome.printed.push_str(&format!("── step {number}, {}\n{text}\n", told(ended)));
        let Some(ended) = ended else {
            outcome.wrong.push(format!("step {number} was still running after {} s", step.seconds));
            return Ok(());
        };
        if self.play == Play::Guarded {
            let wrong = judged(step, ended, &text).into_iter().map(|wrong| format!("step {number} {wrong}"));
            outcome.wrong.extend(wrong);
        }
        Ok(())
    }

    /// Whether a script ends with 0.
    fn ask(&mut self, script: &str) -> Result<bool> {
        // As whoever plays: it must see everything.
        let mut command = self.command(script, Some(User::Root));
        command.stdout(Stdio::null()).stderr(Stdio::null()).current_dir(self.folder.path());
        Ok(self.run(&mut command, QUESTION)?.is_some_and(|ended| ended.success()))
    }

    fn command(&self, script: &str, user: Option<User>) -> Command {
        let usual = if self.scenario.has_users() { User::Alice } else { User::Root };
        let user = user.unwrap_or(usual);
        let mut command = Command::new("sh");
        command.arg("-c").arg(self.scenario.fill(script, self.play));
        command.env_clear().stdin(Stdio::null()).process_group(0);
        let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".into());
        command.env("PATH", format!("{}:{path}", self.programs.display()));
        command.env("HOME", self.home(user)).env("USER", user.name()).env("LANG", "C.UTF-8");
        command.env("WORLD", self.path()).env("OUT", self.out());
        if let Some(number) = user.number().filter(|_| self.scenario.has_users()) {
            command.uid(number).gid(number);
        }
        command
    }

    /// To its end, or not within its time.
    fn run(&mut self, command: &mut Command, time: Duration) -> Result<Option<ExitStatus>> {
        let mut child = command.spawn().context("cannot start sh")?;
        self.groups.push(child.id());
        let start = now();
        while start.elapsed() < time {
            if let Some(ended) = child.try_wait()? {
                return Ok(Some(ended));
            }
            std::thread::sleep(LOOK);
        }
        kill(child.id());
        child.wait()?;
        Ok(None)
    }
}

impl Drop for World<'_> {
    fn drop(&mut self) {
        self.groups.iter().copied().for_each(kill);
    }
}

impl User {
    fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Alice => "alice",
            Self::Mallory => "mallory",
        }
    }

    /// An account that no machine gives to anybody; `None`: whoever plays.
    fn number(self) -> Option<u32> {
        match self {
            Self::Root => None,
            Self::Alice => Some(40_001),
            Self::Mallory => Some(40_002),
        }
    }
}

/// What a step did that its scenario does not accept.
fn judged(step: &Step, ended: ExitStatus, text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if !step.exit.is_empty() && !ended.code().is_some_and(|code| step.exit.contains(&code)) {
        wrong.push(format!("ended with {ended}, not one of {:?}", step.exit));
    }
    wrong.extend(
        step.says.iter().filter(|said| !text.contains(*said)).map(|said| format!("does not say {said:?}")),
    );
    wrong.extend(step.lacks.iter().filter(|said| text.contains(*said)).map(|said| format!("says {said:?}")));
    wrong
}

fn told(ended: Option<ExitStatus>) -> String {
    ended.map_or_else(|| "did not end".into(), |ended| ended.to_string())
}

/// Ends a process group, if it is there still.
fn kill(group: u32) {
    let mut command = Command::new("kill");
    command.args(["-KILL", "--", &format!("-{group}")]).stdout(Stdio::null()).stderr(Stdio::null());
    let _ = command.status();
}

#[expect(clippy::disallowed_methods, reason = "a step is timed for real")]
fn now() -> Instant {
    Instant::now()
}
