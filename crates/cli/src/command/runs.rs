//! `bowline runs`: the list.

use bowline_core::id::Millis;
use bowline_store::{EndingKind, ListFilter, RunRow};

use super::Desk;
use crate::args::RunsArgs;
use crate::clock;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::runs::{Deleted, Ending, Row};
use crate::render::{table, words};

const HEADINGS: [&str; 7] = ["RUN", "STATE", "STEPS", "TOOLS", "COST", "AGE", "GOAL"];

/// Lists runs, newest first.
pub(crate) async fn runs(desk: &Desk<'_>, args: &RunsArgs) -> Result<Exit, CliError> {
    // A place that cannot be looked into is not an empty one.
    desk.home.trusted()?;
    if args.deleted {
        return deleted(desk, args).await;
    }
    let rows = if desk.home.has_store() {
        let max = if args.all { usize::MAX } else { ListFilter::default().max };
        let class = args.class.clone();
        let filter = ListFilter { open_only: args.open, class, max, ..ListFilter::default() };
        desk.home.observe()?.store().list(filter).await?
    } else {
        Vec::new()
    };
    if args.json {
        rows.iter().for_each(|row| desk.screen.json(&object(row)));
        return Ok(Exit::Committed);
    }
    if rows.is_empty() {
        let kind = if args.open { "no open runs" } else { "no runs yet" };
        desk.screen.line(&format!("{kind} in {}", desk.home.path().display()));
        return Ok(Exit::Committed);
    }
    table(desk, &rows);
    Ok(Exit::Committed)
}

/// What is left of runs that were deleted, the latest first.
async fn deleted(desk: &Desk<'_>, args: &RunsArgs) -> Result<Exit, CliError> {
    let left = if desk.home.has_store() {
        let max = if args.all { usize::MAX } else { ListFilter::default().max };
        desk.home.observe()?.store().tombstones(ListFilter { max, ..ListFilter::default() }).await?
    } else {
        Vec::new()
    };
    if args.json {
        left.iter().for_each(|left| desk.screen.json(&Deleted { deleted: left.into() }));
        return Ok(Exit::Committed);
    }
    if left.is_empty() {
        desk.screen.line(&format!("no deleted runs in {}", desk.home.path().display()));
        return Ok(Exit::Committed);
    }
    let now = clock::now();
    let cells = left.iter().map(|left| {
        let age = words::age(now.since(left.at));
        vec![left.run.to_string(), left.events.to_string(), age, left.by.clone(), left.head.to_string()]
    });
    let cells: Vec<Vec<String>> = cells.collect();
    for line in table::lines(&["DELETED", "EVENTS", "AGE", "BY", "HEAD"], &cells, desk.screen.width()) {
        desk.screen.line(&line);
    }
    Ok(Exit::Committed)
}

/// The list, as people read it.
pub(super) fn table(desk: &Desk<'_>, rows: &[RunRow]) {
    let now = clock::now();
    let alive = desk.home.worker_is_alive();
    let cells: Vec<Vec<String>> = rows.iter().map(|row| cells(row, now, alive)).collect();
    for line in table::lines(&HEADINGS, &cells, desk.screen.width()) {
        desk.screen.line(&line);
    }
}

fn cells(row: &RunRow, now: Millis, alive: bool) -> Vec<String> {
    let summary = &row.summary;
    vec![
        row.run.to_string(),
        state(row, alive && row.lease_until > now),
        summary.steps.to_string(),
        summary.tool_calls.to_string(),
        words::money(summary.micros),
        words::age(now.since(row.created_at)),
        summary.goal.clone(),
    ]
}

/// Where a run stands, for a listing.
fn state(row: &RunRow, leased: bool) -> String {
    let summary = &row.summary;
    let cannot = if summary.unable.is_some() { " (cannot go on)" } else { "" };
    match (summary.ending, &summary.waiting) {
        (Some(_), _) => summary.phase.clone(),
        (None, Some(waiting)) if waiting == "paused" || waiting == "restored" => waiting.clone(),
        (None, Some(waiting)) => format!("waits: {waiting}{cannot}"),
        (None, None) if row.worker.is_some() && leased => summary.phase.clone(),
        (None, None) if summary.unable.is_some() => format!("{}{cannot}", summary.phase),
        (None, None) => format!("{} (stopped)", summary.phase),
    }
}

fn object(row: &RunRow) -> Row<'_> {
    let summary = &row.summary;
    Row {
        run: &row.run,
        key: &row.key,
        goal: &summary.goal,
        phase: &summary.phase,
        ending: summary.ending.map(|ending| match ending {
            EndingKind::Committed => Ending::Committed,
            EndingKind::Failed => Ending::Failed,
            EndingKind::Halted => Ending::Halted,
        }),
        waiting: &summary.waiting,
        unable: &summary.unable,
        worker: &row.worker,
        steps: summary.steps,
        tool_calls: summary.tool_calls,
        tokens: summary.tokens,
        micros: summary.micros,
        created_at: row.created_at,
        updated_at: row.updated_at,
        events: row.next_seq.saturating_sub(1),
        head: row.head,
    }
}
