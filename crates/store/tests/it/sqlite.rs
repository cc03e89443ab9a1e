//! What only a store on a disk can get wrong: damage, versions, other processes.

use std::path::Path;

use bowline_core::event::Event;
use bowline_core::id::{Millis, RunId, WorkerId};
use bowline_core::input::Signal;
use bowline_core::journal::BadRecord;
use bowline_core::message::Blob;
use bowline_core::provenance::Digest;
use bowline_core::task::Submission;
use bowline_store::migrations::VERSION;
use bowline_store::{
    Append, AppendError, Fence, Letter, ListFilter, OpenError, Role, RunStore, SqliteStore, StoreError,
    Submitted, Summary,
};
use rusqlite::{Connection, params};

const NOW: Millis = Millis(1_700_000_000_000);
const LEASE_MS: u64 = 60_000;

fn run(name: &str) -> RunId {
    RunId::parse(name).unwrap()
}

fn worker(name: &str) -> WorkerId {
    WorkerId::parse(name).unwrap()
}

fn submission() -> Submission {
    serde_json::from_value(serde_json::json!({
        "task": {
            "goal": "a goal", "model": "m", "review": "never", "on_failure": "keep",
            "limits": bowline_core::budget::Limits::default(),
            "workspace": { "path": "w", "mode": "in-place" },
        },
        "tools": [], "seed": "0", "fingerprint": Digest::ZERO,
    }))
    .unwrap()
}

fn batch(by: &str) -> Append {
    Append {
        at: NOW,
        events: vec![Event::Paused { by: by.to_owned() }],
        blobs: Vec::new(),
        checkpoint: None,
        summary: Summary::default(),
        consumed: Vec::new(),
    }
}

fn letter(key: &str) -> Letter {
    Letter { by: "me".to_owned(), signal: Signal::Cancel, key: key.to_owned(), at: NOW }
}

fn open(dir: &Path) -> SqliteStore {
    SqliteStore::open(dir, Role::Worker).unwrap()
}

/// A closed store with one run of four records; the second has a checkpoint.
async fn written(dir: &Path) -> Fence {
    let store = open(dir);
    store.submit(&run("one"), submission(), NOW).await.unwrap();
    let mut fence = store.claim(&run("one"), &worker("w"), LEASE_MS, NOW).await.unwrap().fence;
    let kept = Append { checkpoint: Some((1, vec![5; 300])), ..batch("b") };
    for next in [kept, batch("c"), batch("d")] {
        store.append(&mut fence, next).await.unwrap();
    }
    store.release(&fence).await.unwrap();
    fence
}

fn change(dir: &Path, sql: &str) {
    let conn = Connection::open(dir.join("store.db")).unwrap();
    assert!(conn.execute(sql, []).unwrap() > 0, "{sql}");
}

async fn claim_fails(dir: &Path) -> BadRecord {
    let store = open(dir);
    match store.claim(&run("one"), &worker("w"), LEASE_MS, NOW).await {
        Err(StoreError::Damaged(bad)) => {
            assert_eq!(store.row(&run("one")).await.unwrap().epoch, 1, "a damaged run was taken");
            bad
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_changed_byte_behind_the_checkpoint_is_reported_on_claim() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path()).await;
    change(dir.path(), r#"UPDATE records SET body = replace(body, '"c"', '"C"') WHERE seq = 3"#);
    assert_eq!(claim_fails(dir.path()).await, BadRecord::Hash { run: run("one"), seq: 3 });
}

#[tokio::test]
async fn a_changed_column_of_any_record_is_reported_on_claim() {
    for damage in ["at = at + 1", "format = 1", "hash = zeroblob(32)", "count = 2", "seq = seq + 10"] {
        let dir = tempfile::tempdir().unwrap();
        written(dir.path()).await;
        change(dir.path(), "DELETE FROM checkpoints");
        change(dir.path(), &format!("UPDATE records SET {damage} WHERE seq = 2"));
        claim_fails(dir.path()).await;
    }
}

#[tokio::test]
async fn a_missing_last_record_is_noticed_by_the_run_row() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path()).await;
    change(dir.path(), "DELETE FROM records WHERE seq = 4");
    assert_eq!(claim_fails(dir.path()).await, BadRecord::Gap { run: run("one"), expected: 5, found: 4 });
    let dir = tempfile::tempdir().unwrap();
    written(dir.path()).await;
    change(dir.path(), "DELETE FROM records");
    assert_eq!(claim_fails(dir.path()).await, BadRecord::Gap { run: run("one"), expected: 5, found: 1 });
}

