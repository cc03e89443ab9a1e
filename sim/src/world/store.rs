//! The store as a worker sees it: the durable one, through lines that are slow,
//! lose acknowledgements and deliver twice, in a process that may die before or
//! after every write.
//!
//! It also watches: after each durable record the live state is compared with
//! the state by replay, and at each claim what the worker is given with the
//! whole journal.

use std::sync::Arc;

use async_trait::async_trait;
use bowline_core::event::Ending;
use bowline_core::id::{Millis, RunId, WorkerId};
use bowline_core::input::Signal;
use bowline_core::journal::Record;
use bowline_core::provenance::Digest;
use bowline_core::run::Run;
use bowline_core::task::Submission;
use bowline_core::view;
use bowline_store::{
    Append, AppendError, Checkpoint, Claimed, EndingKind, Fence, Letter, ListFilter, Mail, MemoryStore,
    Removal, RunRow, RunStore, SignalId, StoreError, Submitted, Tombstone,
};

use super::bugs::{self, Bug};
use super::disk::Write;
use super::plan::Point;
use super::state::{Alive, World};
use super::violation::Check;

/// The durable store, seen from one life.
pub(super) struct FaultyStore(pub(super) Arc<Alive>);

impl FaultyStore {
    fn world(&self) -> &World {
        &self.0.world
    }

    fn inner(&self) -> MemoryStore {
        self.world().store()
    }

    async fn give(&self, mut claimed: Claimed, worker: &WorkerId, at: Millis) -> Result<Claimed, StoreError> {
        let run = claimed.fence.run.clone();
        let whole = bowline::fold(&self.inner(), &run, u64::MAX).await.map_err(unreadable)?.run;
        if let Some(bug) = self.world().bug {
            bugs::doctor(bug, &mut claimed);
        }
        let given = bugs::folded(&claimed);
        let mut state = self.world().lock();
        state.count("claim", &format!("{run} by {worker} epoch {} at {}", claimed.fence.epoch, at.0));
        if given.map(|given| given.digest()) != Some(whole.digest()) {
            let text = format!("run {run}: checkpoint and tail lead elsewhere than the whole journal");
            state.violation(Check::O10, text);
        }
        Ok(claimed)
    }

    /// The run by replay, from before what is about to be written.
    async fn ready_replay(&self, run: &RunId) {
        if self.world().lock().replays.contains_key(run) {
            return;
        }
        if let Ok(folded) = bowline::fold(&self.inner(), run, u64::MAX).await {
            self.world().lock().replays.insert(run.clone(), folded.run);
        }
    }

    /// A record is durable now.
    fn recorded(&self, shown: &Fence, head: Digest, batch: &Append) {
        let mut state = self.world().lock();
        state.disk.wrote(|| Write::Append(shown.clone(), Box::new(batch.clone())));
        let words: Vec<String> = batch.events.iter().map(view::line).collect();
        let place = format!("{} {} at {} {head}", shown.run, shown.next_seq, batch.at.0);
        state.count("record", &format!("{place}: {}", words.join(" + ")));
        if batch.checkpoint.is_some() {
            state.count("checkpoint", &place);
        }
        let Some(replay) = state.replays.get_mut(&shown.run) else { return };
        batch.events.iter().for_each(|event| replay.apply(event, batch.at));
        if let Some(difference) = difference(replay, batch) {
            let text =
                format!("run {} event {}: live and replay differ: {difference}", shown.run, replay.seq);
            state.violation(Check::O10, text);
        }
    }

    /// The seeded bug: writes go through whoever they are from.
    async fn unfenced(&self, fence: &mut Fence) {
        let unchecked = self.world().has(Bug::EpochNotChecked) || self.world().has(Bug::TwoRecoveriesAtOnce);
        if let (true, Ok(row)) = (unchecked, self.inner().row(&fence.run).await) {
            *fence =
                Fence { run: fence.run.clone(), epoch: row.epoch, next_seq: row.next_seq, head: row.head };
        }
    }

    /// The seeded bug: a lease means nothing.
    async fn ignore_lease(&self, run: &RunId) {
        let ignores = self.world().has(Bug::RecoveryOfALiveRun) || self.world().has(Bug::TwoRecoveriesAtOnce);
        if let (true, Ok(row)) = (ignores, self.inner().row(run).await) {
            let fence = Fence { run: run.clone(), epoch: row.epoch, next_seq: row.next_seq, head: row.head };
            let _released = self.inner().release(&fence).await.is_ok();
        }
    }
}

