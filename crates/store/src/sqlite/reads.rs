//! What readers look for, each on one snapshot. Nothing here writes.

use bowline_core::id::{Millis, RunId};
use bowline_core::journal::Record;
use bowline_core::provenance::Digest;
use rusqlite::{Connection, OptionalExtension as _, Params, Row, params};

use super::rows::{self, KeyedRow, RECORD_COLUMNS, RUN_COLUMNS, column, limit, moment, pieces, signed};
use super::trouble;
use crate::chain::{self, Counted, Place};
use crate::{Checkpoint, ListFilter, Mail, RunRow, StoreError, Tombstone};

/// A run as it was found: verified, and not yet claimed.
pub(super) struct Loaded {
    pub(super) found: KeyedRow,
    pub(super) checkpoint: Option<Checkpoint>,
    pub(super) tail: Vec<Record>,
}

/// The run's row.
pub(super) fn row(conn: &Connection, run: &RunId) -> Result<KeyedRow, StoreError> {
    let sql = format!("SELECT {RUN_COLUMNS} FROM runs WHERE id = ?1");
    let found = collect(conn, "read a run", &sql, [run.as_str()], rows::run_row)?;
    let found = found.into_iter().next().ok_or_else(|| StoreError::NoRun { run: run.clone() })?;
    up_to_date(conn, found)
}

/// Where a journal ends, and when it got there.
pub(super) struct End {
    pub(super) place: Place,
    pub(super) at: Option<Millis>,
}

/// Where a journal ends, whose row says `shown`. A row may be behind its records;
/// records that are behind their row were lost, which the chain will tell.
pub(super) fn end(conn: &Connection, key: i64, shown: Place) -> rusqlite::Result<End> {
    let sql = "SELECT seq + count, hash, at FROM records WHERE run = ?1 ORDER BY seq DESC LIMIT 1";
    let last = conn.prepare_cached(sql)?.query_row([key], |row| {
        let next_seq = row.get::<_, i64>(0)?.cast_unsigned();
        Ok((Place { next_seq, head: Digest(row.get(1)?) }, Millis(row.get::<_, i64>(2)?.cast_unsigned())))
    });
    Ok(match last.optional()? {
        Some((place, at)) if place.next_seq > shown.next_seq => End { place, at: Some(at) },
        Some(_) | None => End { place: shown, at: None },
    })
}

fn up_to_date(conn: &Connection, mut found: KeyedRow) -> Result<KeyedRow, StoreError> {
    let End { place, at } = end(conn, found.key, found.shown).map_err(trouble("read a run"))?;
    (found.row.next_seq, found.row.head) = (place.next_seq, place.head);
    found.row.updated_at = at.unwrap_or(found.row.updated_at);
    Ok(found)
}

/// Everything needed to go on with a run, proved against its chain.
pub(super) fn load(conn: &Connection, run: &RunId) -> Result<Loaded, StoreError> {
    let found = row(conn, run)?;
    let checkpoint = checkpoint(conn, &found)?;
    let from = checkpoint
        .as_ref()
        .map_or(Place::START, |kept| Place { next_seq: kept.seq.saturating_add(1), head: kept.head });
    let tail = proved(conn, &found, from)?;
    Ok(Loaded { found, checkpoint, tail: tail.into_iter().map(|counted| counted.record).collect() })
}

/// The run's checkpoint alone.
pub(super) fn kept(conn: &Connection, run: &RunId) -> Result<Option<Checkpoint>, StoreError> {
    checkpoint(conn, &row(conn, run)?)
}

/// Proves a whole journal, whatever a checkpoint says.
pub(super) fn prove(conn: &Connection, run: &RunId) -> Result<(), StoreError> {
    let found = row(conn, run)?;
    proved(conn, &found, Place::START).map(|_| ())
}

/// The records from a place on, proved against the chain and the run's row.
fn proved(conn: &Connection, found: &KeyedRow, from: Place) -> Result<Vec<Counted>, StoreError> {
    let run = &found.row.run;
    let sql = format!("SELECT {RECORD_COLUMNS} FROM records WHERE run = ?1 AND seq >= ?2 ORDER BY seq");
    let tail: Vec<Counted> =
        collect(conn, "read a journal", &sql, params![found.key, signed(from.next_seq)], |row| {
            rows::counted(row, run)
        })?;
    chain::verify(run, from, &tail, found.end())?;
    chain::passes(run, from, &tail, found.shown)?;
    Ok(tail)
}

