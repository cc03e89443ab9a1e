//! Writing a backup. Nothing is decided here about what belongs into it, but for what a home
//! makes for itself.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use bowline_core::provenance::Digest;
use serde::Serialize;

use super::{BLOCK_MAX, Header, Item, Seal, name};

/// A backup under construction.
pub(crate) struct Writer<W> {
    out: W,
    seal: Seal,
    items: u64,
    bytes: u64,
    links: Vec<(PathBuf, PathBuf)>,
    /// What was not taken, and why.
    pub(crate) left_out: Vec<String>,
}

impl<W: Write> Writer<W> {
    /// Begins.
    pub(crate) fn begin(out: W, header: &Header) -> io::Result<Self> {
        let seal = Seal::new();
        let mut writer = Self { out, seal, items: 0, bytes: 0, links: Vec::new(), left_out: Vec::new() };
        writer.line(header)?;
        Ok(writer)
    }

    /// Takes a file under a name.
    pub(crate) fn file(&mut self, at: &Path, mode: u32, content: &mut dyn Read) -> io::Result<()> {
        self.line(&Item::File { path: name::written(at), mode: mode & 0o777 })?;
        self.items += 1;
        let mut block = vec![0; BLOCK_MAX];
        loop {
            let read = fill(content, &mut block)?;
            let content = block.get(..read).unwrap_or_default();
            let length = u32::try_from(read).unwrap_or(0).to_be_bytes();
            self.seal.over(content);
            self.out.write_all(&length)?;
            self.out.write_all(content)?;
            self.bytes = self.bytes.saturating_add(read as u64);
            if read == 0 {
                return Ok(());
            }
        }
    }

    /// Takes everything in a home but its store and what it makes for itself.
    pub(crate) fn home(&mut self, home: &Path) -> io::Result<()> {
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            let mut entries = fs::read_dir(home.join(&folder))?.collect::<io::Result<Vec<_>>>()?;
            entries.sort_by_key(fs::DirEntry::file_name);
            for entry in entries {
                let at = folder.join(entry.file_name());
                if at == Path::new("store.db") || name::is_own(&at) || is_scratch(&at) {
                    continue;
                }
                if self.take(home, &at)? {
                    folders.push(at);
                }
            }
        }
        Ok(())
    }

    /// Takes one thing; true if it is a folder to look into.
    fn take(&mut self, home: &Path, at: &Path) -> io::Result<bool> {
        let path = home.join(at);
        let about = match path.symlink_metadata() {
            // A run at work removes files; what is gone is not there.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            about => about?,
        };
        let mode = about.permissions().mode();
        if about.is_dir() {
            self.line(&Item::Folder { path: name::written(at), mode: mode & 0o777 })?;
            self.items += 1;
            return Ok(true);
        }
        if about.is_symlink() {
            let to = fs::read_link(&path)?;
            match name::link(at, &name::written(&to)) {
                Some(_) => self.links.push((at.to_owned(), to)),
                None => self.left_out.push(format!("{}: a link that leads out of its copy", at.display())),
            }
            return Ok(false);
        }
        if !about.is_file() {
            self.left_out.push(format!("{}: neither a file nor a folder", at.display()));
            return Ok(false);
        }
        match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => self.file(at, mode, &mut opened?)?,
        }
        Ok(false)
    }

    /// Ends it, and gives what is sealed.
    pub(crate) fn end(mut self) -> io::Result<(W, Digest)> {
        for (at, to) in std::mem::take(&mut self.links) {
            self.line(&Item::Link { path: name::written(&at), to: name::written(&to) })?;
            self.items += 1;
        }
        let seal = self.seal.0;
        self.line(&Item::End { items: self.items, bytes: self.bytes, seal })?;
        self.out.flush()?;
        Ok((self.out, seal))
    }

    fn line(&mut self, item: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(item)?;
        line.push(b'\n');
        self.seal.over(&line);
        self.out.write_all(&line)
    }
}

/// A place in which programs are only tried.
fn is_scratch(at: &Path) -> bool {
    at == Path::new("servers")
}

/// Reads until the block is full or nothing is left.
fn fill(content: &mut dyn Read, block: &mut [u8]) -> io::Result<usize> {
    let mut full = 0;
    while let Some(rest) = block.get_mut(full..).filter(|rest| !rest.is_empty()) {
        match content.read(rest) {
            Ok(0) => break,
            Ok(read) => full += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(full)
}
