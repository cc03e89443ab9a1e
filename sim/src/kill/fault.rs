//! Faults made by `strace` at the n-th system call of a kind, without any help from the
//! program: who makes the call is killed, or told that the disk does not do it.
//!
//! Every thread is counted for itself, and the tools that the program starts are hit as
//! well. Nothing here judges what came of it.

use std::collections::HashMap;

/// A kind of system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// The store is written.
    Write,
    /// Anything else is written: files, what is printed, and also signals between threads.
    Print,
    /// What was written is to be on the disk.
    Sync,
    /// A file takes its name.
    Rename,
}

impl Place {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Write, Self::Print, Self::Sync, Self::Rename];

    /// What `strace` calls them.
    #[must_use]
    pub fn words(self) -> &'static [&'static str] {
        match self {
            Self::Write => &["pwrite64"],
            Self::Print => &["write"],
            Self::Sync => &["fdatasync", "fsync"],
            Self::Rename => &["rename", "renameat", "renameat2"],
        }
    }

    /// What can happen to it. `strace` cannot tell a file from a counter that wakes a
    /// thread, and writing to that never fails.
    #[must_use]
    pub fn faults(self) -> &'static [How] {
        match self {
            Self::Write | Self::Sync | Self::Rename => &How::ALL,
            Self::Print => &[How::Kill],
        }
    }
}

/// What is done to the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum How {
    /// Whoever makes it is killed before it is made.
    Kill,
    /// It is not made: the disk is broken.
    Eio,
    /// It is not made: the disk is full.
    Enospc,
}

impl How {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Kill, Self::Eio, Self::Enospc];

    /// What people call it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Kill => "SIGKILL",
            Self::Eio => "EIO",
            Self::Enospc => "ENOSPC",
        }
    }

    fn injected(self) -> &'static str {
        match self {
            Self::Kill => "signal=SIGKILL",
            Self::Eio => "error=EIO",
            Self::Enospc => "error=ENOSPC",
        }
    }
}

/// One fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fault {
    /// At which kind of call.
    pub place: Place,
    /// What.
    pub how: How,
    /// At which of them, from 1.
    pub nth: u32,
}

impl Fault {
    /// The words for `strace`.
    #[must_use]
    pub fn inject(&self) -> String {
        format!("inject={}:{}:when={}", self.place.words().join(","), self.how.injected(), self.nth)
    }

    /// What people call it.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} at {} {}", self.how.word(), self.place.words().join("/"), self.nth)
    }
}

/// Every fault of a run that made calls so often; of the writes, which are many, those at
/// every `step`-th.
#[must_use]
pub fn table(counts: &HashMap<Place, u32>, step: usize) -> Vec<Fault> {
    let mut all = Vec::new();
    for place in Place::ALL {
        let most = counts.get(&place).copied().unwrap_or(0);
        let is_many = matches!(place, Place::Write | Place::Print);
        let step = if is_many { step.max(1) } else { 1 };
        for nth in (1..=most).step_by(step) {
            all.extend(place.faults().iter().map(|how| Fault { place, how: *how, nth }));
        }
    }
    all
}

/// How often the busiest thread made each kind of call, in what `strace -f` wrote.
#[must_use]
pub fn count(trace: &str) -> HashMap<Place, u32> {
    let mut of_thread: HashMap<(&str, Place), u32> = HashMap::new();
    for (thread, name, _) in trace.lines().filter_map(call) {
        if let Some(place) = Place::ALL.into_iter().find(|place| place.words().contains(&name)) {
            *of_thread.entry((thread, place)).or_default() += 1;
        }
    }
    let mut counts = HashMap::new();
    for ((_, place), made) in of_thread {
        let most = counts.entry(place).or_default();
        *most = made.max(*most);
    }
    counts
}

/// Whether the fault came to act.
#[must_use]
pub fn has_struck(trace: &str) -> bool {
    // Who is killed does not come back from the call.
    trace.contains("(INJECTED)") || trace.lines().any(|line| line.ends_with(" = ?"))
}

/// A write to the store by a process whose sync of the store had failed; such a store must
/// not be trusted any more.
#[must_use]
pub fn wrote_after_a_failed_sync(trace: &str) -> Option<&str> {
    let on_store = |rest: &str| rest.contains("/store.db");
    let mut calls = trace.lines().filter_map(|line| call(line).map(|parts| (line, parts)));
    calls.find(|(_, (_, name, rest))| {
        Place::Sync.words().contains(name) && on_store(rest) && rest.ends_with("(INJECTED)")
    })?;
    let is_write = |name: &str, rest: &str| name == "pwrite64" && on_store(rest) && !rest.contains("= -1");
    calls.find(|(_, (_, name, rest))| is_write(name, rest)).map(|(line, _)| line)
}

/// Thread, name and the rest of a call in a trace. One that was interrupted is counted where it began.
fn call(line: &str) -> Option<(&str, &str, &str)> {
    let (thread, rest) = line.split_once(' ')?;
    let (name, rest) = rest.trim_start().split_once('(')?;
    Some((thread, name, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "7<bowline> pwrite64(3</s/store.db-wal>, \"x\", 1, 0) = 1\n\
        9<store> pwrite64(3</s/store.db-wal>, \"x\", 1, 0) = 1\n\
        9<store> pwrite64(3</s/store.db-wal>, \"x\", 1, 1) = 1\n\
        9<store> fdatasync(3</s/store.db-wal>) = -1 EIO (Input/output error) (INJECTED)\n\
        7<bowline> write(1</o>, \"y\", 1) = 1\n";

    #[test]
    fn calls_are_counted_by_kind_and_by_thread() {
        let counts = count(TRACE);
        assert_eq!((counts.get(&Place::Write), counts.get(&Place::Sync)), (Some(&2), Some(&1)));
        assert_eq!(counts.get(&Place::Print), Some(&1));
        assert!(has_struck(TRACE) && !has_struck("7<b> +++ exited with 0 +++\n"));
        assert!(has_struck("7<b> write(3</s/store.db>, \"x\", 1) = ?\n"));
    }

    #[test]
    fn the_whole_table_has_every_fault_of_every_call_and_a_sample_some_of_the_writes() {
        let all = table(&count(TRACE), 1);
        assert_eq!(all.len(), 10);
        let some = table(&HashMap::from([(Place::Write, 40), (Place::Sync, 7)]), 20);
        assert_eq!(some.len(), (2 + 7) * How::ALL.len());
    }

    #[test]
    fn a_store_that_writes_on_after_a_failed_sync_is_noticed() {
        assert_eq!(wrote_after_a_failed_sync(TRACE), None);
        let on = format!("{TRACE}9<store> pwrite64(3</s/store.db-wal>, \"z\", 1, 1) = 1\n");
        assert!(wrote_after_a_failed_sync(&on).is_some_and(|line| line.contains("\"z\"")));
    }
}
