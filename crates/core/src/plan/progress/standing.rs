//! What each node is doing, written as one letter each.

use serde::{Deserialize, Serialize};

use crate::plan::index::at;

/// What a node is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Its branch is not taken.
    Dormant,
    /// It waits for others.
    Waiting,
    /// It may start; a choice with a condition is to be decided.
    Ready,
    /// It has started; a choice has taken a branch.
    Running,
    /// It is over.
    Done,
    /// It failed, and nothing could take its place.
    Failed,
    /// Its branch was given up before it was over.
    Abandoned,
}

const LETTERS: [(Standing, char); 7] = [
    (Standing::Dormant, '-'),
    (Standing::Waiting, 'w'),
    (Standing::Ready, 'r'),
    (Standing::Running, 'x'),
    (Standing::Done, 'd'),
    (Standing::Failed, 'f'),
    (Standing::Abandoned, 'a'),
];

impl Standing {
    /// Whether word of its end is expected; one that was not said to start may end too.
    pub(super) fn is_at_work(self) -> bool {
        match self {
            Self::Ready | Self::Running => true,
            Self::Dormant | Self::Waiting | Self::Done | Self::Failed | Self::Abandoned => false,
        }
    }
}

/// What every node is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(super) struct Standings(Vec<Standing>);

impl Standings {
    pub(super) fn new(count: u32) -> Self {
        Self(vec![Standing::Dormant; at(count)])
    }

    pub(super) fn get(&self, this: u32) -> Standing {
        self.0.get(at(this)).copied().unwrap_or(Standing::Dormant)
    }

    pub(super) fn set(&mut self, this: u32, standing: Standing) {
        if let Some(slot) = self.0.get_mut(at(this)) {
            *slot = standing;
        }
    }
}

impl From<Standings> for String {
    fn from(standings: Standings) -> Self {
        let letter = |standing: &Standing| {
            LETTERS.iter().find(|(known, _)| known == standing).map_or('-', |(_, letter)| *letter)
        };
        standings.0.iter().map(letter).collect()
    }
}

/// A letter that stands for nothing.
#[derive(Debug, thiserror::Error)]
#[error("{letter:?} stands for nothing a node does")]
pub(super) struct BadStanding {
    letter: char,
}

impl TryFrom<String> for Standings {
    type Error = BadStanding;
    fn try_from(text: String) -> Result<Self, BadStanding> {
        let standing = |letter: char| {
            let known = LETTERS.iter().find(|(_, known)| *known == letter);
            known.map(|(standing, _)| *standing).ok_or(BadStanding { letter })
        };
        text.chars().map(standing).collect::<Result<_, _>>().map(Self)
    }
}
