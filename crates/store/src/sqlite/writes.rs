//! What jobs write, in the writer's transaction.
//!
//! Everything is judged against the row as the transaction sees it, so jobs of
//! one group see each other in order. Every refusal comes before the first write.

use bowline_core::id::{Millis, RunId, WorkerId};
use bowline_core::journal::Record;
use bowline_core::message::Blob;
use bowline_core::provenance::Digest;
use rusqlite::{Connection, OptionalExtension as _, Params, params};

use super::heads::{Head, Unwritten};
use super::reads;
use super::rows::{self, moment, pieces, signed};
use super::schema::PIECE_BYTES;
use super::trouble;
use super::writer::Book;
use crate::chain::Place;
use crate::migrations::{VERSION, WITH_CLASSES, WITH_TOMBSTONES};
use crate::{AppendError, Fence, Removal, SignalId, StoreError, Submitted, Summary};

/// A new run, ready to be written.
pub(super) struct NewRun {
    pub(super) record: Record,
    pub(super) request: Option<String>,
    pub(super) fingerprint: Digest,
    pub(super) summary: String,
    pub(super) class: Option<String>,
}

/// A batch, sealed and encoded.
pub(super) struct Sealed {
    pub(super) fence: Fence,
    pub(super) record: Record,
    pub(super) count: u64,
    pub(super) blobs: Vec<Blob>,
    pub(super) checkpoint: Option<SealedState>,
    pub(super) summary: Summary,
    /// The summary as it is stored.
    pub(super) row: String,
    pub(super) consumed: Vec<SignalId>,
}

/// A checkpoint with the hash that will prove it.
pub(super) struct SealedState {
    pub(super) version: u32,
    pub(super) state: Vec<u8>,
    pub(super) hash: Digest,
}

/// Who wants a run, and as what it was verified.
#[derive(Clone)]
pub(super) struct Claim {
    pub(super) run: RunId,
    pub(super) key: i64,
    pub(super) epoch: u64,
    pub(super) end: Place,
}

/// On whose behalf runs are claimed.
#[derive(Clone)]
pub(super) struct Claimant {
    pub(super) worker: WorkerId,
    pub(super) at: Millis,
    pub(super) lease_ms: u64,
}

/// What became of a claim.
pub(super) enum ClaimOutcome {
    /// Ours, with this epoch.
    Ours(u64),
    /// It changed since it was verified.
    Moved,
    /// A live worker has it.
    Owned(WorkerId),
}

/// A letter, encoded.
pub(super) struct Posted {
    pub(super) key: String,
    pub(super) sender: String,
    pub(super) signal: String,
    pub(super) at: Millis,
}

/// Writes a run's row and first record, unless its key is known.
pub(super) fn submit(book: &Book<'_>, new: &NewRun) -> Result<Submitted, StoreError> {
    let (conn, said) = (book.conn, trouble("submit"));
    let run = &new.record.run;
    if let Some(request) = &new.request {
        let sql = "SELECT id, fingerprint FROM runs WHERE request = ?1";
        let known: Option<(String, [u8; 32])> = conn
            .prepare_cached(sql)
            .and_then(|mut find| find.query_row([request], |row| Ok((row.get(0)?, row.get(1)?))).optional())
            .map_err(&said)?;
        if let Some((id, fingerprint)) = known {
            let existing = RunId::parse(&id)
                .map_err(|bad| StoreError::Database { action: "submit", message: bad.to_string() })?;
            return if Digest(fingerprint) == new.fingerprint {
                Ok(Submitted::Existing(existing))
            } else {
                Err(StoreError::KeyTaken { key: request.clone(), run: existing })
            };
        }
    }
    let at = signed(new.record.at.0);
    let sql = "INSERT INTO runs (id, request, fingerprint, created, updated, epoch, worker, lease, next_seq,
               head, ended, waiting, summary) VALUES (?1, ?2, ?3, ?4, ?4, 0, NULL, 0, 2, ?5, 0, 0, ?6)
               ON CONFLICT (id) DO NOTHING";
    let values = params![run.as_str(), new.request, new.fingerprint.0, at, new.record.hash.0, new.summary];
    if execute(conn, sql, values).map_err(&said)? == 0 {
        return Err(StoreError::IdTaken { run: run.clone() });
    }
    let key = conn.last_insert_rowid();
    insert_record(conn, key, &new.record, 1, None).map_err(&said)?;
    // An earlier version has no place for it: its migration reads it from the journal.
    if let Some(class) = new.class.as_ref().filter(|_| book.version >= WITH_CLASSES) {
        let sql = "INSERT OR REPLACE INTO classes (run, class) VALUES (?1, ?2)";
        execute(conn, sql, params![key, class]).map_err(&said)?;
    }
    Ok(Submitted::New(run.clone()))
}

