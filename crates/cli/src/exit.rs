//! Exit codes: the contract with scripts. Listed in `--help` and in
//! `docs/exit-codes.md`.

use std::process::ExitCode;

use bowline::Stopped;
use bowline_core::event::Ending;
use bowline_core::run::Run;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done; of a run: committed.
    Committed,
    /// The run failed, or an examination found something wrong.
    Failed,
    /// Refused: usage, task, run, store. Nothing was changed.
    Refused,
    /// The run halted; it can be resumed.
    Halted,
    /// The run waits for a person, is paused, or was interrupted.
    Unfinished,
    /// Something could not be undone that should have been.
    NotUndone,
    /// A bug, or a store that stopped.
    Internal,
}

impl Exit {
    /// The number.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Committed => 0,
            Self::Failed => 1,
            Self::Refused => 2,
            Self::Halted => 3,
            Self::Unfinished => 4,
            Self::NotUndone => 5,
            Self::Internal => 70,
        }
    }

    /// How a run that ended so is reported.
    #[must_use]
    fn of_ending(ending: &Ending) -> Self {
        match ending {
            Ending::Committed { .. } => Self::Committed,
            Ending::Failed { .. } => Self::Failed,
            Ending::Halted { .. } => Self::Halted,
        }
    }

    /// How a run that stopped so is reported: one that failed and could not undo what it
    /// should have is not merely failed.
    #[must_use]
    pub fn of_stop(run: &Run, stopped: &Stopped) -> Self {
        match stopped {
            Stopped::Ended(Ending::Failed { .. }) if run.deeds.alerted => Self::NotUndone,
            Stopped::Ended(ending) => Self::of_ending(ending),
            Stopped::Waiting(_) | Stopped::Asked => Self::Unfinished,
        }
    }

    /// Of several runs: the worst one counts.
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        if self.weight() >= other.weight() { self } else { other }
    }

    fn weight(self) -> u8 {
        match self {
            Self::Committed => 0,
            Self::Unfinished => 1,
            Self::Halted => 2,
            Self::Failed => 3,
            Self::NotUndone => 4,
            Self::Refused => 5,
            Self::Internal => 6,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
