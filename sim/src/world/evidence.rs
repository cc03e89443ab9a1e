//! A seed's evidence as files, for the checker in the other language.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use bowline_core::id::RunId;
use bowline_core::journal::Record;
use bowline_core::provenance::Digest;
use serde::Serialize;
use serde_json::{Value, json};

use super::state::State;
use super::violation::{Check, Violation};
use crate::oracle::{self, OracleError};

/// The independent checker.
fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("checker").join("check.py")
}

/// Asks the independent checker about a seed.
pub(super) fn second_opinion(
    state: &State,
    records: &BTreeMap<RunId, Vec<Record>>,
) -> Result<Vec<Violation>, OracleError> {
    let folder = tempfile::tempdir().map_err(|source| OracleError::Io { path: "evidence".into(), source })?;
    let evidence = oracle::Evidence {
        client: folder.path().join("client.jsonl"),
        ledger: folder.path().join("ledger.jsonl"),
        journal: folder.path().join("journal"),
        states: None,
    };
    write(&evidence.client, &lines(&state.client))?;
    write(&evidence.ledger, &lines(&state.outside.entries))?;
    std::fs::create_dir(&evidence.journal)
        .map_err(|source| OracleError::Io { path: evidence.journal.clone(), source })?;
    for (run, records) in records {
        write(&evidence.journal.join(format!("{run}.jsonl")), &journal(records))?;
    }
    let verdict = oracle::check(&script(), &evidence)?;
    let broken = verdict.lines.into_iter().filter(|line| {
        let found = line.split_once(": ").map_or("", |(_, found)| found);
        !found.starts_with("ok, ") && !found.starts_with("examined nothing")
    });
    Ok(if verdict.is_clean { Vec::new() } else { broken.map(named).collect() })
}

/// A line of the checker, under the check it names.
fn named(line: String) -> Violation {
    const CHECKS: [Check; 14] = [
        Check::O1,
        Check::O2,
        Check::O3,
        Check::O4,
        Check::O5,
        Check::O6,
        Check::O7,
        Check::O8,
        Check::O9,
        Check::O10,
        Check::O11,
        Check::O12,
        Check::J3,
        Check::U1,
    ];
    let word = line.split(':').next().unwrap_or_default();
    let check = CHECKS.into_iter().find(|check| format!("{check:?}") == word);
    Violation { check: check.unwrap_or(Check::O10), text: format!("second opinion: {line}") }
}

fn journal(records: &[Record]) -> String {
    let mut text = String::new();
    let mut prev = Digest::ZERO;
    for record in records {
        let events: Value = serde_json::from_str(&record.body).unwrap_or_default();
        let line = json!({
            "run": record.run, "seq": record.seq, "at": record.at, "format": record.format,
            "prev": prev, "hash": record.hash, "events": events,
        });
        prev = record.hash;
        // Writing to a text cannot fail.
        let _written = writeln!(text, "{line}");
    }
    text
}

fn lines<T: Serialize>(rows: &[T]) -> String {
    rows.iter().fold(String::new(), |mut text, row| {
        text.push_str(&serde_json::to_string(row).unwrap_or_default());
        text.push('\n');
        text
    })
}

fn write(path: &Path, text: &str) -> Result<(), OracleError> {
    std::fs::write(path, text).map_err(|source| OracleError::Io { path: path.into(), source })
}