/// Takes a run if it still is what was verified. A claim by its own worker
/// takes it over from that worker's former self, unless `fresh_only`.
pub(super) fn claim(
    book: &mut Book<'_>,
    claim: &Claim,
    by: &Claimant,
    fresh_only: bool,
) -> Result<ClaimOutcome, StoreError> {
    let (conn, said) = (book.conn, trouble("claim"));
    let sql = "SELECT epoch, next_seq, head, worker, lease FROM runs WHERE key = ?1 AND id = ?2";
    type Found = (i64, Place, Option<String>, i64);
    let found: Option<Found> = conn
        .prepare_cached(sql)
        .and_then(|mut find| {
            let read = |row: &rusqlite::Row<'_>| {
                let next_seq = row.get::<_, i64>(1)?.cast_unsigned();
                let place = Place { next_seq, head: Digest(row.get(2)?) };
                Ok((row.get(0)?, place, row.get(3)?, row.get(4)?))
            };
            find.query_row(params![claim.key, claim.run.as_str()], read).optional()
        })
        .map_err(&said)?;
    let Some((epoch, shown, worker, lease)) = found else { return Ok(ClaimOutcome::Moved) };
    let owner = worker.as_deref().filter(|owner| fresh_only || *owner != by.worker.as_str());
    if let Some(owner) = owner
        && lease > moment(by.at)
    {
        let owner = WorkerId::parse(owner)
            .map_err(|bad| StoreError::Database { action: "claim", message: bad.to_string() })?;
        return Ok(ClaimOutcome::Owned(owner));
    }
    let end = reads::end(conn, claim.key, shown).map_err(&said)?.place;
    if (epoch, end) != (signed(claim.epoch), claim.end) {
        return Ok(ClaimOutcome::Moved);
    }
    book.heads.forget(&claim.run);
    let epoch = claim.epoch.saturating_add(1);
    let sql = "UPDATE runs SET epoch = ?2, worker = ?3, lease = ?4 WHERE key = ?1";
    let until = moment(by.at.plus(by.lease_ms));
    execute(conn, sql, params![claim.key, signed(epoch), by.worker.as_str(), until]).map_err(&said)?;
    Ok(ClaimOutcome::Ours(epoch))
}

/// Writes a batch behind its fence.
pub(super) fn append(book: &mut Book<'_>, batch: &Sealed) -> Result<(), AppendError> {
    let (conn, fence, said) = (book.conn, &batch.fence, trouble("append"));
    let head = owned(book, fence, "append")?;
    if head.end != (Place { next_seq: fence.next_seq, head: fence.head }) {
        return repeated(conn, head.key, batch);
    }
    let key = head.key;
    let next_seq = fence.next_seq.saturating_add(batch.count);
    let end = Place { next_seq, head: batch.record.hash };
    let row_is_due = head.row_is_due(&batch.summary);
    if row_is_due {
        write_row(conn, key, batch, end)?;
    }
    let blobs = insert_blobs(conn, &batch.blobs).map_err(&said)?;
    insert_record(conn, key, &batch.record, batch.count, blobs).map_err(&said)?;
    if let Some(kept) = &batch.checkpoint {
        let sql = "INSERT OR REPLACE INTO checkpoints (run, seq, head, version, hash, state)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let last = signed(next_seq.saturating_sub(1));
        execute(conn, sql, params![key, last, end.head.0, kept.version, kept.hash.0, kept.state])
            .map_err(&said)?;
    }
    for SignalId(id) in &batch.consumed {
        let sql = "UPDATE mailbox SET consumed = 1 WHERE id = ?1 AND run = ?2";
        execute(conn, sql, params![signed(*id), key]).map_err(&said)?;
    }
    head.end = end;
    if row_is_due {
        head.row_written(&batch.summary);
    } else {
        head.row_left(Unwritten { at: batch.record.at, summary: batch.row.clone() });
    }
    Ok(())
}