/// What a worker told of its state, against the state by replay.
fn difference(replay: &Run, batch: &Append) -> Option<String> {
    if let Some((_, state)) = &batch.checkpoint
        && Digest::of(state) != replay.digest()
    {
        return Some("the checkpoint is another state".into());
    }
    let told = &batch.summary;
    let ending = replay.ending().map(|ending| match ending {
        Ending::Committed { .. } => EndingKind::Committed,
        Ending::Failed { .. } => EndingKind::Failed,
        Ending::Halted { .. } => EndingKind::Halted,
    });
    let live = (told.phase.as_str(), told.ending, told.steps, told.tool_calls, told.tokens, told.micros);
    let settled = replay.spend.settled;
    let replayed = (
        if replay.is_being_undone() { "being undone" } else { replay.phase.word() },
        ending,
        replay.spend.steps,
        replay.spend.tool_calls,
        settled.tokens,
        settled.micros,
    );
    (live != replayed).then(|| format!("{live:?} and {replayed:?}"))
}

fn unreadable(error: bowline::EngineError) -> StoreError {
    StoreError::Database { action: "read", message: error.to_string() }
}

#[async_trait]
impl RunStore for FaultyStore {
    fn version(&self) -> u32 {
        self.inner().version()
    }

    async fn submit(
        &self,
        run: &RunId,
        mut submission: Submission,
        at: Millis,
    ) -> Result<Submitted, StoreError> {
        self.0.pass(Point::SubmitBefore).await;
        if self.world().has(Bug::DuplicateSubmit) {
            submission.key = submission.key.map(|key| format!("{key} of {run}"));
        }
        let outcome = self.inner().submit(run, submission.clone(), at).await?;
        {
            let mut state = self.world().lock();
            state.count("submission", &format!("{run} {outcome:?} at {}", at.0));
            state.disk.wrote(|| Write::Submit(run.clone(), Box::new(submission), at));
        }
        self.0.pass(Point::SubmitAfter).await;
        if self.0.strikes(80, "submission unacknowledged", run.as_str()) {
            return Err(StoreError::Database { action: "submit", message: "the line went dead".into() });
        }
        Ok(outcome)
    }

    async fn claim(
        &self,
        run: &RunId,
        worker: &WorkerId,
        lease_ms: u64,
        at: Millis,
    ) -> Result<Claimed, StoreError> {
        self.0.pass(Point::ClaimBefore).await;
        self.ignore_lease(run).await;
        let claimed = self.inner().claim(run, worker, lease_ms, at).await?;
        self.world().lock().disk.wrote(|| Write::Claim(run.clone(), worker.clone(), lease_ms, at));
        let claimed = self.give(claimed, worker, at).await?;
        self.0.pass(Point::ClaimAfter).await;
        Ok(claimed)
    }

    async fn claim_ready(
        &self,
        worker: &WorkerId,
        max: usize,
        lease_ms: u64,
        at: Millis,
    ) -> Result<Vec<Claimed>, StoreError> {
        self.0.pass(Point::ClaimBefore).await;
        let mut given = Vec::new();
        for claimed in self.inner().claim_ready(worker, max, lease_ms, at).await? {
            let run = claimed.fence.run.clone();
            self.world().lock().disk.wrote(|| Write::Claim(run, worker.clone(), lease_ms, at));
            given.push(self.give(claimed, worker, at).await?);
        }
        self.0.pass(Point::ClaimAfter).await;
        Ok(given)
    }

    async fn append(&self, fence: &mut Fence, mut batch: Append) -> Result<(), AppendError> {
        self.0.pass(Point::AppendBefore).await;
        let about = format!("{} epoch {}", fence.run, fence.epoch);
        if self.0.strikes(20, "append slow", &about) {
            self.0.takes(10, 4000).await;
        }
        if self.0.strikes(2, "append slower than a lease", &about) {
            self.0.takes(31_000, 60_000).await;
        }
        if self.0.strikes(20, "append lost on the way", &about) {
            return Err(AppendError::Unacknowledged);
        }
        if let Some(bug) = self.world().bug {
            bugs::rewrite(bug, &mut batch);
        }
        self.ready_replay(&fence.run).await;
        let mut shown = fence.clone();
        self.unfenced(&mut shown).await;
        let before = self.inner().row(&fence.run).await?.next_seq;
        let sealed = shown.clone();
        let outcome = self.inner().append(&mut shown, batch.clone()).await;
        if matches!(outcome, Err(AppendError::Fenced { .. })) {
            self.world().lock().count("append of a stale worker", &about);
        }
        outcome?;
        if self.inner().row(&fence.run).await?.next_seq != before {
            self.recorded(&sealed, shown.head, &batch);
        }
        self.0.pass(Point::AppendAfter).await;
        if self.0.strikes(20, "append unacknowledged", &about) {
            return Err(AppendError::Unacknowledged);
        }
        *fence = shown;
        Ok(())
    }