#[tokio::test]
async fn a_row_that_names_another_head_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path()).await;
    change(dir.path(), "UPDATE runs SET head = zeroblob(32)");
    assert_eq!(claim_fails(dir.path()).await, BadRecord::Hash { run: run("one"), seq: 4 });
}

#[tokio::test]
async fn columns_of_another_type_are_damage_and_never_a_panic() {
    for (damage, count) in [
        ("body = x'ff'", "records"),
        ("body = 7", "records"),
        ("hash = x'00'", "records"),
        ("format = 'x'", "records"),
        ("format = 99999999", "records"),
        ("at = 'x'", "records"),
        ("summary = '{'", "runs"),
        ("head = 'x'", "runs"),
        ("worker = 'a b'", "runs"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        written(dir.path()).await;
        change(dir.path(), "DELETE FROM checkpoints");
        change_any_type(dir.path(), &format!("UPDATE {count} SET {damage}"));
        let store = SqliteStore::open(dir.path(), Role::Observer).unwrap();
        let row = store.row(&run("one")).await.err();
        let records = store.records(&run("one"), 1, 9).await.err();
        let found = if count == "runs" { row } else { records };
        assert!(matches!(found, Some(StoreError::Damaged(BadRecord::Body { .. }))), "{damage}: {found:?}");
    }
}

/// Makes a change that the columns do not allow, as damage would: the tables are as before afterwards.
fn change_any_type(dir: &Path, sql: &str) {
    let conn = Connection::open(dir.join("store.db")).unwrap();
    let reopened = "PRAGMA writable_schema = RESET;";
    conn.execute_batch(
        "CREATE TEMP TABLE kept AS SELECT name, sql FROM sqlite_schema;
         PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = replace(replace(replace(replace(sql, ' STRICT', ''), ' TEXT', ''),
             ' INTEGER NOT', ' NOT'), ' BLOB', '') WHERE type = 'table';",
    )
    .unwrap();
    conn.execute_batch(reopened).unwrap();
    conn.execute_batch(sql).unwrap();
    conn.execute_batch(
        "PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = (SELECT kept.sql FROM kept WHERE kept.name = sqlite_schema.name)
             WHERE type = 'table';",
    )
    .unwrap();
    conn.execute_batch(reopened).unwrap();
}

#[tokio::test]
async fn damaged_records_are_still_shown_for_audit() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path()).await;
    change(dir.path(), r#"UPDATE records SET body = replace(body, '"b"', '"X"') WHERE seq = 2"#);
    let store = open(dir.path());
    let records = store.records(&run("one"), 1, 9).await.unwrap();
    assert_eq!(records.len(), 4);
    assert!(records[1].body.contains("X"));
    assert!(records[1].verify(records[0].hash).is_err());
}

#[tokio::test]
async fn a_changed_checkpoint_is_ignored_and_the_journal_folded_again() {
    for damage in [
        "state = zeroblob(300)",
        "hash = zeroblob(32)",
        "head = zeroblob(32)",
        "seq = 3",
        "seq = 99",
        "version = -1",
    ] {
        let dir = tempfile::tempdir().unwrap();
        written(dir.path()).await;
        change(dir.path(), &format!("UPDATE checkpoints SET {damage}"));
        let store = open(dir.path());
        let claimed = store.claim(&run("one"), &worker("w"), LEASE_MS, NOW).await.unwrap();
        assert!(claimed.checkpoint.is_none(), "{damage}");
        assert_eq!(claimed.tail.len(), 4, "{damage}");
    }
}

