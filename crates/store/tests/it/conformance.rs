//! One suite, every store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bowline_store::conformance::run_all;
use bowline_store::{MemoryStore, Role, RunStore, SqliteStore};

#[tokio::test]
async fn the_memory_store_keeps_every_rule() {
    let violations = run_all(async || Arc::new(MemoryStore::new()) as Arc<dyn RunStore>).await;
    assert_eq!(violations, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_memory_store_keeps_every_rule_on_many_threads() {
    let violations = run_all(async || Arc::new(MemoryStore::new()) as Arc<dyn RunStore>).await;
    assert_eq!(violations, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sqlite_store_keeps_every_rule() {
    let dir = tempfile::tempdir().unwrap();
    let made = AtomicU32::new(0);
    let make = async || {
        let number = made.fetch_add(1, Ordering::Relaxed);
        let store = SqliteStore::open(dir.path().join(number.to_string()), Role::Worker).unwrap();
        Arc::new(store) as Arc<dyn RunStore>
    };
    assert_eq!(run_all(make).await, []);
    assert!(made.load(Ordering::Relaxed) > 30);
}
