//! Where the database lies: the file that is open must be the one that the next process opens.
//!
//! Whoever moves, replaces or removes it meanwhile would leave us writing to a file that nobody
//! finds again, and every write would succeed. So the names are looked at before each commit.

use std::path::{Path, PathBuf};

use crate::OpenError;

/// Which file something is, whatever it is called.
type Which = (u64, u64);

/// The database and its log.
pub(super) struct Place {
    files: [(PathBuf, Option<Which>); 2],
}

impl Place {
    /// Of a database that was opened just now.
    pub(super) fn of(database: &Path) -> Self {
        Self { files: [database.to_owned(), log(database)].map(|path| (path.clone(), which(&path))) }
    }

    /// The name under which another file lies now, or none.
    pub(super) fn moved(&mut self) -> Option<String> {
        for (path, known) in &mut self.files {
            let now = which(path);
            match known {
                // The log is made with the first write.
                None => *known = now,
                Some(_) if *known == now => {}
                Some(_) => return Some(path.file_name().unwrap_or_default().display().to_string()),
            }
        }
        None
    }
}

/// Refuses an empty database beside a log that is not: it was cut off, and opening it would
/// throw the log away.
pub(super) fn not_emptied(database: &Path) -> Result<(), OpenError> {
    let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |found| found.len());
    let is_there = database.symlink_metadata().is_ok();
    if is_there && bytes(database) == 0 && bytes(&log(database)) > 0 {
        let message = "it is empty, and its log is not".to_owned();
        return Err(OpenError::Malformed { path: database.to_owned(), message });
    }
    Ok(())
}

fn log(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

#[cfg(unix)]
fn which(path: &Path) -> Option<Which> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn which(_path: &Path) -> Option<Which> {
    None
}
