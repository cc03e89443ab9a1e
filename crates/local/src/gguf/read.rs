//! From bytes to a checked header.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::path::Path;

use super::{ENTRIES_MAX, Entry, TENSORS_MAX, Value};
use crate::error::LoadError;
use crate::tensor::Kind;

type Header = (BTreeMap<String, Value>, BTreeMap<String, Entry>);

/// A reader that knows how many bytes can still come.
pub(super) struct Cursor<'a, R> {
    path: &'a Path,
    from: R,
    at: u64,
    end: u64,
}

impl<'a, R: Read> Cursor<'a, R> {
    /// Reads from `from`, and never more than `end` bytes.
    pub(super) fn new(path: &'a Path, from: R, end: u64) -> Self {
        Self { path, from, at: 0, end }
    }

    fn corrupt(&self, what: impl Into<String>) -> LoadError {
        LoadError::Corrupt { path: self.path.to_owned(), what: what.into() }
    }

    fn left(&self) -> u64 {
        self.end.saturating_sub(self.at)
    }

    fn fill(&mut self, into: &mut [u8]) -> Result<(), LoadError> {
        let wanted = into.len() as u64;
        if wanted > self.left() {
            return Err(self.corrupt(format!("the header is cut short at byte {}", self.at)));
        }
        self.from.read_exact(into).map_err(|source| {
            if source.kind() == ErrorKind::UnexpectedEof {
                self.corrupt(format!("the file is cut short at byte {}", self.at))
            } else {
                LoadError::Unreadable { path: self.path.to_owned(), source }
            }
        })?;
        self.at += wanted;
        Ok(())
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], LoadError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32, LoadError> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, LoadError> {
        self.bytes().map(u64::from_le_bytes)
    }

    /// A count of things of at least `each` bytes, which must fit into what is left.
    fn count(&mut self, what: &str, each: u64) -> Result<usize, LoadError> {
        let count = self.u64()?;
        if count.saturating_mul(each) > self.left() {
            return Err(self.corrupt(format!("{count} {what} do not fit into it")));
        }
        usize::try_from(count).map_err(|_| self.corrupt(format!("{count} {what} are too many")))
    }

    fn text(&mut self) -> Result<String, LoadError> {
        let len = self.count("bytes of text", 1)?;
        let mut bytes = vec![0; len];
        self.fill(&mut bytes)?;
        String::from_utf8(bytes)
            .map_err(|_| self.corrupt(format!("the text before byte {} is not UTF-8", self.at)))
    }

    fn value(&mut self) -> Result<Value, LoadError> {
        let kind = self.u32()?;
        if kind == 9 { self.array() } else { self.scalar(kind) }
    }

    fn scalar(&mut self, kind: u32) -> Result<Value, LoadError> {
        Ok(match kind {
            0 => Value::Unsigned(u8::from_le_bytes(self.bytes()?).into()),
            1 => Value::Signed(i8::from_le_bytes(self.bytes()?).into()),
            2 => Value::Unsigned(u16::from_le_bytes(self.bytes()?).into()),
            3 => Value::Signed(i16::from_le_bytes(self.bytes()?).into()),
            4 => Value::Unsigned(self.u32()?.into()),
            5 => Value::Signed(i32::from_le_bytes(self.bytes()?).into()),
            6 => Value::Float(f32::from_le_bytes(self.bytes()?).into()),
            7 => Value::Flag(self.bytes::<1>()? != [0]),
            8 => Value::Text(self.text()?),
            10 => Value::Unsigned(self.u64()?),
            11 => Value::Signed(i64::from_le_bytes(self.bytes()?)),
            12 => Value::Float(f64::from_le_bytes(self.bytes()?)),
            _ => return Err(self.corrupt(format!("{kind} is no kind of value, at byte {}", self.at))),
        })
    }

