//! The inner loops, chosen at run time by what the processor can do.
//!
//! No build flag is needed: on x86-64 with AVX2 and FMA the products use them through
//! `pulp`, which is safe to call because a value of its type proves that the processor
//! has been asked. Everything else is plain code that the compiler turns into vectors,
//! compiled twice: for AVX2, and for whatever the build targets.
//!
//! Invariants
//! - Both ways give the same numbers up to the order of additions (`tests`).
//! - No loop allocates.

pub(crate) mod attend;
#[cfg(target_arch = "x86_64")]
mod avx2;
pub(crate) mod float;
mod portable;

use std::ops::Range;

use super::{BLOCK, Blocks, InputBlock, Inputs, Matrix};

/// Products of `R` rows of blocks with `N` inputs at once.
trait Dot<B>: Copy {
    fn dot<const R: usize, const N: usize>(
        self,
        rows: [&[B]; R],
        inputs: [&[InputBlock]; N],
    ) -> [[f32; N]; R];
}

/// Multiplies some rows of a matrix with every input.
pub(super) fn multiply(matrix: &Matrix, rows: Range<usize>, inputs: &Inputs, into: &mut [f32]) {
    let per_row = matrix.columns / BLOCK;
    let job = Job { per_row, width: rows.len(), inputs: &inputs.blocks, into };
    let range = rows.start * per_row..rows.end * per_row;
    match &matrix.blocks {
        Blocks::Four(blocks) => dispatch(job, blocks.get(range).unwrap_or_default()),
        Blocks::Eight(blocks) => dispatch(job, blocks.get(range).unwrap_or_default()),
    }
}

/// The multiplication without its matrix.
struct Job<'a> {
    per_row: usize,
    width: usize,
    inputs: &'a [InputBlock],
    into: &'a mut [f32],
}

#[cfg(target_arch = "x86_64")]
fn dispatch<B>(job: Job<'_>, blocks: &[B])
where
    avx2::Wide: Dot<B>,
    portable::Plain: Dot<B>,
{
    match avx2::Wide::find() {
        Some(wide) => wide.run(Products { job, blocks, dot: wide }),
        None => Products { job, blocks, dot: portable::Plain }.run(),
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn dispatch<B>(job: Job<'_>, blocks: &[B])
where
    portable::Plain: Dot<B>,
{
    Products { job, blocks, dot: portable::Plain }.run();
}

/// A multiplication that knows how it is done.
struct Products<'a, B, D> {
    job: Job<'a>,
    blocks: &'a [B],
    dot: D,
}

impl<B, D: Dot<B>> Products<'_, B, D> {
    #[inline(always)]
    fn run(self) {
        if self.job.inputs.len() == self.job.per_row { self.one_input() } else { self.many_inputs() }
    }

    /// Four rows at a time, so that four chains of additions are under way.
    #[inline(always)]
    fn one_input(self) {
        let Job { per_row, inputs, into, .. } = self.job;
        let (quads, tail) = into.as_chunks_mut::<4>();
        let mut rows = self.blocks.chunks_exact(per_row);
        for quad in quads {
            let four = std::array::from_fn(|_| rows.next().unwrap_or_default());
            *quad = self.dot.dot::<4, 1>(four, [inputs]).map(|[product]| product);
        }
        for (out, row) in tail.iter_mut().zip(rows) {
            let [[product]] = self.dot.dot::<1, 1>([row], [inputs]);
            *out = product;
        }
    }

    /// Two rows and four inputs at a time: a row is unpacked once for four inputs, and
    /// an input is loaded once for two rows.
    #[inline(always)]
    fn many_inputs(mut self) {
        let per_row = self.job.per_row;
        let inputs = self.job.inputs;
        for (first_row, rows) in (0..).step_by(2).zip(self.blocks.chunks(per_row * 2)) {
            let pair = halves(rows, per_row);
            for (first_input, four) in (0..).step_by(4).zip(inputs.chunks(per_row * 4)) {
                if four.len() == per_row * 4 {
                    let mut each = four.chunks_exact(per_row);
                    let four: [&[InputBlock]; 4] = std::array::from_fn(|_| each.next().unwrap_or_default());
                    self.put(first_row, first_input, self.dot.dot::<2, 4>(pair, four));
                } else {
                    for (offset, input) in four.chunks_exact(per_row).enumerate() {
                        self.put(first_row, first_input + offset, self.dot.dot::<2, 1>(pair, [input]));
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn put<const N: usize>(&mut self, first_row: usize, first_input: usize, products: [[f32; N]; 2]) {
        for (row, products) in products.into_iter().enumerate() {
            let row = first_row + row;
            if row >= self.job.width {
                return;
            }
            for (input, product) in products.into_iter().enumerate() {
                if let Some(out) = self.job.into.get_mut((first_input + input) * self.job.width + row) {
                    *out = product;
                }
            }
        }
    }
}

/// One or two rows as two; the second may be empty.
#[inline(always)]
fn halves<B>(rows: &[B], per_row: usize) -> [&[B]; 2] {
    rows.split_at_checked(per_row).map_or([rows, &[]], |(first, second)| [first, second])
}

/// Rounds vectors to eight bits a number, a block at a time.
pub(super) fn quantise(vectors: &[f32], into: &mut Vec<InputBlock>) {
    pulp::Arch::new().dispatch(Quantise { vectors, into });
}

struct Quantise<'a> {
    vectors: &'a [f32],
    into: &'a mut Vec<InputBlock>,
}

impl pulp::NullaryFnOnce for Quantise<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.into.extend(self.vectors.as_chunks::<BLOCK>().0.iter().map(quantise_block));
    }
}

#[inline(always)]
fn quantise_block(numbers: &[f32; BLOCK]) -> InputBlock {
    let mut most = [0.0_f32; 8];
    for eight in numbers.as_chunks::<8>().0 {
        for (most, number) in most.iter_mut().zip(eight) {
            *most = most.max(number.abs());
        }
    }
    let most = most.into_iter().fold(0.0_f32, f32::max);
    let scale = most / 127.0;
    let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
    let mut quants = [0_i8; BLOCK];
    let mut sum = 0_i32;
    for (quant, number) in quants.iter_mut().zip(numbers) {
        // In range by construction; a number that is none becomes zero.
        let rounded = (number * inverse).round_ties_even() as i32;
        *quant = rounded as i8;
        sum += rounded;
    }
    InputBlock { quants, scale, sum: sum as f32 * scale }
}
