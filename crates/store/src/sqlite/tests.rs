//! What only the inside can arrange: full disks, failed commits, groups.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use bowline_core::message::Blob;
use rusqlite::Connection;

use super::*;
use crate::EndingKind;

fn open(dir: &tempfile::TempDir) -> SqliteStore {
    SqliteStore::open(dir.path(), Role::Worker).unwrap()
}

/// A store whose commits fail once the flag is set.
fn open_breakable(dir: &tempfile::TempDir) -> (SqliteStore, Arc<AtomicBool>) {
    let mut store = open(dir);
    let broken = Arc::new(AtomicBool::new(false));
    let mut opened = schema::open_writer(&dir.path().join(DATABASE)).unwrap();
    let flag = Arc::clone(&broken);
    opened.conn.commit_hook(Some(move || flag.load(Ordering::Relaxed))).unwrap();
    store.writer =
        Writer::start(opened, Arc::new(Notify::new()), Place::of(&dir.path().join(DATABASE))).unwrap();
    (store, broken)
}

async fn owned(store: &SqliteStore, name: &str) -> Fence {
    let run = RunId::parse(name).unwrap();
    let submission: Submission = serde_json::from_value(serde_json::json!({
        "task": {
            "goal": name, "model": "m", "review": "never", "on_failure": "keep",
            "limits": bowline_core::budget::Limits::default(),
            "workspace": { "path": "w", "mode": "in-place" },
        },
        "tools": [], "seed": "0", "fingerprint": Digest::ZERO,
    }))
    .unwrap();
    store.submit(&run, submission, Millis(1)).await.unwrap();
    let worker = WorkerId::parse("w").unwrap();
    store.claim(&run, &worker, 1000, Millis(1)).await.unwrap().fence
}

fn batch(by: &str) -> Append {
    Append {
        at: Millis(2),
        events: vec![Event::Paused { by: by.to_owned() }],
        blobs: Vec::new(),
        checkpoint: None,
        summary: Summary::default(),
        consumed: Vec::new(),
    }
}

fn removal() -> Removal {
    Removal { by: "me".to_owned(), at: Millis(3) }
}

async fn inside<T: Send + 'static>(
    store: &SqliteStore,
    work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    store.writer.write("test", 0, move |book| work(book.conn)).await
}

/// Keeps the writer busy until the returned sender is dropped, so that
/// whatever is handed in meanwhile lands in one group.
async fn hold(store: &Arc<SqliteStore>) -> (mpsc::SyncSender<()>, tokio::task::JoinHandle<()>) {
    let (entered, is_held) = tokio::sync::oneshot::channel();
    let (release, wait) = mpsc::sync_channel::<()>(1);
    let held = tokio::spawn({
        let store = Arc::clone(store);
        async move {
            let wait_here = move |_: &Connection| {
                entered.send(()).unwrap();
                let _ = wait.recv();
                Ok(())
            };
            inside(&store, wait_here).await.unwrap();
        }
    });
    is_held.await.unwrap();
    (release, held)
}

/// Polls a future once, so that it has handed in its job.
async fn hand_in<F: Future>(job: &mut std::pin::Pin<&mut F>) {
    let handed_in = std::future::poll_fn(|ctx| std::task::Poll::Ready(job.as_mut().poll(ctx).is_pending()));
    assert!(handed_in.await);
}

#[tokio::test]
async fn appends_that_wait_together_share_one_commit() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(open(&dir));
    let mut fences = Vec::new();
    for number in 0..40 {
        fences.push(owned(&store, &format!("r{number}")).await);
    }
    let before = store.stats();
    let (release, held) = hold(&store).await;
    let mut waiting: Vec<_> =
        fences.iter_mut().map(|fence| Box::pin(store.append(fence, batch("together")))).collect();
    for append in &mut waiting {
        hand_in(&mut append.as_mut()).await;
    }
    drop(release);
    for append in waiting {
        append.await.unwrap();
    }
    held.await.unwrap();
    let after = store.stats();
    assert_eq!(after.jobs - before.jobs, 41);
    assert_eq!(after.commits - before.commits, 1);
}

