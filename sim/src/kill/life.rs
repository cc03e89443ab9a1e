//! One run of the harness, from its submission to the end of everything that is done with it.
//!
//! It goes by legs: from one stop to the next. A person answers, mends or undoes between
//! two of them. Nothing here starts a process.

use super::bowline::Errand;
use super::moment::{Aim, Counts, Moment};
use super::scenario::{After, Scenario, Stage};

/// See the module's page.
pub(super) struct Life {
    pub(super) stage: Stage,
    pub(super) run: Option<String>,
    pub(super) key: String,
    /// What each of its processes printed.
    pub(super) printed: Vec<String>,
    /// Which of them were killed, and how deep.
    pub(super) kills: Vec<(usize, u32)>,
    /// Kills since a process came to its end by itself.
    pub(super) depth: u32,
    pub(super) leg: u32,
    pub(super) next: Option<Moment>,
    aim: Option<Aim>,
    /// What happens after the ending: how much of it is done, once the run has ended.
    after: Option<usize>,
    /// An undo was killed: it goes on by `resume` or by `undo`.
    pub(super) interrupted: bool,
    pub(super) resumes: bool,
    /// A clean run, looked at leg by leg.
    pub(super) watch: Option<Watch>,
}

/// How a clean run is looked at, and what was seen of each leg.
pub(super) struct Watch {
    pub(super) traced: bool,
    pub(super) legs: Vec<(Counts, u64)>,
}

impl Life {
    pub(super) fn new(stage: Stage, key: String, aim: Option<Aim>) -> Self {
        let next = aim.filter(|aim| aim.leg == 0).map(|aim| aim.moment);
        Self {
            stage,
            run: None,
            key,
            printed: Vec::new(),
            kills: Vec::new(),
            depth: 0,
            leg: 0,
            next,
            aim,
            after: None,
            interrupted: false,
            resumes: false,
            watch: None,
        }
    }

    pub(super) fn scenario(&self) -> Scenario {
        self.stage.scenario
    }

    pub(super) fn name(&self) -> String {
        format!("{} run {} ({})", self.scenario().word(), self.run.as_deref().unwrap_or("?"), self.key)
    }

    /// What its next process works on.
    pub(super) fn errand<'a>(&'a self, task: &'a std::path::Path) -> Errand<'a> {
        match (&self.run, self.undo()) {
            (Some(run), Some((leave_changed, _))) if !self.resumes => Errand::Undo { run, leave_changed },
            (Some(run), _) => Errand::Resume { run },
            (None, _) => Errand::Run { task, key: &self.key },
        }
    }

    /// The undo that is wanted now: whether changed files are left, and how it must end.
    pub(super) fn undo(&self) -> Option<(bool, i32)> {
        match self.scenario().afterwards().get(self.after?) {
            Some(After::Undo { leave_changed, exit }) => Some((*leave_changed, *exit)),
            Some(After::Change | After::Mend) | None => None,
        }
    }

    /// The run has ended, or what was done after it: what comes next.
    pub(super) fn over(&mut self) -> Option<After> {
        let done = self.after.map_or(0, |done| done + 1);
        self.after = Some(done);
        self.scenario().afterwards().get(done).copied()
    }

    /// Begins the next leg; true if chance decides when it is killed.
    pub(super) fn next_leg(&mut self) -> bool {
        self.leg += 1;
        self.interrupted = false;
        self.resumes = false;
        let aim = self.aim.filter(|aim| aim.leg >= self.leg);
        self.next = aim.filter(|aim| aim.leg == self.leg).map(|aim| aim.moment);
        aim.is_none() && self.watch.is_none()
    }

    /// The aim, if this kill is the one it is about.
    pub(super) fn aimed(&self, moment: Moment) -> Option<Aim> {
        self.aim.filter(|aim| aim.leg == self.leg && aim.moment == moment && self.depth == 1)
    }

    /// Adds a line that no process has printed.
    pub(super) fn pretend(&mut self, line: &str) {
        self.printed.push(line.into());
    }
}
