//! A store whose journal an older build wrote: everything that reads still reads it.

use std::path::Path;

use bowline_core::provenance::{Digest, canonical_value};
use rusqlite::{Connection, params};
use serde_json::Value;

use crate::{HELLO, PLAIN, Place};

/// Puts a golden journal into a store, in the place of the run that is there.
fn planted(format: u16) -> Place {
    let place = Place::new();
    place.task(PLAIN, HELLO).bowline(&["run", "task", "-q"]).ends(0);
    let store = Connection::open(place.path("home/store.db")).unwrap();
    let name = format!("../../fixtures/journals/format-{format}.jsonl");
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap();
    store.execute_batch("DELETE FROM records; DELETE FROM blobs; DELETE FROM checkpoints").unwrap();
    for line in text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        plant(&store, &line);
    }
    place
}

fn plant(store: &Connection, line: &Value) {
    if let Some(blob) = line["blob"].as_str() {
        let sha256 = Digest::of(blob.as_bytes()).0;
        let size = i64::try_from(blob.len()).unwrap();
        let first = "(SELECT coalesce(max(id), 0) + 1 FROM pieces)";
        let (pieces, rest) = blob.as_bytes().as_chunks::<1010>();
        let sql = format!("INSERT INTO blobs (hash, size, piece, rest) VALUES (?1, ?2, {first}, ?3)");
        store.execute(&sql, params![sha256, size, rest]).unwrap();
        for piece in pieces {
            store.execute("INSERT INTO pieces (bytes) VALUES (?1)", params![piece.as_slice()]).unwrap();
        }
        return;
    }
    let number = |name: &str| line[name].as_i64().unwrap();
    let count = i64::try_from(line["events"].as_array().unwrap().len()).unwrap();
    let hash = Digest::parse(line["hash"].as_str().unwrap()).unwrap().0;
    let sql =
        "INSERT INTO records (run, seq, count, at, format, hash, body) VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6)";
    let body = canonical_value(&line["events"]);
    store.execute(sql, params![number("seq"), count, number("at"), number("format"), hash, body]).unwrap();
    let sql = "UPDATE runs SET id = ?1, next_seq = ?2, head = ?3 WHERE key = 1";
    store.execute(sql, params![line["run"].as_str(), number("seq") + count, hash]).unwrap();
}

#[test]
fn a_journal_of_an_older_format_is_shown_replayed_and_verified() {
    for format in [1, 2] {
        let place = planted(format);
        place.bowline(&["audit", "verify"]).ends(0).says("consistent: 39 events");
        place.bowline(&["show", "last"]).ends(0).says("committed");
        place.bowline(&["replay", "last", "--to", "20"]).ends(0).says("step 3");
        let lines = place.bowline(&["export", "last", "--json"]).ends(0).objects();
        assert_eq!(lines[0]["format"], format);
    }
}

#[test]
fn a_journal_of_a_newer_format_is_refused_and_never_skipped() {
    let place = planted(2);
    let store = Connection::open(place.path("home/store.db")).unwrap();
    store.execute("UPDATE records SET format = 99 WHERE seq > 30", []).unwrap();
    place.bowline(&["replay", "last"]).ends(2).complains("has format 99");
    place.bowline(&["audit", "verify"]).ends(1).says("does not match its hash");
}