    async fn renew(&self, fence: &Fence, lease_ms: u64, at: Millis) -> Result<(), AppendError> {
        self.0.breathe().await;
        self.inner().renew(fence, lease_ms, at).await
    }

    async fn release(&self, fence: &Fence) -> Result<(), AppendError> {
        self.0.breathe().await;
        self.inner().release(fence).await?;
        self.world().lock().disk.wrote(|| Write::Release(fence.clone()));
        Ok(())
    }

    async fn signal(&self, run: &RunId, letter: Letter) -> Result<SignalId, StoreError> {
        self.0.pass(Point::SignalBefore).await;
        let id = self.inner().signal(run, letter.clone()).await?;
        {
            let mut state = self.world().lock();
            state.count("letter", &format!("{run} {letter:?}"));
            state.disk.wrote(|| Write::Signal(run.clone(), letter.clone()));
        }
        if self.0.strikes(100, "letter delivered twice", run.as_str()) {
            let again = Letter { key: format!("{}-again", letter.key), ..letter };
            self.inner().signal(run, again.clone()).await?;
            self.world().lock().disk.wrote(|| Write::Signal(run.clone(), again));
        }
        self.0.pass(Point::SignalAfter).await;
        Ok(id)
    }

    async fn mail(&self, run: &RunId) -> Result<Vec<Mail>, StoreError> {
        self.0.breathe().await;
        let mut mail = self.inner().mail(run).await?;
        if self.world().has(Bug::ApprovalByIdOnly) {
            self.ready_replay(run).await;
            let state = self.world().lock();
            let approvals = state.replays.get(run).map(|run| run.approvals.clone()).unwrap_or_default();
            for letter in &mut mail {
                if let Signal::Approve { subject, binds } = &mut letter.signal {
                    *binds = approvals.get(subject).map_or(*binds, |asked| asked.binds);
                }
            }
        }
        Ok(mail)
    }

    async fn mailed(&self) -> Result<Vec<RunId>, StoreError> {
        self.0.breathe().await;
        self.inner().mailed().await
    }

    async fn row(&self, run: &RunId) -> Result<RunRow, StoreError> {
        self.0.breathe().await;
        self.inner().row(run).await
    }

    async fn list(&self, filter: ListFilter) -> Result<Vec<RunRow>, StoreError> {
        self.0.breathe().await;
        self.inner().list(filter).await
    }

    async fn records(&self, run: &RunId, from_seq: u64, max: usize) -> Result<Vec<Record>, StoreError> {
        self.0.breathe().await;
        let skips = self.world().has(Bug::StreamOffsetOffByOne) && from_seq > 1;
        let mut found = self.inner().records(run, from_seq, max).await?;
        if skips && !found.is_empty() {
            found.remove(0);
        }
        Ok(found)
    }

    async fn checkpoint(&self, run: &RunId) -> Result<Option<Checkpoint>, StoreError> {
        self.inner().checkpoint(run).await
    }

    async fn drop_checkpoints(&self) -> Result<(), StoreError> {
        self.inner().drop_checkpoints().await
    }

    async fn blob(&self, sha256: Digest) -> Result<Vec<u8>, StoreError> {
        self.0.breathe().await;
        self.inner().blob(sha256).await
    }

    async fn changed(&self, timeout_ms: u64) {
        self.inner().changed(timeout_ms).await;
    }

    async fn remove(&self, run: &RunId, removal: Removal) -> Result<u64, StoreError> {
        self.0.breathe().await;
        self.inner().remove(run, removal).await
    }

    async fn tombstones(&self, filter: ListFilter) -> Result<Vec<Tombstone>, StoreError> {
        self.0.breathe().await;
        self.inner().tombstones(filter).await
    }
}