#[tokio::test]
async fn a_damaged_run_does_not_keep_the_others_from_being_worked_on() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path()).await;
    {
        let store = open(dir.path());
        store.submit(&run("two"), submission(), NOW).await.unwrap();
    }
    change(dir.path(), "DELETE FROM records WHERE seq = 4");
    let store = open(dir.path());
    let ready = store.claim_ready(&worker("w"), 1, LEASE_MS, NOW).await.unwrap();
    assert_eq!(ready.iter().map(|claimed| claimed.fence.run.as_str()).collect::<Vec<_>>(), ["two"]);
    assert_eq!(store.row(&run("one")).await.unwrap().epoch, 1);
}

#[tokio::test]
async fn changed_content_is_reported_when_it_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut fence = written(dir.path()).await;
    let blob = Blob::new(vec![9; 5000]);
    {
        let store = open(dir.path());
        fence = store.claim(&fence.run, &worker("w"), LEASE_MS, NOW).await.unwrap().fence;
        store.append(&mut fence, Append { blobs: vec![blob.clone()], ..batch("e") }).await.unwrap();
    }
    change(dir.path(), "UPDATE pieces SET bytes = zeroblob(length(bytes))");
    let store = open(dir.path());
    let read = store.blob(blob.sha256).await;
    assert!(matches!(read, Err(StoreError::BadBlob { sha256 }) if sha256 == blob.sha256), "{read:?}");
}

#[tokio::test]
async fn a_second_worker_is_refused_while_an_observer_works_beside_the_first() {
    let dir = tempfile::tempdir().unwrap();
    let first = open(dir.path());
    let Err(error) = SqliteStore::open(dir.path(), Role::Worker) else { panic!("two workers") };
    let OpenError::InUse { holder, .. } = &error else { panic!("{error:?}") };
    assert!(holder.contains(&std::process::id().to_string()), "{holder}");
    assert!(!error.remedy().is_empty());

    let observer = SqliteStore::open(dir.path(), Role::Observer).unwrap();
    let new = observer.submit(&run("one"), submission(), NOW).await.unwrap();
    assert_eq!(new, Submitted::New(run("one")));
    observer.signal(&run("one"), letter("k")).await.unwrap();
    let mut claimed = first.claim_ready(&worker("w"), 9, LEASE_MS, NOW).await.unwrap();
    let mut fence = claimed.remove(0).fence;
    assert_eq!(first.mail(&run("one")).await.unwrap().len(), 1);
    first.append(&mut fence, batch("a")).await.unwrap();
    assert_eq!(observer.row(&run("one")).await.unwrap().next_seq, 3);
    assert_eq!(observer.list(ListFilter::default()).await.unwrap().len(), 1);

    let claim = observer.claim(&run("one"), &worker("o"), LEASE_MS, NOW).await;
    assert!(matches!(claim, Err(StoreError::Observer)), "{claim:?}");
    let append = observer.append(&mut fence.clone(), batch("b")).await;
    assert!(matches!(append, Err(AppendError::Store(StoreError::Observer))), "{append:?}");
    drop(first);
    open(dir.path());
}

#[tokio::test]
async fn a_new_worker_takes_over_what_a_dead_one_left_whatever_its_lease() {
    let dir = tempfile::tempdir().unwrap();
    let mut stale = written(dir.path()).await;
    let store = open(dir.path());
    assert_eq!(store.row(&run("one")).await.unwrap().worker, None);
    let taken = store.claim_ready(&worker("next"), 9, LEASE_MS, NOW).await.unwrap();
    assert_eq!((taken.len(), taken[0].fence.epoch), (1, 2));
    let late = store.append(&mut stale, batch("late")).await;
    assert!(matches!(late, Err(AppendError::Fenced { ours: 1, .. })), "{late:?}");
    let refused = store.claim(&run("one"), &worker("other"), LEASE_MS, NOW).await;
    assert!(matches!(refused, Err(StoreError::Owned { .. })), "{refused:?}");
}

