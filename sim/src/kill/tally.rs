//! What was done, counted as it happened.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::journal::Inside;
use super::moment::{Aim, Kind, Moment};
use super::scenario::Scenario;

/// How many kills are wanted: exactly so many, or more where recoveries are still to
/// be killed.
#[derive(Debug)]
pub struct Goal {
    left: Mutex<Left>,
}

#[derive(Clone, Copy, Debug)]
struct Left {
    /// Kills to make, less those that are about to be made.
    kills: u64,
    doubles: u64,
    triples: u64,
}

impl Goal {
    /// So many kills, at least so many of recoveries, and of recoveries of those.
    #[must_use]
    pub fn new(kills: u64, doubles: u64, triples: u64) -> Self {
        Self { left: Mutex::new(Left { kills, doubles, triples }) }
    }

    fn left(&self) -> MutexGuard<'_, Left> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a ticket for one kill, if there is one.
    pub fn take(&self) -> bool {
        let mut left = self.left();
        let is_wanted = left.kills > 0 || left.doubles > 0 || left.triples > 0;
        left.kills = left.kills.saturating_sub(1);
        is_wanted
    }

    /// Gives one back: the process was done before it could be killed.
    pub fn give_back(&self) {
        self.left().kills += 1;
    }

    /// A kill was made, so deep.
    pub fn made(&self, depth: u32) {
        let mut left = self.left();
        match depth {
            2 => left.doubles = left.doubles.saturating_sub(1),
            3 => left.triples = left.triples.saturating_sub(1),
            _ => {}
        }
    }

    /// In how many of a thousand cases the recovery of a kill so deep is killed as well.
    #[must_use]
    pub fn permille_deeper(&self, depth: u32) -> u64 {
        let left = self.left();
        match (depth, left.doubles > 0, left.triples > 0) {
            (1, true, _) => 900,
            (2.., true, false) => 250,
            (_, _, _) => 500,
        }
    }
}

/// The count.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Kills by moment.
    pub of_kind: BTreeMap<Kind, u64>,
    /// Kills by depth: 1 of a process that worked, 2 of its recovery, 3 of that one's.
    pub of_depth: BTreeMap<u32, u64>,
    /// Kills by what the run was at, and whether a recovery was killed.
    pub inside: BTreeMap<(Inside, bool), u64>,
    /// Moments at system calls that were aimed at and hit.
    pub distinct: BTreeSet<Aim>,
    /// Processes that were done before their moment came.
    pub missed: u64,
    /// Runs by scenario.
    pub runs: BTreeMap<Scenario, u64>,
    /// Processes that went on with a run.
    pub resumed: u64,
    /// Submissions repeated because nobody knew whether they were accepted.
    pub resubmitted: u64,
    /// Processes refused because a dead one's lock was not yet free.
    pub locked_out: u64,
    /// Calls in doubt that a person settled as happened, and as not.
    pub settled: (u64, u64),
    /// Calls in doubt that a probe settled.
    pub probed: u64,
    /// Questions answered with yes.
    pub approved: u64,
    /// And with no.
    pub denied: u64,
    /// Undos for a person that came to their end.
    pub undone: u64,
    /// Alerts in journals.
    pub alerts: u64,
    /// Calls undone, in journals.
    pub compensated: u64,
    /// Steps that went to another model than the task's.
    pub rerouted: u64,
    /// Lines of ledgers.
    pub entries: u64,
    /// Events of journals.
    pub events: u64,
    /// Events that were shown by processes, each found in its journal.
    pub shown: u64,
    /// States that processes told of, each compared with its replay.
    pub states: u64,
    /// Batches that the checker passed.
    pub batches: u64,
}

impl Tally {
    /// All kills.
    #[must_use]
    pub fn kills(&self) -> u64 {
        self.of_kind.values().sum()
    }

    /// Notes a kill.
    pub fn kill(&mut self, moment: Moment, depth: u32, aim: Option<Aim>) {
        *self.of_kind.entry(moment.kind()).or_default() += 1;
        *self.of_depth.entry(depth).or_default() += 1;
        self.distinct.extend(aim.filter(|aim| aim.moment.kind() != Kind::Random));
    }

