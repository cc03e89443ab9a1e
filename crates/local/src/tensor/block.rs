//! Blocks of 32 numbers.

/// Numbers in a block.
pub(crate) const BLOCK: usize = 32;

/// Four bits a number: `quant * scale + least`. The low halves of the bytes are the first
/// sixteen numbers, the high halves the rest; the layout of Q4_1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Four {
    pub(crate) scale: u16,
    pub(crate) least: u16,
    pub(crate) quants: [u8; BLOCK / 2],
}

impl Four {
    pub(crate) fn unpack(&self, into: &mut [f32]) {
        let (scale, least) = (half_to_single(self.scale), half_to_single(self.least));
        let low = self.quants.iter().map(|byte| byte & 15);
        let high = self.quants.iter().map(|byte| byte >> 4);
        for (out, quant) in into.iter_mut().zip(low.chain(high)) {
            *out = f32::from(quant) * scale + least;
        }
    }
}

/// Eight bits a number: `quant * scale`; the layout of Q8_0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Eight {
    pub(crate) scale: u16,
    pub(crate) quants: [i8; BLOCK],
}

impl Eight {
    /// The nearest block to 32 numbers.
    pub(crate) fn pack(numbers: &[f32]) -> Self {
        let most = numbers.iter().fold(0.0_f32, |most, number| most.max(number.abs()));
        let scale = single_to_half(most / 127.0);
        let real = half_to_single(scale);
        let inverse = if real > 0.0 { 1.0 / real } else { 0.0 };
        let mut quants = [0; BLOCK];
        for (quant, number) in quants.iter_mut().zip(numbers) {
            *quant = (number * inverse).round().clamp(-127.0, 127.0) as i8;
        }
        Self { scale, quants }
    }

    pub(crate) fn unpack(&self, into: &mut [f32]) {
        let scale = half_to_single(self.scale);
        for (out, quant) in into.iter_mut().zip(self.quants) {
            *out = f32::from(quant) * scale;
        }
    }
}

/// From half to single precision. Infinities become large numbers: a file that has them
/// in a scale is wrong anyway, and nothing may trap on it.
#[inline(always)]
pub(crate) fn half_to_single(half: u16) -> f32 {
    // Shifted into place the exponent is too small by 112, which one product mends; it
    // is exact, and right for numbers below the normal ones too.
    const MEND: f32 = f32::from_bits((127 + 112) << 23);
    let magnitude = f32::from_bits(u32::from(half & 0x7fff) << 13) * MEND;
    f32::from_bits(magnitude.to_bits() | (u32::from(half & 0x8000) << 16))
}

/// From single to half precision, to the nearest; what is too large becomes the largest.
#[inline(always)]
pub(crate) fn single_to_half(single: f32) -> u16 {
    const MEND: f32 = f32::from_bits((127 - 112) << 23);
    let sign = (single.to_bits() >> 16) & 0x8000;
    let scaled = (single.abs().min(65_504.0) * MEND).to_bits();
    // Round half to even at the thirteen bits that go.
    let rounded = scaled.wrapping_add(0x0fff + ((scaled >> 13) & 1)) >> 13;
    (sign | rounded) as u16
}
