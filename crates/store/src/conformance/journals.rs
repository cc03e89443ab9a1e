//! Cases about appending to journals and reading them back.

use bowline_core::journal::Record;
use bowline_core::provenance::Digest;
use tokio::task::JoinSet;

use super::material::{LEASE_MS, NOW, batch, event, owned, worker};
use super::{Broken, Outcome, Store, ensure};
use crate::{AppendError, Fence, StoreError};

fn chained(records: &[Record]) -> Outcome {
    let mut head = Digest::ZERO;
    for record in records {
        record.verify(head).map_err(|bad| Broken(bad.to_string()))?;
        head = record.hash;
    }
    Ok(())
}

fn seqs(records: &[Record]) -> Vec<u64> {
    records.iter().map(|record| record.seq).collect()
}

pub(super) async fn appends_come_back_in_order_and_chained(store: Store) -> Outcome {
    let mut fence = owned(&store, "one").await?;
    store.append(&mut fence, batch(&["a", "b", "c"])).await?;
    store.append(&mut fence, batch(&["d"])).await?;
    ensure!(fence.next_seq == 6, "the fence stands before event {}", fence.next_seq);
    let records = store.records(&fence.run, 1, 99).await?;
    ensure!(seqs(&records) == [1, 2, 5], "records begin at {:?}", seqs(&records));
    chained(&records)?;
    ensure!(records.last().map(|last| last.hash) == Some(fence.head), "the fence has another head");
    let mut events = Vec::new();
    for record in records.iter().skip(1) {
        events.extend(record.events().map_err(|bad| Broken(bad.to_string()))?);
    }
    ensure!(events == ["a", "b", "c", "d"].map(event), "the events are {events:?}");
    let claimed = store.claim(&fence.run, &worker("w")?, LEASE_MS, NOW).await?;
    ensure!(claimed.tail == records && claimed.checkpoint.is_none(), "a claim gives other records");
    let row = store.row(&fence.run).await?;
    ensure!((row.next_seq, row.head) == (fence.next_seq, fence.head), "the row says {row:?}");
    ensure!(row.summary == batch(&["d"]).summary, "the summary is {:?}", row.summary);
    Ok(())
}

pub(super) async fn another_record_in_the_same_place_is_a_conflict(store: Store) -> Outcome {
    let start = owned(&store, "one").await?;
    let mut fence = start.clone();
    store.append(&mut fence, batch(&["a"])).await?;
    let elsewhere = Fence { head: Digest::ZERO, ..fence.clone() };
    let ahead = Fence { next_seq: 9, ..fence.clone() };
    for mut wrong in [start, elsewhere, ahead] {
        let seq = wrong.next_seq;
        match store.append(&mut wrong, batch(&["b"])).await {
            Err(AppendError::Conflict { seq: at, .. }) if at == seq => {}
            other => return Err(Broken(format!("an append at {seq} gave {other:?}"))),
        }
    }
    ensure!(store.records(&fence.run, 1, 9).await?.len() == 2, "a refused record was kept");
    store.append(&mut fence, batch(&["b"])).await?;
    Ok(())
}

pub(super) async fn a_repeated_append_is_accepted_and_not_doubled(store: Store) -> Outcome {
    let start = owned(&store, "one").await?;
    let mut first = start.clone();
    store.append(&mut first, batch(&["a", "b"])).await?;
    let mut again = start.clone();
    store.append(&mut again, batch(&["a", "b"])).await?;
    ensure!(again == first, "the repeated append moved the fence to {again:?}");
    store.append(&mut first, batch(&["c"])).await?;
    let mut late = start;
    store.append(&mut late, batch(&["a", "b"])).await?;
    let records = store.records(&first.run, 1, 9).await?;
    ensure!(seqs(&records) == [1, 2, 4], "records begin at {:?}", seqs(&records));
    ensure!(store.row(&first.run).await?.next_seq == 5, "the row moved");
    Ok(())
}

pub(super) async fn a_batch_without_events_is_refused(store: Store) -> Outcome {
    let mut fence = owned(&store, "one").await?;
    let refused = store.append(&mut fence, batch(&[])).await;
    let expected = matches!(refused, Err(AppendError::Store(StoreError::Database { .. })));
    ensure!(expected, "an empty batch gave {refused:?}");
    ensure!(store.records(&fence.run, 1, 9).await?.len() == 1, "an empty record was kept");
    Ok(())
}

pub(super) async fn ten_thousand_events_load(store: Store) -> Outcome {
    let mut fence = owned(&store, "one").await?;
    let hundred = ["x"; 100];
    for _ in 0..100 {
        store.append(&mut fence, batch(&hundred)).await?;
    }
    let claimed = store.claim(&fence.run, &worker("w")?, LEASE_MS, NOW).await?;
    let events: usize =
        claimed.tail.iter().filter_map(|record| record.events().ok()).map(|all| all.len()).sum();
    ensure!(events == 10_001 && claimed.fence.next_seq == 10_002, "{events} events were loaded");
    chained(&claimed.tail)
}