/// Lets listings show the run as it is after `batch`. The first write of a job:
/// a run that somebody removed is noticed here.
fn write_row(conn: &Connection, key: i64, batch: &Sealed, end: Place) -> Result<(), AppendError> {
    let said = trouble("append");
    // The id, too: the key of a run that was removed may be another's by now.
    let sql = "UPDATE runs SET updated = ?3, next_seq = ?4, head = ?5, summary = ?6
               WHERE key = ?1 AND id = ?2";
    let (at, next, run) = (signed(batch.record.at.0), signed(end.next_seq), &batch.fence.run);
    let values = params![key, run.as_str(), at, next, end.head.0, batch.row];
    if execute(conn, sql, values).map_err(&said)? == 0 {
        return Err(StoreError::NoRun { run: run.clone() }.into());
    }
    // Apart, and only when it changes: this is what the index of open runs is made of.
    let sql = "UPDATE runs SET ended = ?2, waiting = ?3 WHERE key = ?1 AND (ended, waiting) <> (?2, ?3)";
    let (ended, waiting) = (batch.summary.is_over(), rows::waiting(&batch.summary));
    execute(conn, sql, params![key, ended, waiting]).map_err(&said)?;
    Ok(())
}

/// The journal is elsewhere: fine if that is because this very record is in it.
fn repeated(conn: &Connection, key: i64, batch: &Sealed) -> Result<(), AppendError> {
    let sql = "SELECT hash FROM records WHERE run = ?1 AND seq = ?2";
    let there: Option<[u8; 32]> = conn
        .prepare_cached(sql)
        .and_then(|mut find| {
            find.query_row(params![key, signed(batch.record.seq)], |row| row.get(0)).optional()
        })
        .map_err(trouble("append"))?;
    if there == Some(batch.record.hash.0) {
        Ok(())
    } else {
        Err(AppendError::Conflict { run: batch.fence.run.clone(), seq: batch.fence.next_seq })
    }
}

/// Moves the end of the lease.
pub(super) fn renew(book: &mut Book<'_>, fence: &Fence, until: Millis) -> Result<(), AppendError> {
    let (conn, key) = (book.conn, owned(book, fence, "renew")?.key);
    let sql = "UPDATE runs SET lease = ?2 WHERE key = ?1";
    execute(conn, sql, params![key, moment(until)]).map_err(trouble("renew"))?;
    Ok(())
}

/// Leaves the run to whoever wants it, with a row that is up to date.
pub(super) fn release(book: &mut Book<'_>, fence: &Fence) -> Result<(), AppendError> {
    let (conn, said) = (book.conn, trouble("release"));
    if !is_known(book, fence) && !find(conn, fence, "release")?.1 {
        return Ok(()); // It was left before.
    }
    let head = owned(book, fence, "release")?;
    if let Some(Unwritten { at, summary }) = head.unwritten() {
        let sql = "UPDATE runs SET updated = ?2, next_seq = ?3, head = ?4, summary = ?5 WHERE key = ?1";
        let next = signed(head.end.next_seq);
        let values = params![head.key, signed(at.0), next, head.end.head.0, summary];
        execute(conn, sql, values).map_err(&said)?;
    }
    let sql = "UPDATE runs SET worker = NULL, lease = 0 WHERE key = ?1";
    execute(conn, sql, [head.key]).map_err(&said)?;
    book.heads.forget(&fence.run);
    Ok(())
}

/// Leaves all runs to whoever wants them: their workers are dead.
pub(super) fn release_all(conn: &Connection) -> rusqlite::Result<usize> {
    conn.execute("UPDATE runs SET worker = NULL, lease = 0 WHERE worker IS NOT NULL", [])
}

/// Puts a letter into a run's mailbox, once.
pub(super) fn signal(conn: &Connection, run: &RunId, letter: &Posted) -> Result<SignalId, StoreError> {
    let said = trouble("signal");
    let key = reads::key(conn, run)?;
    let sql = "INSERT INTO mailbox (run, key, sender, signal, at) VALUES (?1, ?2, ?3, ?4, ?5)
               ON CONFLICT (run, key) DO NOTHING";
    let values = params![key, letter.key, letter.sender, letter.signal, signed(letter.at.0)];
    execute(conn, sql, values).map_err(&said)?;
    let id: i64 = conn
        .prepare_cached("SELECT id FROM mailbox WHERE run = ?1 AND key = ?2")
        .and_then(|mut find| find.query_row(params![key, letter.key], |row| row.get(0)))
        .map_err(&said)?;
    Ok(SignalId(id.cast_unsigned()))
}

