//! What a recording of the past needs besides the program itself: a checkpoint of where each
//! run stands, and journals with the content they name.
//!
//! The program writes a checkpoint only once a run has thousands of events. Here the same
//! state, from the same fold, is put into the same row. Journals are read and never written.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use bowline::fold;
use bowline_core::id::RunId;
use bowline_core::journal::Record;
use bowline_core::provenance::Digest;
use bowline_core::run::STATE;
use bowline_store::{ListFilter, Role, RunStore, SqliteStore};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, params};
use serde_json::{Value, json};
use thiserror::Error;

/// Records read at once.
const PAGE: usize = 256;

/// Why nothing was read or written.
#[derive(Debug, Error)]
pub enum PastError {
    /// The home cannot be opened, or what is in it cannot be read.
    #[error("the home {home} cannot be read: {why}")]
    Unreadable {
        /// Which.
        home: PathBuf,
        /// Why not.
        why: String,
    },
    /// A checkpoint could not be written.
    #[error("the home {home} took no checkpoint: {why}")]
    NotWritten {
        /// Which.
        home: PathBuf,
        /// Why not.
        why: String,
    },
    /// The output went nowhere.
    #[error("the journals could not be written out")]
    Output(#[from] std::io::Error),
}

impl PastError {
    /// What to do.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => {
                "name the home of a program of the same version, which nobody works in"
            }
            Self::NotWritten { .. } => "end whoever works in the home; the layout must be this version's",
            Self::Output(_) => "write to a disk with room",
        }
    }
}

/// Gives every run of a home a checkpoint of where it stands.
pub fn checkpoint(home: &Path) -> Result<(), PastError> {
    let unreadable = |why: &dyn ToString| PastError::Unreadable { home: home.into(), why: why.to_string() };
    let states = wait(async {
        let store = open(home)?;
        let mut states = Vec::new();
        for run in runs(&store, home).await? {
            let state = fold(&store, &run, u64::MAX).await.map_err(|error| unreadable(&error))?.run;
            let head = records(&store, home, &run).await?.last().map_or(Digest::ZERO, |last| last.hash);
            states.push((run, state.seq, head, state.to_checkpoint()));
        }
        Ok(states)
    })?;
    let refused =
        |error: rusqlite::Error| PastError::NotWritten { home: home.into(), why: error.to_string() };
    let conn = Connection::open(home.join("store.db")).map_err(refused)?;
    // The log stays where the program left it.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(refused)?;
    for (run, seq, head, state) in states {
        let sql = "INSERT OR REPLACE INTO checkpoints (run, seq, head, version, hash, state)
                   SELECT key, ?2, ?3, ?4, ?5, ?6 FROM runs WHERE id = ?1";
        let values = params![run.as_str(), seq.cast_signed(), head.0, STATE, Digest::of(&state).0, state];
        conn.execute(sql, values).map_err(refused)?;
    }
    Ok(())
}

/// Writes every journal of a home out: a line for each content that is named, and for each
/// record, as golden journals have them.
pub fn journals(home: &Path, out: &mut dyn Write) -> Result<(), PastError> {
    let lines = wait(async {
        let store = open(home)?;
        let mut lines = Vec::new();
        let mut known = BTreeSet::new();
        for run in runs(&store, home).await? {
            for record in records(&store, home, &run).await? {
                let events: Value = serde_json::from_str(&record.body)
                    .map_err(|error| PastError::Unreadable { home: home.into(), why: error.to_string() })?;
                let mut named = BTreeSet::new();
                digests(&events, &mut named);
                for digest in named {
                    if known.insert(digest)
                        && let Ok(bytes) = store.blob(digest).await
                    {
                        lines.push(content(home, digest, bytes)?);
                    }
                }
                lines.push(line(&record, &events));
            }
        }
        Ok(lines)
    })?;
    for line in lines {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn line(record: &Record, events: &Value) -> Value {
    json!({
        "run": record.run, "seq": record.seq, "at": record.at, "format": record.format,
        "hash": record.hash, "events": events,
    })
}

fn content(home: &Path, digest: Digest, bytes: Vec<u8>) -> Result<Value, PastError> {
    let text = String::from_utf8(bytes).map_err(|_| PastError::Unreadable {
        home: home.into(),
        why: format!("content {digest} is no text: let the scenario use text alone"),
    })?;
    Ok(json!({ "blob": text }))
}

/// Every hash that is named anywhere in a value.
fn digests(value: &Value, found: &mut BTreeSet<Digest>) {
    match value {
        Value::String(text) => found.extend(Digest::parse(text)),
        Value::Array(items) => items.iter().for_each(|item| digests(item, found)),
        Value::Object(members) => members.values().for_each(|member| digests(member, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn open(home: &Path) -> Result<SqliteStore, PastError> {
    SqliteStore::open(home, Role::Observer)
        .map_err(|error| PastError::Unreadable { home: home.into(), why: error.to_string() })
}

/// The oldest first.
async fn runs(store: &SqliteStore, home: &Path) -> Result<Vec<RunId>, PastError> {
    let rows = store.list(ListFilter { max: usize::MAX, ..ListFilter::default() }).await;
    let rows = rows.map_err(|error| PastError::Unreadable { home: home.into(), why: error.to_string() })?;
    Ok(rows.into_iter().rev().map(|row| row.run).collect())
}

async fn records(store: &SqliteStore, home: &Path, run: &RunId) -> Result<Vec<Record>, PastError> {
    let mut all: Vec<Record> = Vec::new();
    let mut next = 1;
    loop {
        let unreadable = |why: String| PastError::Unreadable { home: home.into(), why };
        let page = store.records(run, next, PAGE).await.map_err(|error| unreadable(error.to_string()))?;
        let full = page.len() == PAGE;
        if let Some(last) = page.last() {
            let events = last.events().map_err(|error| unreadable(error.to_string()))?;
            next = last.seq + events.len() as u64;
        }
        all.extend(page);
        if !full {
            return Ok(all);
        }
    }
}

fn wait<T>(what: impl Future<Output = Result<T, PastError>>) -> Result<T, PastError> {
    tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(what)
}
