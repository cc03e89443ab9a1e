//! Stores of earlier versions: what becomes of them, and of whoever has them open meanwhile.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use bowline_core::id::{Millis, RunId, WorkerId};
use bowline_core::input::Signal;
use bowline_core::provenance::Digest;
use bowline_core::task::Submission;
use bowline_store::migrations::{MIGRATIONS, VERSION};
use bowline_store::{
    Letter, ListFilter, OpenError, Progress, Removal, Role, RunRow, RunStore, SqliteStore, StoreError,
    Upgrade,
};
use rusqlite::Connection;

/// A store as version 1 wrote it: a committed run, one that waits, one that halted.
const V1: &str = include_str!("../../../../fixtures/stores/v1.sql");
const NOW: Millis = Millis(1_800_000_000_000);

fn old_store() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    make_old(dir.path());
    dir
}

fn make_old(dir: &Path) {
    let conn = Connection::open(dir.join("store.db")).unwrap();
    conn.execute_batch(V1).unwrap();
}

fn version_of(dir: &Path, name: &str) -> i64 {
    let conn = Connection::open(dir.join(name)).unwrap();
    conn.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

fn run(name: &str) -> RunId {
    RunId::parse(name).unwrap()
}

fn removal() -> Removal {
    Removal { by: "me".to_owned(), at: NOW }
}

fn letter(key: &str) -> Letter {
    Letter { by: "me".to_owned(), signal: Signal::Cancel, key: key.to_owned(), at: NOW }
}

fn submission(class: &str) -> Submission {
    serde_json::from_value(serde_json::json!({
        "task": {
            "goal": "a goal", "model": "m", "review": "never", "on_failure": "keep", "class": class,
            "limits": bowline_core::budget::Limits::default(),
            "workspace": { "path": "w", "mode": "in-place" },
        },
        "tools": [], "seed": "0", "fingerprint": Digest::ZERO,
    }))
    .unwrap()
}

async fn rows(store: &SqliteStore) -> Vec<RunRow> {
    store.list(ListFilter { max: usize::MAX, ..ListFilter::default() }).await.unwrap()
}

async fn of_class(store: &SqliteStore, class: &str) -> Vec<String> {
    let filter = ListFilter { class: Some(class.to_owned()), ..ListFilter::default() };
    store.list(filter).await.unwrap().into_iter().map(|row| row.summary.goal).collect()
}

/// Whatever is beside the database.
fn copies(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.contains("backup")).collect();
    names.sort();
    names
}

/// Everything in a store that versions have in common, word for word.
fn contents(dir: &Path) -> Vec<String> {
    let conn = Connection::open(dir.join("store.db")).unwrap();
    let mut all = Vec::new();
    for table in ["runs", "records", "blobs", "pieces", "shared", "checkpoints", "mailbox"] {
        // Who works on a run is not what is in it.
        let columns = match table {
            "runs" => {
                "key, id, request, fingerprint, created, updated, epoch, next_seq, head, ended, waiting, summary"
            }
            _ => "*",
        };
        let mut statement = conn.prepare(&format!("SELECT {columns} FROM {table} ORDER BY 1")).unwrap();
        let count = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let values: Vec<String> =
                (0..count).map(|at| format!("{:?}", row.get_ref(at).unwrap())).collect();
            all.push(format!("{table}: {}", values.join(" ")));
        }
    }
    all
}

#[tokio::test]
async fn a_worker_brings_an_old_store_to_todays_version_and_keeps_everything_in_it() {
    let dir = old_store();
    let before = contents(dir.path());
    let mut said = Vec::new();
    let mut tell = |progress: Progress<'_>| said.push(format!("{progress:?}"));
    let upgrade = Upgrade { copy: true, tell: &mut tell };
    let store = SqliteStore::open_with(dir.path(), Role::Worker, upgrade).unwrap();
    assert_eq!(store.version(), VERSION);
    assert_eq!(rows(&store).await.len(), 3);
    assert_eq!(of_class(&store, "greetings").await, ["Ask first", "Say hello"]);
    assert!(store.tombstones(ListFilter::default()).await.unwrap().is_empty());
    for row in rows(&store).await {
        store.prove(&row.run).await.unwrap();
    }
    drop(store);
    assert_eq!(contents(dir.path()), before);
    assert_eq!(version_of(dir.path(), "store.db"), i64::from(VERSION));
    assert!(said.iter().any(|line| line.starts_with("Copying")), "{said:?}");
    let steps = said.iter().filter(|line| line.starts_with("Step")).count();
    assert_eq!(steps, MIGRATIONS.len() - 1, "{said:?}");
    assert!(said.last().is_some_and(|line| line.starts_with("Done { from: 1")), "{said:?}");
}