#[tokio::test]
async fn everything_is_there_after_opening_again() {
    let dir = tempfile::tempdir().unwrap();
    let fence = written(dir.path()).await;
    let (row, records) = {
        let store = open(dir.path());
        store.signal(&run("one"), letter("k")).await.unwrap();
        (store.row(&run("one")).await.unwrap(), store.records(&run("one"), 1, 9).await.unwrap())
    };
    assert!(!dir.path().join("store.db-wal").exists(), "closing moves the log into the database");
    let store = open(dir.path());
    assert_eq!(store.row(&run("one")).await.unwrap(), row);
    assert_eq!(store.records(&run("one"), 1, 9).await.unwrap(), records);
    assert_eq!(store.mail(&run("one")).await.unwrap().len(), 1);
    let claimed = store.claim(&run("one"), &worker("w"), LEASE_MS, NOW).await.unwrap();
    assert_eq!((claimed.fence.next_seq, claimed.fence.head), (fence.next_seq, fence.head));
    assert_eq!(claimed.checkpoint.unwrap().state, vec![5; 300]);
    assert_eq!(claimed.tail.len(), 2);
}

#[tokio::test]
async fn a_copy_made_while_the_store_is_open_holds_what_was_acknowledged() {
    let (dir, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = open(dir.path());
    store.submit(&run("one"), submission(), NOW).await.unwrap();
    let mut fence = store.claim(&run("one"), &worker("w"), LEASE_MS, NOW).await.unwrap().fence;
    for _ in 0..50 {
        store.append(&mut fence, batch("x")).await.unwrap();
    }
    // What a killed process leaves behind: the database and its log.
    for name in ["store.db", "store.db-wal"] {
        std::fs::copy(dir.path().join(name), copy.path().join(name)).unwrap();
    }
    let found = open(copy.path()).claim(&run("one"), &worker("w"), LEASE_MS, NOW).await.unwrap();
    assert_eq!((found.fence.next_seq, found.fence.head), (fence.next_seq, fence.head));
    assert_eq!(found.tail.len(), 51);
}

#[test]
fn a_store_of_another_version_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    let conn = Connection::open(dir.path().join("store.db")).unwrap();
    conn.execute_batch("PRAGMA user_version = 99").unwrap();
    drop(conn);
    for role in [Role::Worker, Role::Observer] {
        let error = SqliteStore::open(dir.path(), role).err().unwrap();
        assert!(matches!(error, OpenError::Version { found: 99, newest: VERSION, .. }), "{error:?}");
        assert!(error.remedy().contains("version"));
    }
}

#[test]
fn what_is_no_store_is_refused_and_left_alone() {
    let text = tempfile::tempdir().unwrap();
    let words = "these are not the pages you are looking for ".repeat(100);
    std::fs::write(text.path().join("store.db"), &words).unwrap();
    let error = SqliteStore::open(text.path(), Role::Worker).err().unwrap();
    assert!(matches!(error, OpenError::NotAStore { .. }), "{error:?}");
    assert_eq!(std::fs::read_to_string(text.path().join("store.db")).unwrap(), words);

    let foreign = tempfile::tempdir().unwrap();
    let conn = Connection::open(foreign.path().join("store.db")).unwrap();
    conn.execute_batch("CREATE TABLE theirs (x)").unwrap();
    let error = SqliteStore::open(foreign.path(), Role::Worker).err().unwrap();
    assert!(matches!(error, OpenError::NotAStore { .. }), "{error:?}");
    let mode: String = conn.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "delete", "a foreign database was changed");
}

