//! Matrices of small numbers, and the products of them with vectors.
//!
//! Whatever a file holds, a matrix is kept as one of two kinds of blocks of 32 numbers:
//! [`Four`] (four bits each, a scale and a least value: what Q4_0, Q4_1 and Q4_K say, to
//! the last bit that matters) or [`Eight`] (eight bits each and a scale: everything else).
//! Two kinds, so two kernels; the rest of the crate never sees a block.
//!
//! Invariants
//! - The kernel for the processor is chosen at run time, once; see [`kernel`].
//! - Nothing here starts a thread: callers give ranges of rows.

mod block;
pub(crate) mod kernel;
mod kind;
mod load;
#[cfg(test)]
mod tests;
mod unpack;

use std::ops::Range;

pub(crate) use block::{BLOCK, Eight, Four, half_to_single, single_to_half};
pub use kind::Kind;
pub(crate) use load::{matrix, vector};

/// The blocks of a matrix, row after row.
#[derive(Debug)]
pub(crate) enum Blocks {
    Four(Vec<Four>),
    Eight(Vec<Eight>),
}

/// A matrix that is only ever multiplied with vectors.
#[derive(Debug)]
pub(crate) struct Matrix {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) blocks: Blocks,
}

impl Matrix {
    /// How many bytes it holds.
    pub(crate) fn bytes(&self) -> usize {
        match &self.blocks {
            Blocks::Four(blocks) => size_of_val(blocks.as_slice()),
            Blocks::Eight(blocks) => size_of_val(blocks.as_slice()),
        }
    }

    /// One row as plain numbers; nothing when there is no such row.
    pub(crate) fn row(&self, row: usize, into: &mut [f32]) {
        let per_row = self.columns / BLOCK;
        let range = row * per_row..(row + 1) * per_row;
        let chunks = into.chunks_exact_mut(BLOCK);
        match &self.blocks {
            Blocks::Four(blocks) => {
                blocks.get(range).unwrap_or_default().iter().zip(chunks).for_each(|(b, out)| b.unpack(out));
            }
            Blocks::Eight(blocks) => {
                blocks.get(range).unwrap_or_default().iter().zip(chunks).for_each(|(b, out)| b.unpack(out));
            }
        }
    }
}

/// Vectors made ready for multiplication: eight bits a number, a scale and a sum a block.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    pub(crate) count: usize,
    pub(crate) blocks: Vec<InputBlock>,
}

/// 32 numbers of a vector.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct InputBlock {
    pub(crate) quants: [i8; BLOCK],
    pub(crate) scale: f32,
    /// The sum of the numbers as rounded, for the least values of [`Four`].
    pub(crate) sum: f32,
}

impl Inputs {
    /// Takes vectors of `columns` numbers, one after the other.
    pub(crate) fn set(&mut self, vectors: &[f32], columns: usize) {
        self.count = vectors.len().checked_div(columns).unwrap_or(0);
        self.blocks.clear();
        kernel::quantise(vectors, &mut self.blocks);
    }
}

/// Multiplies some rows of a matrix with every input. The products of one input lie
/// together: `into[input * rows.len() + row]`.
pub(crate) fn multiply(matrix: &Matrix, rows: Range<usize>, inputs: &Inputs, into: &mut [f32]) {
    kernel::multiply(matrix, rows, inputs, into);
}
