//! Cases about content and about removing runs.

use bowline_core::message::Blob;
use bowline_core::provenance::Digest;

use super::material::{LEASE_MS, NOW, batch, last_batch, letter, owned, removal, submission, worker};
use super::{Broken, Outcome, Store, ensure};
use crate::{AppendError, Fence, ListFilter, Removal, StoreError, Submitted, Tombstone};

fn content(text: &str, length: usize) -> Blob {
    Blob::new(text.bytes().cycle().take(length).collect())
}

async fn keep(store: &Store, fence: &mut Fence, blobs: &[&Blob]) -> Outcome {
    let mut next = batch(&["content"]);
    next.blobs = blobs.iter().map(|blob| (*blob).clone()).collect();
    Ok(store.append(fence, next).await?)
}

async fn end(store: &Store, fence: &mut Fence) -> Outcome {
    store.append(fence, last_batch()).await?;
    Ok(store.release(fence).await?)
}

async fn is_gone(store: &Store, sha256: Digest) -> bool {
    matches!(store.blob(sha256).await, Err(StoreError::NoBlob { .. }))
}

pub(super) async fn content_is_stored_once_and_comes_back_whole(store: Store) -> Outcome {
    let mut fence = owned(&store, "one").await?;
    let (empty, small, large) = (Blob::new(Vec::new()), content("a", 700), content("xyz", 1 << 20));
    keep(&store, &mut fence, &[&empty, &small, &large, &small]).await?;
    keep(&store, &mut fence, &[&small, &large]).await?;
    for blob in [&empty, &small, &large] {
        ensure!(store.blob(blob.sha256).await? == blob.bytes, "{} came back changed", blob.sha256);
    }
    end(&store, &mut fence).await?;
    let freed = store.remove(&fence.run, removal()).await?;
    ensure!(freed == 700 + (1 << 20), "{freed} bytes were stored");
    Ok(())
}

pub(super) async fn content_under_a_wrong_name_is_refused(store: Store) -> Outcome {
    let mut fence = owned(&store, "one").await?;
    let mut wrong = content("a", 700);
    wrong.sha256 = Digest::of(b"something else");
    let sha256 = wrong.sha256;
    let mut next = batch(&["content"]);
    next.blobs.push(wrong);
    match store.append(&mut fence, next).await {
        Err(AppendError::Store(StoreError::BadBlob { sha256: named })) if named == sha256 => {}
        other => return Err(Broken(format!("content under a wrong name gave {other:?}"))),
    }
    ensure!(is_gone(&store, sha256).await && fence.next_seq == 2, "it was kept");
    Ok(())
}

pub(super) async fn an_open_run_is_not_removed(store: Store) -> Outcome {
    let mut fence = owned(&store, "one").await?;
    let blob = content("a", 700);
    keep(&store, &mut fence, &[&blob]).await?;
    match store.remove(&fence.run, removal()).await {
        Err(StoreError::NotEnded { run }) if run == fence.run => {}
        other => return Err(Broken(format!("removing an open run gave {other:?}"))),
    }
    ensure!(store.blob(blob.sha256).await? == blob.bytes, "its content is gone");
    ensure!(store.records(&fence.run, 1, 9).await?.len() == 2, "its journal is gone");
    Ok(())
}

