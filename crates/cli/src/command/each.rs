//! `bowline run` of a task for each of many files: a run for every file, a bar while they are
//! at work, and a table of what came of them.
//!
//! Every run is submitted before the first is started, so that `bowline resume` goes on with
//! all of them, whenever this process is killed.

use std::collections::{BTreeMap, VecDeque};

use bowline::{Engine, EngineError, Stopped};
use bowline_core::event::Ending;
use bowline_core::id::RunId;
use bowline_core::task::Task;
use bowline_core::view::ending_line;
use bowline_tools::UNSANDBOXED_WARNING;
use tokio::task::JoinSet;

use super::Desk;
use super::follow::while_working;
use super::work::patience;
use crate::args::{RunArgs, ShowFlags};
use crate::error::CliError;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::output::runs::StoppedFile;
use crate::render::bar::Bar;
use crate::render::progress::{Detail, Progress};
use crate::render::{escape, result, table, words};
use crate::report::Report;
use crate::taskfile::Batch;

/// Runs that are worked on at once.
const AT_ONCE: usize = 4;

/// What came of the run of one file.
struct Done {
    file: String,
    report: Report,
    stopped: Stopped,
}

/// A run for every file, to the end of all of them.
pub(crate) async fn run(
    desk: &Desk<'_>,
    args: &RunArgs,
    Batch { tasks, enough }: Batch,
) -> Result<Exit, CliError> {
    if let Some((_, task)) = tasks.first() {
        crate::local::prepare(desk, task).await?;
    }
    let engine = desk.home.work(patience(args.show))?;
    let runs = submit(desk, &engine, args, tasks).await?;
    let (count, first) = (runs.len(), runs.front().map(|(_, id)| id.clone()));
    if !desk.screen.is_json() {
        desk.screen.line(&format!("{}, a run for each", words::several(count as u64, "file")));
    }
    let mut progress = Progress::of_many(desk.screen, detail(args.show));
    let interrupts = Interrupts::listen(&engine, desk.screen)?;
    let work = work(desk, &engine, runs, &interrupts);
    let mut done = while_working(&engine, &mut progress, work).await?;
    done.sort_by(|one, other| one.file.cmp(&other.file));
    summary(desk, &done, count);
    if let (Some(first), false) = (first, desk.screen.is_json()) {
        desk.screen.line(&format!("  → {} show {first}  tells about one of them", desk.home.program()));
    }
    Ok(exit(&done, count, enough))
}

/// The worst of them counts, unless so many were committed that failures do not.
fn exit(done: &[Done], of: usize, enough: usize) -> Exit {
    let is_enough = done.iter().filter(|done| done.is_committed()).count() >= enough;
    let unfinished = if done.len() < of { Exit::Unfinished } else { Exit::Committed };
    done.iter().fold(unfinished, |exit, done| match done.exit() {
        Exit::Failed if is_enough => exit,
        other => exit.worse(other),
    })
}

impl Done {
    fn exit(&self) -> Exit {
        Exit::of_stop(&self.report.run, &self.stopped)
    }

    fn is_committed(&self) -> bool {
        matches!(self.stopped, Stopped::Ended(Ending::Committed { .. }))
    }
}

/// Machines see every event; people see the bar and the table.
fn detail(flags: ShowFlags) -> Detail {
    if flags.json && !flags.quiet { Detail::Events } else { Detail::Nothing }
}

async fn submit(
    desk: &Desk<'_>,
    engine: &Engine,
    args: &RunArgs,
    tasks: Vec<(String, Task)>,
) -> Result<VecDeque<(String, RunId)>, CliError> {
    let mut runs = VecDeque::with_capacity(tasks.len());
    for (file, task) in tasks {
        if runs.is_empty() && engine.runs_uncaged(&task).await {
            desk.screen.note(&format!("warning: {UNSANDBOXED_WARNING}"));
        }
        let key = args.key.as_ref().map(|key| format!("{key}/{file}"));
        let submitted = engine.submit(task, key).await?;
        runs.push_back((file, submitted.run().clone()));
    }
    Ok(runs)
}

