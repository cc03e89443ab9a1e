//! The file of pins: for every server, the tools that were agreed to.
//!
//! Written to a new file, synced and renamed, under a lock: it is always whole,
//! and of two processes that pin neither is lost. A file that cannot be
//! understood is never replaced.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bowline_core::agent::server::ServerName;
use bowline_core::provenance::Digest;
use bowline_core::untrusted::description::Concern;
use serde::{Deserialize, Serialize};

use crate::limits::PINS_BYTES_MAX;
use crate::listing::Listed;

/// The form of the file.
const FORMAT: u32 = 1;
const NAME: &str = "mcp-pins.json";
const LOCK: &str = "mcp-pins.lock";

/// How often, and how far apart, the lock is asked for: 5 s in all.
const LOCK_TRIES: u32 = 250;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// What was agreed to, of one server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pin {
    /// By whom.
    pub by: PinnedBy,
    /// Of which program or address: another one under the same name is another server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<Digest>,
    /// Its tools.
    pub tools: Vec<PinnedTool>,
}

/// Who agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PinnedBy {
    /// Nobody: it was so when the server was first used.
    FirstUse,
    /// A person who was shown all of it.
    Person,
}

/// One tool of a pin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PinnedTool {
    /// As it was.
    #[serde(flatten)]
    pub tool: Listed,
    /// Why it is held back all the same; empty when it may be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<Concern>,
}

impl Pin {
    /// The pinned tools as a list.
    #[must_use]
    pub fn listed(&self) -> Vec<Listed> {
        self.tools.iter().map(|pinned| pinned.tool.clone()).collect()
    }
}

/// The pins cannot be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum BadPins {
    /// The system would not let us.
    #[error("cannot {what} {path}")]
    Io {
        /// Do what.
        what: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Not what we wrote.
    #[error("{path} is not a file of pins")]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// Written by another release.
    #[error("{path} has the form {found}; this release knows {FORMAT}")]
    Format {
        /// Which file.
        path: PathBuf,
        /// Its form.
        found: u32,
    },
    /// Larger than a file of pins gets.
    #[error("{path} has more than {PINS_BYTES_MAX} bytes")]
    TooLarge {
        /// Which file.
        path: PathBuf,
    },
    /// Another process does not let go.
    #[error("{path} is held by another process")]
    Locked {
        /// Which file.
        path: PathBuf,
    },
    /// The work did not come back: a bug.
    #[error("reading or writing the pins broke off")]
    Broke,
}

impl BadPins {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Io { .. } => "check the rights of the folder, and whether its disk has room",
            Self::Damaged { .. } | Self::TooLarge { .. } => {
                "look at the file; without it every server is pinned anew, as on first use"
            }
            Self::Format { .. } => "use the release that wrote it, or a newer one",
            Self::Locked { .. } => "try again when the other process is done",
            Self::Broke => "report this",
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Form {
    format: u32,
    #[serde(default)]
    servers: BTreeMap<ServerName, Pin>,
}

#[derive(Deserialize)]
struct FormatAlone {
    format: u32,
}

/// The file of pins in a folder.
#[derive(Clone, Debug)]
pub struct Pins {
    home: PathBuf,
}

impl Pins {
    /// The pins of this folder. Nothing is read yet.
    #[must_use]
    pub fn of(home: &Path) -> Self {
        Self { home: home.to_owned() }
    }

    /// All pins.
    pub async fn all(&self) -> Result<BTreeMap<ServerName, Pin>, BadPins> {
        let pins = self.clone();
        aside(move || pins.read()).await
    }

    /// The pin of a server.
    pub async fn get(&self, server: &ServerName) -> Result<Option<Pin>, BadPins> {
        Ok(self.all().await?.remove(server))
    }

    /// Keeps a pin, in place of the one before.
    pub async fn put(&self, server: &ServerName, pin: Pin) -> Result<(), BadPins> {
        let (pins, server) = (self.clone(), server.clone());
        aside(move || pins.change(|all| drop(all.insert(server, pin)))).await
    }

    /// Keeps a pin unless there is one; the one that is kept.
    pub async fn put_first(&self, server: &ServerName, pin: Pin) -> Result<Pin, BadPins> {
        let (pins, server) = (self.clone(), server.clone());
        aside(move || {
            let mut kept = pin.clone();
            pins.change(|all| kept = all.entry(server).or_insert(pin).clone())?;
            Ok(kept)
        })
        .await
    }

    fn path(&self) -> PathBuf {
        self.home.join(NAME)
    }

