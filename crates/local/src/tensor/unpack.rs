//! From the bytes of a file to plain numbers or to blocks, one kind at a time.
//!
//! The layouts are those of GGML. Every function takes whole blocks.

use super::block::{BLOCK, Eight, Four, half_to_single, single_to_half};
use super::kind::Kind;

/// Numbers in a block of the K kinds.
const SUPER: usize = 256;

/// Whole blocks of any kind as plain numbers, appended to `into`.
pub(super) fn numbers(kind: Kind, bytes: &[u8], into: &mut Vec<f32>) {
    match kind {
        Kind::F32 => {
            into.extend(bytes.as_chunks().0.iter().map(|chunk| f32::from_le_bytes(*chunk)));
        }
        Kind::F16 => into.extend(bytes.as_chunks().0.iter().map(|c| half_to_single(u16::from_le_bytes(*c)))),
        Kind::Bf16 => into.extend(
            bytes.as_chunks().0.iter().map(|c| f32::from_bits(u32::from(u16::from_le_bytes(*c)) << 16)),
        ),
        Kind::Q4_0 | Kind::Q4_1 | Kind::Q4K => {
            let mut blocks = Vec::new();
            fours(kind, bytes, &mut blocks);
            spread(&blocks, into, Four::unpack);
        }
        Kind::Q8_0 => {
            let mut blocks = Vec::new();
            eights(bytes, &mut blocks);
            spread(&blocks, into, Eight::unpack);
        }
        Kind::Q5_0 => bytes.as_chunks::<22>().0.iter().for_each(|block| q5_0(block, into)),
        Kind::Q5_1 => bytes.as_chunks::<24>().0.iter().for_each(|block| q5_1(block, into)),
        Kind::Q5K => bytes.as_chunks::<176>().0.iter().for_each(|block| q5_k(block, into)),
        Kind::Q6K => bytes.as_chunks::<210>().0.iter().for_each(|block| q6_k(block, into)),
    }
}

/// Whole blocks of the four-bit kinds; nothing for another kind.
pub(super) fn fours(kind: Kind, bytes: &[u8], into: &mut Vec<Four>) {
    match kind {
        Kind::Q4_0 => into.extend(bytes.as_chunks::<18>().0.iter().map(|block| {
            let scale = half(block, 0);
            let least = single_to_half(half_to_single(scale) * -8.0);
            Four { scale, least, quants: part(block, 2) }
        })),
        Kind::Q4_1 => into.extend(bytes.as_chunks::<20>().0.iter().map(|block| Four {
            scale: half(block, 0),
            least: half(block, 2),
            quants: part(block, 4),
        })),
        Kind::Q4K => bytes.as_chunks::<144>().0.iter().for_each(|block| q4_k(block, into)),
        _ => {}
    }
}

/// Whole blocks of Q8_0.
pub(super) fn eights(bytes: &[u8], into: &mut Vec<Eight>) {
    into.extend(
        bytes.as_chunks::<34>().0.iter().map(|block| Eight {
            scale: half(block, 0),
            quants: part::<BLOCK>(block, 2).map(u8::cast_signed),
        }),
    );
}

fn spread<B>(blocks: &[B], into: &mut Vec<f32>, unpack: impl Fn(&B, &mut [f32])) {
    let mut numbers = [0.0; BLOCK];
    for block in blocks {
        unpack(block, &mut numbers);
        into.extend_from_slice(&numbers);
    }
}

/// Two bytes at a place, as the bits of a half-precision number.
fn half(block: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(part(block, at))
}

/// `N` bytes at a place; zeros past the end, which whole blocks do not reach.
fn part<const N: usize>(block: &[u8], at: usize) -> [u8; N] {
    block.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; N])
}

/// The eight pairs of scale and least value, six bits each, in twelve bytes.
fn six_bit_pairs(packed: [u8; 12]) -> [(u8, u8); 8] {
    let [a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3] = packed;
    let low = |a: u8, b: u8| (a & 63, b & 63);
    let high = |a: u8, b: u8, c: u8| ((c & 15) | ((a >> 6) << 4), (c >> 4) | ((b >> 6) << 4));
    [
        low(a0, b0),
        low(a1, b1),
        low(a2, b2),
        low(a3, b3),
        high(a0, b0, c0),
        high(a1, b1, c1),
        high(a2, b2, c2),
        high(a3, b3, c3),
    ]
}