#[test]
fn a_store_whose_tables_are_not_ours_word_for_word_is_refused() {
    for change in [
        "CREATE TRIGGER t AFTER INSERT ON mailbox BEGIN DELETE FROM records; END",
        "CREATE VIEW v AS SELECT 1",
        "ALTER TABLE mailbox ADD COLUMN more TEXT AS (hex(zeroblob(at)))",
        "ALTER TABLE mailbox ADD COLUMN more TEXT DEFAULT 'x'",
        "CREATE INDEX more ON mailbox (length(hex(zeroblob(at))))",
        "CREATE TABLE more (x CHECK (x > 0))",
        "DROP INDEX records_by_seq",
        "DROP TABLE checkpoints",
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'UNIQUE ', '') WHERE name = 'mailbox_by_key'",
    ] {
        let dir = tempfile::tempdir().unwrap();
        drop(open(dir.path()));
        let conn = Connection::open(dir.path().join("store.db")).unwrap();
        conn.execute_batch(change).unwrap();
        drop(conn);
        for role in [Role::Worker, Role::Observer] {
            let error = SqliteStore::open(dir.path(), role).err().unwrap();
            assert!(
                matches!(error, OpenError::Layout { .. } | OpenError::Malformed { .. }),
                "{change}: {error:?}"
            );
        }
    }
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    Connection::open(dir.path().join("store.db")).unwrap().execute_batch("ANALYZE").unwrap();
    drop(open(dir.path()));
}

#[tokio::test]
async fn a_store_that_is_moved_away_under_its_worker_acknowledges_nothing_more() {
    for name in ["store.db", "store.db-wal"] {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        store.submit(&run("one"), submission(), NOW).await.unwrap();
        std::fs::rename(dir.path().join(name), dir.path().join("elsewhere")).unwrap();
        let error = store.submit(&run("two"), submission(), NOW).await.unwrap_err();
        assert!(matches!(&error, StoreError::Poisoned { message } if message.contains(name)), "{error:?}");
        drop(store);
        // What was acknowledged is there when it is put back.
        std::fs::rename(dir.path().join("elsewhere"), dir.path().join(name)).unwrap();
        assert!(open(dir.path()).row(&run("one")).await.is_ok());
    }
}

#[tokio::test]
async fn an_empty_database_beside_its_log_is_not_taken_for_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    std::fs::write(dir.path().join("store.db"), "").unwrap();
    std::fs::write(dir.path().join("store.db-wal"), "the log").unwrap();
    let error = SqliteStore::open(dir.path(), Role::Worker).err().unwrap();
    assert!(matches!(error, OpenError::Malformed { .. }), "{error:?}");
    assert_eq!(std::fs::read_to_string(dir.path().join("store.db-wal")).unwrap(), "the log");
}

#[tokio::test]
async fn a_damaged_store_is_told_from_a_disk_that_fails() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.submit(&run("one"), submission(), NOW).await.unwrap();
    let conn = Connection::open(dir.path().join("store.db")).unwrap();
    conn.execute_batch("UPDATE records SET seq = 9223372036854775807").unwrap();
    let error = store.row(&run("one")).await.unwrap_err();
    assert!(matches!(error, StoreError::Malformed { .. }), "{error:?}");
    assert!(error.remedy().contains("backup"));
}

#[tokio::test]
async fn a_count_that_is_not_that_of_its_record_is_damage_that_can_be_told() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path()).await;
    let proved = |dir: &Path| SqliteStore::open(dir, Role::Observer).unwrap();
    assert!(proved(dir.path()).prove(&run("one")).await.is_ok());
    for count in ["-5", "0", "9223372036854775806"] {
        change(dir.path(), &format!("UPDATE records SET count = {count} WHERE seq = 1"));
        let error = proved(dir.path()).prove(&run("one")).await.unwrap_err();
        assert!(matches!(error, StoreError::Damaged(_)), "{count}: {error:?}");
    }
}