pub(super) async fn records_start_at_the_one_that_holds_the_event(store: Store) -> Outcome {
    let mut fence = owned(&store, "one").await?;
    for events in [&["a", "b"][..], &["c", "d", "e"], &["f"]] {
        store.append(&mut fence, batch(events)).await?;
    }
    let rows: [(u64, usize, &[u64]); 9] = [
        (0, 9, &[1, 2, 4, 7]),
        (1, 9, &[1, 2, 4, 7]),
        (2, 2, &[2, 4]),
        (3, 1, &[2]),
        (6, 9, &[4, 7]),
        (7, 9, &[7]),
        (8, 9, &[]),
        (1, 0, &[]),
        (u64::MAX, 9, &[]),
    ];
    for (from, max, expected) in rows {
        let found = seqs(&store.records(&fence.run, from, max).await?);
        ensure!(found == expected, "from {from}, at most {max}: {found:?}");
    }
    Ok(())
}

pub(super) async fn a_checkpoint_comes_back_with_the_tail_behind_it(store: Store) -> Outcome {
    let mut fence = owned(&store, "one").await?;
    store.append(&mut fence, batch(&["a"])).await?;
    let mut kept = batch(&["b", "c"]);
    kept.checkpoint = Some((7, b"state".to_vec()));
    store.append(&mut fence, kept).await?;
    let head = fence.head;
    let whole = store.claim(&fence.run, &worker("w")?, LEASE_MS, NOW).await?;
    ensure!(whole.tail.is_empty(), "{} records are behind the checkpoint", whole.tail.len());
    let mut fence = whole.fence;
    store.append(&mut fence, batch(&["d", "e"])).await?;
    let claimed = store.claim(&fence.run, &worker("w")?, LEASE_MS, NOW).await?;
    let Some(checkpoint) = claimed.checkpoint else { return Err(Broken("no checkpoint".to_owned())) };
    ensure!((checkpoint.seq, checkpoint.version) == (4, 7), "the checkpoint is {checkpoint:?}");
    ensure!(checkpoint.head == head && checkpoint.state == b"state", "the checkpoint is {checkpoint:?}");
    ensure!(seqs(&claimed.tail) == [5], "the tail begins at {:?}", seqs(&claimed.tail));
    Ok(())
}

pub(super) async fn checkpoints_are_told_and_thrown_away(store: Store) -> Outcome {
    let mut fence = owned(&store, "one").await?;
    ensure!(store.checkpoint(&fence.run).await?.is_none(), "a checkpoint of nothing");
    let mut kept = batch(&["a"]);
    kept.checkpoint = Some((7, b"state".to_vec()));
    store.append(&mut fence, kept).await?;
    let found = store.checkpoint(&fence.run).await?;
    ensure!(found.as_ref().is_some_and(|found| found.state == b"state"), "the checkpoint is {found:?}");
    store.drop_checkpoints().await?;
    ensure!(store.checkpoint(&fence.run).await?.is_none(), "it is still there");
    let claimed = store.claim(&fence.run, &worker("w")?, LEASE_MS, NOW).await?;
    ensure!(claimed.checkpoint.is_none() && seqs(&claimed.tail) == [1, 2], "{:?}", seqs(&claimed.tail));
    Ok(())
}

pub(super) async fn a_later_checkpoint_replaces_the_one_before(store: Store) -> Outcome {
    let mut fence = owned(&store, "one").await?;
    for state in 1..=3_u8 {
        let mut kept = batch(&["x"]);
        kept.checkpoint = Some((u32::from(state), vec![state; 3000]));
        store.append(&mut fence, kept).await?;
    }
    let claimed = store.claim(&fence.run, &worker("w")?, LEASE_MS, NOW).await?;
    let Some(checkpoint) = claimed.checkpoint else { return Err(Broken("no checkpoint".to_owned())) };
    ensure!(checkpoint.version == 3 && checkpoint.state == [3; 3000], "version {}", checkpoint.version);
    ensure!(checkpoint.seq == 4 && claimed.tail.is_empty(), "it stands at {}", checkpoint.seq);
    Ok(())
}

pub(super) async fn appends_of_many_runs_at_once_do_not_mix(store: Store) -> Outcome {
    let mut writers = JoinSet::new();
    for number in 0..16 {
        let name = format!("run-{number}");
        let mut fence = owned(&store, &name).await?;
        let store = store.clone();
        writers.spawn(async move {
            for step in 0..20 {
                let mut stale = fence.clone();
                stale.epoch = 99;
                let refused = store.append(&mut stale, batch(&["intruder"])).await;
                if !matches!(refused, Err(AppendError::Fenced { .. })) {
                    return Err(Broken(format!("an intruder got {refused:?}")));
                }
                store.append(&mut fence, batch(&[name.as_str(), &step.to_string()])).await?;
            }
            Ok(fence)
        });
    }
    while let Some(written) = writers.join_next().await {
        let fence = written??;
        let records = store.records(&fence.run, 1, 99).await?;
        chained(&records)?;
        for (step, record) in records.iter().skip(1).enumerate() {
            let events = record.events().map_err(|bad| Broken(bad.to_string()))?;
            ensure!(events == [event(fence.run.as_str()), event(&step.to_string())], "{events:?}");
        }
        ensure!(records.len() == 21, "run {} has {} records", fence.run, records.len());
    }
    Ok(())
}