fn q4_k(block: &[u8; 144], into: &mut Vec<Four>) {
    let (scale, least) = (half_to_single(half(block, 0)), half_to_single(half(block, 2)));
    let pairs = six_bit_pairs(part(block, 4));
    let quants: [u8; SUPER / 2] = part(block, 16);
    for (pairs, bytes) in pairs.as_chunks::<2>().0.iter().zip(quants.as_chunks::<BLOCK>().0) {
        let halves = [bytes.map(|byte| byte & 15), bytes.map(|byte| byte >> 4)];
        for ((scales, leasts), quants) in pairs.iter().zip(halves) {
            let (front, back) = quants.split_at(BLOCK / 2);
            let mut packed = [0; BLOCK / 2];
            for ((out, low), high) in packed.iter_mut().zip(front).zip(back) {
                *out = low | (high << 4);
            }
            into.push(Four {
                scale: single_to_half(scale * f32::from(*scales)),
                least: single_to_half(-least * f32::from(*leasts)),
                quants: packed,
            });
        }
    }
}

/// The fifth bits of 32 numbers, as 0 or 16.
fn fifth(bits: u32) -> impl Iterator<Item = u8> {
    (0..BLOCK).map(move |index| if bits >> index & 1 == 1 { 16 } else { 0 })
}

fn nibbles(bytes: [u8; BLOCK / 2]) -> impl Iterator<Item = u8> {
    bytes.into_iter().map(|byte| byte & 15).chain(bytes.into_iter().map(|byte| byte >> 4))
}

fn q5_0(block: &[u8; 22], into: &mut Vec<f32>) {
    let scale = half_to_single(half(block, 0));
    let high = fifth(u32::from_le_bytes(part(block, 2)));
    into.extend(nibbles(part(block, 6)).zip(high).map(|(low, high)| (f32::from(low | high) - 16.0) * scale));
}

fn q5_1(block: &[u8; 24], into: &mut Vec<f32>) {
    let (scale, least) = (half_to_single(half(block, 0)), half_to_single(half(block, 2)));
    let high = fifth(u32::from_le_bytes(part(block, 4)));
    into.extend(nibbles(part(block, 8)).zip(high).map(|(low, high)| f32::from(low | high) * scale + least));
}

fn q5_k(block: &[u8; 176], into: &mut Vec<f32>) {
    let (scale, least) = (half_to_single(half(block, 0)), half_to_single(half(block, 2)));
    let pairs = six_bit_pairs(part(block, 4));
    let high: [u8; BLOCK] = part(block, 16);
    let quants: [u8; SUPER / 2] = part(block, 48);
    let halves = quants
        .as_chunks::<BLOCK>()
        .0
        .iter()
        .flat_map(|bytes| [bytes.map(|byte| byte & 15), bytes.map(|byte| byte >> 4)]);
    for (index, ((scales, leasts), low)) in pairs.into_iter().zip(halves).enumerate() {
        let (scale, least) = (scale * f32::from(scales), least * f32::from(leasts));
        into.extend(low.iter().zip(high).map(|(low, high)| {
            let fifth = if high >> index & 1 == 1 { 16 } else { 0 };
            f32::from(low | fifth) * scale - least
        }));
    }
}

fn q6_k(block: &[u8; 210], into: &mut Vec<f32>) {
    let low: [u8; 128] = part(block, 0);
    let high: [u8; 64] = part(block, 128);
    let scales: [u8; 16] = part(block, 192);
    let scale = half_to_single(half(block, 208));
    let halves = low.as_chunks::<64>().0.iter().zip(high.as_chunks::<BLOCK>().0);
    for ((low, high), scales) in halves.zip(scales.as_chunks::<8>().0) {
        let (first, second) = low.split_at(BLOCK);
        let mut quarter = |low: &[u8], shift_low: u32, shift_high: u32, scales: [u8; 2]| {
            for (half, scale_bits) in scales.into_iter().enumerate() {
                let scale = scale * f32::from(scale_bits.cast_signed());
                let numbers = low.iter().zip(high).skip(half * 16).take(16);
                into.extend(numbers.map(|(low, high)| {
                    let quant = (low >> shift_low & 15) | ((high >> shift_high & 3) << 4);
                    (f32::from(quant) - 32.0) * scale
                }));
            }
        };
        let [s0, s1, s2, s3, s4, s5, s6, s7] = *scales;
        quarter(first, 0, 0, [s0, s1]);
        quarter(second, 0, 2, [s2, s3]);
        quarter(first, 4, 4, [s4, s5]);
        quarter(second, 4, 6, [s6, s7]);
    }
}
