//! `cargo xtask redteam [DIR]`: attacks on the real program, each a file that can be
//! read without Rust, played guarded and with the wall taken away.
//!
//! An attack holds if it fails guarded and works in the control. One whose control
//! fails proves nothing and counts as failed; one that this machine cannot play is
//! skipped, and said so.

#![expect(clippy::print_stdout, reason = "this is what the person at the terminal reads")]

mod play;
mod scenario;

use std::collections::VecDeque;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use anyhow::{Context, Result, bail};

use crate::harness;
use play::play;
use scenario::{Play, Scenario};

/// The attacks of the project.
const FOLDER: &str = "fixtures/redteam";
/// Plays at once.
const AT_ONCE: usize = 2;
/// Lines of a play that are shown when it went wrong.
const SHOWN: usize = 40;

/// What an attack came to.
enum Verdict {
    Held,
    Failed { why: Vec<String>, printed: String },
    Skipped { why: String },
}

/// As CI does it.
pub fn ci(root: &Path) -> Result<()> {
    run(root, &[])
}

/// Plays the scenarios of a folder.
pub fn run(root: &Path, words: &[String]) -> Result<()> {
    let folder = match words {
        [] => root.join(FOLDER),
        [folder] => Path::new(folder).to_owned(),
        _ => bail!("usage: cargo xtask redteam [DIR]"),
    };
    let scenarios = scenario::read(&folder)?;
    let built = harness::build(root)?;
    // A copy that every user may run, wherever the build lies.
    let programs = tempfile::Builder::new().prefix("bowline-redteam-").tempdir()?;
    fs::set_permissions(programs.path(), Permissions::from_mode(0o755))?;
    fs::copy(built.join("bowline"), programs.path().join("bowline")).context("cannot copy the program")?;
    report(&play_all(scenarios, programs.path())?)
}

/// Plays all, a few at once; in the order of their names.
fn play_all(scenarios: Vec<(String, Scenario)>, programs: &Path) -> Result<Vec<(String, Verdict)>> {
    let queue: Mutex<VecDeque<(String, Scenario)>> = Mutex::new(scenarios.into());
    let done: Mutex<Vec<Result<(String, Verdict)>>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().map(|mut queue| queue.pop_front());
                    let Ok(Some((name, scenario))) = next else { return };
                    let verdict = judge(&scenario, programs).with_context(|| name.clone());
                    if let Ok(verdict) = &verdict {
                        println!("{:<8} {:<9} {name}: {}", verdict.word(), scenario.class, scenario.attack);
                    }
                    if let Ok(mut done) = done.lock() {
                        done.push(verdict.map(|verdict| (name, verdict)));
                    }
                }
            });
        }
    });
    let done = done.into_inner().map_err(|_| anyhow::anyhow!("a play ended in a panic"))?;
    let mut done = done.into_iter().collect::<Result<Vec<_>>>()?;
    done.sort_by(|(left, _), (right, _)| left.cmp(right));
    Ok(done)
}

/// Both plays of an attack.
fn judge(scenario: &Scenario, programs: &Path) -> Result<Verdict> {
    if let Some(why) = scenario.needs.iter().find_map(|need| missing(need)) {
        return Ok(Verdict::Skipped { why });
    }
    let control = play(scenario, Play::Control, programs)?;
    if !control.worked {
        let why =
            ["the control failed: the attack does not work without the wall either, so nothing is proved"
                .into()];
        let why = why.into_iter().chain(control.wrong).collect();
        return Ok(Verdict::Failed { why, printed: control.printed });
    }
    let guarded = play(scenario, Play::Guarded, programs)?;
    let mut why = guarded.wrong;
    if guarded.worked {
        why.insert(0, format!("THE ATTACK WORKED. {}", scenario.why));
    }
    Ok(if why.is_empty() { Verdict::Held } else { Verdict::Failed { why, printed: guarded.printed } })
}

/// Why this machine cannot play what needs this.
fn missing(need: &str) -> Option<String> {
    match need {
        "users" => {
            let is_root = fs::metadata("/proc/self").is_ok_and(|us| us.uid() == 0);
            (!is_root).then(|| "only root can play two users".into())
        }
        "cage" => {
            let words = ["--ro-bind", "/", "/", "--unshare-user", "true"];
            (!works("bwrap", &words)).then(|| "there is no bubblewrap that works here".into())
        }
        program => (!works("which", &[program])).then(|| format!("there is no {program} here")),
    }
}

fn works(program: &str, words: &[&str]) -> bool {
    let quiet = Command::new(program).args(words).stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|ended| ended.success())
}

/// Says what came out; an error if anything did not hold.
fn report(verdicts: &[(String, Verdict)]) -> Result<()> {
    for (name, verdict) in verdicts {
        match verdict {
            Verdict::Held => {}
            Verdict::Skipped { why } => println!("\n{name} was skipped: {why}"),
            Verdict::Failed { why, printed } => {
                println!("\n{name} failed:");
                why.iter().for_each(|why| println!("  {why}"));
                let lines: Vec<&str> = printed.lines().collect();
                lines.iter().skip(lines.len().saturating_sub(SHOWN)).for_each(|line| println!("  │ {line}"));
            }
        }
    }
    let count = |word: &str| verdicts.iter().filter(|(_, verdict)| verdict.word() == word).count();
    let (held, failed, skipped) = (count("held"), count("FAILED"), count("skipped"));
    println!("\n{held} passed, {failed} failed, {skipped} skipped");
    if failed > 0 {
        bail!("{failed} of {} attacks did not hold", verdicts.len());
    }
    Ok(())
}

impl Verdict {
    fn word(&self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Failed { .. } => "FAILED",
            Self::Skipped { .. } => "skipped",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of an attack that leaves a mark where there is no wall.
    fn judged(guarded: &str, control: &str, more: &str) -> Verdict {
        let text = format!(
            "attack = \"a\"\nclass = \"cage\"\nwhy = \"w\"\n{more}\n[switch.DO]\nguarded = '{guarded}'\ncontrol = '{control}'\n\
             [[step]]\nrun = \"{{DO}}\"\nsays = [\"told\"]\nseconds = 1\n[worked]\nrun = \"test -e mark\"\n"
        );
        let programs = tempfile::tempdir().unwrap();
        judge(&Scenario::parse(&text).unwrap(), programs.path()).unwrap()
    }

    fn why(verdict: Verdict) -> String {
        match verdict {
            Verdict::Held => String::new(),
            Verdict::Failed { why, .. } => why.join("; "),
            Verdict::Skipped { why } => format!("skipped: {why}"),
        }
    }

    #[test]
    fn an_attack_holds_if_it_fails_guarded_and_works_in_the_control() {
        assert_eq!(why(judged("echo told", "touch mark", "")), "");
    }

    #[test]
    fn an_attack_that_works_or_proves_nothing_fails() {
        assert!(why(judged("echo told; touch mark", "touch mark", "")).contains("THE ATTACK WORKED"));
        assert!(why(judged("echo told", "true", "")).contains("the control failed"));
        assert!(why(judged("true", "touch mark", "")).contains("does not say \"told\""));
        assert!(why(judged("echo told; sleep 9", "touch mark", "")).contains("still running after 1 s"));
    }

    #[test]
    fn what_this_machine_cannot_play_is_skipped_and_said() {
        let verdict = judged("echo told", "touch mark", "needs = [\"no-such-program-here\"]");
        assert!(why(verdict).contains("there is no no-such-program-here here"));
    }
}
