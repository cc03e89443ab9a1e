//! What goes into a store and comes out of it.

use bowline_core::event::Event;
use bowline_core::id::{Millis, RunId, WorkerId};
use bowline_core::input::Signal;
use bowline_core::journal::Record;
use bowline_core::message::Blob;
use bowline_core::provenance::Digest;
use bowline_core::task::Submission;
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// Proof of ownership of a run. Every write shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    /// Which run.
    pub run: RunId,
    /// Raised by every claim.
    pub epoch: u64,
    /// Sequence number of the next event.
    pub next_seq: u64,
    /// Hash of the last record.
    pub head: Digest,
}

impl Fence {
    /// Moves behind a record of `count` events that is in the store now.
    pub(crate) fn advance(&mut self, count: u64, head: Digest) {
        self.next_seq = self.next_seq.saturating_add(count);
        self.head = head;
    }
}

/// What submitting came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// A new run.
    New(RunId),
    /// The key was used before, for the same request.
    Existing(RunId),
}

impl Submitted {
    /// The run, new or not.
    #[must_use]
    pub fn run(&self) -> &RunId {
        match self {
            Self::New(run) | Self::Existing(run) => run,
        }
    }
}

/// A run that is ours now, and what is needed to go on with it.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// Our proof.
    pub fence: Fence,
    /// The last checkpoint, if one was written and is intact.
    pub checkpoint: Option<Checkpoint>,
    /// The records after the checkpoint, verified against the chain.
    pub tail: Vec<Record>,
}

/// A state that was folded before. A cache: it may be missing or unreadable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The last event it contains.
    pub seq: u64,
    /// Hash of the record that ends with that event.
    pub head: Digest,
    /// Version of the state's shape; another one is folded again.
    pub version: u32,
    /// The state.
    pub state: Vec<u8>,
}

/// One transaction on one run.
#[derive(Clone, Debug)]
pub struct Append {
    /// When it was decided.
    pub at: Millis,
    /// What happened; sealed into one record. Never empty.
    pub events: Vec<Event>,
    /// Payloads the events name.
    pub blobs: Vec<Blob>,
    /// The state after `events`, when it is worth writing: version and bytes.
    pub checkpoint: Option<(u32, Vec<u8>)>,
    /// What listings show from now on.
    pub summary: Summary,
    /// Mail these events answer.
    pub consumed: Vec<SignalId>,
}

impl Append {
    /// The record this batch becomes behind `fence`, once its content is checked:
    /// a blob under a wrong name would damage every run that shares it.
    pub(crate) fn seal(&self, fence: &Fence) -> Result<Record, StoreError> {
        if self.events.is_empty() {
            let message = "a batch without events".to_owned();
            return Err(StoreError::Database { action: "append", message });
        }
        if let Some(bad) = self.blobs.iter().find(|blob| Digest::of(&blob.bytes) != blob.sha256) {
            return Err(StoreError::BadBlob { sha256: bad.sha256 });
        }
        Ok(Record::seal(fence.head, &fence.run, fence.next_seq, self.at, &self.events))
    }
}

/// What a listing shows of a run without folding its journal. Rebuilt from the
/// journal at any time.
///
/// Phase, ending and what it waits for are always true. The figures of a run at
/// work may be some appends old; they are exact again when its phase changes, when
/// it waits, is released or ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The first words of the goal.
    pub goal: String,
    /// Where it stands.
    pub phase: String,
    /// How it ended, if it did.
    pub ending: Option<EndingKind>,
    /// Something is still owed behind the ending, and whoever looks for work may do it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub owes: bool,
    /// What it waits for, when a person must act.
    pub waiting: Option<String>,
    /// Until when it waits: then it goes on even if nobody acts. `None`: for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_at: Option<Millis>,
    /// Why the last worker could not go on with it, if it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unable: Option<String>,
    /// Model calls so far.
    pub steps: u32,
    /// Tool calls so far.
    pub tool_calls: u32,
    /// Tokens so far.
    pub tokens: u64,
    /// Micro-dollars so far.
    pub micros: u64,
}

impl Summary {
    /// Whether it has ended and nothing is owed any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.ending.is_some() && !self.owes
    }

    /// Whether somebody could go on with the run at that time, without mail for it.
    #[must_use]
    pub fn can_go_on(&self, at: Millis) -> bool {
        !self.is_over() && (self.waiting.is_none() || self.wake_at.is_some_and(|wake| wake <= at))
    }
}

/// Longest goal, in characters, that a summary shows.
const GOAL_CHARS: usize = 120;

impl Summary {
    /// What listings show of a run nobody worked on yet.
    #[must_use]
    pub fn submitted(submission: &Submission) -> Self {
        let words = submission.task.goal.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        Self {
            goal: words.trim().chars().take(GOAL_CHARS).collect(),
            phase: "planning".to_owned(),
            ..Self::default()
        }
    }
}

/// The three endings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndingKind {
    /// Checked and delivered.
    Committed,
    /// Given up.
    Failed,
    /// Stopped, resumable.
    Halted,
}

/// A run as the store sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRow {
    /// Its id.
    pub run: RunId,
    /// The caller's idempotency key.
    pub key: Option<String>,
    /// When it was submitted.
    pub created_at: Millis,
    /// When something last happened.
    pub updated_at: Millis,
    /// The last claim.
    pub epoch: u64,
    /// The owner, while the lease lasts.
    pub worker: Option<WorkerId>,
    /// When the lease ends.
    pub lease_until: Millis,
    /// Sequence number of the next event.
    pub next_seq: u64,
    /// Hash of the last record.
    pub head: Digest,
    /// For people.
    pub summary: Summary,
}

/// Names a message in a mailbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SignalId(pub u64);

/// A message on its way into a mailbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// Who sends it.
    pub by: String,
    /// What they want.
    pub signal: Signal,
    /// The same key again is the same message.
    pub key: String,
    /// When it is sent.
    pub at: Millis,
}

/// A message that was not answered yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    /// Its name.
    pub id: SignalId,
    /// Who sent it.
    pub by: String,
    /// What they want.
    pub signal: Signal,
    /// When it was sent.
    pub at: Millis,
}

/// On whose word a run is removed, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// Who.
    pub by: String,
    /// When.
    pub at: Millis,
}

/// What is left of a run that was removed: that it was, and nothing of what was in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    /// Its id.
    pub run: RunId,
    /// Hash of its last record.
    pub head: Digest,
    /// How many events its journal had.
    pub events: u64,
    /// When it was removed.
    pub at: Millis,
    /// By whom.
    pub by: String,
}

/// Which runs to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListFilter {
    /// Only runs whose id begins so.
    pub prefix: String,
    /// Only runs whose task has this class.
    pub class: Option<String>,
    /// Only runs that have not ended.
    pub open_only: bool,
    /// At most this many.
    pub max: usize,
}

impl Default for ListFilter {
    fn default() -> Self {
        Self { prefix: String::new(), class: None, open_only: false, max: 50 }
    }
}
