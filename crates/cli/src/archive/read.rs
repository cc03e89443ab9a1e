//! Reading a backup that may be cut, changed or made to harm.
//!
//! It is gone through twice: first the whole of it is checked against its seal, with every name,
//! and nothing is written; then it is taken out, by the same code, into a new folder nobody else
//! can reach. Links are made when all files are there, so no file is written through one.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, BufRead, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::{BLOCK_MAX, FORMAT, Header, ITEMS_MAX, Item, LINE_MAX, Seal, name};

/// Why a backup is not used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadBackup {
    /// It cannot be read, or what is in it cannot be written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is something else.
    #[error("it is no backup of a Bowline home")]
    Foreign,
    /// It is of a later format.
    #[error("it has format {0}; this build reads up to {FORMAT}")]
    Format(u32),
    /// It ends too soon.
    #[error("it is cut off: its end is missing")]
    Cut,
    /// It is not what was written.
    #[error("it was changed since it was made: {0}")]
    Changed(&'static str),
    /// It would do what no backup does.
    #[error("it holds what no backup holds: {0}")]
    Hostile(String),
}

impl BadBackup {
    /// What to do about it.
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            Self::Io(error) if error.kind() == io::ErrorKind::StorageFull => {
                "free some space and try again; nothing was left behind"
            }
            Self::Io(_) => "check that the file can be read and the folder be written, then try again",
            Self::Foreign => "name a file that `bowline backup` made",
            Self::Format(_) => "use a newer Bowline",
            Self::Cut | Self::Changed(_) => "use another copy of it; nothing of it was taken",
            Self::Hostile(_) => "do not use it; nothing of it was taken",
        }
    }
}

/// What a backup holds.
#[derive(Debug)]
pub(crate) struct Survey {
    pub(crate) header: Header,
    pub(crate) items: u64,
    pub(crate) bytes: u64,
}

/// Goes through all of it and writes nothing.
pub(crate) fn survey(file: impl BufRead) -> Result<Survey, BadBackup> {
    through(file, None)
}

/// Takes everything out into a folder that is there, and empty.
pub(crate) fn extract(file: impl BufRead, into: &Path) -> Result<Survey, BadBackup> {
    through(file, Some(into))
}

fn through(file: impl BufRead, into: Option<&Path>) -> Result<Survey, BadBackup> {
    let mut reader = Reader { file, seal: Seal::new() };
    let first = reader.bytes()?;
    let header: Header = serde_json::from_slice(&first).map_err(|_| BadBackup::Foreign)?;
    if header.bowline_backup != FORMAT {
        return Err(BadBackup::Format(header.bowline_backup));
    }
    let mut met = Met::default();
    let (mut items, mut bytes) = (0_u64, 0_u64);
    loop {
        let sealed = reader.seal.0;
        let item: Item = reader.line()?;
        match item {
            Item::Folder { path, mode } => {
                let path = met.folder(&path)?;
                if let Some(into) = into {
                    let others = if is_work(&path) { mode & 0o077 } else { 0 };
                    DirBuilder::new().mode(0o700 | others).create(into.join(path))?;
                }
            }
            Item::File { path, mode } => {
                let path = met.file(&path)?;
                let mode = if is_work(&path) { mode & 0o777 } else { 0o600 | mode & 0o100 };
                let mut made = into.map(|into| create(&into.join(&path), mode)).transpose()?;
                bytes = bytes.saturating_add(reader.content(made.as_mut())?);
            }
            Item::Link { path, to } => {
                let (path, to) = met.link(&path, &to)?;
                if let Some(into) = into {
                    symlink(to, into.join(path))?;
                }
            }
            Item::End { items: told, bytes: held, seal } => {
                if (told, held, seal) != (items, bytes, sealed) {
                    return Err(BadBackup::Changed("its seal does not fit"));
                }
                if !reader.file.fill_buf()?.is_empty() {
                    return Err(BadBackup::Changed("something stands behind its end"));
                }
                return Ok(Survey { header, items, bytes });
            }
        }
        items += 1;
        if items > ITEMS_MAX {
            return Err(BadBackup::Hostile(format!("more than {ITEMS_MAX} files")));
        }
    }
}

