//! Races: something on the way is swapped again and again while the tools work.
//!
//! What is swapped follows from the path: a folder or a file with a link that
//! leads outside, or a folder that is moved up, so that its `..` is another one.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use anyhow::{Context, Result, bail, ensure};
use rustix::fs::{CWD, Mode, OFlags, RenameFlags};

use super::{Case, Hands, Op, Tree, Verdict, clean};

/// Rounds of a case that does not say.
const ROUNDS: u32 = 10_000;

/// From so many rounds on, both sides must have won some.
const ROUNDS_THAT_TELL: u32 = 10_000;

/// Two names whose meanings change places.
struct Swap {
    one: PathBuf,
    other: PathBuf,
}

impl Swap {
    fn of(input: &str, tree: &Tree) -> Result<Self> {
        let root = tree.root();
        let first = input.split('/').next().unwrap_or_default();
        let (one, other) = (root.join(first), root.join("other"));
        if first == "mv" {
            std::fs::create_dir(&other)?;
            return Ok(Self { one: one.join("sub"), other });
        }
        let target = match one.symlink_metadata().context("nothing on the way can be swapped")? {
            found if found.is_dir() => "../outside",
            found if found.is_file() => "../outside/secret.txt",
            _ => bail!("what is on the way of {input:?} cannot be swapped"),
        };
        symlink(target, &other)?;
        Ok(Self { one, other })
    }

    fn swap(&self) -> std::io::Result<()> {
        Ok(rustix::fs::renameat_with(CWD, &self.one, CWD, &self.other, RenameFlags::EXCHANGE)?)
    }
}

/// Set even if a round fails, or the other thread would never end.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What came of a race that nobody won outside.
pub(super) struct Raced {
    rounds: u32,
    allowed: u32,
    refused: u32,
    swaps: u32,
}

impl std::fmt::Display for Raced {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { rounds, allowed, refused, swaps } = self;
        write!(f, "{rounds} rounds, {swaps} swaps: {allowed} allowed, {refused} refused, none outside")
    }
}

/// Calls the tool as often as the case says, or the person, while somebody swaps.
pub(super) fn run(case: &Case, tree: &Tree, hands: &Hands, rounds: Option<u32>) -> Result<Raced> {
    let input = tree.fill_in(&case.input);
    let swap = Swap::of(&input, tree)?;
    let is_deleting = case.op == Op::Delete;
    let real = is_deleting.then(|| Real::open(&tree.root().join(&input))).transpose()?;
    let (over, swaps, broken) = (AtomicBool::new(false), AtomicU32::new(0), AtomicBool::new(false));
    let rounds = rounds.or(case.iterations).unwrap_or(ROUNDS);
    let mut seen = [0_u32; 2];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                if swap.swap().is_err() {
                    broken.store(true, Ordering::Relaxed);
                    return;
                }
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        let _ends_the_swapping = SetOnDrop(&over);
        for round in 0..rounds {
            let (verdict, text) = hands.call(case.op, &input)?;
            clean(&text).with_context(|| format!("in round {round}"))?;
            if let Some(count) = seen.get_mut(usize::from(verdict == Verdict::Allow)) {
                *count += 1;
            }
            if let (Some(real), Verdict::Allow) = (&real, verdict) {
                real.make_again()?;
            }
        }
        anyhow::Ok(())
    })?;
    ensure!(!broken.load(Ordering::Relaxed), "the swapping broke off");
    let [refused, allowed] = seen;
    // A write may put its file where the link was: then nothing is refused any more.
    let raced = swaps.load(Ordering::Relaxed) > 0 && (refused > 0 || case.op == Op::Write);
    ensure!(raced || rounds < ROUNDS_THAT_TELL, "there was no race: {allowed} allowed, {refused} refused");
    Ok(Raced { rounds, allowed, refused, swaps: swaps.load(Ordering::Relaxed) })
}

/// The folder the file really is in, held open whatever its name is just now.
struct Real {
    folder: File,
    name: String,
}

impl Real {
    fn open(path: &Path) -> Result<Self> {
        let folder = path.parent().context("no folder")?;
        let name = path.file_name().context("no name")?.to_string_lossy().into_owned();
        Ok(Self { folder: File::open(folder)?, name })
    }

    fn make_again(&self) -> Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let made = rustix::fs::openat(&self.folder, &self.name, flags, Mode::from_raw_mode(0o600))?;
        File::from(made).write_all(b"s\n")?;
        Ok(())
    }
}