    fn array(&mut self) -> Result<Value, LoadError> {
        let kind = self.u32()?;
        let each = match kind {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            8 | 10 | 11 | 12 => 8,
            _ => return Err(self.corrupt(format!("an array of kind {kind}, at byte {}", self.at))),
        };
        let count = self.count("array elements", each)?;
        if kind == 8 {
            return (0..count).map(|_| self.text()).collect::<Result<_, _>>().map(Value::Texts);
        }
        let mut integers = Vec::new();
        for _ in 0..count {
            match self.scalar(kind)? {
                Value::Unsigned(number) => integers.push(i64::try_from(number).unwrap_or(i64::MAX)),
                Value::Signed(number) => integers.push(number),
                _ => {}
            }
        }
        Ok(if integers.len() == count { Value::Integers(integers) } else { Value::Others(count as u64) })
    }
}

/// The whole header; `len` is the length of the file.
pub(super) fn header<R: Read>(cursor: &mut Cursor<'_, R>, len: u64) -> Result<Header, LoadError> {
    if &cursor.bytes::<4>()? != b"GGUF" {
        return Err(LoadError::NotGguf { path: cursor.path.to_owned() });
    }
    let version = cursor.u32()?;
    if !(2..=3).contains(&version) {
        return Err(LoadError::Version { path: cursor.path.to_owned(), version });
    }
    let tensor_count = cursor.u64()?;
    let entry_count = cursor.u64()?;
    if tensor_count > TENSORS_MAX || entry_count > ENTRIES_MAX {
        return Err(cursor.corrupt(format!("{tensor_count} tensors and {entry_count} entries are too many")));
    }
    let mut metadata = BTreeMap::new();
    for _ in 0..entry_count {
        let key = cursor.text()?;
        let value = cursor.value()?;
        metadata.insert(key, value);
    }
    let mut tensors = BTreeMap::new();
    for _ in 0..tensor_count {
        let name = cursor.text()?;
        let entry = directory_entry(cursor, &name)?;
        tensors.insert(name, entry);
    }
    let align = metadata.get("general.alignment").and_then(Value::as_count).unwrap_or(32) as u64;
    if !align.is_power_of_two() || align > 1 << 20 {
        return Err(cursor.corrupt(format!("tensors aligned to {align} bytes")));
    }
    let base = cursor.at.next_multiple_of(align);
    for (name, entry) in &mut tensors {
        entry.start = entry.start.saturating_add(base);
        if entry.start.saturating_add(entry.bytes) > len {
            return Err(cursor.corrupt(format!("it ends before its tensor {name:?} does")));
        }
    }
    Ok((metadata, tensors))
}

fn directory_entry<R: Read>(cursor: &mut Cursor<'_, R>, name: &str) -> Result<Entry, LoadError> {
    let dimensions = cursor.u32()?;
    if !(1..=4).contains(&dimensions) {
        return Err(cursor.corrupt(format!("its tensor {name:?} has {dimensions} dimensions")));
    }
    let columns = cursor.u64()?;
    let mut rows: u64 = 1;
    for _ in 1..dimensions {
        rows = rows.saturating_mul(cursor.u64()?);
    }
    let code = cursor.u32()?;
    let kind = Kind::from_code(code).ok_or_else(|| LoadError::Quantisation {
        path: cursor.path.to_owned(),
        tensor: name.to_owned(),
        code,
    })?;
    let start = cursor.u64()?;
    let (per_block, block_bytes) = kind.block();
    if columns == 0 || rows == 0 || !columns.is_multiple_of(per_block) {
        return Err(cursor.corrupt(format!("its tensor {name:?} has a shape of {columns} by {rows}")));
    }
    let bytes = (columns / per_block).saturating_mul(block_bytes).saturating_mul(rows);
    let too_large = |_| cursor.corrupt(format!("its tensor {name:?} has a shape of {columns} by {rows}"));
    Ok(Entry {
        kind,
        columns: usize::try_from(columns).map_err(too_large)?,
        rows: usize::try_from(rows).map_err(too_large)?,
        start,
        bytes,
    })
}
