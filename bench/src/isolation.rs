//! What working apart costs: the copy a run begins with, beside a git worktree of the same
//! files; and bringing a thousand changed files home, and taking them back.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};
use bowline::core::event::LandOutcome;
use bowline::tools::{Sandbox, Workspace, isolation};

use crate::Bench;
use crate::report::{Judged, Section, Target};
use crate::stopwatch::{median, now, range};

/// Files of the tree, in folders of a hundred.
const FILES: usize = 10_000;

/// Files a run changed.
const CHANGED: usize = 1_000;

/// Measures both.
pub(crate) fn measure(bench: &Bench) -> Result<Section> {
    let note = format!("A tree of {FILES} files of 560 bytes, and {CHANGED} changes. Medians; made in turn.");
    let mut section = Section::new("Isolation", note);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let tree = bench.folder("tree");
    plant(&tree)?;
    git(&tree, &["init", "-q"])?;
    git(&tree, &["add", "-A"])?;
    git(&tree, &["commit", "-qm", "x"])?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut last = (PathBuf::new(), PathBuf::new());
    for round in 0..bench.repeats() {
        let worktree = bench.folder(&format!("worktree-{round}"));
        theirs.push(millis(|| {
            git(&tree, &["worktree", "add", "-q", "--detach", &worktree.display().to_string()])
        })?);
        last = (bench.folder(&format!("copy-{round}")), bench.folder(&format!("bases/{round}.json")));
        ours.push(millis(|| {
            Ok(runtime.block_on(isolation::prepare(&tree, &last.0, &last.1, &Sandbox::Off))?)
        })?);
    }
    section.tell("`git worktree add`", format!("{:.0} ms {}", median(theirs.clone()), range(&theirs)));
    let result = format!(
        "{:.0} ms {} ({:.2} × of the worktree)",
        median(ours.clone()),
        range(&ours),
        median(ours.clone()) / median(theirs)
    );
    section.judge("copy of an isolated run, ready to work on", result, at_most(median(ours), 100.0));
    let (copy, base) = last;
    for at in 0..CHANGED {
        std::fs::write(copy.join(name(at * FILES / CHANGED)), format!("changed {at}\n"))?;
    }
    let note = base.with_extension("landing");
    let workspace = Workspace::open(&copy)?;
    let mut steps = Vec::new();
    let found = millis(|| {
        let found = runtime.block_on(isolation::find(&workspace, &base, &tree));
        steps = found.or_else(|outcome| bail!("{outcome:?}"))?;
        Ok(())
    })?;
    section.tell(format!("finding {CHANGED} changes"), format!("{found:.0} ms"));
    for (back, what) in [(false, "applying"), (true, "taking back")] {
        let took = millis(|| match runtime.block_on(isolation::land(&tree, steps.clone(), &note, back)) {
            LandOutcome::Landed => Ok(()),
            other => bail!("{other:?}"),
        })?;
        section.judge(
            format!("{what} {CHANGED} changed files"),
            format!("{took:.0} ms"),
            at_most(took, 2000.0),
        );
    }
    Ok(section)
}

fn at_most(value: f64, most: f64) -> Judged {
    Judged { value, target: Target::AtMost(most), unit: "ms" }
}

fn millis(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = now();
    work()?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

fn name(at: usize) -> String {
    format!("folder-{}/file-{}.txt", at / 100, at % 100)
}

fn plant(tree: &Path) -> Result<()> {
    for at in 0..FILES {
        let path = tree.join(name(at));
        if at % 100 == 0 {
            std::fs::create_dir_all(path.parent().unwrap_or(tree))?;
        }
        std::fs::write(path, format!("a line {at:05}\n").repeat(40))?;
    }
    Ok(())
}

fn git(folder: &Path, words: &[&str]) -> Result<()> {
    let who = ["-c", "user.name=bench", "-c", "user.email=bench@example.com"];
    let ran = Command::new("git").current_dir(folder).args(who).args(words).output()?;
    if !ran.status.success() {
        bail!("git {}: {}", words.join(" "), String::from_utf8_lossy(&ran.stderr).trim());
    }
    Ok(())
}
