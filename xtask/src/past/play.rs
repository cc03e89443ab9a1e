//! Steps of a scenario, played in its world: each is a script, run to its end, or killed with
//! all it started once it has printed what it is waited for.
//!
//! A step has an environment of its own and no input, and nothing of it stays running.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::scenario::Step;
use super::world::World;

/// Lines that wait to be looked at; more wait in the pipe.
const LINES_MAX: usize = 256;
/// How long what was killed may take to be gone.
const GONE: Duration = Duration::from_secs(10);

/// The programs that steps call.
#[derive(Clone, Debug)]
pub struct Programs {
    /// A folder with `bowline` in it.
    folder: PathBuf,
    /// Set in the environment of every step, besides.
    more: Vec<(String, String)>,
}

impl Programs {
    /// Those in a folder.
    #[must_use]
    pub fn in_folder(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), more: Vec::new() }
    }

    /// The same, with one more variable in the environment.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.more.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A script for sh in a world. Nothing of the machine's environment gets into it.
    pub(super) fn script(&self, world: &World, script: &str) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(world.fill(script)).current_dir(world.path());
        let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".into());
        command.env_clear().stdin(Stdio::null()).process_group(0);
        command.env("PATH", format!("{}:{path}", self.folder.display()));
        command.env("HOME", world.path().join("user")).env("USER", "tester").env("LANG", "C.UTF-8");
        command.env("BOWLINE_HOME", world.home()).env("WORLD", world.path());
        command.envs(self.more.iter().map(|(name, value)| (name, value)));
        command
    }

    /// What a script in a world ends with, and what it prints on either stream.
    pub fn sh(&self, world: &World, script: &str) -> Result<(i32, String)> {
        let ran = self.script(world, &format!("exec 2>&1\n{script}")).output().context("cannot start sh")?;
        Ok((ran.status.code().unwrap_or(-1), String::from_utf8_lossy(&ran.stdout).into_owned()))
    }

    /// The same of `bowline` with these words, as a shell reads them.
    pub fn bowline(&self, world: &World, words: &[&str]) -> Result<(i32, String)> {
        self.sh(world, &format!("bowline {}", words.join(" ")))
    }

    /// What `bowline` prints about a home.
    pub(super) fn ask(&self, world: &World, home: &Path, words: &[&str]) -> Result<String> {
        let mut command = self.script(world, "exec bowline --home \"$LOOK\" \"$@\"");
        command.env("LOOK", home).arg("sh").args(words);
        let ran = command.output().context("cannot start sh")?;
        if !ran.status.success() {
            bail!("bowline {words:?} ended with {}: {}", ran.status, String::from_utf8_lossy(&ran.stderr));
        }
        Ok(String::from_utf8(ran.stdout)?)
    }
}

/// What a step printed.
struct Printed {
    lines: Receiver<String>,
    all: String,
}

/// Plays a step; an error says how it was not as the scenario wants it.
pub(super) fn play(step: &Step, world: &World, programs: &Programs) -> Result<()> {
    fs::create_dir_all(world.path().join("user")).context("cannot make the user's folder")?;
    let mut command = programs.script(world, &format!("exec 2>&1\n{}", step.run));
    let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start sh")?;
    let mut printed = Printed { lines: lines(&mut child)?, all: String::new() };
    let outcome = watched(step, &mut child, &mut printed);
    kill(child.id());
    let ended = child.wait()?;
    outcome
        .and_then(|()| judged(step, ended, &printed.all))
        .with_context(|| format!("`{}` printed:\n{}", step.run.trim(), printed.all))
}

/// Lines as they come, from a thread of their own: whoever waits for one has a deadline.
fn lines(child: &mut Child) -> Result<Receiver<String>> {
    let out = child.stdout.take().context("a step without output")?;
    let (tell, told) = sync_channel(LINES_MAX);
    std::thread::spawn(move || {
        let mut out = BufReader::new(out.take(1 << 26));
        let mut line = Vec::new();
        while out.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            if tell.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
            line.clear();
        }
    });
    Ok(told)
}

/// Reads until the step is to be killed, or has ended.
fn watched(step: &Step, child: &mut Child, printed: &mut Printed) -> Result<()> {
    let start = now();
    let time = Duration::from_secs(step.seconds);
    let mut seen = 0;
    while let Some(left) = time.checked_sub(start.elapsed()) {
        match printed.lines.recv_timeout(left) {
            Ok(line) => {
                seen += usize::from(step.kill.as_ref().is_some_and(|text| line.contains(text)));
                printed.all.push_str(&line);
                if step.kill.is_some() && seen >= step.nth {
                    return Ok(());
                }
            }
            Err(RecvTimeoutError::Timeout) => break,
            Err(RecvTimeoutError::Disconnected) => return ended(child, start, time),
        }
    }
    bail!("it was still running after {} s", step.seconds)
}

