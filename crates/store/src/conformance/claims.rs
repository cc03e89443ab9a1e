//! Cases about who may work on a run.

use std::collections::BTreeSet;

use bowline_core::id::Millis;
use tokio::task::JoinSet;

use super::material::{
    LEASE_MS, NOW, batch, last_batch, letter, owned, removal, run_id, submitted, waiting_batch, worker,
};
use super::{Broken, Outcome, Store, ensure};
use crate::{AppendError, ListFilter, StoreError};

const LATER: Millis = Millis(NOW.0 + LEASE_MS);

fn is_fenced(result: &Result<(), AppendError>, epoch: u64) -> bool {
    matches!(result, Err(AppendError::Fenced { ours, .. }) if *ours == epoch)
}

pub(super) async fn a_live_run_is_not_claimed_twice(store: Store) -> Outcome {
    let run = submitted(&store, "one").await?;
    let (ann, bob) = (worker("ann")?, worker("bob")?);
    store.claim(&run, &ann, LEASE_MS, NOW).await?;
    for at in [NOW, Millis(LATER.0 - 1)] {
        match store.claim(&run, &bob, LEASE_MS, at).await {
            Err(StoreError::Owned { worker, .. }) if worker == ann => {}
            other => return Err(Broken(format!("a second claim gave {other:?}"))),
        }
    }
    let row = store.row(&run).await?;
    ensure!(row.worker == Some(ann) && row.epoch == 1, "the refused claim left {row:?}");
    ensure!(row.lease_until == LATER, "the lease ends at {:?}", row.lease_until);
    Ok(())
}

pub(super) async fn every_claim_raises_the_epoch_and_fences_the_one_before(store: Store) -> Outcome {
    let run = submitted(&store, "one").await?;
    let ann = worker("ann")?;
    let mut before = store.claim(&run, &ann, LEASE_MS, NOW).await?.fence;
    store.append(&mut before, batch(&["a"])).await?;
    let claimed = store.claim(&run, &ann, LEASE_MS, NOW).await?;
    ensure!((before.epoch, claimed.fence.epoch) == (1, 2), "epochs {} {}", before.epoch, claimed.fence.epoch);
    ensure!(claimed.fence.next_seq == 3 && claimed.fence.head == before.head, "{:?}", claimed.fence);
    let stale = store.append(&mut before, batch(&["b"])).await;
    ensure!(is_fenced(&stale, 1), "the former self wrote: {stale:?}");
    let mut fence = claimed.fence;
    store.append(&mut fence, batch(&["c"])).await?;
    Ok(())
}

pub(super) async fn a_stale_fence_writes_nothing(store: Store) -> Outcome {
    let mut stale = owned(&store, "one").await?;
    let (run, kept) = (stale.run.clone(), stale.clone());
    let fresh = store.claim(&run, &worker("other")?, LEASE_MS, LATER).await?.fence;
    let mut full = batch(&["late"]);
    full.checkpoint = Some((1, vec![1]));
    full.summary.phase = "stolen".to_owned();
    let blob = bowline_core::message::Blob::new(b"late content".to_vec());
    let sha256 = blob.sha256;
    full.blobs.push(blob);
    let written = store.append(&mut stale, full).await;
    ensure!(is_fenced(&written, 1), "a stale append gave {written:?}");
    ensure!(stale == kept, "a refused append moved the fence");
    let renewed = store.renew(&stale, LEASE_MS, LATER).await;
    ensure!(is_fenced(&renewed, 1), "a stale renewal gave {renewed:?}");
    let released = store.release(&stale).await;
    ensure!(is_fenced(&released, 1), "a stale release gave {released:?}");
    let row = store.row(&run).await?;
    ensure!(row.next_seq == 2 && row.head == fresh.head && row.summary.phase != "stolen", "{row:?}");
    ensure!(row.worker == Some(worker("other")?), "the owner is {:?}", row.worker);
    ensure!(matches!(store.blob(sha256).await, Err(StoreError::NoBlob { .. })), "its content was kept");
    let again = store.claim(&run, &worker("other")?, LEASE_MS, LATER).await?;
    ensure!(again.checkpoint.is_none() && again.tail.len() == 1, "its checkpoint was kept");
    Ok(())
}