/// Throws the cached states of all runs away.
pub(super) fn drop_checkpoints(conn: &Connection) -> Result<(), StoreError> {
    execute(conn, "DELETE FROM checkpoints", []).map(|_| ()).map_err(trouble("drop checkpoints"))
}

/// Removes an ended run and the content only it named, and notes that it was there.
pub(super) fn remove(book: &Book<'_>, run: &RunId, removal: &Removal) -> Result<u64, StoreError> {
    let (conn, action) = (book.conn, "remove a run");
    let said = trouble(action);
    if book.version < WITH_TOMBSTONES {
        return Err(StoreError::TooOld { action, version: book.version, needed: VERSION });
    }
    let sql = "SELECT key, ended, next_seq, head FROM runs WHERE id = ?1";
    let found: Option<(i64, bool, Place)> = conn
        .query_row(sql, [run.as_str()], |row| {
            let next_seq = row.get::<_, i64>(2)?.cast_unsigned();
            Ok((row.get(0)?, row.get(1)?, Place { next_seq, head: Digest(row.get(3)?) }))
        })
        .optional()
        .map_err(&said)?;
    let Some((key, ended, shown)) = found else { return Err(StoreError::NoRun { run: run.clone() }) };
    if !ended {
        return Err(StoreError::NotEnded { run: run.clone() });
    }
    let end = reads::end(conn, key, shown).map_err(&said)?.place;
    let freed = forget_blobs(conn, key).map_err(&said)?;
    let tables = ["records", "checkpoints", "mailbox", "classes"];
    let has_classes = book.version >= WITH_CLASSES;
    for table in tables.into_iter().filter(|table| has_classes || *table != "classes") {
        execute(conn, &format!("DELETE FROM {table} WHERE run = ?1"), [key]).map_err(&said)?;
    }
    execute(conn, "DELETE FROM runs WHERE key = ?1", [key]).map_err(&said)?;
    let sql = "INSERT INTO tombstones (run, head, events, at, deleter) VALUES (?1, ?2, ?3, ?4, ?5)";
    let events = signed(end.next_seq.saturating_sub(1));
    let values = params![run.as_str(), end.head.0, events, signed(removal.at.0), removal.by];
    execute(conn, sql, values).map_err(&said)?;
    Ok(freed)
}

fn is_known(book: &mut Book<'_>, fence: &Fence) -> bool {
    book.heads.get(&fence.run).is_some_and(|head| head.epoch == fence.epoch)
}

/// The run as the fence's holder may see it, if the fence still holds.
fn owned<'book>(
    book: &'book mut Book<'_>,
    fence: &Fence,
    action: &'static str,
) -> Result<&'book mut Head, AppendError> {
    if is_known(book, fence) {
        return book.heads.get(&fence.run).ok_or_else(|| fenced(fence));
    }
    let (head, has_worker) = find(book.conn, fence, action)?;
    if !has_worker {
        return Err(fenced(fence));
    }
    Ok(book.heads.remember(&fence.run, head))
}

fn fenced(fence: &Fence) -> AppendError {
    AppendError::Fenced { run: fence.run.clone(), ours: fence.epoch }
}

/// The run as it is stored, and whether it has a worker, if the fence still holds.
fn find(conn: &Connection, fence: &Fence, action: &'static str) -> Result<(Head, bool), AppendError> {
    let said = trouble(action);
    let sql = "SELECT key, epoch, next_seq, head, worker IS NOT NULL FROM runs WHERE id = ?1";
    let found: Option<(i64, i64, Place, bool)> = conn
        .prepare_cached(sql)
        .and_then(|mut find| {
            find.query_row([fence.run.as_str()], |row| {
                let next_seq = row.get::<_, i64>(2)?.cast_unsigned();
                let shown = Place { next_seq, head: Digest(row.get(3)?) };
                Ok((row.get(0)?, row.get(1)?, shown, row.get(4)?))
            })
            .optional()
        })
        .map_err(&said)?;
    match found {
        None => Err(StoreError::NoRun { run: fence.run.clone() }.into()),
        Some((key, epoch, shown, has_worker)) if epoch == signed(fence.epoch) => {
            let end = reads::end(conn, key, shown).map_err(&said)?.place;
            Ok((Head::found(key, fence.epoch, end), has_worker))
        }
        Some(_) => Err(fenced(fence)),
    }
}