#[tokio::test]
async fn the_copy_made_before_is_the_old_store_whole_and_for_this_user_alone() {
    let dir = old_store();
    let before = contents(dir.path());
    drop(SqliteStore::open(dir.path(), Role::Worker).unwrap());
    assert_eq!(copies(dir.path()), ["store.v1.backup-1.db"]);
    let copy = dir.path().join("store.v1.backup-1.db");
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(SqliteStore::copies(dir.path()), std::slice::from_ref(&copy));
    // Going back is putting the copy where the store was.
    let back = tempfile::tempdir().unwrap();
    fs::copy(&copy, back.path().join("store.db")).unwrap();
    assert_eq!(contents(back.path()), before);
    assert_eq!(version_of(back.path(), "store.db"), 1);
    let store = SqliteStore::open(back.path(), Role::Worker).unwrap();
    assert_eq!(rows(&store).await.len(), 3);
}

#[test]
fn a_store_is_migrated_once_and_a_fresh_or_current_one_is_not_copied() {
    let dir = old_store();
    for _ in 0..3 {
        drop(SqliteStore::open(dir.path(), Role::Worker).unwrap());
    }
    assert_eq!(copies(dir.path()).len(), 1);
    let fresh = tempfile::tempdir().unwrap();
    drop(SqliteStore::open(fresh.path(), Role::Worker).unwrap());
    assert!(copies(fresh.path()).is_empty());
}

#[test]
fn a_copy_is_left_out_where_none_is_wanted_and_never_written_over_another() {
    let dir = old_store();
    let nobody = &mut |_: Progress<'_>| ();
    let upgrade = Upgrade { copy: false, tell: nobody };
    drop(SqliteStore::open_with(dir.path(), Role::Worker, upgrade).unwrap());
    assert!(copies(dir.path()).is_empty());

    let dir = old_store();
    fs::write(dir.path().join("store.v1.backup-1.db"), "another").unwrap();
    // What a killed process left is no copy, and in nobody's way.
    fs::write(dir.path().join("store.v1.backup-2.db.part"), "half").unwrap();
    drop(SqliteStore::open(dir.path(), Role::Worker).unwrap());
    assert_eq!(copies(dir.path()), ["store.v1.backup-1.db", "store.v1.backup-2.db"]);
    assert_eq!(fs::read_to_string(dir.path().join("store.v1.backup-1.db")).unwrap(), "another");
}

#[tokio::test]
async fn an_observer_reads_an_old_store_as_it_is_and_changes_no_byte_of_it() {
    let dir = old_store();
    let before = fs::read(dir.path().join("store.db")).unwrap();
    let store = SqliteStore::open(dir.path(), Role::Observer).unwrap();
    assert_eq!(store.version(), 1);
    assert_eq!(rows(&store).await.len(), 3);
    // What it has no place for is read from where it comes from.
    assert_eq!(of_class(&store, "greetings").await, ["Ask first", "Say hello"]);
    assert_eq!(of_class(&store, "others").await, Vec::<String>::new());
    assert!(store.tombstones(ListFilter::default()).await.unwrap().is_empty());
    for row in rows(&store).await {
        store.prove(&row.run).await.unwrap();
        assert!(!store.records(&row.run, 1, 99).await.unwrap().is_empty());
    }
    drop(store);
    assert_eq!(fs::read(dir.path().join("store.db")).unwrap(), before);
    assert!(copies(dir.path()).is_empty());
}

