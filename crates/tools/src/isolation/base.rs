//! The base of a copy: what every file was like when the copy was made.
//!
//! A file of our own beside the copy, written whole before the copy has its name. A copy
//! that was not synced is bound to the boot it was made in until it is.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use bowline_core::provenance::Digest;
use serde::{Deserialize, Serialize};

/// The version of the file.
const VERSION: u32 = 1;

/// What a copy began with, by path. Names that are no text are not in it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Base {
    base: u32,
    /// The boot in which it was made, where it was not synced.
    boot: Option<String>,
    pub(crate) entries: BTreeMap<String, Stood>,
}

/// What stood at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stood {
    /// A file.
    File {
        /// Hash of its bytes.
        sha256: Digest,
        /// Whether its owner may run it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        executable: bool,
    },
    /// A file that is too large to be brought back; known by its copy.
    Large {
        /// Its length.
        len: u64,
        /// When the copy was written, in seconds and nanoseconds.
        modified: (i64, i64),
        /// Whether its owner may run it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        executable: bool,
    },
    /// A link.
    Link {
        /// Where it leads.
        to: String,
    },
}

/// The form of a base alone.
#[derive(Deserialize)]
struct Form {
    base: u64,
}

/// Why a base is of no use.
#[derive(Debug, thiserror::Error)]
pub enum BadBase {
    /// There is none.
    #[error("it is not known what the copy began with")]
    Missing,
    /// It cannot be read.
    #[error("what the copy began with cannot be read")]
    Unreadable(#[source] io::Error),
    /// Another release wrote it down.
    #[error("what the copy began with is written in form {found}; this release knows {VERSION}")]
    Version {
        /// Its form.
        found: u64,
    },
    /// The copy may have lost files.
    #[error("the machine was started anew before the copy was safely on its disk")]
    Lost,
}

impl BadBase {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Missing => "compare the copy with the folder by hand, or run the task again",
            Self::Version { .. } => "go on with the release that wrote it, or a newer one",
            Self::Unreadable(_) => "check the disk and the rights of the engine's home",
            Self::Lost => "run the task again: the folder itself was not touched",
        }
    }
}

impl Base {
    pub(crate) fn new(is_synced: bool) -> Self {
        Self { base: VERSION, boot: (!is_synced).then(this_boot), entries: BTreeMap::new() }
    }

    pub(crate) fn file(&mut self, path: &Path, stood: Stood) {
        self.entries.extend(path.to_str().map(|path| (path.to_owned(), stood)));
    }

    pub(crate) fn link(&mut self, path: &Path, to: &Path) {
        if let (Some(path), Some(to)) = (path.to_str(), to.to_str()) {
            self.entries.insert(path.to_owned(), Stood::Link { to: to.to_owned() });
        }
    }

    /// Writes it down, whole. Blocks.
    pub(crate) fn keep(&self, at: &Path) -> io::Result<()> {
        let folder = at.parent().unwrap_or(Path::new("."));
        private_folder(folder)?;
        let bytes = serde_json::to_vec(self)?;
        let _ = fs::remove_file(synced(at));
        write_whole(at, &bytes, self.boot.is_none())
    }

    /// Reads it again. Blocks.
    pub fn read(at: &Path) -> Result<Self, BadBase> {
        let bytes = fs::read(at).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => BadBase::Missing,
            _ => BadBase::Unreadable(error),
        })?;
        let unreadable = |error: serde_json::Error| BadBase::Unreadable(error.into());
        // The form first: what it holds may have another shape.
        let Form { base: found } = serde_json::from_slice(&bytes).map_err(unreadable)?;
        if found != u64::from(VERSION) {
            return Err(BadBase::Version { found });
        }
        let base: Self = serde_json::from_slice(&bytes).map_err(unreadable)?;
        if base.boot.as_ref().is_some_and(|boot| *boot != this_boot()) && !synced(at).exists() {
            return Err(BadBase::Lost);
        }
        Ok(base)
    }
}

/// Sees to it that a copy survives a power failure, behind the back of the run that works
/// on it. Until that is done the copy is bound to this boot.
pub(crate) fn sync_later(base: &Path, copy: &Path) {
    let marker = synced(base);
    if marker.exists() {
        return;
    }
    let copy = copy.to_owned();
    // Nobody waits for it; when the process ends first, the next one begins it again.
    let _detached = std::thread::Builder::new().name("sync".into()).spawn(move || {
        let synced = File::open(&copy).and_then(|folder| Ok(rustix::fs::syncfs(&folder)?));
        synced.and_then(|()| write_whole(&marker, b"", true))
    });
}

/// Beside the base, once the copy is on the disk.
fn synced(base: &Path) -> PathBuf {
    base.with_extension("synced")
}

/// A folder of ours, for this user alone. Blocks.
pub(crate) fn private_folder(at: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(at)
}

/// A file of ours with this content, or none; for this user alone. Blocks.
pub(crate) fn write_whole(at: &Path, bytes: &[u8], sync: bool) -> io::Result<()> {
    let temp = partial(at);
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temp)?;
    file.write_all(bytes)?;
    if sync {
        file.sync_all()?;
    }
    fs::rename(&temp, at)?;
    if sync {
        File::open(at.parent().unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

/// Where a file grows until it is whole: a name of its own for each, since the base of a
/// run is synced while something else is written beside it.
fn partial(at: &Path) -> PathBuf {
    let mut name = at.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

fn this_boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

/// Removes what belongs to a base. Blocks.
pub fn forget(base: &Path) -> io::Result<()> {
    let own = [base.to_owned(), synced(base), base.with_extension("landing")];
    let growing = own.each_ref().map(|path| partial(path));
    for path in own.into_iter().chain(growing) {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}