fn insert_record(
    conn: &Connection,
    key: i64,
    record: &Record,
    count: u64,
    blobs: Option<String>,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO records (run, seq, count, at, format, hash, blobs, body)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let (seq, count, at) = (signed(record.seq), signed(count), signed(record.at.0));
    execute(conn, sql, params![key, seq, count, at, record.format, record.hash.0, blobs, record.body])?;
    Ok(())
}

/// Stores content that is not there yet. Gives the ids the record must keep, so
/// that its run's share in them can be given up again.
fn insert_blobs(conn: &Connection, blobs: &[Blob]) -> rusqlite::Result<Option<String>> {
    let mut ids: Vec<i64> = Vec::with_capacity(blobs.len());
    for blob in blobs {
        let sql = "SELECT id FROM blobs WHERE substr(hash, 1, 8) = substr(?1, 1, 8) AND hash = ?1";
        let there: Option<i64> =
            conn.prepare_cached(sql)?.query_row([blob.sha256.0], |row| row.get(0)).optional()?;
        match there {
            Some(id) if ids.contains(&id) => continue,
            Some(id) => {
                let sql = "INSERT INTO shared (blob, more) VALUES (?1, 1)
                           ON CONFLICT (blob) DO UPDATE SET more = more + 1";
                execute(conn, sql, [id])?;
                ids.push(id);
            }
            None => {
                let (whole, rest) = blob.bytes.as_chunks::<PIECE_BYTES>();
                let piece = insert_pieces(conn, whole)?;
                let sql = "INSERT INTO blobs (hash, size, piece, rest) VALUES (?1, ?2, ?3, ?4)";
                let size = signed(blob.bytes.len() as u64);
                execute(conn, sql, params![blob.sha256.0, size, piece, rest])?;
                ids.push(conn.last_insert_rowid());
            }
        }
    }
    let ids: Vec<String> = ids.iter().map(i64::to_string).collect();
    Ok((!ids.is_empty()).then(|| ids.join(" ")))
}

/// Stores content piece by piece, under ids that follow each other: there is one
/// writer, and it appends. Gives the first of them.
fn insert_pieces(conn: &Connection, pieces: &[[u8; PIECE_BYTES]]) -> rusqlite::Result<i64> {
    let mut first = None;
    for piece in pieces {
        execute(conn, "INSERT INTO pieces (bytes) VALUES (?1)", [piece.as_slice()])?;
        first.get_or_insert_with(|| conn.last_insert_rowid());
    }
    Ok(first.unwrap_or(0))
}

/// Gives up a run's share in its content; returns the bytes nobody names now.
fn forget_blobs(conn: &Connection, key: i64) -> rusqlite::Result<u64> {
    let mut freed = 0_u64;
    let mut named = conn.prepare("SELECT blobs FROM records WHERE run = ?1 AND blobs IS NOT NULL")?;
    let mut rows = named.query([key])?;
    while let Some(row) = rows.next()? {
        let list: String = row.get(0)?;
        for id in list.split(' ').filter_map(|id| id.parse::<i64>().ok()) {
            if execute(conn, "UPDATE shared SET more = more - 1 WHERE blob = ?1", [id])? > 0 {
                execute(conn, "DELETE FROM shared WHERE blob = ?1 AND more = 0", [id])?;
                continue;
            }
            let sql = "DELETE FROM blobs WHERE id = ?1 RETURNING size, piece";
            let gone: Option<(i64, i64)> =
                conn.prepare_cached(sql)?.query_row([id], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            let Some((size, piece)) = gone else { continue };
            let past = piece.saturating_add(pieces(size));
            execute(conn, "DELETE FROM pieces WHERE id >= ?1 AND id < ?2", [piece, past])?;
            freed = freed.saturating_add(size.cast_unsigned());
        }
    }
    Ok(freed)
}

fn execute(conn: &Connection, sql: &str, params: impl Params) -> rusqlite::Result<usize> {
    conn.prepare_cached(sql)?.execute(params)
}