    fn read(&self) -> Result<BTreeMap<ServerName, Pin>, BadPins> {
        let path = self.path();
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(source) => return Err(BadPins::Io { what: "open", path, source }),
        };
        let mut bytes = Vec::new();
        let read = file.take(PINS_BYTES_MAX + 1).read_to_end(&mut bytes);
        let read = read.map_err(|source| BadPins::Io { what: "read", path: path.clone(), source })?;
        if u64::try_from(read).is_ok_and(|read| read > PINS_BYTES_MAX) {
            return Err(BadPins::TooLarge { path });
        }
        let damaged = |source| BadPins::Damaged { path: path.clone(), source };
        let FormatAlone { format } = serde_json::from_slice(&bytes).map_err(damaged)?;
        if format != FORMAT {
            return Err(BadPins::Format { path, found: format });
        }
        Ok(serde_json::from_slice::<Form>(&bytes).map_err(damaged)?.servers)
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<ServerName, Pin>)) -> Result<(), BadPins> {
        let _lock = self.lock()?;
        let mut servers = self.read()?;
        change(&mut servers);
        self.write(&Form { format: FORMAT, servers })
    }

    fn lock(&self) -> Result<File, BadPins> {
        let path = self.home.join(LOCK);
        let failed = |what| {
            let path = path.clone();
            move |source| BadPins::Io { what, path, source }
        };
        fs::create_dir_all(&self.home).map_err(failed("make the folder of"))?;
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path);
        let file = file.map_err(failed("open"))?;
        for _ in 0..LOCK_TRIES {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
                Err(TryLockError::Error(source)) => return Err(failed("lock")(source)),
            }
        }
        Err(BadPins::Locked { path })
    }

    fn write(&self, form: &Form) -> Result<(), BadPins> {
        let path = self.path();
        let failed = |what| {
            let path = path.clone();
            move |source| BadPins::Io { what, path, source }
        };
        let bytes = serde_json::to_vec_pretty(form)
            .map_err(|source| BadPins::Damaged { path: path.clone(), source })?;
        let new = self.home.join(format!("{NAME}.new"));
        let file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&new);
        let mut file = file.map_err(failed("write"))?;
        // Synced before it gets its name: after a power cut the name must not lead to half a file.
        file.write_all(&bytes).and_then(|()| file.sync_all()).map_err(failed("write"))?;
        fs::rename(&new, &path).map_err(failed("replace"))?;
        File::open(&self.home).and_then(|folder| folder.sync_all()).map_err(failed("sync the folder of"))
    }
}

/// File work on the blocking pool.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BadPins> + Send + 'static,
) -> Result<T, BadPins> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(BadPins::Broke))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn name(text: &str) -> ServerName {
        ServerName::parse(text).unwrap()
    }

    fn pin(tool: &str) -> Pin {
        let tool = Listed {
            name: tool.into(),
            description: "d".into(),
            schema: json!({"type": "object"}),
            annotations: json!({}),
        };
        Pin { by: PinnedBy::Person, of: None, tools: vec![PinnedTool { tool, held: vec![Concern::Padded] }] }
    }

    #[tokio::test]
    async fn a_pin_is_there_for_the_next_process_and_the_first_one_stays() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        assert_eq!(Pins::of(&home).get(&name("a")).await.unwrap(), None);
        assert_eq!(Pins::of(&home).put_first(&name("a"), pin("x")).await.unwrap(), pin("x"));
        assert_eq!(Pins::of(&home).put_first(&name("a"), pin("y")).await.unwrap(), pin("x"));
        Pins::of(&home).put(&name("b"), pin("z")).await.unwrap();
        Pins::of(&home).put(&name("a"), pin("y")).await.unwrap();
        let all = Pins::of(&home).all().await.unwrap();
        assert_eq!(all, BTreeMap::from([(name("a"), pin("y")), (name("b"), pin("z"))]));
    }

    #[tokio::test]
    async fn a_file_that_is_not_understood_is_neither_used_nor_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let pins = Pins::of(folder.path());
        for bad in ["{", "{\"format\": 2}", "{\"format\": 1, \"servers\": {\"A\": {}}}"] {
            fs::write(folder.path().join(NAME), bad).unwrap();
            assert!(pins.get(&name("a")).await.is_err());
            assert!(pins.put(&name("a"), pin("x")).await.is_err());
            assert_eq!(fs::read_to_string(folder.path().join(NAME)).unwrap(), bad);
        }
    }

    #[tokio::test]
    async fn pins_of_many_at_once_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let mut all = tokio::task::JoinSet::new();
        for at in 0..16 {
            let pins = Pins::of(folder.path());
            all.spawn(async move { pins.put(&name(&format!("s{at}")), pin("x")).await.unwrap() });
        }
        all.join_all().await;
        assert_eq!(Pins::of(folder.path()).all().await.unwrap().len(), 16);
    }
}
