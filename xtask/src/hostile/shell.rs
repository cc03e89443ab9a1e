//! Hostile commands against the cage, from outside: the real `bowline-cage`
//! program runs each, as the superuser and as an ordinary user where we can be
//! both.
//!
//! That a command is blocked counts only if the same command works without a
//! cage in the same test. Where it cannot on this machine, or must not, a
//! stand-in of its class is the control (see [`standin`]), which is said; the
//! command itself must still fail inside. Nothing here ends or changes what the
//! test did not make.

mod scene;
mod standin;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use bowline_cage::{Cage, Launcher, Outside};
use serde_json::Value;

use super::{Options, Score, cases};
use scene::{Outcome, Scene, Who};
use standin::Control;

/// Commands that may run without asking, in the cases about words.
const ALLOWED_WORDS: &str = "ls,git,find,tar,env";

/// Lines that a guard which refuses everything would refuse.
const PLAIN_LINES: [&str; 4] = ["ls -la src", "git status", "find . -name '*.rs'", "tar tf a.tar && ls"];

/// Time for a case that a bound should stop, and for all others.
const BOUNDED: Duration = Duration::from_secs(3);
const ORDINARY: Duration = Duration::from_secs(20);
/// How much later than its bound a command may be over, on a busy machine.
const OVERTIME: Duration = Duration::from_secs(12);
/// Somebody who only slept must get the processor back within this time.
const ANSWER: Duration = Duration::from_secs(1);
/// By when a signal that works must have ended its process, and for how long one that must
/// not work is watched.
const ARRIVAL: Duration = Duration::from_secs(5);
const LATE: Duration = Duration::from_millis(200);
/// What is kept of an endless output, and of an endless file.
const OUTPUT_BYTES: u64 = 1024 * 1024;
const FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Runs every case of the file as everybody we can be.
pub(crate) fn run(file: &Path, _options: Options) -> Result<Score> {
    let program = scene::build()?;
    let launcher = Launcher { program: program.clone(), args: vec!["launch".into()] };
    Cage::find(launcher, &Outside::here()).map_err(|missing| anyhow!("{missing}; {}", missing.remedy()))?;
    let mut score = Score::default();
    for (id, case) in cases(file)? {
        let outcome = Who::all().into_iter().try_for_each(|who| {
            let judged = Case::read(&id, &case).and_then(|case| case.judge(&program, who));
            judged.with_context(|| format!("as {who}"))
        });
        score.add(&id, outcome);
    }
    Ok(score)
}

/// One command and what should become of it.
struct Case<'a> {
    id: &'a str,
    input: &'a str,
    expect: &'a str,
}

impl<'a> Case<'a> {
    fn read(id: &'a str, case: &'a Value) -> Result<Self> {
        let text = |name: &str| case.get(name).and_then(Value::as_str).with_context(|| format!("no {name}"));
        Ok(Self { id, input: text("input")?, expect: text("expect")? })
    }

    fn judge(&self, program: &Path, who: Who) -> Result<()> {
        let scene = || Scene::make(program, who, self.input);
        match self.expect {
            "allow" => self.allowed(&scene()?),
            "blocked" => self.blocked(&scene()?, &scene()?),
            "bounded" => self.bounded(&scene()?),
            "denied_or_asked" => self.asked(&scene()?),
            other => bail!("nobody knows what {other:?} expects"),
        }
    }

    /// Inside and outside, it does the same.
    fn allowed(&self, scene: &Scene) -> Result<()> {
        let line = scene.fill_in(self.input);
        let outside = scene.outside(&line)?;
        ensure!(outside.code != Some(127), "no control: {}", outside.errors);
        let inside = scene.inside(&line, ORDINARY)?;
        ensure!(inside.code == outside.code, "{:?} inside, {:?} outside", inside.code, outside.code);
        ensure!(inside.output == outside.output, "said {:?} inside", inside.output);
        Ok(())
    }

