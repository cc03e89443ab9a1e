//! What no resource limit of the kernel holds for a whole command: processes of
//! the machine's superuser, memory of all processes together, room on the disk.
//!
//! Every few milliseconds the processes of the namespace are counted. The pid
//! namespace makes that exact, and lets one exit end them all: a namespace whose
//! first process is gone cannot fork.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::statvfs;

use super::Reporter;
use crate::order::Order;
use crate::report::{Limit, Report};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// Memory and disk are looked at each time this many looks have passed: reading
/// them costs more, and they fill more slowly.
const SLOW_LOOKS: u32 = 5;

/// Files that must be left to make on a disk.
const FILES_LEFT: u64 = 10_000;

/// Files of each private folder. They are in memory, and what a name takes there counts for no
/// process and not for the folder's size: as much again as its size, at about a kilobyte each.
const SCRATCH_FILES: u64 = 200_000;

/// As if by the signal that cannot be refused.
const KILLED: i32 = 128 + 9;

/// Watches until this process ends.
pub(super) fn watch(order: &Order, reporter: &Reporter) {
    let mut looks = 0_u32;
    loop {
        looks = looks.wrapping_add(1);
        if let Some(limit) = exceeded(order, looks.is_multiple_of(SLOW_LOOKS)) {
            reporter.say(&Report::Exceeded(limit));
            super::complain(&format!("ended: {limit}"));
            // The first process of a namespace takes all the others with it.
            super::end(KILLED);
        }
        std::thread::sleep(PAUSE);
    }
}

/// The first limit that does not hold.
fn exceeded(order: &Order, thorough: bool) -> Option<Limit> {
    let usage = Usage::look(thorough);
    let full = |path: &PathBuf| {
        room(path).is_some_and(|(bytes, files)| {
            bytes < order.bounds.disk_left_bytes || files.is_some_and(|files| files < FILES_LEFT)
        })
    };
    if usage.tasks > order.bounds.processes {
        Some(Limit::Processes)
    } else if usage.memory_bytes > order.bounds.memory_bytes {
        Some(Limit::Memory)
    } else if thorough && order.disks.iter().any(full) {
        Some(Limit::Disk)
    } else if thorough && order.scratch.iter().any(|path| is_crowded(path)) {
        Some(Limit::Files)
    } else {
        None
    }
}

/// What the command uses at this moment.
#[derive(Default)]
struct Usage {
    tasks: u64,
    memory_bytes: u64,
}

impl Usage {
    fn look(thorough: bool) -> Self {
        let mut usage = Self::default();
        let Ok(entries) = fs::read_dir("/proc") else { return usage };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
            if pid == 1 {
                continue;
            }
            usage.tasks += 1;
            if thorough && let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) {
                usage.memory_bytes = usage.memory_bytes.saturating_add(memory(&status));
                usage.tasks = usage.tasks.saturating_add(field(&status, "Threads:").saturating_sub(1));
            }
        }
        usage
    }
}

/// Memory only this process has, or shares without a file behind it.
fn memory(status: &str) -> u64 {
    let kilobytes = field(status, "RssAnon:").saturating_add(field(status, "RssShmem:"));
    kilobytes.saturating_mul(1024)
}

fn field(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Bytes an ordinary user can still write on the disk of this folder, and files, where the
/// disk has room for a certain number of them.
fn room(path: &Path) -> Option<(u64, Option<u64>)> {
    let found = statvfs(path).ok()?;
    // A disk that is too small for the rule is not held to it.
    let files = (found.f_files > FILES_LEFT.saturating_mul(4)).then_some(found.f_favail);
    Some((found.f_bavail.saturating_mul(found.f_frsize), files))
}

/// Whether a private folder has more files than it may.
fn is_crowded(path: &Path) -> bool {
    statvfs(path).is_ok_and(|found| found.f_files.saturating_sub(found.f_ffree) > SCRATCH_FILES)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str =
        "Name:\tRssAnon:\nThreads:\t3\nRssAnon:\t    120 kB\nRssFile:\t 9 kB\nRssShmem:\t   8 kB\n";

    #[test]
    fn memory_is_what_no_file_stands_behind() {
        assert_eq!(memory(STATUS), 128 * 1024);
        assert_eq!(memory(""), 0);
    }

    #[test]
    fn a_name_that_looks_like_a_field_is_none() {
        assert_eq!(field(STATUS, "Threads:"), 3);
        assert_eq!(field("Threads:\tmany\n", "Threads:"), 0);
    }

    #[test]
    fn there_is_room_where_files_can_be_written() {
        assert!(room(&std::env::temp_dir()).is_some_and(|(bytes, _)| bytes > 0));
        assert_eq!(room(Path::new("nowhere/at/all")), None);
    }
}