#[tokio::test]
async fn an_append_refused_inside_a_group_does_not_touch_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(open(&dir));
    let (mut one, mut two) = (owned(&store, "one").await, owned(&store, "two").await);
    let mut stale = Fence { epoch: 0, ..one.clone() };
    let mut conflicting = Fence { next_seq: 7, ..two.clone() };
    let commits = store.stats().commits;
    let (release, held) = hold(&store).await;
    {
        let mut first = std::pin::pin!(store.append(&mut one, batch("a")));
        let mut refused = std::pin::pin!(store.append(&mut stale, batch("b")));
        let mut clashing = std::pin::pin!(store.append(&mut conflicting, batch("c")));
        let mut last = std::pin::pin!(store.append(&mut two, batch("d")));
        hand_in(&mut first).await;
        hand_in(&mut refused).await;
        hand_in(&mut clashing).await;
        hand_in(&mut last).await;
        drop(release);
        first.await.unwrap();
        assert!(matches!(refused.await, Err(AppendError::Fenced { ours: 0, .. })));
        assert!(matches!(clashing.await, Err(AppendError::Conflict { seq: 7, .. })));
        last.await.unwrap();
    }
    held.await.unwrap();
    assert_eq!(store.stats().commits, commits + 1);
    for fence in [&one, &two] {
        assert_eq!(store.records(&fence.run, 1, 9).await.unwrap().len(), 2);
    }
}

#[tokio::test]
async fn a_failed_commit_fails_the_whole_group_and_poisons_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let (store, broken) = open_breakable(&dir);
    let store = Arc::new(store);
    let (mut one, mut two) = (owned(&store, "one").await, owned(&store, "two").await);
    let start = one.clone();
    let (release, held) = hold(&store).await;
    {
        let mut first = std::pin::pin!(store.append(&mut one, batch("a")));
        let mut second = std::pin::pin!(store.append(&mut two, batch("b")));
        hand_in(&mut first).await;
        hand_in(&mut second).await;
        broken.store(true, Ordering::Relaxed);
        drop(release);
        assert!(matches!(first.await, Err(AppendError::Store(StoreError::Poisoned { .. }))));
        assert!(matches!(second.await, Err(AppendError::Store(StoreError::Poisoned { .. }))));
    }
    broken.store(false, Ordering::Relaxed);
    assert!(held.await.is_err(), "the job that was held is lost too");
    assert_eq!(one, start);
    let later = store.append(&mut two, batch("b")).await;
    assert!(matches!(later, Err(AppendError::Store(StoreError::Poisoned { .. }))), "{later:?}");
    let signalled = store.remove(&one.run, removal()).await;
    assert!(matches!(signalled, Err(StoreError::Poisoned { .. })), "{signalled:?}");
    assert_eq!(store.row(&one.run).await.unwrap().next_seq, 2, "reading goes on");
    drop(store);
    let store = open(&dir);
    let worker = WorkerId::parse("w").unwrap();
    let mut fence = store.claim(&one.run, &worker, 1000, Millis(1)).await.unwrap().fence;
    assert_eq!(fence.next_seq, 2);
    store.append(&mut fence, batch("a")).await.unwrap();
}

#[tokio::test]
async fn closing_a_store_moves_its_log_into_the_database_unless_a_commit_failed() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("store.db-wal");
    let bytes = || fs::read(dir.path().join("store.db")).unwrap();
    let (store, broken) = open_breakable(&dir);
    let mut fence = owned(&store, "one").await;
    store.row(&fence.run).await.unwrap();
    let before = bytes();
    broken.store(true, Ordering::Relaxed);
    assert!(store.append(&mut fence, batch("a")).await.is_err());
    broken.store(false, Ordering::Relaxed);
    drop(store);
    assert!(log.exists() && bytes() == before, "what was not synced is not trusted");
    drop(open(&dir));
    assert!(!log.exists() && bytes() != before);
}

