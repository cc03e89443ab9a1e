//! What a command may see, write, reach and use up. Plain values; nothing here
//! touches the machine.

use std::ffi::OsString;
use std::path::PathBuf;

/// Everything one command is given.
///
/// Where entries lie inside each other, the narrower one decides: a `read` entry
/// below a `write` entry is read-only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Files and folders it may read and run. Absolute.
    pub read: Vec<PathBuf>,
    /// Files and folders it may also change. Absolute.
    pub write: Vec<PathBuf>,
    /// Read-only inside what is writable, also where it does not exist yet. A
    /// relative path is meant below every `write` entry.
    pub protected: Vec<PathBuf>,
    /// Neither readable nor writable. A relative path is meant below every
    /// `read` and `write` entry.
    pub hidden: Vec<PathBuf>,
    /// Which network there is.
    pub network: Network,
    /// Variables besides the plain ones (`PATH`, `HOME`, `LANG`, `TMPDIR`,
    /// `TERM`), which they replace.
    pub env: Vec<(OsString, OsString)>,
    /// Where an empty home of its own is put. Point it at the real home so that
    /// granted tool folders below it are found where programs look.
    pub home: PathBuf,
    /// What it may use up.
    pub limits: Limits,
}

impl Default for Grant {
    fn default() -> Self {
        Self {
            read: Vec::new(),
            write: Vec::new(),
            protected: Vec::new(),
            hidden: Vec::new(),
            network: Network::None,
            env: Vec::new(),
            home: PathBuf::from("/tmp/home"),
            limits: Limits::default(),
        }
    }
}

/// Which network a command has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// A loopback of its own, and nothing behind it.
    #[default]
    None,
    /// An HTTP proxy listening on this Unix socket decides host by host. Inside
    /// it is reached over loopback, and the usual proxy variables say so.
    Proxy(PathBuf),
}

/// What a command and all it starts may use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Processes and threads at a time.
    pub processes: u32,
    /// Memory of all processes together; none may have more by itself either.
    pub memory_bytes: u64,
    /// Processor time of each process.
    pub cpu_seconds: u64,
    /// Size of a file it writes.
    pub file_bytes: u64,
    /// Files a process may have open.
    pub open_files: u64,
    /// Size of each private file system in memory: `/tmp`, the home, `/dev/shm`.
    pub scratch_bytes: u64,
    /// The command ends when less than this is left on a disk it may write to.
    pub disk_left_bytes: u64,
}

const MIB: u64 = 1024 * 1024;

impl Default for Limits {
    fn default() -> Self {
        Self {
            processes: 512,
            memory_bytes: 4096 * MIB,
            cpu_seconds: 600,
            file_bytes: 1024 * MIB,
            open_files: 4096,
            scratch_bytes: 512 * MIB,
            disk_left_bytes: 256 * MIB,
        }
    }
}