    fn inside(&self, inside: Inside) -> (u64, u64) {
        let of = |recovering| self.inside.get(&(inside, recovering)).copied().unwrap_or(0);
        (of(false) + of(true), of(true))
    }

    /// The table at the end.
    #[must_use]
    pub fn table(&self, moments: usize, took_ms: u64) -> String {
        let mut text = String::new();
        let mut row = |name: &str, count: u64, note: &str| {
            // Writing to a text cannot fail.
            let _written = writeln!(text, "  {name:<22}{count:>8}{note}");
        };
        row("kills", self.kills(), "");
        for kind in Kind::ALL {
            row(&format!("  {}", kind.word()), self.of_kind.get(&kind).copied().unwrap_or(0), "");
        }
        for (depth, name) in [(1, "  single"), (2, "  double"), (3, "  triple")] {
            row(name, self.of_depth.get(&depth).copied().unwrap_or(0), "");
        }
        let deeper: u64 = self.of_depth.iter().filter(|(depth, _)| **depth > 3).map(|(_, count)| count).sum();
        row("  deeper", deeper, "");
        for inside in [Inside::Rollback, Inside::Undo] {
            let (all, recovering) = self.inside(inside);
            row(&format!("  {}", inside.word()), all, &format!("  {recovering} of them in its recovery"));
        }
        row("moments hit", self.distinct.len() as u64, &format!("  of {moments} system calls in clean runs"));
        row("too late", self.missed, "  done before their moment, not counted");
        let mix: Vec<String> =
            self.runs.iter().map(|(one, count)| format!("{} {count}", one.word())).collect();
        row("runs", self.runs.values().sum(), &format!("  {}", mix.join(", ")));
        row("resumed", self.resumed, &format!("  and {} submitted again", self.resubmitted));
        let (happened, repeated) = self.settled;
        let note = format!("  {happened} happened, {repeated} not; {} more by probes", self.probed);
        row("in doubt, settled", happened + repeated, &note);
        row("approved", self.approved, &format!("  and {} denied", self.denied));
        row("undone by people", self.undone, "");
        row("calls undone", self.compensated, &format!("  {} alerts", self.alerts));
        row("steps rerouted", self.rerouted, "  to another model than the task's");
        row("locked out", self.locked_out, "  tried again");
        row("ledger entries", self.entries, "");
        row("events", self.events, &format!("  {} shown, all kept", self.shown));
        row("live states", self.states, "  each equal to its replay");
        row("verdicts", self.batches, "  of the checker, all clean");
        let rate = self.kills() * 10_000 / took_ms.max(1);
        row("seconds", took_ms / 1000, &format!("  {}.{} kills a second", rate / 10, rate % 10));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kill::moment::Call;

    #[test]
    fn there_are_as_many_kills_as_were_asked_for_and_a_miss_costs_none() {
        let goal = Goal::new(2, 0, 0);
        assert!(goal.take() && goal.take());
        assert!(!goal.take());
        goal.give_back();
        assert!(goal.take() && !goal.take());
    }

    #[test]
    fn there_are_more_while_recoveries_are_still_to_be_killed() {
        let goal = Goal::new(1, 1, 1);
        assert!(goal.take() && goal.take());
        assert_eq!(goal.permille_deeper(1), 900);
        goal.made(2);
        assert!(goal.take());
        goal.made(3);
        assert!(!goal.take());
    }

    #[test]
    fn a_kill_is_counted_once_by_kind_and_once_by_depth() {
        let mut tally = Tally::default();
        let moment = Moment::Entering(Call::Sync, 3);
        let aim = Some(Aim { scenario: Scenario::Plan, leg: 0, moment });
        tally.kill(moment, 1, aim);
        tally.kill(moment, 1, aim);
        tally.kill(Moment::After(5), 2, None);
        assert_eq!((tally.kills(), tally.distinct.len()), (3, 1));
        assert_eq!(tally.of_depth.values().sum::<u64>(), 3);
        let table = tally.table(9, 1500);
        assert!(table.contains("2.0 kills a second") && table.contains("1  of 9 system calls"), "{table}");
    }
}
