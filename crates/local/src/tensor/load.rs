//! Tensors of a file as matrices and vectors.

use super::block::{BLOCK, Eight};
use super::kind::Kind;
use super::{Blocks, Matrix, unpack};
use crate::error::LoadError;
use crate::gguf::Gguf;

/// About this many bytes of the file are in memory beside the matrix itself.
const CHUNK_BYTES: u64 = 4 << 20;

/// Reads a tensor of the given shape as a matrix.
pub(crate) fn matrix(file: &mut Gguf, name: &str, rows: usize, columns: usize) -> Result<Matrix, LoadError> {
    let entry = file.entry(name)?.clone();
    if (entry.rows, entry.columns) != (rows, columns) {
        return Err(file.corrupt(format!(
            "its tensor {name:?} is {} by {}, not {columns} by {rows}",
            entry.columns, entry.rows
        )));
    }
    if !columns.is_multiple_of(BLOCK) {
        return Err(LoadError::Unsupported {
            path: file.path().to_owned(),
            what: format!("rows of {columns} numbers ({name:?}), not a multiple of {BLOCK}"),
        });
    }
    let count = rows * (columns / BLOCK);
    let row_bytes = entry.bytes / rows as u64;
    let rows_at_once = (CHUNK_BYTES / row_bytes.max(1)).max(1);
    let mut blocks = match entry.kind {
        Kind::Q4_0 | Kind::Q4_1 | Kind::Q4K => Blocks::Four(Vec::with_capacity(count)),
        _ => Blocks::Eight(Vec::with_capacity(count)),
    };
    let mut bytes = Vec::new();
    let mut numbers = Vec::new();
    let mut skip = 0;
    while skip < entry.bytes {
        let take = (rows_at_once * row_bytes).min(entry.bytes - skip);
        bytes.resize(usize::try_from(take).unwrap_or(0), 0);
        file.read(&entry, skip, &mut bytes)?;
        skip += take;
        match &mut blocks {
            Blocks::Four(blocks) => unpack::fours(entry.kind, &bytes, blocks),
            Blocks::Eight(blocks) if entry.kind == Kind::Q8_0 => unpack::eights(&bytes, blocks),
            Blocks::Eight(blocks) => {
                numbers.clear();
                unpack::numbers(entry.kind, &bytes, &mut numbers);
                blocks.extend(numbers.as_chunks::<BLOCK>().0.iter().map(|chunk| Eight::pack(chunk)));
            }
        }
    }
    Ok(Matrix { rows, columns, blocks })
}

/// Reads a tensor of one row as plain numbers.
pub(crate) fn vector(file: &mut Gguf, name: &str, len: usize) -> Result<Vec<f32>, LoadError> {
    let entry = file.entry(name)?.clone();
    if (entry.rows, entry.columns) != (1, len) {
        return Err(file.corrupt(format!("its tensor {name:?} is not of {len} numbers")));
    }
    let mut bytes = vec![0; usize::try_from(entry.bytes).unwrap_or(0)];
    file.read(&entry, 0, &mut bytes)?;
    let mut numbers = Vec::with_capacity(len);
    unpack::numbers(entry.kind, &bytes, &mut numbers);
    if numbers.iter().any(|number| !number.is_finite()) {
        return Err(file.corrupt(format!("its tensor {name:?} has numbers that are none")));
    }
    Ok(numbers)
}