#[test]
fn a_directory_is_made_and_one_that_cannot_be_is_an_error_with_its_path() {
    let dir = tempfile::tempdir().unwrap();
    let deep = dir.path().join("a/b/c");
    drop(open(&deep));
    assert!(deep.join("store.db").is_file());
    let file = dir.path().join("file");
    std::fs::write(&file, "x").unwrap();
    for role in [Role::Worker, Role::Observer] {
        let error = SqliteStore::open(file.join("store"), role).err().unwrap();
        assert!(matches!(&error, OpenError::Io { path, .. } if path.starts_with(&file)), "{error:?}");
    }
    std::fs::create_dir_all(dir.path().join("taken/store.db")).unwrap();
    let error = SqliteStore::open(dir.path().join("taken"), Role::Worker).err().unwrap();
    assert!(matches!(error, OpenError::Database { .. }), "{error:?}");
    assert!(!error.remedy().is_empty());
}

#[tokio::test]
async fn a_write_by_another_store_wakes_whoever_waits_for_changes() {
    let dir = tempfile::tempdir().unwrap();
    let store = std::sync::Arc::new(open(dir.path()));
    let observer = SqliteStore::open(dir.path(), Role::Observer).unwrap();
    store.submit(&run("one"), submission(), NOW).await.unwrap();
    store.changed(1).await;
    store.changed(150).await;
    let waiter = tokio::spawn({
        let store = std::sync::Arc::clone(&store);
        async move { store.changed(60_000).await }
    });
    observer.signal(&run("one"), letter("k")).await.unwrap();
    tokio::time::timeout(std::time::Duration::from_secs(10), waiter).await.unwrap().unwrap();
}

#[tokio::test]
async fn four_kilobyte_texts_cost_little_more_than_themselves() {
    let dir = tempfile::tempdir().unwrap();
    let (mut content, mut events) = (0_u64, 0_u64);
    {
        let store = open(dir.path());
        store.submit(&run("one"), submission(), NOW).await.unwrap();
        let mut fence = store.claim(&run("one"), &worker("w"), LEASE_MS, NOW).await.unwrap().fence;
        for number in 0..200_u32 {
            let mut bytes = vec![b'x'; 4096];
            bytes[..4].copy_from_slice(&number.to_be_bytes());
            let mut next = batch(&"y".repeat(230));
            next.events.push(next.events[0].clone());
            next.blobs.push(Blob::new(bytes));
            store.append(&mut fence, next).await.unwrap();
            (content, events) = (content + 4096, events + 2);
        }
    }
    let size = |dir: &std::path::Path| std::fs::metadata(dir.join("store.db")).unwrap().len();
    let empty = tempfile::tempdir().unwrap();
    drop(open(empty.path()));
    // What an empty store takes, a page for each table and index, is there once.
    let stored = size(dir.path()) - size(empty.path());
    assert!(stored * 10 <= content * 13, "{stored} bytes for {content}");
    assert!((stored - content) / events <= 400, "{} bytes an event", (stored - content) / events);
}

#[tokio::test]
async fn statements_use_the_indexes_that_were_made_for_them() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path()).await;
    let conn = Connection::open(dir.path().join("store.db")).unwrap();
    let plan = |sql: &str| -> String {
        let mut statement = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let rows = statement.query_map(params![], |row| row.get::<_, String>(3)).unwrap();
        rows.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    };
    for (sql, index) in [
        (
            "SELECT id FROM blobs WHERE substr(hash, 1, 8) = substr(x'00', 1, 8) AND hash = x'00'",
            "blobs_by_hash",
        ),
        ("SELECT hash FROM records WHERE run = 1 AND seq = 2", "records_by_seq"),
        ("SELECT key FROM runs WHERE key IN (SELECT run FROM mailbox WHERE consumed = 0)", "mailbox_unread"),
        ("UPDATE runs SET worker = NULL, lease = 0 WHERE worker IS NOT NULL", "runs_owned"),
        ("SELECT key FROM runs WHERE id >= 'a' AND id < 'a' || char(1114111) ORDER BY key DESC", "(id>"),
        ("SELECT id FROM runs WHERE request = 'x'", "runs_by_request"),
        ("SELECT id FROM runs WHERE ended = 0 AND key > 1 ORDER BY key", "runs_open"),
    ] {
        assert!(plan(sql).contains(index), "{sql}: {}", plan(sql));
    }
}
