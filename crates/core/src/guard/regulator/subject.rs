//! What a run is about, and whether an answer still is.
//!
//! Kept are the task and the latest of what else a person wrote, both cut to a
//! bound. Nothing the model or a tool wrote is kept here.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::budget::BadAmount;
use crate::guard::drift::{self, Judgement, TEXT_BYTES_MAX};

/// Messages kept besides the task; beyond it the oldest is forgotten.
pub const MESSAGES_MAX: usize = 64;
/// Bytes of these messages together.
pub const MESSAGES_BYTES_MAX: usize = 64 * 1024;
/// Letters of a term that is named.
const TERM_CHARS_MAX: usize = 40;

/// What a person wants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Subject {
    task: Option<Box<str>>,
    /// What else a person wrote, oldest first.
    messages: VecDeque<Box<str>>,
    /// Length of these together.
    bytes: usize,
}

/// How far a reply is from its task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OffTopic {
    /// The share of it that has nothing to do with the task.
    pub(super) share: f64,
    /// Words that stand for that share; none where a caller judged.
    pub(super) terms: Vec<String>,
}

impl OffTopic {
    /// Judged by the caller. A share is from 0 to 1, or an error: never quietly
    /// something else.
    pub(super) fn told(share: f64) -> Result<Self, BadAmount> {
        if (0.0..=1.0).contains(&share) {
            return Ok(Self { share, terms: Vec::new() });
        }
        Err(BadAmount::NotAShare { what: "drift", value: share })
    }
}

impl Subject {
    /// A person wrote. The first words of a run are its task.
    pub(super) fn add(&mut self, text: &str) {
        if self.task.is_none() {
            self.task = Some(head(text, TEXT_BYTES_MAX).into());
            return;
        }
        let kept = head(text, MESSAGES_BYTES_MAX);
        self.bytes = self.bytes.saturating_add(kept.len());
        self.messages.push_back(kept.into());
        while self.messages.len() > MESSAGES_MAX || self.bytes > MESSAGES_BYTES_MAX {
            let Some(oldest) = self.messages.pop_front() else { break };
            self.bytes = self.bytes.saturating_sub(oldest.len());
        }
    }

    pub(super) fn is_task(&self, text: &str) -> bool {
        let task = self.task.as_deref();
        task.is_some_and(|task| task.trim() == head(text, TEXT_BYTES_MAX).trim())
    }

    /// `None` where there is too little to judge by.
    pub(super) fn judge(&self, answer: &str) -> Option<OffTopic> {
        let task = self.task.as_deref()?;
        let others: Vec<&str> = self.messages.iter().map(AsRef::as_ref).collect();
        match drift::judge(&drift::Settings::default(), task, &others, answer) {
            Judgement::Judged(drift) => {
                let cut = |term: String| term.chars().take(TERM_CHARS_MAX).collect();
                let terms = drift.ungrounded.into_iter().map(cut).collect();
                Some(OffTopic { share: drift.score, terms })
            }
            Judgement::NotJudged(_) => None,
        }
    }
}

/// The beginning of a text, at most so many bytes, cut between characters.
fn head(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or_default()
}