async fn work(
    desk: &Desk<'_>,
    engine: &Engine,
    mut runs: VecDeque<(String, RunId)>,
    interrupts: &Interrupts,
) -> Result<Vec<Done>, CliError> {
    let (of, bar) = (runs.len() as u64, Bar::new());
    let mut at_work: JoinSet<(RunId, Result<Stopped, EngineError>)> = JoinSet::new();
    let mut files = BTreeMap::new();
    let mut done = Vec::new();
    loop {
        while at_work.len() < AT_ONCE && !interrupts.were_asked() {
            let Some((file, id)) = runs.pop_front() else { break };
            files.insert(id.clone(), file);
            let engine = engine.clone();
            at_work.spawn(async move { (id.clone(), engine.run(&id).await) });
        }
        bar.at(done.len() as u64, of, &format!("{} of {of}", done.len()));
        let Some(joined) = at_work.join_next().await else { break };
        // A run that panics is an error of the engine already; this is the task around it.
        let (id, stopped) = joined.map_err(|error| CliError::Runtime(error.into()))?;
        let file = files.remove(&id).unwrap_or_default();
        let report = Report::load(engine.store().as_ref(), &id).await?;
        let stopped = stopped?;
        bar.clear();
        let one = Done { file, report, stopped };
        told(desk, &one);
        done.push(one);
    }
    bar.clear();
    Ok(done)
}

/// A line about a file as soon as its run has stopped.
fn told(desk: &Desk<'_>, done: &Done) {
    let run = &done.report.run;
    if desk.screen.is_json() {
        desk.screen.json(&StoppedFile {
            file: &done.file,
            run: &run.id,
            ending: word(&done.stopped),
            exit: done.exit().code(),
            output: &done.report.output,
        });
        return;
    }
    let mark = if done.exit() == Exit::Committed { "✓" } else { "✗" };
    let (file, ending) = (escape::line(&done.file), word(&done.stopped));
    let repairs = words::several(u64::from(run.spend.repairs), "repair");
    desk.screen.line(&format!("  {mark} {file}  {ending} after {repairs}"));
}

fn word(stopped: &Stopped) -> &'static str {
    match stopped {
        Stopped::Ended(ending) => result::word(ending),
        Stopped::Waiting(_) => "waits",
        Stopped::Asked => "interrupted",
    }
}

fn summary(desk: &Desk<'_>, done: &[Done], of: usize) {
    if desk.screen.is_json() {
        return;
    }
    desk.screen.line("");
    let headings = ["FILE", "RUN", "ENDING", "REPAIRS", "TOKENS", "TIME", "RESULT"];
    let rows: Vec<Vec<String>> = done.iter().map(row).collect();
    for line in table::lines(&headings, &rows, desk.screen.width()) {
        desk.screen.line(&line);
    }
    let good = done.iter().filter(|done| done.is_committed()).count();
    desk.screen.line("");
    desk.screen.line(&format!("{good} of {of} committed: everything that was asked of them was checked"));
    let rest: Vec<String> =
        done.iter().filter(|one| !one.is_committed()).map(|one| escape::line(&one.file)).collect();
    if !rest.is_empty() {
        desk.screen.line(&format!(
            "{} not done, and nothing is claimed about them: {}",
            rest.len(),
            rest.join(", ")
        ));
    }
    if done.len() < of {
        let left = of.saturating_sub(done.len());
        desk.screen.line(&format!("{left} not begun; `{} resume` goes on with them", desk.home.program()));
    }
}

fn row(done: &Done) -> Vec<String> {
    let run = &done.report.run;
    let result = match &done.stopped {
        Stopped::Ended(ending @ (Ending::Failed { .. } | Ending::Halted { .. })) => ending_line(ending),
        Stopped::Ended(Ending::Committed { .. }) => done.report.output.clone().unwrap_or_default(),
        Stopped::Waiting(_) => "a person is asked".to_owned(),
        Stopped::Asked => "interrupted; nothing is lost".to_owned(),
    };
    vec![
        done.file.clone(),
        run.id.to_string(),
        word(&done.stopped).to_owned(),
        run.spend.repairs.to_string(),
        words::count(run.spend.settled.tokens),
        words::duration(run.spend.active_ms),
        result.split_whitespace().collect::<Vec<_>>().join(" "),
    ]
}