/// The run's checkpoint, if it is intact and belongs to this journal. It is a
/// cache: anything else means folding again, never an error.
fn checkpoint(conn: &Connection, found: &KeyedRow) -> Result<Option<Checkpoint>, StoreError> {
    let read = |row: &Row<'_>| {
        let seq = row.get::<_, i64>(0)?.cast_unsigned();
        let kept = Checkpoint { seq, head: Digest(row.get(1)?), version: row.get(2)?, state: row.get(4)? };
        let hash: [u8; 32] = row.get(3)?;
        Ok((kept, Digest(hash)))
    };
    let sql = "SELECT seq, head, version, hash, state FROM checkpoints WHERE run = ?1";
    let mut statement = conn.prepare_cached(sql).map_err(trouble("read a checkpoint"))?;
    let Ok(Some((kept, hash))) = statement.query_row([found.key], read).optional() else { return Ok(None) };
    if Digest::of(&kept.state) != hash || kept.seq >= found.row.next_seq {
        return Ok(None);
    }
    let sql = "SELECT 1 FROM records WHERE run = ?1 AND seq = (SELECT max(seq) FROM records
               WHERE run = ?1 AND seq <= ?2) AND seq + count = ?2 + 1 AND hash = ?3";
    let belongs = conn
        .prepare_cached(sql)
        .and_then(|mut ends| ends.exists(params![found.key, signed(kept.seq), kept.head.0]))
        .map_err(trouble("read a checkpoint"))?;
    Ok(belongs.then_some(kept))
}

/// Runs somebody could work on now, oldest first, with keys above `after`.
pub(super) fn ready(
    conn: &Connection,
    after: i64,
    max: usize,
    at: Millis,
) -> Result<Vec<(i64, RunId)>, StoreError> {
    let sql = "SELECT key, id FROM runs WHERE ended = 0 AND key > ?1
               AND (worker IS NULL OR lease <= ?2)
               AND (waiting <= ?2 OR EXISTS (SELECT 1 FROM mailbox WHERE run = runs.key AND consumed = 0))
               ORDER BY key LIMIT ?3";
    collect(conn, "look for runs", sql, params![after, moment(at), limit(max)], |row| {
        let run = rows::run_id(row, 1)?;
        Ok((column(row, 0, &run, 0)?, run))
    })
}

/// Runs, newest first.
pub(super) fn list(conn: &Connection, filter: &ListFilter) -> Result<Vec<RunRow>, StoreError> {
    let open = if filter.open_only { "ended = 0" } else { "1" };
    // A range of the index on ids: `LIKE` would fold case and read patterns.
    let named = if filter.prefix.is_empty() { "?1 = ''" } else { "id >= ?1 AND id < ?1 || char(1114111)" };
    let classed = if filter.class.is_none() {
        "?3 IS NULL"
    } else {
        "key IN (SELECT run FROM classes WHERE class = ?3)"
    };
    let sql = format!(
        "SELECT {RUN_COLUMNS} FROM runs WHERE {open} AND {named} AND {classed} ORDER BY key DESC LIMIT ?2"
    );
    let values = params![filter.prefix, limit(filter.max), filter.class];
    let found = collect(conn, "list runs", &sql, values, rows::run_row)?;
    // Also of runs that have ended: an undo goes on behind the ending, and may have been killed.
    found.into_iter().map(|keyed| up_to_date(conn, keyed).map(|keyed| keyed.row)).collect()
}

/// What is left of runs that were removed, the latest first.
pub(super) fn tombstones(conn: &Connection, filter: &ListFilter) -> Result<Vec<Tombstone>, StoreError> {
    let named = if filter.prefix.is_empty() { "?1 = ''" } else { "run >= ?1 AND run < ?1 || char(1114111)" };
    let sql = format!(
        "SELECT run, head, events, at, deleter FROM tombstones WHERE {named} ORDER BY id DESC LIMIT ?2"
    );
    collect(conn, "list deleted runs", &sql, params![filter.prefix, limit(filter.max)], |row| {
        let run = rows::run_id(row, 0)?;
        Ok(Tombstone {
            head: Digest(column(row, 1, &run, 0)?),
            events: column::<i64>(row, 2, &run, 0)?.cast_unsigned(),
            at: Millis(column::<i64>(row, 3, &run, 0)?.cast_unsigned()),
            by: column(row, 4, &run, 0)?,
            run,
        })
    })
}