pub(super) async fn a_released_run_can_be_claimed_at_once(store: Store) -> Outcome {
    let mut fence = owned(&store, "one").await?;
    store.release(&fence).await?;
    store.release(&fence).await?;
    ensure!(store.row(&fence.run).await?.worker.is_none(), "a released run has an owner");
    let late = store.append(&mut fence, batch(&["late"])).await;
    ensure!(is_fenced(&late, 1), "an append after the release gave {late:?}");
    let renewed = store.renew(&fence, LEASE_MS, NOW).await;
    ensure!(is_fenced(&renewed, 1), "a renewal after the release gave {renewed:?}");
    let claimed = store.claim(&fence.run, &worker("other")?, LEASE_MS, NOW).await?;
    ensure!(claimed.fence.epoch == 2, "the epoch is {}", claimed.fence.epoch);
    Ok(())
}

pub(super) async fn an_expired_lease_lets_another_claim(store: Store) -> Outcome {
    let run = submitted(&store, "one").await?;
    let (ann, bob) = (worker("ann")?, worker("bob")?);
    store.claim(&run, &ann, LEASE_MS, NOW).await?;
    ensure!(store.claim_ready(&bob, 9, LEASE_MS, Millis(LATER.0 - 1)).await?.is_empty(), "taken too early");
    let taken = store.claim_ready(&bob, 9, LEASE_MS, LATER).await?;
    let [taken] = taken.as_slice() else { return Err(Broken(format!("{} runs taken", taken.len()))) };
    ensure!(taken.fence.epoch == 2, "the epoch is {}", taken.fence.epoch);
    let back = store.claim(&run, &ann, LEASE_MS, Millis(LATER.0 + LEASE_MS)).await?;
    ensure!(back.fence.epoch == 3, "the epoch is {}", back.fence.epoch);
    Ok(())
}

pub(super) async fn a_renewed_lease_lasts_longer(store: Store) -> Outcome {
    let fence = owned(&store, "one").await?;
    store.renew(&fence, LEASE_MS, Millis(LATER.0 - 1)).await?;
    let refused = store.claim(&fence.run, &worker("other")?, LEASE_MS, LATER).await;
    ensure!(matches!(refused, Err(StoreError::Owned { .. })), "a renewed run was taken: {refused:?}");
    store.claim(&fence.run, &worker("other")?, LEASE_MS, Millis(LATER.0 + LEASE_MS - 1)).await?;
    Ok(())
}

pub(super) async fn ready_runs_are_unfinished_unowned_and_not_waiting(store: Store) -> Outcome {
    submitted(&store, "new").await?;
    let _live = owned(&store, "live").await?;
    for name in ["ended", "ended-with-mail", "waiting", "answered", "released"] {
        let mut fence = owned(&store, name).await?;
        let next = match name {
            "ended" | "ended-with-mail" => last_batch(),
            "released" => batch(&["more"]),
            _ => waiting_batch(),
        };
        store.append(&mut fence, next).await?;
        store.release(&fence).await?;
    }
    store.signal(&run_id("answered")?, letter("yes")).await?;
    store.signal(&run_id("ended-with-mail")?, letter("resume")).await?;
    let ready = store.claim_ready(&worker("v")?, 99, LEASE_MS, NOW).await?;
    let names: Vec<&str> = ready.iter().map(|claimed| claimed.fence.run.as_str()).collect();
    ensure!(names == ["new", "answered", "released"], "ready: {names:?}");
    let again = store.claim_ready(&worker("v")?, 99, LEASE_MS, NOW).await?;
    ensure!(again.is_empty(), "runs were given to the same worker twice");
    let reopened = store.claim(&run_id("ended")?, &worker("v")?, LEASE_MS, NOW).await?;
    ensure!(reopened.fence.epoch == 2, "an ended run cannot be claimed by name");
    Ok(())
}