/// Waits for the end of a step that prints nothing more.
fn ended(child: &mut Child, start: Instant, time: Duration) -> Result<()> {
    while start.elapsed() < time.max(GONE) {
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    bail!("it closed its output and did not end")
}

fn judged(step: &Step, ended: ExitStatus, printed: &str) -> Result<()> {
    if let Some(text) = &step.kill {
        let seen = printed.lines().filter(|line| line.contains(text)).count();
        ensure!(seen >= step.nth, "it ended with {ended} before it printed {text:?} {} times", step.nth);
    } else {
        let accepted: &[i32] = if step.exit.is_empty() { &[0] } else { &step.exit };
        // What a signal ended has no code: a scenario may expect that as -1.
        let code = ended.code().unwrap_or(-1);
        ensure!(accepted.contains(&code), "it ended with {ended}, not one of {accepted:?}");
    }
    for said in &step.says {
        ensure!(printed.contains(said), "it does not say {said:?}");
    }
    Ok(())
}

/// Ends a process group, if it is there still, and waits until nothing of it is at work.
pub(super) fn kill(group: u32) {
    let mut command = Command::new("kill");
    command.args(["-KILL", "--", &format!("-{group}")]).stdout(Stdio::null()).stderr(Stdio::null());
    let _ = command.status();
    let start = now();
    while is_at_work(group) && start.elapsed() < GONE {
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether a process of the group has not ended. One that nobody has waited for yet has, unless
/// a thread of it is still there: that one holds its files and locks.
fn is_at_work(group: u32) -> bool {
    let Ok(all) = fs::read_dir("/proc") else { return false };
    all.flatten().any(|entry| {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // After the name, which may hold anything: state, parent, group.
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let mut fields = rest.split_whitespace();
        let is_dead = matches!(fields.next(), Some("Z" | "X") | None);
        let threads = || fs::read_dir(entry.path().join("task")).map_or(0, Iterator::count);
        fields.nth(1) == Some(group.to_string().as_str()) && (!is_dead || threads() > 1)
    })
}

#[expect(clippy::disallowed_methods, reason = "a step is timed for real")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(name: &str, step: &str) -> Result<()> {
        let world = World::take("test", name)?;
        let step: Step = toml::from_str(step)?;
        play(&step, &world, &Programs::in_folder(Path::new("/nowhere")))
    }

    fn why(name: &str, step: &str) -> String {
        format!("{:#}", played(name, step).unwrap_err())
    }

    #[test]
    fn a_step_is_killed_at_the_line_it_is_waited_for_and_with_what_it_started() {
        let world = World::take("test", "killed").unwrap();
        let step = |text: &str| -> Result<()> {
            play(&toml::from_str(text)?, &world, &Programs::in_folder(Path::new("/nowhere")))
        };
        step("run = \"echo a; echo a; (sleep 0.2; touch late) & sleep 9\"\nkill = \"a\"\nnth = 2\nseconds = 5\n").unwrap();
        step("run = \"sleep 0.4; test ! -e late\"\n").unwrap();
    }

    #[test]
    fn a_step_that_is_not_as_it_should_be_is_an_error_with_what_it_printed() {
        let early = why("early", "run = \"echo b\"\nkill = \"a\"\n");
        assert!(early.contains("before it printed \"a\"") && early.contains("printed:\nb"), "{early}");
        assert!(why("code", "run = \"exit 3\"\n").contains("not one of [0]"));
        assert!(why("mute", "run = \"echo x\"\nsays = [\"y\"]\n").contains("does not say \"y\""));
        assert!(why("slow", "run = \"sleep 9\"\nseconds = 1\n").contains("still running after 1 s"));
        played("signal", "run = \"kill -9 $$\"\nexit = [-1]\n").unwrap();
    }

    #[test]
    fn a_step_knows_its_world_and_nothing_of_the_machine() {
        let step = "run = '''test \"$WORLD\" = \"{WORLD}\" && test \"$PWD\" = \"$WORLD\" && test -z \"$CARGO\" && echo fine'''\nsays = [\"fine\"]\n";
        played("knows", step).unwrap();
    }
}
