//! GGUF files: what they say about themselves, and where their tensors lie.
//!
//! A file is a stranger's: every count, length and offset in it is checked against
//! the bytes that are really there before anything is allocated for it.
//!
//! Invariants
//! - Nothing here interprets a tensor; that is `crate::tensor`'s.
//! - No input makes this module panic or allocate more than a small multiple of the
//!   file's own length.

mod read;
#[cfg(test)]
mod tests;
mod value;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

pub use value::Value;

use crate::error::LoadError;
use crate::tensor::Kind;
use read::Cursor;

/// Most metadata entries a file may have.
pub const ENTRIES_MAX: u64 = 4_096;
/// Most tensors a file may have.
pub const TENSORS_MAX: u64 = 16_384;
/// Most bytes before the first tensor.
pub const HEADER_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// One tensor of a file, by place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// How its numbers are written.
    pub kind: Kind,
    /// Numbers in a row; the first dimension of the file.
    pub columns: usize,
    /// How many rows.
    pub rows: usize,
    /// First byte in the file.
    pub start: u64,
    /// Length in bytes.
    pub bytes: u64,
}

/// An open file whose header has been read and checked.
#[derive(Debug)]
pub struct Gguf {
    path: PathBuf,
    file: BufReader<File>,
    metadata: BTreeMap<String, Value>,
    tensors: BTreeMap<String, Entry>,
}

impl Gguf {
    /// Reads and checks the header: metadata, and that every tensor lies inside the file.
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        let unreadable = |source| LoadError::Unreadable { path: path.to_owned(), source };
        // Opening a pipe would wait for somebody to write to it.
        if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
            return Err(unreadable(std::io::Error::other("it is no regular file")));
        }
        let file = File::open(path).map_err(unreadable)?;
        let len = file.metadata().map_err(unreadable)?.len();
        let mut file = BufReader::with_capacity(1 << 20, file);
        let mut cursor = Cursor::new(path, &mut file, len.min(HEADER_BYTES_MAX));
        let (metadata, tensors) = read::header(&mut cursor, len)?;
        Ok(Self { path: path.to_owned(), file, metadata, tensors })
    }

    /// Where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The tensors by name.
    #[must_use]
    pub fn tensors(&self) -> &BTreeMap<String, Entry> {
        &self.tensors
    }

    /// A metadata value, if the file has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.metadata.get(key)
    }

    /// A text the file must have.
    pub fn text(&self, key: &str) -> Result<&str, LoadError> {
        self.get(key).and_then(Value::as_text).ok_or_else(|| self.missing(key))
    }

    /// A count the file must have.
    pub fn count(&self, key: &str) -> Result<usize, LoadError> {
        self.get(key).and_then(Value::as_count).ok_or_else(|| self.missing(key))
    }

    /// A number the file must have.
    pub fn number(&self, key: &str) -> Result<f32, LoadError> {
        self.get(key).and_then(Value::as_number).ok_or_else(|| self.missing(key))
    }

    /// A tensor's place.
    pub fn entry(&self, name: &str) -> Result<&Entry, LoadError> {
        self.tensors.get(name).ok_or_else(|| self.missing(name))
    }

    /// The bytes of some of a tensor's rows, into `into`.
    pub fn read(&mut self, entry: &Entry, skip: u64, into: &mut [u8]) -> Result<(), LoadError> {
        let path = &self.path;
        let unreadable = |source| LoadError::Unreadable { path: path.clone(), source };
        self.file.seek(SeekFrom::Start(entry.start.saturating_add(skip))).map_err(unreadable)?;
        self.file.read_exact(into).map_err(unreadable)
    }

    /// That the file is not what it should be.
    pub(crate) fn corrupt(&self, what: impl Into<String>) -> LoadError {
        LoadError::Corrupt { path: self.path.clone(), what: what.into() }
    }

    fn missing(&self, key: &str) -> LoadError {
        self.corrupt(format!("it has no usable {key}"))
    }
}
