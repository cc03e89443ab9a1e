//! What it costs to bring a store of the first version to today's: beside copying its file with
//! `cp`, and syncing the copy, in the same run. In a fresh process, so that its memory is seen.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use bowline::store::{Progress, Role, SqliteStore, Upgrade};
use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::Bench;
use crate::memory::status;
use crate::report::{Judged, Section, Target};
use crate::stopwatch::{median, now, range};

/// How the parent names this child.
pub(crate) const CHILD: &str = "migration-child";

/// A store as version 1 wrote it.
const V1: &str = include_str!("../../fixtures/stores/v1.sql");

/// Runs, and megabytes together, of the store that is brought up.
const SIZES: [(u32, u32); 2] = [(1_000, 100), (10_000, 1_024)];

/// Most memory of the process that does it.
const MEMORY_MB: f64 = 64.0;

/// Measures it.
pub(crate) fn measure(bench: &Bench) -> Result<Section> {
    let note = "Copied before, page by page, synced; then two steps, of which one reads the first record of each run. \
        `cp` copies the same file and is followed by a sync of the copy. In turn; medians.";
    let mut section = Section::new("Migration of a store", note);
    let sizes = if bench.is_quick() { SIZES.get(..1) } else { Some(&SIZES[..]) };
    for (runs, megabytes) in sizes.unwrap_or(&SIZES) {
        let original = bench.folder(&format!("old-{runs}"));
        make(&original, *runs, *megabytes)?;
        let (mut theirs, mut ours, mut memory) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..bench.repeats() {
            let home = bench.folder(&format!("home-{runs}-{round}"));
            std::fs::create_dir(&home)?;
            theirs.push(copy(&original.join("store.db"), &home.join("store.db"))?);
            let told = bench.child(&[CHILD.into(), home.display().to_string()])?;
            ours.push(told.get("ms").and_then(Value::as_f64).context("no time")?);
            memory.push(told.get("kb").and_then(Value::as_f64).context("no memory")? / 1024.0);
            ensure!(told.get("told").and_then(Value::as_u64) > Some(3), "nobody heard how it went: {told}");
            std::fs::remove_dir_all(&home)?;
        }
        let what = format!("{runs} runs, {megabytes} MB");
        section.tell(
            format!("`cp` and a sync of the file, {what}"),
            format!("{:.0} ms {}", median(theirs.clone()), range(&theirs)),
        );
        let ratio = median(ours.clone()) / median(theirs);
        let result = format!("{:.0} ms {}, {ratio:.2} ×", median(ours.clone()), range(&ours));
        let judged = Judged { value: ratio, target: Target::AtMost(3.0), unit: "× of `cp`" };
        section.judge(format!("bringing it up, with the copy before, {what}"), result, judged);
        let most = memory.iter().copied().fold(0.0, f64::max);
        let judged = Judged { value: most, target: Target::AtMost(MEMORY_MB), unit: "MB" };
        section.judge(format!("most memory of that process, {what}"), format!("{most:.1} MB"), judged);
    }
    Ok(section)
}

/// The child: brings the store up, and says how long it took and how much memory.
pub(crate) fn child(home: &str) -> Result<Value> {
    let mut told = 0_u64;
    let tell = &mut |_: Progress<'_>| told += 1;
    let start = now();
    let store = SqliteStore::open_with(home, Role::Worker, Upgrade { copy: true, tell })?;
    let ms = start.elapsed().as_secs_f64() * 1e3;
    drop(store);
    Ok(json!({ "ms": ms, "kb": status("VmHWM:")?, "told": told }))
}

/// Copies the file as anybody would, and syncs it; milliseconds.
fn copy(from: &Path, to: &Path) -> Result<f64> {
    let start = now();
    let copied = Command::new("cp").arg("--reflink=never").arg(from).arg(to).status()?;
    if !copied.success() {
        bail!("`cp` ended with {copied}");
    }
    std::fs::File::open(to)?.sync_all()?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

/// A store of version 1 with so many runs, filled up with content.
fn make(home: &Path, runs: u32, megabytes: u32) -> Result<()> {
    std::fs::create_dir(home)?;
    let path = home.join("store.db");
    let mut conn = Connection::open(&path)?;
    conn.execute_batch(V1)?;
    let filling = conn.transaction()?;
    filling.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
         INSERT INTO runs SELECT i + 100, 'more' || i, NULL, fingerprint, created, updated, epoch, NULL, 0, next_seq,
         head, ended, waiting, summary FROM n, (SELECT * FROM runs WHERE key = 1)",
        params![runs],
    )?;
    filling.execute(
        "INSERT INTO records SELECT NULL, runs.key, seq, count, at, format, hash, NULL, body
         FROM runs, records WHERE runs.key > 100 AND records.run = 1",
        [],
    )?;
    let pages: u32 = filling.query_row("PRAGMA page_count", [], |row| row.get(0))?;
    let missing = (megabytes * 256).saturating_sub(pages) * 4;
    filling.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
         INSERT INTO pieces (bytes) SELECT randomblob(1010) FROM n",
        params![missing],
    )?;
    filling.commit()?;
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}
