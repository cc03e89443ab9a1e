//! A store whose journal an older build wrote: everything that reads still reads it.

use std::path::{Path, PathBuf};

use bowline_core::id::RunId;
use bowline_core::provenance::{Digest, canonical, canonical_value};
use rusqlite::{Connection, params};
use serde_json::Value;

use crate::{HELLO, PLAIN, Place};

/// Puts golden journals into a store, in the place of the run that is there.
fn planted(files: &[PathBuf]) -> Place {
    let place = Place::new();
    place.task(PLAIN, HELLO).bowline(&["run", "task", "-q"]).ends(0);
    let store = Connection::open(place.path("home/store.db")).unwrap();
    store.execute_batch("BEGIN; DELETE FROM records; DELETE FROM blobs; DELETE FROM checkpoints").unwrap();
    for file in files {
        let text = std::fs::read_to_string(file).unwrap();
        for line in text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            plant(&store, &line);
        }
    }
    store.execute_batch("DELETE FROM runs WHERE key = 1; COMMIT").unwrap();
    place
}

fn fixtures(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name)
}

fn golden(format: u16) -> Place {
    planted(&[fixtures("journals").join(format!("format-{format}.jsonl"))])
}

/// The row of a run, made like that of the run that was there.
fn row(store: &Connection, run: &str) -> i64 {
    let find = "SELECT key FROM runs WHERE id = ?1";
    if let Ok(key) = store.query_row(find, [run], |row| row.get(0)) {
        return key;
    }
    let sql = "INSERT INTO runs (key, id, request, fingerprint, created, updated, epoch, worker, lease, next_seq, head,
               ended, waiting, summary) SELECT (SELECT max(key) + 1 FROM runs), ?1, NULL, fingerprint, created, updated, epoch,
               NULL, 0, 1, head, 1, 0, summary FROM runs WHERE key = 1";
    store.execute(sql, [run]).unwrap();
    store.query_row(find, [run], |row| row.get(0)).unwrap()
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
        "INSERT INTO records (run, seq, count, at, format, hash, body) VALUES (?7, ?1, ?2, ?3, ?4, ?5, ?6)";
    let body = canonical_value(&line["events"]);
    let key = row(store, line["run"].as_str().unwrap());
    store
        .execute(sql, params![number("seq"), count, number("at"), number("format"), hash, body, key])
        .unwrap();
    let sql = "UPDATE runs SET next_seq = ?2, head = ?3 WHERE key = ?1";
    store.execute(sql, params![key, number("seq") + count, hash]).unwrap();
    for ended in
        line["events"].as_array().unwrap().iter().filter_map(|event| event["ended"]["ending"].as_object())
    {
        let ending = ended.keys().next().unwrap();
        let sql = "UPDATE runs SET summary = json_set(summary, '$.ending', ?2) WHERE key = ?1";
        store.execute(sql, params![key, ending]).unwrap();
    }
}

#[test]
fn a_journal_of_an_older_format_is_shown_replayed_and_verified() {
    for format in [1, 2] {
        let place = golden(format);
        place.bowline(&["audit", "verify"]).ends(0).says("consistent: 39 events");
        place.bowline(&["show", "last"]).ends(0).says("committed");
        place.bowline(&["replay", "last", "--to", "20"]).ends(0).says("step 3");
        let lines = place.bowline(&["export", "last", "--json"]).ends(0).objects();
        assert_eq!(lines[0]["format"], format);
    }
}

#[test]
fn a_journal_of_a_newer_format_is_refused_and_never_skipped() {
    let place = golden(2);
    let store = Connection::open(place.path("home/store.db")).unwrap();
    store.execute("UPDATE records SET format = 99 WHERE seq > 30", []).unwrap();
    place.bowline(&["replay", "last"]).ends(2).complains("has format 99");
    place.bowline(&["audit", "verify"]).ends(1).says("does not match its hash");
}

#[test]
fn every_journal_that_earlier_versions_left_is_shown_and_found_consistent() {
    let folder =
        |path: PathBuf| std::fs::read_dir(path).into_iter().flatten().map(|entry| entry.unwrap().path());
    let sets = folder(fixtures("past"));
    let files: Vec<PathBuf> = sets.flat_map(|set| folder(set.join("journals"))).collect();
    assert!(files.len() > 20, "{files:?}");
    let place = planted(&files);
    let told = place.bowline(&["audit", "verify", "--json"]).ends(0).objects();
    assert!(told.len() > 100 && told.iter().all(|run| run["ok"] == true), "{told:?}");
    let listed = place.bowline(&["runs", "--all", "--json"]).ends(0).objects();
    assert_eq!(listed.len(), told.len());
}

/// A store whose last record says more than this build understands, with all hashes right.
fn newer(change: impl Fn(&str) -> String) -> (Place, Vec<u8>) {
    let place = Place::new();
    place.task(PLAIN, HELLO).bowline(&["run", "task", "-q"]).ends(0);
    let store = Connection::open(place.path("home/store.db")).unwrap();
    let sql = "SELECT seq, at, format, body, hash FROM records ORDER BY seq";
    let rows: Vec<(i64, i64, u16, String, [u8; 32])> = store
        .prepare(sql)
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let run = RunId::parse(&place.last()).unwrap();
    let [.., (.., before), (seq, at, format, body, _)] = rows.as_slice() else { panic!("two records") };
    let body = canonical(&change(body)).unwrap();
    let (first, when) = (seq.cast_unsigned(), at.cast_unsigned());
    let hash = Digest::of_parts(&[
        before.as_slice(),
        run.as_str().as_bytes(),
        &first.to_be_bytes(),
        &when.to_be_bytes(),
        &format.to_be_bytes(),
        body.as_bytes(),
    ]);
    store
        .execute("UPDATE records SET body = ?1, hash = ?2 WHERE seq = ?3", params![body, hash.0, seq])
        .unwrap();
    store.execute("UPDATE runs SET head = ?1", params![hash.0]).unwrap();
    store.execute("DELETE FROM checkpoints", []).unwrap();
    (place, body.into_bytes())
}

#[test]
fn what_a_newer_build_wrote_is_refused_by_name_by_whoever_folds_it_and_handed_out_as_it_is() {
    let contract: fn(&str) -> String = |body| body.replace("\"contract\":1", "\"contract\":7");
    let key: fn(&str) -> String = |body| body.replace("\"contract\":1", "\"contract\":1,\"only_reads\":true");
    let kind: fn(&str) -> String = |body| body.replacen("\"ended\"", "\"parked\"", 1);
    for (change, complaint) in [
        (contract, "(`ended`) has contract 7; this build, Bowline "),
        (key, "(`ended`) was written by a newer Bowline: it has a key \"only_reads\""),
        (kind, "(`parked`) was written by a newer Bowline: it has a kind \"parked\""),
    ] {
        let (place, body) = newer(change);
        for words in [
            &["show", "last"][..],
            &["replay", "last"],
            &["watch", "last"],
            &["resume", "last"],
            &["diff", "last"],
        ] {
            let ran = place.bowline(words).ends(2).complains(complaint);
            ran.complains("go on with the Bowline that wrote it, or a newer one");
        }
        place.bowline(&["runs"]).ends(0);
        place.bowline(&["work", "--drain"]);
        let records = place.bowline(&["export", "last", "--json"]).ends(0).objects();
        let last = records.last().unwrap();
        assert_eq!(canonical_value(&last["events"]).into_bytes(), body, "stored bytes are as they were");
        place.bowline(&["audit", "verify"]).ends(1).says(complaint);
    }
}
