//! Guards over files of recorded runs, on several threads.
//!
//! Threads share the files and nothing else: each takes the next line, parses
//! and judges it alone, and keeps sums of its own. Sums are whole numbers and
//! decisions are sorted by line, so the report does not depend on how many
//! threads there were. The first bad line, in file order, ends the evaluation.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use bowline_core::guard::loops::Action;
use bowline_core::provenance::Digest;

use crate::judge::Guard;
use crate::score::{BlockTally, Decision, Scored, StopTally};
use crate::trajectory::{Collection, Line, ReadError, Trajectory};

/// The source that is reported alone: its runs are short and many.
pub const APART: &str = "agentdojo";
/// Runs whose id hashes to this first byte or above are held out.
pub const HELD_OUT_FROM: u8 = 179;

/// Which runs are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// All of them.
    #[default]
    Whole,
    /// Those that rules may be fitted to, about 70 %.
    Tuning,
    /// The others.
    HeldOut,
}

impl Part {
    /// Whether a run of this id belongs to it.
    #[must_use]
    pub fn holds(self, id: &str) -> bool {
        let Digest([first, ..]) = Digest::of(id.as_bytes());
        match self {
            Self::Whole => true,
            Self::Tuning => first < HELD_OUT_FROM,
            Self::HeldOut => first >= HELD_OUT_FROM,
        }
    }
}

/// What to do with the runs.
pub struct Plan<'a> {
    /// The guards to score.
    pub guards: &'a [&'a dyn Guard],
    /// Which scores are wanted; [`Action::Both`] is each of the two in a pass of its own.
    pub action: Action,
    /// Which runs.
    pub part: Part,
    /// The guard whose decisions are wanted, by its place in `guards`.
    pub decisions_of: Option<usize>,
    /// How many threads; at least one.
    pub threads: usize,
    /// Told after every line how far it is. Called from any of the threads, one
    /// at a time.
    pub progress: &'a (dyn Fn(Progress) + Sync),
}

/// How far an evaluation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the files read so far, compressed as they are.
    pub read: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// Runs taken up so far.
    pub runs: u64,
}

/// The scores of one guard on one source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scores {
    /// Of a pass in which nothing was stopped.
    pub block: BlockTally,
    /// Of a pass in which nothing was blocked.
    pub stop: StopTally,
}

impl Scores {
    fn add(&mut self, other: &Self) {
        self.block.add(&other.block);
        self.stop.add(&other.stop);
    }
}

/// A decision, with its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDecision {
    /// The run.
    pub id: String,
    /// What was decided.
    pub decision: Decision,
}

/// What came of an evaluation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Runs that counted, by source.
    pub runs: BTreeMap<String, u64>,
    /// Runs left out: nobody knows how they ended, or they made no call.
    pub left_out: u64,
    /// For each guard, its scores by source.
    pub scores: Vec<BTreeMap<String, Scores>>,
    /// The decisions asked for, in the order of the files.
    pub decisions: Vec<RunDecision>,
}

impl Report {
    /// Sums over every source but [`APART`].
    #[must_use]
    pub fn pooled(&self, guard: usize) -> Scores {
        let mut pool = Scores::default();
        for (source, scores) in self.scores.get(guard).into_iter().flatten() {
            if source != APART {
                pool.add(scores);
            }
        }
        pool
    }

    fn merge(&mut self, other: Self) {
        for (source, runs) in other.runs {
            *self.runs.entry(source).or_default() += runs;
        }
        self.left_out += other.left_out;
        self.scores.resize_with(self.scores.len().max(other.scores.len()), BTreeMap::new);
        for (mine, theirs) in self.scores.iter_mut().zip(other.scores) {
            for (source, scores) in theirs {
                mine.entry(source).or_default().add(&scores);
            }
        }
    }
}

/// Scores guards on recorded runs.
pub fn evaluate(paths: &[PathBuf], plan: &Plan<'_>) -> Result<Report, ReadError> {
    let shared = Shared {
        lines: Mutex::new(Queue { collection: Collection::of(paths)?, taken: 0 }),
        is_over: AtomicBool::new(false),
    };
    let shares: Vec<Share> = thread::scope(|scope| {
        let workers: Vec<_> = (0..plan.threads.max(1)).map(|_| scope.spawn(|| shared.work(plan))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or_default()).collect()
    });
    let mut report = Report { scores: vec![BTreeMap::new(); plan.guards.len()], ..Report::default() };
    let mut decisions = Vec::new();
    let mut errors = Vec::new();
    for share in shares {
        report.merge(share.report);
        decisions.extend(share.decisions);
        errors.extend(share.error);
    }
    // Lines are handed out in order, so the first bad one has always been taken.
    if let Some((_, error)) = errors.into_iter().min_by_key(|(line, _)| *line) {
        return Err(error);
    }
    decisions.sort_by_key(|(line, _)| *line);
    report.decisions = decisions.into_iter().flat_map(|(_, decisions)| decisions).collect();
    Ok(report)
}

struct Shared {
    lines: Mutex<Queue>,
    is_over: AtomicBool,
}

struct Queue {
    collection: Collection,
    taken: u64,
}

/// What one thread found.
#[derive(Default)]
struct Share {
    report: Report,
    decisions: Vec<(u64, Vec<RunDecision>)>,
    error: Option<(u64, ReadError)>,
}

impl Shared {
    fn work(&self, plan: &Plan<'_>) -> Share {
        let mut share = Share::default();
        share.report.scores = vec![BTreeMap::new(); plan.guards.len()];
        while !self.is_over.load(Ordering::Relaxed) {
            let (number, taken) = self.take(plan);
            let judged = match taken {
                Ok(None) => break,
                Ok(Some(line)) => line.parse().map(|run| share.judge(&run, number, plan)),
                Err(error) => Err(error),
            };
            if let Err(error) = judged {
                self.is_over.store(true, Ordering::Relaxed);
                share.error = Some((number, error));
            }
        }
        share
    }

    fn take(&self, plan: &Plan<'_>) -> (u64, Result<Option<Line>, ReadError>) {
        let mut queue: MutexGuard<'_, Queue> = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        queue.taken += 1;
        let line = queue.collection.next_line();
        let (read, bytes) = (queue.collection.bytes_read(), queue.collection.bytes());
        (plan.progress)(Progress { read, bytes, runs: queue.taken });
        (queue.taken, line)
    }
}

impl Share {
    fn judge(&mut self, run: &Trajectory, number: u64, plan: &Plan<'_>) {
        if !plan.part.holds(&run.id) {
            return;
        }
        let Some(scored) = Scored::new(run) else {
            self.report.left_out += 1;
            return;
        };
        *self.report.runs.entry(run.source.clone()).or_default() += 1;
        for (guard, by_source) in plan.guards.iter().zip(&mut self.report.scores) {
            let scores = by_source.entry(run.source.clone()).or_default();
            if matches!(plan.action, Action::Block | Action::Both) {
                scores.block.add(&scored.block(&scored.pass(*guard, Action::Block)));
            }
            if matches!(plan.action, Action::Stop | Action::Both) {
                scores.stop.add(&scored.stop(&scored.pass(*guard, Action::Stop)));
            }
        }
        let watched = plan.decisions_of.and_then(|at| plan.guards.get(at));
        if let Some(guard) = watched {
            let passage = scored.pass(*guard, plan.action);
            let named = |decision| RunDecision { id: run.id.clone(), decision };
            self.decisions.push((number, passage.decisions.into_iter().map(named).collect()));
        }
    }
}
