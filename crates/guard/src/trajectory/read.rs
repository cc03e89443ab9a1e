//! Files and folders of recorded runs, line by line.
//!
//! At most one line is held at a time, and a line is at most [`LINE_MAX`] bytes.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

use super::parse::{Flaw, parse};
use super::{ReadError, Trajectory};

/// Longest line that is read.
pub(super) const LINE_MAX: u64 = 64 << 20;
const BUFFER: usize = 1 << 16;
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Recorded runs of several files, in the order the files were named; a folder
/// stands for its `.jsonl` and `.jsonl.gz` files, by name.
pub struct Collection {
    files: VecDeque<Arc<Path>>,
    open: Option<Lines>,
    bytes: u64,
    read: Arc<AtomicU64>,
}

impl Collection {
    /// Finds the files. Each is opened when its turn comes.
    pub fn of(paths: &[PathBuf]) -> Result<Self, ReadError> {
        let mut files = VecDeque::new();
        let mut bytes = 0_u64;
        for path in paths {
            let found = files_of(path)?;
            for (file, len) in found {
                bytes = bytes.saturating_add(len);
                files.push_back(file.into());
            }
        }
        Ok(Self { files, open: None, bytes, read: Arc::default() })
    }

    /// Size of all files, compressed as they are.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How much of that has been read.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// The next line that is not blank.
    pub fn next_line(&mut self) -> Result<Option<Line>, ReadError> {
        loop {
            if let Some(lines) = &mut self.open {
                if let Some(line) = lines.next()? {
                    return Ok(Some(line));
                }
                self.open = None;
            }
            match self.files.pop_front() {
                Some(path) => self.open = Some(Lines::open(path, Arc::clone(&self.read))?),
                None => return Ok(None),
            }
        }
    }
}

fn files_of(path: &Path) -> Result<Vec<(PathBuf, u64)>, ReadError> {
    let unreadable = |source| ReadError::Io { path: path.into(), source };
    let about = fs::metadata(path).map_err(unreadable)?;
    if !about.is_dir() {
        return Ok(vec![(path.into(), about.len())]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name();
        let is_ours =
            name.to_str().is_some_and(|name| name.ends_with(".jsonl") || name.ends_with(".jsonl.gz"));
        if is_ours {
            let about = fs::metadata(entry.path()).map_err(unreadable)?;
            files.push((entry.path(), about.len()));
        }
    }
    if files.is_empty() {
        return Err(ReadError::Empty { path: path.into() });
    }
    files.sort();
    Ok(files)
}

/// One line of a file, with its place.
#[derive(Debug)]
pub struct Line {
    path: Arc<Path>,
    number: u64,
    text: Vec<u8>,
}

impl Line {
    /// The recorded run on it.
    pub fn parse(&self) -> Result<Trajectory, ReadError> {
        let (path, line) = (self.path.to_path_buf(), self.number);
        parse(&self.text).map_err(|flaw| match flaw {
            Flaw::NotJson(what) => ReadError::NotJson { path, line, what },
            Flaw::NotARun(what) => ReadError::NotARun { path, line, what },
        })
    }
}

/// A file that tells how much of it was read.
struct Counted {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(into)?;
        self.read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

struct Lines {
    path: Arc<Path>,
    reader: Box<dyn BufRead + Send>,
    number: u64,
}

impl Lines {
    /// Compression is recognised by the first bytes, whatever the file is called.
    fn open(path: Arc<Path>, read: Arc<AtomicU64>) -> Result<Self, ReadError> {
        let unreadable = |source| ReadError::Io { path: path.to_path_buf(), source };
        let file = File::open(&path).map_err(unreadable)?;
        let mut file = BufReader::with_capacity(BUFFER, Counted { file, read });
        let packed = file.fill_buf().map_err(unreadable)?.starts_with(&GZIP);
        let reader: Box<dyn BufRead + Send> = if packed {
            Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(file)))
        } else {
            Box::new(file)
        };
        Ok(Self { path, reader, number: 0 })
    }

    fn next(&mut self) -> Result<Option<Line>, ReadError> {
        loop {
            self.number = self.number.saturating_add(1);
            let mut text = Vec::new();
            let read = (&mut self.reader).take(LINE_MAX + 1).read_until(b'\n', &mut text);
            read.map_err(|source| self.broken(source))?;
            if text.is_empty() {
                return Ok(None);
            }
            if text.len() as u64 > LINE_MAX {
                return Err(ReadError::TooLong {
                    path: self.path.to_path_buf(),
                    line: self.number,
                    max: LINE_MAX,
                });
            }
            if !text.trim_ascii().is_empty() {
                return Ok(Some(Line { path: Arc::clone(&self.path), number: self.number, text }));
            }
        }
    }

    fn broken(&self, source: io::Error) -> ReadError {
        ReadError::Broken { path: self.path.to_path_buf(), line: self.number, source }
    }
}