/// Records as they are stored, damaged or not.
pub(super) fn records(
    conn: &Connection,
    run: &RunId,
    from_seq: u64,
    max: usize,
) -> Result<Vec<Record>, StoreError> {
    let key = key(conn, run)?;
    let sql = format!(
        "SELECT {RECORD_COLUMNS} FROM records WHERE run = ?1 AND seq + count > ?2
         AND seq >= coalesce((SELECT max(seq) FROM records WHERE run = ?1 AND seq <= ?2), 0)
         ORDER BY seq LIMIT ?3"
    );
    let from = i64::try_from(from_seq).unwrap_or(i64::MAX);
    let found =
        collect(conn, "read a journal", &sql, params![key, from, limit(max)], |row| rows::counted(row, run))?;
    Ok(found.into_iter().map(|counted| counted.record).collect())
}

/// Mail that waits for a run, oldest first.
pub(super) fn mail(conn: &Connection, run: &RunId) -> Result<Vec<Mail>, StoreError> {
    let key = key(conn, run)?;
    let sql = "SELECT id, sender, signal, at FROM mailbox WHERE run = ?1 AND consumed = 0 ORDER BY id";
    collect(conn, "read mail", sql, [key], |row| rows::mail(row, run))
}

/// Runs with mail that waits, oldest run first. The index holds unread mail
/// only, so an empty mailbox costs one page.
pub(super) fn mailed(conn: &Connection) -> Result<Vec<RunId>, StoreError> {
    let sql = "SELECT id FROM runs WHERE key IN (SELECT run FROM mailbox WHERE consumed = 0) ORDER BY key";
    collect(conn, "read mail", sql, [], |row| rows::run_id(row, 0))
}

/// Content by its hash, checked.
pub(super) fn blob(conn: &Connection, sha256: Digest) -> Result<Vec<u8>, StoreError> {
    let said = trouble("read content");
    let sql = "SELECT size, piece, rest FROM blobs WHERE substr(hash, 1, 8) = substr(?1, 1, 8) AND hash = ?1";
    let found: Option<(i64, i64, Vec<u8>)> = conn
        .prepare_cached(sql)
        .and_then(|mut find| {
            find.query_row([sha256.0], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()
        })
        .map_err(&said)?;
    let (size, piece, rest) = found.ok_or(StoreError::NoBlob { sha256 })?;
    let sql = "SELECT bytes FROM pieces WHERE id >= ?1 AND id < ?2 ORDER BY id";
    let past = piece.saturating_add(pieces(size));
    let mut parts: Vec<Vec<u8>> =
        collect(conn, "read content", sql, [piece, past], |row| row.get(0).map_err(trouble("read content")))?;
    parts.push(rest);
    let bytes = parts.concat();
    if Digest::of(&bytes) == sha256 { Ok(bytes) } else { Err(StoreError::BadBlob { sha256 }) }
}

/// The run's key.
pub(super) fn key(conn: &Connection, run: &RunId) -> Result<i64, StoreError> {
    let found: Option<i64> = conn
        .prepare_cached("SELECT key FROM runs WHERE id = ?1")
        .and_then(|mut find| find.query_row([run.as_str()], |row| row.get(0)).optional())
        .map_err(trouble("read a run"))?;
    found.ok_or_else(|| StoreError::NoRun { run: run.clone() })
}

fn collect<T>(
    conn: &Connection,
    action: &'static str,
    sql: &str,
    params: impl Params,
    mut read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let said = trouble(action);
    let mut statement = conn.prepare_cached(sql).map_err(&said)?;
    let mut found = statement.query(params).map_err(&said)?;
    let mut all = Vec::new();
    while let Some(row) = found.next().map_err(&said)? {
        all.push(read(row)?);
    }
    Ok(all)
}
