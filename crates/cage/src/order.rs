//! What the launcher inside is told, as words of its command line: written
//! outside, read inside. No secret belongs here; everyone can read it.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// What Landlock allows below a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Read and run.
    Read,
    /// Everything but making devices.
    Write,
    /// Read, write and control devices that are there.
    Devices,
}

/// Numbers the launcher enforces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) processes: u64,
    pub(crate) memory_bytes: u64,
    pub(crate) cpu_seconds: u64,
    pub(crate) file_bytes: u64,
    pub(crate) open_files: u64,
    pub(crate) disk_left_bytes: u64,
}

/// Everything the launcher is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    /// The open file to report to.
    pub(crate) report: i32,
    /// The open file whose other end closes when nobody waits for the command any more.
    pub(crate) alive: i32,
    /// Who may do what below which path.
    pub(crate) rules: Vec<(Access, PathBuf)>,
    /// Folders on whose disks room is watched.
    pub(crate) disks: Vec<PathBuf>,
    /// Private folders in memory whose files are counted.
    pub(crate) scratch: Vec<PathBuf>,
    pub(crate) bounds: Bounds,
    /// Loopback port and the socket its connections are carried to.
    pub(crate) forward: Option<(u16, PathBuf)>,
    /// The command.
    pub(crate) argv: Vec<OsString>,
}

impl Order {
    /// As words.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let Bounds { processes, memory_bytes, cpu_seconds, file_bytes, open_files, disk_left_bytes } =
            self.bounds;
        let mut words: Vec<OsString> = vec![self.report.to_string().into(), self.alive.to_string().into()];
        for number in [processes, memory_bytes, cpu_seconds, file_bytes, open_files, disk_left_bytes] {
            words.push(number.to_string().into());
        }
        for (access, path) in &self.rules {
            let name = match access {
                Access::Read => "read",
                Access::Write => "write",
                Access::Devices => "devices",
            };
            words.extend([name.into(), path.into()]);
        }
        for path in &self.disks {
            words.extend(["disk".into(), path.into()]);
        }
        for path in &self.scratch {
            words.extend(["scratch".into(), path.into()]);
        }
        if let Some((port, path)) = &self.forward {
            words.extend(["forward".into(), port.to_string().into(), path.into()]);
        }
        words.push("--".into());
        words.extend(self.argv.iter().cloned());
        words
    }

    /// From words; the error names the word that makes no sense.
    pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Self, String> {
        let mut words = words.into_iter();
        let report = number(words.next())?;
        let alive = number(words.next())?;
        let bounds = Bounds {
            processes: number(words.next())?,
            memory_bytes: number(words.next())?,
            cpu_seconds: number(words.next())?,
            file_bytes: number(words.next())?,
            open_files: number(words.next())?,
            disk_left_bytes: number(words.next())?,
        };
        let mut order = Self {
            report,
            alive,
            rules: Vec::new(),
            disks: Vec::new(),
            scratch: Vec::new(),
            bounds,
            forward: None,
            argv: Vec::new(),
        };
        loop {
            let name = words.next().ok_or("the order has no end")?;
            if name == "--" {
                order.argv = words.collect();
                return if order.argv.is_empty() {
                    Err("the order has no command".into())
                } else {
                    Ok(order)
                };
            }
            order.take(&name, &mut words)?;
        }
    }

    fn take(&mut self, name: &OsStr, words: &mut impl Iterator<Item = OsString>) -> Result<(), String> {
        let mut path = || words.next().map(PathBuf::from).ok_or("a path is missing");
        match name.to_str() {
            Some("read") => self.rules.push((Access::Read, path()?)),
            Some("write") => self.rules.push((Access::Write, path()?)),
            Some("devices") => self.rules.push((Access::Devices, path()?)),
            Some("disk") => self.disks.push(path()?),
            Some("scratch") => self.scratch.push(path()?),
            Some("forward") => {
                let port = number(words.next())?;
                self.forward = Some((port, words.next().map(PathBuf::from).ok_or("a path is missing")?));
            }
            _ => return Err(format!("{name:?} is no word of an order")),
        }
        Ok(())
    }
}

fn number<N: std::str::FromStr>(word: Option<OsString>) -> Result<N, String> {
    let word = word.ok_or("a number is missing")?;
    word.to_str().and_then(|word| word.parse().ok()).ok_or_else(|| format!("{word:?} is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> Order {
        Order {
            report: 7,
            alive: 8,
            rules: vec![
                (Access::Read, "/usr".into()),
                (Access::Write, "/a b".into()),
                (Access::Devices, "/dev".into()),
            ],
            disks: vec!["--".into()],
            scratch: vec!["/tmp".into()],
            bounds: Bounds {
                processes: 1,
                memory_bytes: 2,
                cpu_seconds: 3,
                file_bytes: 4,
                open_files: 5,
                disk_left_bytes: 6,
            },
            forward: Some((3128, "/run/p".into())),
            argv: vec!["--".into(), "read".into()],
        }
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        assert_eq!(Order::parse(order().words()), Ok(order()));
        let plain = Order { forward: None, rules: Vec::new(), disks: Vec::new(), ..order() };
        assert_eq!(Order::parse(plain.words()), Ok(plain));
    }

    #[test]
    fn an_order_that_is_cut_anywhere_is_refused() {
        let words = order().words();
        let command = words.len() - 2;
        for length in 0..=command {
            assert!(Order::parse(words[..length].to_vec()).is_err(), "{length}");
        }
    }

    #[test]
    fn a_strange_word_is_named() {
        let mut words = order().words();
        words[8] = "reed".into();
        assert_eq!(Order::parse(words), Err("\"reed\" is no word of an order".to_owned()));
    }
}