pub(super) async fn a_removed_run_leaves_nothing_but_shared_content(store: Store) -> Outcome {
    let run = bowline_core::id::RunId::parse("one")?;
    store.submit(&run, submission("goal", Some("key")), NOW).await?;
    let mut one = store.claim(&run, &worker("w")?, LEASE_MS, NOW).await?.fence;
    let mut two = owned(&store, "two").await?;
    let (own, shared) = (content("own", 900), content("shared", 5000));
    keep(&store, &mut one, &[&own, &shared]).await?;
    keep(&store, &mut two, &[&shared]).await?;
    store.signal(&run, letter("key")).await?;
    for fence in [&mut one, &mut two] {
        end(&store, fence).await?;
    }
    let freed = store.remove(&run, removal()).await?;
    ensure!(freed == 900 && is_gone(&store, own.sha256).await, "{freed} bytes were freed");
    ensure!(store.blob(shared.sha256).await? == shared.bytes, "shared content is gone");
    ensure!(matches!(store.row(&run).await, Err(StoreError::NoRun { .. })), "the run is still there");
    ensure!(store.mailed().await?.is_empty(), "its mail is still there");
    let late = store.append(&mut one, batch(&["late"])).await;
    ensure!(matches!(late, Err(AppendError::Store(StoreError::NoRun { .. }))), "it grew: {late:?}");
    let again = store.submit(&run, submission("other goal", Some("key")), NOW).await?;
    ensure!(again == Submitted::New(run.clone()), "its key or id is still taken: {again:?}");
    ensure!(store.records(&run, 1, 9).await?.len() == 1, "the new run has old records");
    let freed = store.remove(&two.run, removal()).await?;
    ensure!(freed == 5000 && is_gone(&store, shared.sha256).await, "{freed} bytes were freed at last");
    ensure!(store.list(ListFilter::default()).await?.len() == 1, "runs are left over");
    Ok(())
}

pub(super) async fn content_named_twice_by_one_run_goes_with_it(store: Store) -> Outcome {
    let (mut one, mut two) = (owned(&store, "one").await?, owned(&store, "two").await?);
    let blob = content("again", 800);
    for _ in 0..3 {
        keep(&store, &mut one, &[&blob]).await?;
        keep(&store, &mut two, &[&blob, &blob]).await?;
    }
    for fence in [&mut one, &mut two] {
        end(&store, fence).await?;
    }
    ensure!(store.remove(&one.run, removal()).await? == 0, "shared content was freed");
    ensure!(store.blob(blob.sha256).await? == blob.bytes, "shared content is gone");
    ensure!(store.remove(&two.run, removal()).await? == 800, "the last run left its content behind");
    ensure!(is_gone(&store, blob.sha256).await, "content is left over");
    Ok(())
}

pub(super) async fn what_is_left_of_a_removed_run_names_it_and_who_removed_it(store: Store) -> Outcome {
    ensure!(store.tombstones(ListFilter::default()).await?.is_empty(), "an empty store had runs");
    let mut fences = Vec::new();
    for name in ["one", "two", "three"] {
        let mut fence = owned(&store, name).await?;
        keep(&store, &mut fence, &[&content("own", 900)]).await?;
        end(&store, &mut fence).await?;
        fences.push(fence);
    }
    for fence in fences.iter().take(2) {
        store.remove(&fence.run, removal()).await?;
    }
    let left = store.tombstones(ListFilter::default()).await?;
    let expected: Vec<Tombstone> = fences.iter().take(2).rev().map(tombstone).collect();
    ensure!(left == expected, "left is {left:?}, not {expected:?}");
    let named = ListFilter { prefix: "on".to_owned(), ..ListFilter::default() };
    let named = store.tombstones(named).await?;
    ensure!(named.len() == 1, "of those that begin so: {named:?}");
    let latest = store.tombstones(ListFilter { max: 1, ..ListFilter::default() }).await?;
    ensure!(latest.first().is_some_and(|left| left.run.as_str() == "two"), "the latest is {latest:?}");
    let refused = match fences.first() {
        Some(fence) => store.remove(&fence.run, removal()).await,
        None => Ok(0),
    };
    ensure!(matches!(refused, Err(StoreError::NoRun { .. })), "it was removed twice: {refused:?}");
    ensure!(store.tombstones(ListFilter::default()).await?.len() == 2, "a refusal was noted");
    Ok(())
}

fn tombstone(fence: &Fence) -> Tombstone {
    let Removal { by, at } = removal();
    let events = fence.next_seq.saturating_sub(1);
    Tombstone { run: fence.run.clone(), head: fence.head, events, at, by }
}
