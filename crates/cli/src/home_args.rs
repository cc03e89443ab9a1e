//! The words about homes: what is kept in them, and for how long. Nothing here decides anything.

use std::path::PathBuf;

use clap::{Args as Words, Subcommand};

/// What to do with a home.
#[derive(Debug, Subcommand)]
pub(crate) enum HomeCommand {
    /// Show the runs of a home somebody else may have made, and take it over
    Adopt(AdoptArgs),
    /// Remove old runs that have ended, and what is left of removed ones
    Gc(GcArgs),
    /// Remove a run that has ended, whole: no byte of it is left
    Delete(DeleteArgs),
    /// Write everything in the home to one file, while others work
    Backup(BackupArgs),
    /// Bring a home back from a backup, into a new folder
    Restore(RestoreArgs),
    /// Bring the store of an earlier version to today's, as every command does that works on runs
    Migrate(MigrateArgs),
}

#[derive(Debug, Words)]
pub(crate) struct AdoptArgs {
    /// The project, or its .bowline folder
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Adopt it without asking
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Words)]
pub(crate) struct GcArgs {
    /// Only runs that ended longer ago than this: 30d, 12h, 90m, 0s
    #[arg(long, value_name = "AGE", default_value = "30d", value_parser = read_age)]
    pub(crate) older_than: u64,
    /// Halted runs too, although they could be resumed
    #[arg(long)]
    pub(crate) halted: bool,
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Words)]
pub(crate) struct DeleteArgs {
    /// The run
    pub(crate) run: String,
    /// Do not ask back
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Remove the copies of the store from before migrations as well
    #[arg(long)]
    pub(crate) with_copies: bool,
}

#[derive(Debug, Words)]
pub(crate) struct BackupArgs {
    /// The file to write; nothing is overwritten
    pub(crate) file: PathBuf,
}

#[derive(Debug, Words)]
pub(crate) struct RestoreArgs {
    /// The backup
    pub(crate) file: PathBuf,
    /// The home to make; it must not be there yet, or be empty
    pub(crate) dir: PathBuf,
}

#[derive(Debug, Words)]
pub(crate) struct MigrateArgs {
    /// Without a copy of the store as it was
    #[arg(long)]
    pub(crate) no_backup: bool,
}

/// An age in milliseconds.
fn read_age(raw: &str) -> Result<u64, String> {
    let bad = || "an age is a whole number and s, m, h or d, as in 30d".to_owned();
    let (number, unit_ms) = match raw.char_indices().next_back() {
        Some((at, 's')) => (raw.get(..at), 1000),
        Some((at, 'm')) => (raw.get(..at), 60_000),
        Some((at, 'h')) => (raw.get(..at), 3_600_000),
        Some((at, 'd')) => (raw.get(..at), 86_400_000),
        Some(_) | None => return Err(bad()),
    };
    let number: u64 = number.and_then(|digits| digits.parse().ok()).ok_or_else(bad)?;
    number.checked_mul(unit_ms).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_needs_a_number_and_a_unit() {
        assert_eq!(read_age("30d"), Ok(2_592_000_000));
        assert_eq!(read_age("0s"), Ok(0));
        for bad in ["", "30", "d", "-1d", "1w", "1.5h", "99999999999999999999d", "9999999999999999d"] {
            assert!(read_age(bad).is_err(), "{bad}");
        }
    }
}