/// Files in the copy of a workspace keep the modes of the work; all others are this user's alone.
fn is_work(path: &Path) -> bool {
    path.starts_with("workspaces") && path.components().count() > 2
}

/// Makes a file that was not there, with the modes it had.
fn create(path: &Path, mode: u32) -> io::Result<fs::File> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.set_permissions(Permissions::from_mode(mode))?;
    Ok(file)
}

/// Every name so far: each once, and each in a folder that came before it.
#[derive(Default)]
struct Met {
    folders: BTreeSet<PathBuf>,
    others: BTreeSet<PathBuf>,
    links: bool,
}

impl Met {
    fn folder(&mut self, path: &str) -> Result<PathBuf, BadBackup> {
        let path = self.new_name(path)?;
        self.folders.insert(path.clone());
        Ok(path)
    }

    fn file(&mut self, path: &str) -> Result<PathBuf, BadBackup> {
        let path = self.new_name(path)?;
        self.others.insert(path.clone());
        Ok(path)
    }

    fn link(&mut self, path: &str, to: &str) -> Result<(PathBuf, PathBuf), BadBackup> {
        let at = self.new_name(path)?;
        let to = name::link(&at, to)
            .ok_or_else(|| BadBackup::Hostile(format!("{path:?} is a link that leads out")))?;
        self.others.insert(at.clone());
        self.links = true;
        Ok((at, to))
    }

    fn new_name(&self, text: &str) -> Result<PathBuf, BadBackup> {
        let bad = |what: &str| BadBackup::Hostile(format!("{text:?} {what}"));
        let path = name::inside(text).ok_or_else(|| bad("is no place inside a home"))?;
        if self.folders.contains(&path) || self.others.contains(&path) {
            return Err(bad("is there twice"));
        }
        let above = path.parent().filter(|above| !above.as_os_str().is_empty());
        if above.is_some_and(|above| !self.folders.contains(above)) {
            return Err(bad("lies in no folder that came before it"));
        }
        Ok(path)
    }
}

struct Reader<R> {
    file: R,
    seal: Seal,
}

impl<R: BufRead> Reader<R> {
    fn bytes(&mut self) -> Result<Vec<u8>, BadBackup> {
        let mut line = Vec::new();
        let most = u64::try_from(LINE_MAX).unwrap_or(u64::MAX);
        io::Read::take(&mut self.file, most).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Err(BadBackup::Cut);
        }
        self.seal.over(&line);
        Ok(line)
    }

    fn line<T: DeserializeOwned>(&mut self) -> Result<T, BadBackup> {
        let line = self.bytes()?;
        if line.last() != Some(&b'\n') {
            return Err(if line.len() < LINE_MAX {
                BadBackup::Cut
            } else {
                BadBackup::Changed("a line is too long")
            });
        }
        serde_json::from_slice(&line).map_err(|_| BadBackup::Changed("a line is not understood"))
    }

    /// The content of a file, block by block; gives its length.
    fn content(&mut self, mut into: Option<&mut fs::File>) -> Result<u64, BadBackup> {
        let mut bytes = 0_u64;
        let mut block = vec![0; BLOCK_MAX];
        loop {
            let mut length = [0; 4];
            self.exactly(&mut length)?;
            let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
            let Some(content) = block.get_mut(..length) else {
                return Err(BadBackup::Changed("a block is too long"));
            };
            let mut rest = &mut *content;
            while !rest.is_empty() {
                let read = self.file.read(rest)?;
                if read == 0 {
                    return Err(BadBackup::Cut);
                }
                rest = rest.get_mut(read..).unwrap_or_default();
            }
            self.seal.over(content);
            if let Some(into) = &mut into {
                into.write_all(content)?;
            }
            bytes = bytes.saturating_add(length as u64);
            if length == 0 {
                return Ok(bytes);
            }
        }
    }

    fn exactly(&mut self, into: &mut [u8]) -> Result<(), BadBackup> {
        match self.file.read_exact(into) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(BadBackup::Cut),
            read => Ok(read?),
        }
    }
}
