//! Products in plain code.

use super::Dot;
use crate::tensor::{BLOCK, Eight, Four, InputBlock, half_to_single};

/// The way without any promise about the processor.
#[derive(Clone, Copy)]
pub(super) struct Plain;

impl Dot<Four> for Plain {
    fn dot<const R: usize, const N: usize>(
        self,
        rows: [&[Four]; R],
        inputs: [&[InputBlock]; N],
    ) -> [[f32; N]; R] {
        rows.map(|row| {
            inputs.map(|input| {
                row.iter().zip(input).fold(0.0, |sum, (block, input)| {
                    let mut wide = [0_i8; BLOCK];
                    let (front, back) = wide.split_at_mut(BLOCK / 2);
                    for ((low, high), byte) in front.iter_mut().zip(back).zip(block.quants) {
                        *low = (byte & 15).cast_signed();
                        *high = (byte >> 4).cast_signed();
                    }
                    sum + whole(&wide, &input.quants) * half_to_single(block.scale) * input.scale
                        + half_to_single(block.least) * input.sum
                })
            })
        })
    }
}

impl Dot<Eight> for Plain {
    fn dot<const R: usize, const N: usize>(
        self,
        rows: [&[Eight]; R],
        inputs: [&[InputBlock]; N],
    ) -> [[f32; N]; R] {
        rows.map(|row| {
            inputs.map(|input| {
                row.iter().zip(input).fold(0.0, |sum, (block, input)| {
                    sum + whole(&block.quants, &input.quants) * half_to_single(block.scale) * input.scale
                })
            })
        })
    }
}

/// The product of two blocks of small integers; below 2^24, so exact as a float.
fn whole(left: &[i8; BLOCK], right: &[i8; BLOCK]) -> f32 {
    left.iter().zip(right).map(|(left, right)| i32::from(*left) * i32::from(*right)).sum::<i32>() as f32
}
