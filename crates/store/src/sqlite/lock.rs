//! The right to work on runs: one lock file, one worker.
//!
//! The lock is the operating system's, so it dies with its holder. The text in
//! the file only tells people who that is; it is never trusted for anything.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write as _;
use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::OpenError;

/// Name of the lock file in a store's directory.
const LOCK_FILE: &str = "worker.lock";

/// Held as long as this store may work on runs.
#[derive(Debug)]
pub(super) struct WorkerLock {
    _file: File,
}

impl WorkerLock {
    /// Takes the lock, or says who has it.
    pub(super) fn take(dir: &Path) -> Result<Self, OpenError> {
        let path = dir.join(LOCK_FILE);
        let io = |source| OpenError::Io { path: path.clone(), source };
        let mut file = super::private(OpenOptions::new().read(true).write(true)).open(&path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder = holder(&path);
                return Err(OpenError::InUse { path, holder });
            }
            Err(TryLockError::Error(source)) => return Err(io(source)),
        }
        // Truncated only now: before, the text belongs to whoever holds the lock.
        file.set_len(0).map_err(io)?;
        write!(file, "{}", std::process::id()).map_err(io)?;
        Ok(Self { _file: file })
    }
}

/// What can be said of the holder: its process, and when it took the lock.
fn holder(path: &Path) -> String {
    let pid = fs::read_to_string(path).unwrap_or_default();
    let pid = pid.trim();
    let name = if pid.is_empty() { "unknown process".to_owned() } else { format!("process {pid}") };
    let since = fs::metadata(path).and_then(|meta| meta.modified()).ok();
    match since.and_then(|time| time.duration_since(UNIX_EPOCH).ok()) {
        Some(since) => format!("{name} since {}", utc(since.as_secs())),
        None => name,
    }
}

/// Seconds since 1970 as people write them.
fn utc(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Counted from 1 March of year 0, so that a leap day ends its year.
    let days = days.saturating_add(719_468);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_dates_over_leap_days_and_centuries() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(seconds), expected);
        }
    }

    #[test]
    fn a_second_taker_is_told_who_holds_the_lock_until_it_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let first = WorkerLock::take(dir.path()).unwrap();
        let Err(OpenError::InUse { holder, .. }) = WorkerLock::take(dir.path()) else {
            panic!("the lock was taken twice")
        };
        assert!(holder.starts_with(&format!("process {} since 2", std::process::id())), "{holder}");
        drop(first);
        assert!(WorkerLock::take(dir.path()).is_ok());
    }
}
