//! The baseline: how often a second the bare disk makes 512 bytes durable, and
//! how much room a closed store takes.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::stopwatch;

/// Where the bare disk is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// At the end of a file that grows: its new length is synced, too.
    Append,
    /// Over bytes that are there, as SQLite does in a log it has used before.
    Overwrite,
}

/// The length of a file that is written over.
const LONG: u64 = 1 << 20;

/// Writes 512 bytes to a plain file and syncs them, over and over.
pub(crate) fn raw_writes_per_second(dir: &Path, window: Duration, place: Place) -> Result<f64> {
    let path = dir.join("raw");
    let mut file = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
    let block = [7_u8; 512];
    if place == Place::Overwrite {
        for _ in 0..LONG / 512 {
            file.write_all(&block)?;
        }
        file.sync_all()?;
        file.rewind()?;
    }
    let start = stopwatch::now();
    let mut count = 0;
    while start.elapsed() < window {
        if place == Place::Overwrite && count * 512 % LONG == 0 {
            file.rewind()?;
        }
        file.write_all(&block)?;
        file.sync_data()?;
        count += 1;
    }
    let rate = stopwatch::rate(count, start.elapsed());
    std::fs::remove_file(&path)?;
    Ok(rate)
}

/// One measurement between two looks at the bare disk.
pub(crate) struct Beside {
    /// The measurement, per second.
    pub(crate) rate: f64,
    /// The bare disk around it, per second.
    pub(crate) raw: f64,
}

impl Beside {
    /// Measures with the baseline right before and right after.
    pub(crate) fn take(dir: &Path, window: Duration, work: impl FnOnce() -> Result<f64>) -> Result<Self> {
        let before = raw_writes_per_second(dir, window, Place::Append)?;
        let rate = work()?;
        let after = raw_writes_per_second(dir, window, Place::Append)?;
        Ok(Self { rate, raw: f64::midpoint(before, after) })
    }
}

/// The medians of several measurements.
pub(crate) struct Medians {
    /// Per second.
    pub(crate) rate: f64,
    /// The bare disk, per second.
    pub(crate) raw: f64,
    /// Rate over baseline.
    pub(crate) ratio: f64,
    /// The least and the largest ratio, in words.
    pub(crate) range: String,
}

/// The medians, each on its own: the ratio compares only what was measured together.
pub(crate) fn medians(taken: &[Beside]) -> Medians {
    let all = |of: fn(&Beside) -> f64| taken.iter().map(of).collect::<Vec<f64>>();
    let ratios = all(|one| one.rate / one.raw);
    let range = stopwatch::range(&ratios);
    let (rate, raw) = (stopwatch::median(all(|one| one.rate)), stopwatch::median(all(|one| one.raw)));
    Medians { rate, raw, ratio: stopwatch::median(ratios), range }
}

/// Bytes of a closed store, its log emptied into the database first.
pub(crate) fn settled_bytes(store: &Path) -> Result<u64> {
    let path = store.join("store.db");
    let conn = rusqlite::Connection::open(&path)?;
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    drop(conn);
    let log = std::fs::metadata(store.join("store.db-wal")).map_or(0, |found| found.len());
    Ok(std::fs::metadata(&path)?.len() + log)
}

/// Bytes of each table and index of a closed store worth naming, and of free pages.
pub(crate) fn parts(store: &Path) -> Result<Vec<(String, u64)>> {
    let conn = rusqlite::Connection::open(store.join("store.db"))?;
    let mut weigh = conn.prepare(
        "SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name HAVING bytes > 4096
         UNION ALL SELECT 'free', freelist_count * page_size FROM pragma_freelist_count, pragma_page_size
         ORDER BY bytes DESC",
    )?;
    let rows = weigh.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned())))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
