//! Cases about making runs and finding them again.

use bowline_core::event::Event;
use bowline_core::id::Millis;
use bowline_core::provenance::Digest;
use tokio::task::JoinSet;

use super::material::{NOW, batch, last_batch, owned, removal, run_id, submission, submitted};
use super::{Broken, Outcome, Store, ensure};
use crate::migrations::{MIGRATIONS, VERSION};
use crate::{EndingKind, ListFilter, StoreError, Submitted};

pub(super) async fn a_submitted_run_is_there_with_its_first_record(store: Store) -> Outcome {
    let run = run_id("one")?;
    let request = submission("do it", Some("key"));
    let submitted = store.submit(&run, request.clone(), NOW).await?;
    ensure!(submitted == Submitted::New(run.clone()), "submitting gave {submitted:?}");
    let row = store.row(&run).await?;
    ensure!(row.run == run && row.key.as_deref() == Some("key"), "the row is {row:?}");
    ensure!((row.created_at, row.updated_at) == (NOW, NOW), "the times are those of {row:?}");
    ensure!((row.epoch, row.next_seq) == (0, 2) && row.worker.is_none(), "the row is {row:?}");
    ensure!(row.summary.goal == "do it" && row.summary.ending.is_none(), "it says {:?}", row.summary);
    let records = store.records(&run, 1, 10).await?;
    let [first] = records.as_slice() else { return Err(Broken(format!("records are {records:?}"))) };
    ensure!(first.verify(Digest::ZERO).is_ok() && first.hash == row.head, "the chain is broken");
    let events = first.events().map_err(|bad| Broken(bad.to_string()))?;
    ensure!(events == [Event::Submitted(Box::new(request))], "the first record holds {events:?}");
    Ok(())
}

pub(super) async fn the_same_key_and_request_give_the_existing_run(store: Store) -> Outcome {
    let (one, two) = (run_id("one")?, run_id("two")?);
    store.submit(&one, submission("goal", Some("key")), NOW).await?;
    let again = store.submit(&two, submission("goal", Some("key")), Millis(NOW.0 + 9)).await?;
    ensure!(again == Submitted::Existing(one.clone()), "submitting again gave {again:?}");
    let missing = store.row(&two).await;
    ensure!(matches!(missing, Err(StoreError::NoRun { .. })), "a second run exists: {missing:?}");
    ensure!(store.records(&one, 0, 10).await?.len() == 1, "the first record was doubled");
    Ok(())
}

pub(super) async fn the_same_key_for_another_request_is_refused(store: Store) -> Outcome {
    let (one, two) = (run_id("one")?, run_id("two")?);
    store.submit(&one, submission("goal", Some("key")), NOW).await?;
    match store.submit(&two, submission("another goal", Some("key")), NOW).await {
        Err(StoreError::KeyTaken { key, run }) if key == "key" && run == one => Ok(()),
        other => Err(Broken(format!("another request under the same key gave {other:?}"))),
    }
}

pub(super) async fn an_id_that_exists_is_refused(store: Store) -> Outcome {
    let run = submitted(&store, "one").await?;
    match store.submit(&run, submission("other", None), NOW).await {
        Err(StoreError::IdTaken { run: taken }) if taken == run => {}
        other => return Err(Broken(format!("a second run with the same id gave {other:?}"))),
    }
    ensure!(store.row(&run).await?.summary.goal == "one", "the first run was changed");
    Ok(())
}

pub(super) async fn a_race_of_submissions_with_one_key_makes_one_run(store: Store) -> Outcome {
    let mut racers = JoinSet::new();
    for number in 0..32 {
        let (store, run) = (store.clone(), run_id(&format!("racer-{number}"))?);
        racers.spawn(async move { store.submit(&run, submission("goal", Some("key")), NOW).await });
    }
    let mut new = Vec::new();
    let mut existing = Vec::new();
    while let Some(raced) = racers.join_next().await {
        match raced?? {
            Submitted::New(run) => new.push(run),
            Submitted::Existing(run) => existing.push(run),
        }
    }
    let [winner] = new.as_slice() else { return Err(Broken(format!("{} runs were made", new.len()))) };
    ensure!(existing.len() == 31 && existing.iter().all(|run| run == winner), "others got {existing:?}");
    ensure!(store.list(ListFilter::default()).await?.len() == 1, "more than one run is listed");
    Ok(())
}

pub(super) async fn what_is_not_there_is_said_not_to_be_there(store: Store) -> Outcome {
    let run = run_id("nobody")?;
    let no_run = |found: Option<StoreError>| matches!(found, Some(StoreError::NoRun { run: missing }) if missing == run);
    ensure!(no_run(store.row(&run).await.err()), "row of a missing run");
    ensure!(no_run(store.records(&run, 1, 1).await.err()), "records of a missing run");
    ensure!(no_run(store.mail(&run).await.err()), "mail of a missing run");
    ensure!(no_run(store.remove(&run, removal()).await.err()), "removal of a missing run");
    let signalled = store.signal(&run, super::material::letter("key")).await.err();
    ensure!(no_run(signalled), "signal to a missing run");
    let claimed = store.claim(&run, &super::material::worker("w")?, 1, NOW).await.err();
    ensure!(no_run(claimed), "claim of a missing run");
    let content = store.blob(Digest::ZERO).await;
    ensure!(matches!(content, Err(StoreError::NoBlob { .. })), "missing content gave {content:?}");
    ensure!(store.list(ListFilter::default()).await?.is_empty(), "an empty store lists runs");
    Ok(())
}

