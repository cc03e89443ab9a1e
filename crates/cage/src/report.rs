//! What the launcher says about a run, apart from what the command printed: one
//! file in memory, written inside, read when all is over.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;

/// No report is longer.
const REPORT_BYTES_MAX: u64 = 4096;

/// How far a command got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The cage did not come up; the command's standard error says why.
    NoCage,
    /// The cage came up as far as the launcher, which would not go on.
    Refused(String),
    /// The walls stand, but the program could not be started.
    NoProgram(String),
    /// The walls stand and the program was about to be started. Nobody knows whether
    /// it was: the launcher ended before it could tell.
    Starting,
    /// The command was started.
    Started,
    /// It was started and ended for using up too much.
    Exceeded(Limit),
}

/// What was used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Processes and threads.
    Processes,
    /// Memory of all processes together.
    Memory,
    /// Room on a disk.
    Disk,
    /// Files in the private folders.
    Files,
}

impl Limit {
    fn word(self) -> &'static str {
        match self {
            Self::Processes => "processes",
            Self::Memory => "memory",
            Self::Disk => "disk",
            Self::Files => "files",
        }
    }
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Processes => "too many processes",
            Self::Memory => "too much memory",
            Self::Disk => "too little room left on the disk",
            Self::Files => "too many files in /tmp, the home or /dev/shm",
        })
    }
}

impl Report {
    /// The line written inside.
    pub(crate) fn line(&self) -> String {
        let flat = |text: &str| text.replace('\n', " ");
        match self {
            Self::NoCage => String::new(),
            Self::Refused(why) => format!("refused {}\n", flat(why)),
            Self::NoProgram(why) => format!("no-program {}\n", flat(why)),
            Self::Starting => "starting\n".to_owned(),
            Self::Started => "started\n".to_owned(),
            Self::Exceeded(limit) => format!("exceeded {}\n", limit.word()),
        }
    }

    /// The last line that says something.
    pub(crate) fn parse(text: &str) -> Self {
        let known = |line: &str| {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "refused" => Some(Self::Refused(rest.to_owned())),
                "no-program" => Some(Self::NoProgram(rest.to_owned())),
                "starting" => Some(Self::Starting),
                "started" => Some(Self::Started),
                "exceeded" => {
                    let limits = [Limit::Processes, Limit::Memory, Limit::Disk, Limit::Files];
                    limits.into_iter().find(|limit| limit.word() == rest).map(Self::Exceeded)
                }
                _ => None,
            }
        };
        text.lines().rev().find_map(known).unwrap_or(Self::NoCage)
    }

    /// What stands in the file so far.
    pub(crate) fn read(file: &File) -> Self {
        let mut text = String::new();
        // A report that cannot be read is no report.
        let _ = Whole { file, at: 0 }.take(REPORT_BYTES_MAX).read_to_string(&mut text);
        Self::parse(&text)
    }
}

/// Reads from the start, wherever the writer's position is.
struct Whole<'a> {
    file: &'a File,
    at: u64,
}

impl std::io::Read for Whole<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.file.read_at(buffer, self.at)?;
        self.at = self.at.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_counts_and_survives_the_way() {
        let all = [
            Report::Refused("no\nLandlock".into()),
            Report::NoProgram("x".into()),
            Report::Starting,
            Report::Started,
            Report::Exceeded(Limit::Processes),
            Report::Exceeded(Limit::Memory),
            Report::Exceeded(Limit::Disk),
            Report::Exceeded(Limit::Files),
        ];
        let mut text = String::new();
        for report in all {
            text.push_str(&report.line());
            let expected = match report {
                Report::Refused(why) => Report::Refused(why.replace('\n', " ")),
                other => other,
            };
            assert_eq!(Report::parse(&text), expected);
        }
    }

    #[test]
    fn silence_and_nonsense_mean_that_there_was_no_cage() {
        for text in ["", "\n", "exceeded patience\n", "start"] {
            assert_eq!(Report::parse(text), Report::NoCage, "{text:?}");
        }
    }
}
