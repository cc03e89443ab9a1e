//! What was done, counted as it happened.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use super::moment::{Kind, Moment};
use super::scenario::Scenario;

/// Kills that may still be made: exactly as many as were asked for.
#[derive(Debug)]
pub struct Tickets {
    left: AtomicU64,
}

impl Tickets {
    /// So many.
    #[must_use]
    pub fn new(count: u64) -> Self {
        Self { left: AtomicU64::new(count) }
    }

    /// Takes one, if there is one.
    pub fn take(&self) -> bool {
        self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
    }

    /// Gives one back: the process was done before it could be killed.
    pub fn give_back(&self) {
        self.left.fetch_add(1, Ordering::SeqCst);
    }
}

/// The count.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Kills by moment.
    pub of_kind: BTreeMap<Kind, u64>,
    /// Kills by depth: 1 of a process that worked, 2 of its recovery, 3 of that one's.
    pub of_depth: BTreeMap<u32, u64>,
    /// Moments at system calls of first processes that were hit.
    pub distinct: BTreeSet<(Scenario, Moment)>,
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
    pub fn kill(&mut self, scenario: Scenario, moment: Moment, depth: u32) {
        *self.of_kind.entry(moment.kind()).or_default() += 1;
        *self.of_depth.entry(depth).or_default() += 1;
        if depth == 1 && moment.kind() != Kind::Random {
            self.distinct.insert((scenario, moment));
        }
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
        row("moments hit", self.distinct.len() as u64, &format!("  of {moments} system calls in clean runs"));
        row("too late", self.missed, "  done before their moment, not counted");
        let mix: Vec<String> =
            self.runs.iter().map(|(one, count)| format!("{} {count}", one.word())).collect();
        row("runs", self.runs.values().sum(), &format!("  {}", mix.join(", ")));
        row("resumed", self.resumed, &format!("  and {} submitted again", self.resubmitted));
        let (happened, repeated) = self.settled;
        let note = format!("  {happened} happened, {repeated} not; {} more by probes", self.probed);
        row("in doubt, settled", happened + repeated, &note);
        row("approved", self.approved, "");
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
    fn there_are_as_many_kills_as_tickets_and_a_miss_costs_none() {
        let tickets = Tickets::new(2);
        assert!(tickets.take() && tickets.take());
        assert!(!tickets.take());
        tickets.give_back();
        assert!(tickets.take() && !tickets.take());
    }

    #[test]
    fn a_kill_is_counted_once_by_kind_and_once_by_depth() {
        let mut tally = Tally::default();
        let moment = Moment::Entering(Call::Sync, 3);
        tally.kill(Scenario::Plan, moment, 1);
        tally.kill(Scenario::Plan, moment, 1);
        tally.kill(Scenario::Plan, Moment::After(5), 2);
        assert_eq!((tally.kills(), tally.distinct.len()), (3, 1));
        assert_eq!(tally.of_depth.values().sum::<u64>(), 3);
        let table = tally.table(9, 1500);
        assert!(table.contains("2.0 kills a second") && table.contains("1  of 9 system calls"), "{table}");
    }
}
