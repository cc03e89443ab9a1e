//! Cases about messages to runs.

use bowline_core::input::Signal;

use super::material::{LEASE_MS, NOW, batch, letter, owned, run_id, submitted, worker};
use super::{Broken, Outcome, Store, ensure};
use crate::{Letter, SignalId};

/// Longer than any case should take; a store that sleeps through it is broken.
const SOON_MS: u64 = 10_000;

pub(super) async fn mail_left_before_a_claim_is_there_after_it(store: Store) -> Outcome {
    let run = submitted(&store, "one").await?;
    let pause = Letter { signal: Signal::Pause, ..letter("first") };
    let first = store.signal(&run, pause).await?;
    let second = store.signal(&run, letter("second")).await?;
    store.claim(&run, &worker("w")?, LEASE_MS, NOW).await?;
    let mail = store.mail(&run).await?;
    let [older, newer] = mail.as_slice() else { return Err(Broken(format!("the mail is {mail:?}"))) };
    ensure!((older.id, newer.id) == (first, second), "mail is out of order: {mail:?}");
    ensure!((&older.signal, &newer.signal) == (&Signal::Pause, &Signal::Cancel), "{mail:?}");
    ensure!(older.by == "somebody" && older.at == NOW, "{mail:?}");
    Ok(())
}

pub(super) async fn the_same_key_is_the_same_message(store: Store) -> Outcome {
    let (one, two) = (owned(&store, "one").await?, submitted(&store, "two").await?);
    let first = store.signal(&one.run, letter("key")).await?;
    let again = store.signal(&one.run, Letter { by: "another".to_owned(), ..letter("key") }).await?;
    let other_run = store.signal(&two, letter("key")).await?;
    ensure!(first == again && first != other_run, "ids {first:?} {again:?} {other_run:?}");
    ensure!(store.mail(&one.run).await?.len() == 1, "the message was doubled");
    let mut fence = one;
    let mut answer = batch(&["answer"]);
    answer.consumed.push(first);
    store.append(&mut fence, answer).await?;
    let late = store.signal(&fence.run, letter("key")).await?;
    ensure!(late == first && store.mail(&fence.run).await?.is_empty(), "an answered message came again");
    Ok(())
}

pub(super) async fn consumed_mail_is_gone_with_the_append_and_not_before(store: Store) -> Outcome {
    let mut fence = owned(&store, "one").await?;
    let other = submitted(&store, "two").await?;
    let first = store.signal(&fence.run, letter("a")).await?;
    let second = store.signal(&fence.run, letter("b")).await?;
    let foreign = store.signal(&other, letter("a")).await?;
    ensure!(store.mail(&fence.run).await?.len() == 2, "mail was gone before it was answered");
    let mut answer = batch(&["answer"]);
    answer.consumed = vec![first, foreign];
    store.append(&mut fence, answer).await?;
    let left: Vec<SignalId> = store.mail(&fence.run).await?.iter().map(|mail| mail.id).collect();
    ensure!(left == [second], "mail left: {left:?}");
    ensure!(store.mail(&other).await?.len() == 1, "a run consumed the mail of another");
    Ok(())
}

pub(super) async fn a_refused_append_consumes_no_mail(store: Store) -> Outcome {
    let mut fence = owned(&store, "one").await?;
    let id = store.signal(&fence.run, letter("a")).await?;
    fence.epoch = 0;
    let mut answer = batch(&["answer"]);
    answer.consumed.push(id);
    ensure!(store.append(&mut fence, answer).await.is_err(), "a stale append was accepted");
    ensure!(store.mail(&fence.run).await?.len() == 1, "a refused append consumed mail");
    Ok(())
}

pub(super) async fn runs_with_mail_are_named(store: Store) -> Outcome {
    ensure!(store.mailed().await?.is_empty(), "an empty store has mail");
    let mut late = owned(&store, "z").await?;
    submitted(&store, "quiet").await?;
    let early = submitted(&store, "a").await?;
    for key in ["1", "2"] {
        store.signal(&early, letter(key)).await?;
    }
    let id = store.signal(&late.run, letter("1")).await?;
    let names = store.mailed().await?;
    ensure!(names == [run_id("z")?, run_id("a")?], "runs with mail: {names:?}");
    let mut answer = batch(&["answer"]);
    answer.consumed.push(id);
    store.append(&mut late, answer).await?;
    let names = store.mailed().await?;
    ensure!(names == [run_id("a")?], "runs with mail after an answer: {names:?}");
    Ok(())
}

pub(super) async fn a_signal_wakes_whoever_waits_for_changes(store: Store) -> Outcome {
    let run = submitted(&store, "one").await?;
    // What happened so far may wake us once more; the next wait is a real one.
    store.changed(1).await;
    store.changed(1).await;
    let waiter = tokio::spawn({
        let store = store.clone();
        async move { store.changed(SOON_MS * 6).await }
    });
    store.signal(&run, letter("key")).await?;
    let woken = tokio::time::timeout(std::time::Duration::from_millis(SOON_MS), waiter).await;
    ensure!(woken.is_ok(), "nobody woke up");
    Ok(())
}