#[tokio::test]
async fn messages_and_tasks_are_left_in_an_old_store_and_nothing_is_removed_from_it() {
    let dir = old_store();
    let store = SqliteStore::open(dir.path(), Role::Observer).unwrap();
    let ended = rows(&store).await.pop().unwrap().run;
    store.signal(&ended, letter("k")).await.unwrap();
    store.submit(&run("new"), submission("later"), NOW).await.unwrap();
    let refused = store.remove(&ended, removal()).await;
    assert!(matches!(refused, Err(StoreError::TooOld { version: 1, .. })), "{refused:?}");
    drop(store);
    assert_eq!(version_of(dir.path(), "store.db"), 1);
    let store = SqliteStore::open(dir.path(), Role::Worker).unwrap();
    assert_eq!(store.mail(&ended).await.unwrap().len(), 1);
    assert_eq!(of_class(&store, "later").await, ["a goal"]);
    store.remove(&ended, removal()).await.unwrap();
    assert_eq!(store.tombstones(ListFilter::default()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_old_store_is_not_migrated_under_a_live_worker() {
    let dir = old_store();
    let lock = fs::File::create(dir.path().join("worker.lock")).unwrap();
    lock.try_lock().unwrap();
    let refused = SqliteStore::open(dir.path(), Role::Worker).err().unwrap();
    assert!(matches!(refused, OpenError::InUse { .. }), "{refused:?}");
    assert!(SqliteStore::worker(dir.path()).unwrap().is_some());
    assert_eq!(version_of(dir.path(), "store.db"), 1);
    assert!(copies(dir.path()).is_empty());
    drop(lock);
    assert_eq!(SqliteStore::worker(dir.path()).unwrap(), None);
    drop(SqliteStore::open(dir.path(), Role::Worker).unwrap());
    assert_eq!(version_of(dir.path(), "store.db"), i64::from(VERSION));
}

#[tokio::test]
async fn a_process_that_finds_another_version_than_it_opened_writes_nothing_more_and_says_so() {
    let dir = old_store();
    let beside = SqliteStore::open(dir.path(), Role::Observer).unwrap();
    let ended = rows(&beside).await.pop().unwrap().run;
    let worker = SqliteStore::open(dir.path(), Role::Worker).unwrap();
    let refused = beside.signal(&ended, letter("k")).await.unwrap_err();
    assert!(
        matches!(refused, StoreError::OtherVersion { opened: 1, found } if found == i64::from(VERSION)),
        "{refused:?}"
    );
    assert!(refused.remedy().contains("start again"));
    assert!(worker.mail(&ended).await.unwrap().is_empty());
    // What is read is still right.
    assert_eq!(of_class(&beside, "greetings").await, ["Ask first", "Say hello"]);

    // The same for a worker of today, under a version that is not made yet.
    let open = rows(&worker).await.into_iter().find(|row| row.summary.ending.is_none()).unwrap().run;
    let name = WorkerId::parse("w").unwrap();
    worker.claim(&open, &name, 1000, NOW).await.unwrap();
    let conn = Connection::open(dir.path().join("store.db")).unwrap();
    conn.execute_batch(&format!("PRAGMA user_version = {}", VERSION + 1)).unwrap();
    for _ in 0..2 {
        let refused = worker.submit(&run("more"), submission("x"), NOW).await;
        assert!(matches!(refused, Err(StoreError::OtherVersion { .. })), "{refused:?}");
        let refused = worker.claim(&open, &name, 1000, NOW).await;
        assert!(matches!(refused, Err(StoreError::OtherVersion { .. })), "{refused:?}");
    }
}

#[test]
fn a_store_of_a_newer_version_is_refused_with_both_versions_and_left_alone() {
    for found in [i64::from(VERSION) + 1, 0, -1, i64::from(i32::MAX)] {
        let dir = old_store();
        let conn = Connection::open(dir.path().join("store.db")).unwrap();
        conn.execute_batch(&format!("PRAGMA user_version = {found}")).unwrap();
        drop(conn);
        let before = fs::read(dir.path().join("store.db")).unwrap();
        for role in [Role::Worker, Role::Observer] {
            let error = SqliteStore::open(dir.path(), role).err().unwrap();
            assert!(matches!(error, OpenError::Version { newest: VERSION, .. }), "{error:?}");
            let words = error.to_string();
            assert!(words.contains(&found.to_string()) && words.contains(&VERSION.to_string()), "{words}");
        }
        assert_eq!(fs::read(dir.path().join("store.db")).unwrap(), before);
        assert!(copies(dir.path()).is_empty());
    }
}

#[test]
fn a_store_that_has_not_the_tables_of_its_version_is_refused_whatever_version_it_names() {
    for change in [
        "PRAGMA user_version = 2",
        "PRAGMA user_version = 3",
        "CREATE TABLE tombstones (x)",
        "CREATE TRIGGER t AFTER INSERT ON mailbox BEGIN DELETE FROM records; END",
        "DROP INDEX records_by_seq",
        "PRAGMA application_id = 7",
    ] {
        let dir = old_store();
        Connection::open(dir.path().join("store.db")).unwrap().execute_batch(change).unwrap();
        for role in [Role::Worker, Role::Observer] {
            let error = SqliteStore::open(dir.path(), role).err().unwrap();
            let is_refused = matches!(error, OpenError::Layout { .. } | OpenError::NotAStore { .. });
            assert!(is_refused, "{change}: {error:?}");
        }
        assert!(copies(dir.path()).is_empty(), "{change}");
    }
}

#[test]
fn a_store_cut_in_the_middle_is_not_migrated_and_not_copied_over() {
    let dir = old_store();
    let path = dir.path().join("store.db");
    drop(SqliteStore::open(dir.path(), Role::Observer).unwrap());
    for name in ["store.db-wal", "store.db-shm"] {
        let _ = fs::remove_file(dir.path().join(name));
    }
    let whole = fs::read(&path).unwrap();
    for pages in [1, 3, 7] {
        fs::write(&path, &whole[..pages * 4096]).unwrap();
        let error = SqliteStore::open(dir.path(), Role::Worker).err();
        assert!(error.is_some_and(|error| error.remedy().contains("backup")), "{pages} pages");
        assert_eq!(version_of_bytes(&path), 1, "{pages} pages");
        assert!(copies(dir.path()).is_empty(), "{pages} pages");
    }
}

/// The version a database says it has, without opening it.
fn version_of_bytes(path: &Path) -> u32 {
    let bytes = fs::read(path).unwrap();
    u32::from_be_bytes(bytes[60..64].try_into().unwrap())
}

#[tokio::test]
async fn what_cannot_be_read_in_a_journal_keeps_nobody_from_a_migration() {
    let dir = old_store();
    let conn = Connection::open(dir.path().join("store.db")).unwrap();
    conn.execute_batch("UPDATE records SET body = '{' WHERE seq = 1 AND run = 1").unwrap();
    drop(conn);
    let store = SqliteStore::open(dir.path(), Role::Worker).unwrap();
    assert_eq!(of_class(&store, "greetings").await, ["Ask first"]);
    let damaged = rows(&store).await.pop().unwrap().run;
    assert!(matches!(store.prove(&damaged).await, Err(StoreError::Damaged(_))));
}

#[test]
fn a_copy_takes_what_stands_only_in_the_log() {
    let dir = tempfile::tempdir().unwrap();
    make_old(dir.path());
    // A killed process leaves its last writes in the log.
    let conn = Connection::open(dir.path().join("store.db")).unwrap();
    conn.execute_batch("PRAGMA wal_autocheckpoint = 0; UPDATE runs SET request = 'in the log' WHERE key = 2")
        .unwrap();
    let killed = tempfile::tempdir().unwrap();
    for name in ["store.db", "store.db-wal"] {
        fs::copy(dir.path().join(name), killed.path().join(name)).unwrap();
    }
    drop(SqliteStore::open(killed.path(), Role::Worker).unwrap());
    let copy: PathBuf = killed.path().join("store.v1.backup-1.db");
    let copy = Connection::open(copy).unwrap();
    let found: String =
        copy.query_row("SELECT request FROM runs WHERE key = 2", [], |row| row.get(0)).unwrap();
    assert_eq!(found, "in the log");
    let sound: String = copy.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
}

#[tokio::test]
async fn what_was_removed_is_nowhere_once_the_store_was_scrubbed_and_only_a_worker_does_that() {
    let dir = old_store();
    let is_there = |word: &str| {
        fs::read_dir(dir.path()).unwrap().any(|entry| {
            let bytes = fs::read(entry.unwrap().path()).unwrap();
            bytes.windows(word.len()).any(|window| window == word.as_bytes())
        })
    };
    let upgrade = Upgrade { copy: false, tell: &mut |_| () };
    let store = SqliteStore::open_with(dir.path(), Role::Worker, upgrade).unwrap();
    let ended = rows(&store).await.pop().unwrap().run;
    assert!(is_there("Say hello"));
    store.remove(&ended, removal()).await.unwrap();
    let beside = SqliteStore::open(dir.path(), Role::Observer).unwrap();
    assert!(matches!(beside.scrub().await, Err(StoreError::Observer)));
    store.scrub().await.unwrap();
    assert!(!is_there("Say hello"));
    // Both go on with what is there.
    assert_eq!(rows(&beside).await.len(), 2);
    store.submit(&run("new"), submission("x"), NOW).await.unwrap();
    for row in rows(&store).await {
        store.prove(&row.run).await.unwrap();
    }
    drop((store, beside));
    let sound: String = Connection::open(dir.path().join("store.db"))
        .unwrap()
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(sound, "ok");
}

#[tokio::test]
async fn a_log_that_somebody_keeps_reading_is_not_taken_for_emptied() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path(), Role::Worker).unwrap();
    store.submit(&run("one"), submission("x"), NOW).await.unwrap();
    let reader = Connection::open(dir.path().join("store.db")).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    reader.query_row("SELECT count(*) FROM runs", [], |_| Ok(())).unwrap();
    let busy = store.scrub().await.unwrap_err();
    assert!(matches!(busy, StoreError::Busy { .. }), "{busy:?}");
    reader.execute_batch("ROLLBACK").unwrap();
    store.scrub().await.unwrap();
    assert_eq!(fs::metadata(dir.path().join("store.db-wal")).map_or(0, |log| log.len()), 0);
}
