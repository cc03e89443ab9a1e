//! `bowline audit verify`: are these journals what they were?
//!
//! The chain is unkeyed: alone it proves that a journal is consistent. With the
//! head hash that was printed at the ending it also proves that nothing was
//! rewritten or cut off.

use bowline_core::provenance::Digest;
use bowline_store::{ListFilter, RunRow, RunStore, StoreError};

use super::Desk;
use super::audit::{Findings, examine};
use super::delete::{told, tombstone};
use crate::args::VerifyArgs;
use crate::clock;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::looks::{Verified, VerifiedDeleted};
use crate::pick;
use crate::render::{escape, words};

/// Examines runs; code 1 if anything is wrong with any of them.
pub(crate) async fn verify(desk: &Desk<'_>, args: &VerifyArgs) -> Result<Exit, CliError> {
    if args.expect.is_some() && args.runs.len() != 1 {
        return Err(CliError::refused(
            "a head hash is about one run",
            format!("name the run: `{} audit verify RUN --expect HASH`", desk.home.program()),
        ));
    }
    let engine = desk.home.observe()?;
    let store = engine.store().as_ref();
    let mut exit = Exit::Committed;
    let rows = match chosen(store, &args.runs).await {
        Err(CliError::Store(StoreError::Damaged(bad))) => {
            desk.screen.line(&format!("the list of runs is damaged: {}", escape::line(&bad.to_string())));
            return Ok(Exit::Failed);
        }
        rows => rows?,
    };
    exit = exit.worse(tell_deleted(desk, store, args).await?);
    for row in &rows {
        let mut found = examine(store, row).await?;
        let after = args.expect.and_then(|head| expect(&mut found, head));
        tell(desk, row, &found, after);
        if !found.problems.is_empty() {
            exit = Exit::Failed;
        }
    }
    if args.expect.is_none() && !args.json {
        desk.screen.line(
            "without --expect this proves consistency only: whoever can write the store could have rewritten \
             a whole journal, or cut its end off. Compare with the head hash printed at the ending.",
        );
    }
    Ok(exit)
}

/// Runs that were named and deleted: nothing of them can be examined, but their head can be
/// compared with the one that was printed.
async fn tell_deleted(desk: &Desk<'_>, store: &dyn RunStore, args: &VerifyArgs) -> Result<Exit, CliError> {
    let mut exit = Exit::Committed;
    for word in &args.runs {
        if pick::run(store, word).await.is_ok() {
            continue;
        }
        let Some(left) = tombstone(store, word).await? else { continue };
        let is_other = args.expect.is_some_and(|head| head != left.head);
        if is_other {
            exit = Exit::Failed;
        }
        if desk.screen.is_json() {
            desk.screen.json(&VerifiedDeleted { run: &left.run, ok: !is_other, deleted: (&left).into() });
            continue;
        }
        desk.screen.line(&told(&left, clock::now()));
        if is_other {
            desk.screen.line("  ✗ its head was another one than expected");
        }
    }
    Ok(exit)
}

async fn chosen(store: &dyn RunStore, words: &[String]) -> Result<Vec<RunRow>, CliError> {
    if words.is_empty() {
        return Ok(store.list(ListFilter { max: usize::MAX, ..ListFilter::default() }).await?);
    }
    let mut rows = Vec::with_capacity(words.len());
    for word in words {
        match pick::run(store, word).await {
            Ok(row) => rows.push(row),
            Err(missing) if tombstone(store, word).await?.is_none() => return Err(missing),
            // Told beside the runs that are there.
            Err(_) => {}
        }
    }
    Ok(rows)
}

/// Compares with the head that was expected. How many events came after it, if
/// it is there and not the last.
fn expect(found: &mut Findings, head: Digest) -> Option<u64> {
    let Some((_, seq)) = found.hashes.iter().find(|(hash, _)| *hash == head).copied() else {
        found.problems.push(format!(
            "the expected head {head} is not in the journal, whose head is {}: it was rewritten or cut off",
            found.head
        ));
        return None;
    };
    // What may follow a final ending was looked at with the events.
    let after = found.events.saturating_sub(seq);
    Some(after)
}

fn tell(desk: &Desk<'_>, row: &RunRow, found: &Findings, after: Option<u64>) {
    if desk.screen.is_json() {
        desk.screen.json(&Verified {
            run: &row.run,
            ok: found.problems.is_empty(),
            events: found.events,
            records: found.records,
            contents: found.contents,
            head: found.head,
            events_after_expected: after,
            problems: &found.problems,
        });
        return;
    }
    let size = format!(
        "{}, {}, {}",
        words::several(found.events, "event"),
        words::several(found.records, "record"),
        words::several(found.contents as u64, "content")
    );
    let verdict = if found.problems.is_empty() { "consistent" } else { "NOT CONSISTENT" };
    desk.screen.line(&format!("run {}  {verdict}: {size}", row.run));
    for problem in &found.problems {
        desk.screen.line(&format!("  ✗ {}", escape::line(problem)));
    }
    match after {
        Some(0) if found.problems.is_empty() => {
            desk.screen.line("  ✓ the head is the expected one: nothing was rewritten or cut off")
        }
        Some(more) if found.problems.is_empty() => {
            desk.screen.line(&format!(
                "  ✓ the expected head is there unchanged; {} came after it",
                words::several(more, "event")
            ));
        }
        Some(_) | None => {}
    }
    desk.screen.line(&format!("  head {}", found.head));
}
