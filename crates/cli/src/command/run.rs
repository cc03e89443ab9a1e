//! `bowline run`: from a task to its ending.

use bowline_core::task::Task;
use bowline_store::Submitted;
use bowline_tools::UNSANDBOXED_WARNING;

use super::Desk;
use super::work::{detail, patience, to_a_stop};
use crate::args::RunArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::render::escape;
use crate::render::progress::Progress;
use crate::taskfile::Given;

/// Submits a task and works on it.
pub(crate) async fn run(desk: &Desk<'_>, args: &RunArgs) -> Result<Exit, CliError> {
    match crate::taskfile::read_all(desk.screen, &args.what)? {
        Given::One(task) => one(desk, args, *task).await,
        Given::Each(batch) => super::each::run(desk, args, batch).await,
    }
}

async fn one(desk: &Desk<'_>, args: &RunArgs, task: Task) -> Result<Exit, CliError> {
    crate::local::prepare(desk, &task).await?;
    let engine = desk.home.work(patience(args.show))?;
    let uncaged = engine.runs_uncaged(&task).await;
    let submitted = engine.submit(task, args.key.clone()).await?;
    if uncaged {
        desk.screen.note(&format!("warning: {UNSANDBOXED_WARNING}"));
    }
    let id = submitted.run().clone();
    if let (Submitted::Existing(_), Some(key)) = (&submitted, &args.key) {
        desk.screen.note(&format!("run {id} was started before with key {}; it goes on", escape::line(key)));
    }
    let mut progress = Progress::new(desk.screen, detail(args.show));
    progress.begin(&id, 1, None);
    to_a_stop(desk, &engine, &id, &mut progress, engine.run(&id)).await
}