pub(super) async fn listings_are_newest_first_and_filtered(store: Store) -> Outcome {
    for name in ["ab-1", "B-2", "ab-3", "a"] {
        submitted(&store, name).await?;
    }
    let mut ended = owned(&store, "ab-5").await?;
    store.append(&mut ended, last_batch()).await?;
    let names = |filter: ListFilter| {
        let store = store.clone();
        async move {
            let rows = store.list(filter).await?;
            Ok::<_, Broken>(rows.iter().map(|row| row.run.to_string()).collect::<Vec<_>>())
        }
    };
    let all = names(ListFilter::default()).await?;
    ensure!(all == ["ab-5", "a", "ab-3", "B-2", "ab-1"], "all runs: {all:?}");
    let prefixed = names(ListFilter { prefix: "ab".to_owned(), ..ListFilter::default() }).await?;
    ensure!(prefixed == ["ab-5", "ab-3", "ab-1"], "runs that begin with ab: {prefixed:?}");
    let folded = names(ListFilter { prefix: "b".to_owned(), ..ListFilter::default() }).await?;
    ensure!(folded.is_empty(), "case was folded: {folded:?}");
    let wild = names(ListFilter { prefix: "a%".to_owned(), ..ListFilter::default() }).await?;
    ensure!(wild.is_empty(), "a prefix was read as a pattern: {wild:?}");
    let open = ListFilter { open_only: true, prefix: "ab".to_owned(), max: 1, ..ListFilter::default() };
    let open = names(open).await?;
    ensure!(open == ["ab-3"], "the newest open run that begins with ab: {open:?}");
    let row = store.row(&run_id("ab-5")?).await?;
    ensure!(row.summary.ending == Some(EndingKind::Committed), "the ending is {:?}", row.summary.ending);
    Ok(())
}

pub(super) async fn listing_goes_on_while_others_write(store: Store) -> Outcome {
    let mut writers = JoinSet::new();
    for number in 0..4 {
        let mut fence = owned(&store, &format!("busy-{number}")).await?;
        let store = store.clone();
        writers.spawn(async move {
            for _ in 0..50 {
                store.append(&mut fence, batch(&["x", "y"])).await?;
            }
            Ok::<_, crate::AppendError>(())
        });
    }
    while !writers.is_empty() {
        ensure!(store.list(ListFilter::default()).await?.len() == 4, "a run is missing from a listing");
        if let Some(written) = writers.try_join_next() {
            written??;
        }
        tokio::task::yield_now().await;
    }
    for row in store.list(ListFilter::default()).await? {
        ensure!(row.next_seq == 102, "run {} ends at {}", row.run, row.next_seq);
    }
    Ok(())
}

pub(super) async fn a_fresh_store_has_had_every_migration(store: Store) -> Outcome {
    ensure!(store.version() == VERSION, "it is of version {}, not {VERSION}", store.version());
    ensure!(MIGRATIONS.len() == VERSION as usize, "{} migrations lead to it", MIGRATIONS.len());
    Ok(())
}

pub(super) async fn runs_of_a_class_are_found_by_it(store: Store) -> Outcome {
    for (name, class) in [("a", Some("x")), ("b", None), ("c", Some("y")), ("d", Some("x"))] {
        let mut submission = submission(name, None);
        submission.task.class = class.map(str::to_owned);
        store.submit(&run_id(name)?, submission, NOW).await?;
    }
    let mut fence = store.claim(&run_id("a")?, &super::material::worker("w")?, 1, NOW).await?.fence;
    store.append(&mut fence, last_batch()).await?;
    store.release(&fence).await?;
    for (class, open_only, expected) in [
        (Some("x"), false, vec!["d", "a"]),
        (Some("x"), true, vec!["d"]),
        (Some("y"), false, vec!["c"]),
        (Some("X"), false, vec![]),
        (Some(""), false, vec![]),
        (None, false, vec!["d", "c", "b", "a"]),
    ] {
        let class = class.map(str::to_owned);
        let found =
            store.list(ListFilter { class: class.clone(), open_only, ..ListFilter::default() }).await?;
        let names: Vec<&str> = found.iter().map(|row| row.run.as_str()).collect();
        ensure!(names == expected, "of class {class:?}: {names:?}");
    }
    store.remove(&fence.run, removal()).await?;
    let rest = store.list(ListFilter { class: Some("x".to_owned()), ..ListFilter::default() }).await?;
    ensure!(rest.len() == 1, "a removed run is still of its class");
    Ok(())
}