    /// It works outside; inside it fails and leaves no trace outside.
    fn blocked(&self, free: &Scene, caged: &Scene) -> Result<()> {
        let control = standin::controls(self.input, free)?
            .into_iter()
            .find_map(|control| worked(free, &control).map(|worked| worked.then_some(control)).transpose())
            .context("no control: it does not work outside either")??;
        let line = caged.fill_in(self.input);
        fails_inside(caged, &Control::itself(line))?;
        if let Some(what) = control.standin {
            println!("  {} as {}: stand-in, {what}", self.id, caged.who);
            let control =
                standin::controls(self.input, caged)?.into_iter().find(|again| again.standin == Some(what));
            fails_inside(caged, &control.context("the stand-in is gone")?)?;
        }
        Ok(())
    }

    /// It ends in time, with everything it started, and takes no more than its share.
    fn bounded(&self, scene: &Scene) -> Result<()> {
        let line = scene.fill_in(self.input);
        let try_once = || while_asking(|| timed(|| scene.inside(&line, BOUNDED)));
        let ((mut outcome, mut took), mut slowest) = try_once();
        if slowest >= ANSWER {
            // Somebody else may have kept the machine busy.
            ((outcome, took), slowest) = try_once();
        }
        let outcome = outcome?;
        ensure!(took < BOUNDED + OVERTIME, "took {took:?}");
        ensure!(slowest < ANSWER, "nothing else could run for {slowest:?}");
        ensure!(outcome.code != Some(125), "there was no cage: {}", outcome.errors);
        let said = u64::try_from(outcome.output.len())?;
        ensure!(said <= OUTPUT_BYTES, "{said} bytes were kept");
        ensure!(scene.largest_file()? <= FILE_BYTES, "a file grew beyond its limit");
        ensure!(scene.survivors_are_gone(), "something of it is still running");
        // Reading an empty input is over at once.
        ensure!(self.input != "cat" || outcome.code == Some(0), "{outcome:?}");
        scene.is_untouched()
    }

    /// Without a person it does not run; lines everybody would let pass do.
    fn asked(&self, scene: &Scene) -> Result<()> {
        for line in PLAIN_LINES {
            ensure!(scene.words(ALLOWED_WORDS, line)?, "even {line:?} is asked about");
        }
        ensure!(!scene.words(ALLOWED_WORDS, &scene.fill_in(self.input))?, "it would run without asking");
        Ok(())
    }
}

/// Does it work without a cage?
fn worked(scene: &Scene, control: &Control) -> Result<bool> {
    let outcome = scene.outside(&control.line)?;
    Ok(match &control.victim {
        // A signal is sent when `kill` returns; that it arrived takes a moment.
        Some(victim) => victim.is_gone_within(ARRIVAL),
        None if control.reaches_out() => scene.hits_within(Duration::from_millis(500)) > 0,
        None => outcome.code == Some(0) || outcome.killed,
    })
}

fn fails_inside(scene: &Scene, control: &Control) -> Result<()> {
    let Outcome { code, errors, .. } = scene.inside(&control.line, ORDINARY)?;
    ensure!(code != Some(125), "there was no cage: {errors}");
    ensure!(code != Some(124), "it did not come to an end");
    // A datagram and a signal can be sent into the void; that they arrive counts.
    let by_effect = control.victim.is_some() || control.is_datagram();
    ensure!(by_effect || code.is_none_or(|code| code != 0), "it worked inside: {}", control.line);
    let is_hit = control.victim.as_ref().is_some_and(|victim| victim.is_gone_within(LATE));
    ensure!(!is_hit, "it reached a process outside");
    let hits = scene.hits_within(Duration::ZERO);
    ensure!(hits == 0, "a listener outside was reached {hits} times");
    scene.is_untouched()
}

/// Does the work, and meanwhile sleeps shortly again and again: the second result
/// is the longest it took to get the processor back.
fn while_asking<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    const NAP: Duration = Duration::from_millis(10);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let mut slowest = Duration::ZERO;
            while !over.load(Ordering::SeqCst) {
                slowest = slowest.max(timed(|| std::thread::sleep(NAP)).1);
            }
            slowest
        });
        let result = work();
        over.store(true, Ordering::SeqCst);
        (result, asking.join().unwrap_or(Duration::MAX))
    })
}

#[expect(clippy::disallowed_methods, reason = "how long something took is no decision of a run")]
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}
