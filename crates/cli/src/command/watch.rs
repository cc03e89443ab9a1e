//! `bowline watch`: follows a run of another process, from the store.

use bowline::{Stopped, history};
use bowline_core::event::Event;

use super::Desk;
use crate::args::WatchArgs;
use crate::clock;
use crate::error::CliError;
use crate::exit::Exit;
use crate::pick;
use crate::render::progress::{Detail, Progress};
use crate::render::{next, result};
use crate::report::Report;

/// How long to wait for a change before looking anyway.
const LOOK_MS: u64 = 500;

/// Shows every event from the first on, and ends with the run.
pub(crate) async fn watch(desk: &Desk<'_>, args: &WatchArgs) -> Result<Exit, CliError> {
    let engine = desk.home.observe()?;
    let store = engine.store().as_ref();
    let id = pick::run(store, &args.run).await?.run;
    let mut progress = Progress::new(desk.screen, Detail::Events);
    progress.begin(&id, 1, None);
    let mut told = None;
    while !desk.screen.is_closed() {
        let from = progress.next(&id).unwrap_or(1);
        let news = history(store, &id, from, u64::MAX).await?;
        for (seq, at, event) in &news {
            progress.event(&id, (*seq, *at, event));
        }
        if !news.is_empty() || told.is_none() {
            let report = Report::load(store, &id).await?;
            if let Some(ending) = report.run.ending().cloned() {
                let stopped = Stopped::Ended(ending);
                result::show(desk.screen, &desk.home, &report, &stopped);
                return Ok(Exit::of_stop(&report.run, &stopped));
            }
            let asked = news.iter().any(|(_, _, event)| is_question(event));
            if !args.json && told.is_none_or(|_| asked) {
                report
                    .run
                    .waits()
                    .iter()
                    .flat_map(|wait| next::answers(desk.home.program(), &id, wait))
                    .for_each(|(command, does)| desk.screen.note(&format!("  → {command}  {does}")));
            }
            told = Some(report.row.next_seq);
        }
        progress.tick(clock::now());
        store.changed(LOOK_MS).await;
    }
    Ok(Exit::Unfinished)
}

fn is_question(event: &Event) -> bool {
    matches!(
        event,
        Event::ApprovalRequested { .. }
            | Event::CallInDoubt { .. }
            | Event::Paused { .. }
            | Event::FromBackup(_)
    )
}
