//! Rows into values. A column that is not what it should be is damage, with a
//! name; nothing here panics and nothing is guessed.
//!
//! SQLite's integers are signed. Times and lengths keep their bits; only what is
//! compared inside SQL, a lease and the end of a wait, is cut to the signed range.

use bowline_core::id::{Millis, RunId, WorkerId};
use bowline_core::journal::{BadRecord, Record};
use bowline_core::provenance::Digest;
use rusqlite::Row;
use rusqlite::types::FromSql;

use super::schema::PIECE_BYTES;
use crate::chain::{Counted, Place};
use crate::{Mail, RunRow, SignalId, StoreError, Summary};

/// Columns of [`run_row`], in its order.
pub(super) const RUN_COLUMNS: &str =
    "key, id, request, created, updated, epoch, worker, lease, next_seq, head, summary";

/// Columns of [`counted`], in its order.
pub(super) const RECORD_COLUMNS: &str = "seq, count, at, format, hash, body";

/// A run's row with its key.
pub(super) struct KeyedRow {
    pub(super) key: i64,
    pub(super) row: RunRow,
    /// Where the journal ended when the row was written.
    pub(super) shown: Place,
}

impl KeyedRow {
    /// Where its journal ends.
    pub(super) fn end(&self) -> Place {
        Place { next_seq: self.row.next_seq, head: self.row.head }
    }
}

/// A number on its way into SQLite, bits unchanged.
pub(super) fn signed(number: u64) -> i64 {
    number.cast_signed()
}

/// A moment that SQL compares, cut to what it can hold.
pub(super) fn moment(at: Millis) -> i64 {
    i64::try_from(at.0).unwrap_or(i64::MAX)
}

/// Until when a run waits for a person, as SQL compares it: zero is not at all,
/// and it is for ever where no time is known.
pub(super) fn waiting(summary: &Summary) -> i64 {
    match (&summary.waiting, summary.wake_at) {
        (None, _) => 0,
        (Some(_), None) => i64::MAX,
        (Some(_), Some(until)) => moment(until).max(1),
    }
}

/// At most this many rows.
pub(super) fn limit(max: usize) -> i64 {
    i64::try_from(max).unwrap_or(i64::MAX)
}

fn damaged(run: &RunId, seq: u64, message: impl std::fmt::Display) -> StoreError {
    StoreError::Damaged(BadRecord::Body { run: run.clone(), seq, message: message.to_string() })
}

/// The run a row without a readable name is said to belong to.
fn nameless() -> Result<RunId, StoreError> {
    RunId::parse("unreadable")
        .map_err(|bad| StoreError::Database { action: "read a run", message: bad.to_string() })
}

/// One column; what cannot be read is damage of record `seq` (0: of the row).
pub(super) fn column<T: FromSql>(
    row: &Row<'_>,
    index: usize,
    run: &RunId,
    seq: u64,
) -> Result<T, StoreError> {
    row.get(index).map_err(|error| damaged(run, seq, error))
}

/// The run's name in column `index`.
pub(super) fn run_id(row: &Row<'_>, index: usize) -> Result<RunId, StoreError> {
    let nameless = nameless()?;
    let raw: String = column(row, index, &nameless, 0)?;
    RunId::parse(&raw).map_err(|bad| damaged(&nameless, 0, bad))
}

/// A row of [`RUN_COLUMNS`].
pub(super) fn run_row(row: &Row<'_>) -> Result<KeyedRow, StoreError> {
    let run = run_id(row, 1)?;
    let number = |index| column::<i64>(row, index, &run, 0).map(i64::cast_unsigned);
    let worker: Option<String> = column(row, 6, &run, 0)?;
    let worker = worker.map(|raw| WorkerId::parse(&raw)).transpose().map_err(|bad| damaged(&run, 0, bad))?;
    let summary: String = column(row, 10, &run, 0)?;
    let found = RunRow {
        key: column(row, 2, &run, 0)?,
        created_at: Millis(number(3)?),
        updated_at: Millis(number(4)?),
        epoch: number(5)?,
        worker,
        lease_until: Millis(number(7)?),
        next_seq: number(8)?,
        head: Digest(column(row, 9, &run, 0)?),
        summary: serde_json::from_str(&summary).map_err(|bad| damaged(&run, 0, bad))?,
        run: run.clone(),
    };
    let shown = Place { next_seq: found.next_seq, head: found.head };
    Ok(KeyedRow { key: column(row, 0, &run, 0)?, row: found, shown })
}

/// A row of [`RECORD_COLUMNS`]; its hash is not checked.
pub(super) fn counted(row: &Row<'_>, run: &RunId) -> Result<Counted, StoreError> {
    let seq = column::<i64>(row, 0, run, 0)?.cast_unsigned();
    let record = Record {
        run: run.clone(),
        seq,
        at: Millis(column::<i64>(row, 2, run, seq)?.cast_unsigned()),
        format: column(row, 3, run, seq)?,
        hash: Digest(column(row, 4, run, seq)?),
        body: column(row, 5, run, seq)?,
    };
    Ok(Counted { record, count: column::<i64>(row, 1, run, seq)?.cast_unsigned() })
}

/// A row of `id, sender, signal, at`.
pub(super) fn mail(row: &Row<'_>, run: &RunId) -> Result<Mail, StoreError> {
    let signal: String = column(row, 2, run, 0)?;
    Ok(Mail {
        id: SignalId(column::<i64>(row, 0, run, 0)?.cast_unsigned()),
        by: column(row, 1, run, 0)?,
        signal: serde_json::from_str(&signal).map_err(|bad| damaged(run, 0, bad))?,
        at: Millis(column::<i64>(row, 3, run, 0)?.cast_unsigned()),
    })
}

/// A summary or a signal as it is stored.
pub(super) fn json<T: serde::Serialize>(value: &T, action: &'static str) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Database { action, message: error.to_string() })
}

/// How many whole pieces content of this size has.
pub(super) fn pieces(size: i64) -> i64 {
    let pieces = usize::try_from(size).unwrap_or(0) / PIECE_BYTES;
    i64::try_from(pieces).unwrap_or(i64::MAX)
}