#[tokio::test]
async fn a_full_disk_refuses_what_does_not_fit_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let mut fence = owned(&store, "one").await;
    let pragma = |sql: String| {
        move |conn: &Connection| conn.query_row(&sql, [], |row| row.get::<_, i64>(0)).map_err(trouble("ask"))
    };
    let limit = |pages: i64| pragma(format!("PRAGMA max_page_count = {pages}"));
    let pages = inside(&store, pragma("PRAGMA page_count".to_owned())).await.unwrap();
    inside(&store, limit(pages + 40)).await.unwrap();
    let blob = Blob::new(vec![7; 100 * 4096]);
    let large = Append { blobs: vec![blob.clone()], ..batch("large") };
    let refused = store.append(&mut fence, large.clone()).await;
    assert!(matches!(refused, Err(AppendError::Store(StoreError::DiskFull))), "{refused:?}");
    store.append(&mut fence, batch("small")).await.unwrap();
    assert!(matches!(store.blob(blob.sha256).await, Err(StoreError::NoBlob { .. })));
    inside(&store, limit(1_000_000)).await.unwrap();
    store.append(&mut fence, large).await.unwrap();
    assert_eq!(store.blob(blob.sha256).await.unwrap(), blob.bytes);
}

#[tokio::test]
async fn a_transaction_sqlite_gave_up_loses_its_group_and_the_store_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(open(&dir));
    let mut fence = owned(&store, "one").await;
    let start = fence.clone();
    let (release, held) = hold(&store).await;
    {
        let mut append = std::pin::pin!(store.append(&mut fence, batch("a")));
        // What SQLite does by itself when the disk fails in the middle.
        let mut failing = std::pin::pin!(inside(&store, |conn| {
            conn.execute_batch("ROLLBACK").map_err(trouble("give up"))?;
            Err::<(), _>(StoreError::DiskFull)
        }));
        hand_in(&mut append).await;
        hand_in(&mut failing).await;
        drop(release);
        assert!(matches!(append.await, Err(AppendError::Store(StoreError::DiskFull))));
        assert!(matches!(failing.await, Err(StoreError::DiskFull)));
    }
    assert!(held.await.is_err());
    assert_eq!(fence, start);
    store.append(&mut fence, batch("a")).await.unwrap();
    assert_eq!(store.row(&fence.run).await.unwrap().next_seq, 3);
}

#[tokio::test]
async fn a_job_that_fails_after_it_wrote_undoes_the_group_and_the_store_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let mut fence = owned(&store, "one").await;
    let broken = inside(&store, |conn| {
        conn.execute("UPDATE runs SET head = zeroblob(32)", []).map_err(trouble("write"))?;
        Err::<(), _>(StoreError::DiskFull)
    });
    assert!(matches!(broken.await, Err(StoreError::DiskFull)));
    store.append(&mut fence, batch("a")).await.unwrap();
}

#[tokio::test]
async fn a_caller_who_goes_away_finds_its_append_done() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(open(&dir));
    let mut fence = owned(&store, "one").await;
    let (release, held) = hold(&store).await;
    {
        let mut append = Box::pin(store.append(&mut fence, batch("a")));
        hand_in(&mut append.as_mut()).await;
    }
    drop(release);
    held.await.unwrap();
    assert_eq!(fence.next_seq, 2);
    store.append(&mut fence, batch("a")).await.unwrap();
    assert_eq!(store.row(&fence.run).await.unwrap().next_seq, 3);
}

#[tokio::test]
async fn the_log_is_moved_into_the_database_before_it_grows_without_bound() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let mut fence = owned(&store, "one").await;
    for number in 0..6_u8 {
        let large = Append { blobs: vec![Blob::new(vec![number; 4 << 20])], ..batch("large") };
        store.append(&mut fence, large).await.unwrap();
    }
    // The answer comes before the move, so the next answer waits for it.
    let last = Append {
        summary: Summary { ending: Some(EndingKind::Failed), ..Summary::default() },
        ..batch("end")
    };
    store.append(&mut fence, last).await.unwrap();
    assert!(store.stats().checkpoints >= 2, "{:?}", store.stats());
    let log = std::fs::metadata(dir.path().join("store.db-wal")).unwrap().len();
    assert!(log < 16 << 20, "the log has {log} bytes");
    assert_eq!(store.remove(&fence.run, removal()).await.unwrap(), 6 * (4 << 20));
}