pub(super) async fn an_ended_run_is_ready_as_long_as_something_is_owed(store: Store) -> Outcome {
    let mut fence = owned(&store, "owing").await?;
    let mut owing = last_batch();
    owing.summary.owes = true;
    store.append(&mut fence, owing).await?;
    store.release(&fence).await?;
    let row = store.row(&fence.run).await?;
    ensure!(row.summary.ending.is_some() && row.summary.owes, "it says {:?}", row.summary);
    let open = store.list(ListFilter { open_only: true, max: 9, ..ListFilter::default() }).await?;
    ensure!(open.len() == 1, "{} runs are open", open.len());
    let removed = store.remove(&fence.run, removal()).await;
    ensure!(matches!(removed, Err(StoreError::NotEnded { .. })), "a run that owes was removed: {removed:?}");
    let taken = store.claim_ready(&worker("v")?, 9, LEASE_MS, NOW).await?;
    let [taken] = taken.as_slice() else { return Err(Broken(format!("{} runs taken", taken.len()))) };
    let mut fence = taken.fence.clone();
    store.append(&mut fence, last_batch()).await?;
    store.release(&fence).await?;
    let again = store.claim_ready(&worker("v")?, 9, LEASE_MS, NOW).await?;
    ensure!(again.is_empty(), "a run that owes nothing was taken");
    store.remove(&fence.run, removal()).await?;
    Ok(())
}

pub(super) async fn a_waiting_run_is_ready_when_its_time_has_come(store: Store) -> Outcome {
    let due = Millis(NOW.0 + 5);
    for (name, wake_at) in [("for-ever", None), ("past-all-time", Some(Millis(u64::MAX))), ("due", Some(due))]
    {
        let mut fence = owned(&store, name).await?;
        let mut waiting = waiting_batch();
        waiting.summary.wake_at = wake_at;
        store.append(&mut fence, waiting).await?;
        store.release(&fence).await?;
        let told = store.row(&fence.run).await?.summary.wake_at;
        ensure!(told == wake_at, "{name} waits until {told:?}, not {wake_at:?}");
    }
    let early = store.claim_ready(&worker("v")?, 9, LEASE_MS, Millis(due.0 - 1)).await?;
    ensure!(early.is_empty(), "{} runs were taken before their time", early.len());
    let taken = store.claim_ready(&worker("v")?, 9, LEASE_MS, due).await?;
    let names: Vec<&str> = taken.iter().map(|claimed| claimed.fence.run.as_str()).collect();
    ensure!(names == ["due"], "ready: {names:?}");
    // It waits again, for longer, and then for nobody.
    let mut fence = taken.into_iter().next().ok_or_else(|| Broken("nothing taken".to_owned()))?.fence;
    let mut longer = waiting_batch();
    longer.summary.wake_at = Some(LATER);
    store.append(&mut fence, longer).await?;
    store.release(&fence).await?;
    ensure!(store.claim_ready(&worker("v")?, 9, LEASE_MS, due).await?.is_empty(), "taken at its old time");
    let mut fence = store.claim(&fence.run, &worker("v")?, LEASE_MS, due).await?.fence;
    store.append(&mut fence, batch(&["an answer"])).await?;
    store.release(&fence).await?;
    ensure!(store.claim_ready(&worker("v")?, 9, LEASE_MS, due).await?.len() == 1, "it waits for nobody");
    Ok(())
}

pub(super) async fn ready_runs_come_oldest_first_and_no_more_than_asked_for(store: Store) -> Outcome {
    for name in ["c", "a", "b"] {
        submitted(&store, name).await?;
    }
    for expected in [vec!["c", "a"], vec!["b"], vec![]] {
        let ready = store.claim_ready(&worker("w")?, 2, LEASE_MS, NOW).await?;
        let names: Vec<&str> = ready.iter().map(|claimed| claimed.fence.run.as_str()).collect();
        ensure!(names == expected, "ready: {names:?}, expected {expected:?}");
    }
    ensure!(store.claim_ready(&worker("w")?, 0, LEASE_MS, LATER).await?.is_empty(), "none was asked for");
    Ok(())
}

pub(super) async fn a_race_for_ready_runs_gives_each_run_once(store: Store) -> Outcome {
    for number in 0..20 {
        submitted(&store, &format!("run-{number}")).await?;
    }
    let mut racers = JoinSet::new();
    for number in 0..8 {
        let (store, name) = (store.clone(), worker(&format!("w-{number}"))?);
        racers.spawn(async move { store.claim_ready(&name, 20, LEASE_MS, NOW).await });
    }
    let mut taken = Vec::new();
    while let Some(raced) = racers.join_next().await {
        taken.extend(raced??.into_iter().map(|claimed| claimed.fence));
    }
    let runs: BTreeSet<_> = taken.iter().map(|fence| fence.run.clone()).collect();
    ensure!(runs.len() == taken.len(), "a run was given to two workers");
    ensure!(taken.iter().all(|fence| fence.epoch == 1), "an epoch was raised twice");
    Ok(())
}
