//! `bowline replay`: the state a run had at any event, folded from the journal.

use bowline::{fold, history};
use bowline_core::run::Run;

use super::Desk;
use crate::args::ReplayArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::runs::{Event, Replayed, State};
use crate::pick;
use crate::render::{escape, live, result, story};

/// Folds up to an event and shows timeline and state.
pub(crate) async fn replay(desk: &Desk<'_>, args: &ReplayArgs) -> Result<Exit, CliError> {
    let engine = desk.home.observe()?;
    let store = engine.store().as_ref();
    let row = pick::run(store, &args.run).await?;
    let last = row.next_seq.saturating_sub(1);
    let to = args.to.unwrap_or(last);
    if to > last {
        return Err(CliError::refused(
            format!("run {} has {last} events, there is no event {to}", row.run),
            format!("choose --to from 1 to {last}"),
        ));
    }
    let events = history(store, &row.run, 1, to).await?;
    let run = fold(store, &row.run, to).await?.run;
    if args.json {
        for (seq, at, event) in &events {
            desk.screen.json(&Event { run: &row.run, seq: *seq, at: *at, event });
        }
        let state = State {
            phase: run.phase.word(),
            paused: run.paused,
            spend: &run.spend,
            reserved: &run.reserved,
            waits: run.waits(),
            digest: run.digest(),
        };
        desk.screen.json(&Replayed { run: &row.run, seq: run.seq, state });
        return Ok(Exit::Committed);
    }
    story::timeline(desk.screen, &events);
    desk.screen.line("");
    state(desk, &run);
    Ok(Exit::Committed)
}

fn state(desk: &Desk<'_>, run: &Run) {
    desk.screen.line(&format!("run {} after event {}", run.id, run.seq));
    desk.screen.line(&format!("  phase       {}", run.phase.word()));
    desk.screen.line(&format!("  spent       {}", result::spent(run)));
    let awaited = live::awaited(run, run.now);
    let awaited = if awaited.is_empty() { "nothing".into() } else { awaited.join(", ") };
    desk.screen.line(&format!("  waits for   {}", escape::line(&awaited)));
    desk.screen.line(&format!("  state       sha256 {}", run.digest()));
}
