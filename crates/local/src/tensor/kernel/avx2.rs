//! Products with AVX2 and FMA.

use pulp::x86::V3;
use pulp::{f32x8, i8x32, i16x16};

use super::{Dot, Products};
use crate::tensor::{Eight, Four, InputBlock, half_to_single};

/// Proof that the processor has AVX2 and FMA.
#[derive(Clone, Copy)]
pub(super) struct Wide(V3);

impl Wide {
    /// Asks the processor; the answer is remembered by the standard library.
    pub(super) fn find() -> Option<Self> {
        V3::try_new().map(Self)
    }

    /// Runs a multiplication compiled for these instructions.
    pub(super) fn run<B>(self, products: Products<'_, B, Self>)
    where
        Self: Dot<B>,
    {
        self.0.vectorize(Compiled(products));
    }

    /// Sums of four products each of numbers without sign and numbers with one.
    #[inline(always)]
    fn products(self, unsigned: i8x32, signed: i8x32) -> f32x8 {
        let pairs = self.0.multiply_saturating_add_adjacent_i8x32(unsigned, signed);
        let ones = i16x16(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
        let fours = self.0.multiply_wrapping_add_adjacent_i16x16(pairs, ones);
        self.0.convert_i32x8_to_f32x8(fours)
    }

    #[inline(always)]
    fn add(self, products: f32x8, scale: f32, sum: f32x8) -> f32x8 {
        self.0.mul_add_f32x8(products, self.0.splat_f32x8(scale), sum)
    }
}

struct Compiled<'a, B>(Products<'a, B, Wide>);

impl<B> pulp::NullaryFnOnce for Compiled<'_, B>
where
    Wide: Dot<B>,
{
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.0.run();
    }
}

#[inline(always)]
fn total(lanes: f32x8) -> f32 {
    let lanes: [f32; 8] = pulp::cast(lanes);
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

const ZERO: f32x8 = f32x8(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0);

impl Dot<Four> for Wide {
    #[inline(always)]
    fn dot<const R: usize, const N: usize>(
        self,
        rows: [&[Four]; R],
        inputs: [&[InputBlock]; N],
    ) -> [[f32; N]; R] {
        let mut sums = [[(ZERO, 0.0_f32); N]; R];
        let mut rows = rows.map(<[Four]>::iter);
        let len = inputs.first().map_or(0, |input| input.len());
        for index in 0..len {
            let blocks = inputs.map(|input| input.get(index));
            for (row, sums) in rows.iter_mut().zip(&mut sums) {
                let Some(block) = row.next() else { break };
                let quants = self.halves(block.quants);
                let (scale, least) = (half_to_single(block.scale), half_to_single(block.least));
                for (input, (sum, leasts)) in blocks.iter().zip(sums) {
                    let Some(input) = input else { break };
                    let products = self.products(quants, pulp::cast(input.quants));
                    *sum = self.add(products, scale * input.scale, *sum);
                    *leasts += least * input.sum;
                }
            }
        }
        sums.map(|sums| sums.map(|(sum, leasts)| total(sum) + leasts))
    }
}

impl Wide {
    /// Sixteen bytes as 32 numbers of four bits.
    #[inline(always)]
    fn halves(self, bytes: [u8; 16]) -> i8x32 {
        let low = pulp::cast(bytes);
        let high = self.0.sse2._mm_srli_epi16::<4>(low);
        let both = self.0.avx._mm256_set_m128i(high, low);
        let mask = pulp::cast([15_u8; 32]);
        pulp::cast(self.0.avx2._mm256_and_si256(both, mask))
    }
}

impl Dot<Eight> for Wide {
    #[inline(always)]
    fn dot<const R: usize, const N: usize>(
        self,
        rows: [&[Eight]; R],
        inputs: [&[InputBlock]; N],
    ) -> [[f32; N]; R] {
        let mut sums = [[ZERO; N]; R];
        let mut rows = rows.map(<[Eight]>::iter);
        let len = inputs.first().map_or(0, |input| input.len());
        for index in 0..len {
            let blocks = inputs.map(|input| input.get(index));
            for (row, sums) in rows.iter_mut().zip(&mut sums) {
                let Some(block) = row.next() else { break };
                let scale = half_to_single(block.scale);
                let quants = pulp::cast(block.quants);
                let magnitudes = self.0.avx2._mm256_sign_epi8(quants, quants);
                for (input, sum) in blocks.iter().zip(sums) {
                    let Some(input) = input else { break };
                    // The instruction wants one side without signs: they move to the other.
                    let signed = self.0.avx2._mm256_sign_epi8(pulp::cast(input.quants), quants);
                    let products = self.products(pulp::cast(magnitudes), pulp::cast(signed));
                    *sum = self.add(products, scale * input.scale, *sum);
                }
            }
        }
        sums.map(|sums| sums.map(total))
    }
}