fn step(steps: u32, phase: &str) -> Append {
    let summary = Summary { phase: phase.to_owned(), steps, ..Summary::default() };
    Append { summary, ..batch("a") }
}

#[tokio::test]
async fn a_run_at_work_has_an_exact_end_and_phase_and_figures_that_may_be_some_appends_old() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let mut fence = owned(&store, "one").await;
    let mut behind = 0;
    for steps in 1..=40 {
        let phase = if steps < 30 { "acting" } else { "verifying" };
        store.append(&mut fence, step(steps, phase)).await.unwrap();
        let row = store.row(&fence.run).await.unwrap();
        let listed = store.list(ListFilter::default()).await.unwrap();
        assert_eq!(listed, std::slice::from_ref(&row));
        assert_eq!((row.next_seq, row.head, row.updated_at), (fence.next_seq, fence.head, Millis(2)));
        assert_eq!(row.summary.phase, phase);
        behind = behind.max(steps - row.summary.steps);
    }
    assert_eq!(behind, heads::ROW_EVERY - 1);
    store.release(&fence).await.unwrap();
    assert_eq!(store.row(&fence.run).await.unwrap().summary.steps, 40, "a released run is exact");
}

#[tokio::test]
async fn a_lost_group_is_forgotten_and_the_run_goes_on_from_what_is_stored() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let mut fence = owned(&store, "one").await;
    store.append(&mut fence, step(1, "acting")).await.unwrap();
    let pages: i64 = inside(&store, |conn| {
        let pages = conn.query_row("PRAGMA page_count", [], |row| row.get(0)).map_err(trouble("test"))?;
        conn.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))
            .map_err(trouble("test"))?;
        Ok(pages)
    })
    .await
    .unwrap();
    let before = fence.clone();
    let big = Append { blobs: vec![Blob::new(vec![7; 1 << 16])], ..step(2, "acting") };
    let full = store.append(&mut fence, big.clone()).await;
    assert!(matches!(full, Err(AppendError::Store(StoreError::DiskFull))), "{full:?}");
    assert_eq!(fence, before);
    inside(&store, move |conn| {
        let sql = format!("PRAGMA max_page_count = {}", pages * 100);
        conn.query_row(&sql, [], |_| Ok(())).map_err(trouble("test"))
    })
    .await
    .unwrap();
    store.append(&mut fence, big).await.unwrap();
    assert_eq!(store.records(&fence.run, 1, 9).await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_run_that_has_ended_and_is_worked_on_again_is_listed_where_its_journal_ends() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let mut fence = owned(&store, "one").await;
    for text in ["ends", "undone", "undone more"] {
        let mut over = batch(text);
        over.summary.ending = Some(EndingKind::Committed);
        store.append(&mut fence, over).await.unwrap();
    }
    // Killed: nobody released it, and nobody wrote its row once more.
    let row = store.row(&fence.run).await.unwrap();
    assert_eq!((row.next_seq, row.head), (fence.next_seq, fence.head));
    assert_eq!(store.list(ListFilter::default()).await.unwrap(), [row]);
}

#[tokio::test]
async fn a_halted_run_removed_while_it_is_reopened_is_gone_and_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let mut fence = owned(&store, "one").await;
    let summary = Summary { ending: Some(EndingKind::Halted), ..Summary::default() };
    store.append(&mut fence, Append { summary, ..batch("a") }).await.unwrap();
    let beside = SqliteStore::open(dir.path(), Role::Observer).unwrap();
    beside.remove(&fence.run, removal()).await.unwrap();
    let late = store.append(&mut fence, step(1, "acting")).await;
    assert!(matches!(late, Err(AppendError::Store(StoreError::NoRun { .. }))), "{late:?}");
    let left: i64 = inside(&store, |conn| {
        conn.query_row("SELECT count(*) FROM records", [], |row| row.get(0)).map_err(trouble("test"))
    })
    .await
    .unwrap();
    assert_eq!(left, 0);
}
