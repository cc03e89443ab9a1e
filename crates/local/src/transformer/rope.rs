//! Rotary positions.

use super::Shape;
use crate::error::LoadError;
use crate::gguf::Gguf;
use crate::tensor::vector;

/// How fast each pair of numbers turns with the position.
#[derive(Debug)]
pub(super) struct Rope {
    speeds: Vec<f32>,
    size: usize,
    is_split: bool,
}

impl Rope {
    pub(super) fn read(file: &mut Gguf, shape: &Shape) -> Result<Self, LoadError> {
        let pairs = shape.rope_size / 2;
        let mut speeds: Vec<f32> =
            (0..pairs).map(|pair| shape.rope_base.powf(-(pair as f32) / pairs as f32)).collect();
        if file.tensors().contains_key("rope_freqs.weight") {
            let factors = vector(file, "rope_freqs.weight", pairs)?;
            for (speed, factor) in speeds.iter_mut().zip(factors) {
                *speed /= factor;
            }
        }
        Ok(Self { speeds, size: shape.heads.size, is_split: shape.is_split })
    }

    /// The cosines and sines of one position.
    pub(super) fn angles(&self, position: usize, into: &mut Vec<(f32, f32)>) {
        into.clear();
        into.extend(self.speeds.iter().map(|speed| {
            let (sin, cos) = (position as f32 * speed).sin_cos();
            (cos, sin)
        }));
    }

    /// Turns every head of a vector.
    pub(super) fn turn(&self, heads: &mut [f32], angles: &[(f32, f32)]) {
        for head in heads.chunks_exact_mut(self.size) {
            if self.is_split {
                let (first, second) = head.split_at_mut(angles.len().min(self.size));
                for ((a, b), angle) in first.iter_mut().zip(second).zip(angles) {
                    (*a, *b) = turned(*a, *b, *angle);
                }
            } else {
                for ([a, b], angle) in head.as_chunks_mut::<2>().0.iter_mut().zip(angles) {
                    (*a, *b) = turned(*a, *b, *angle);
                }
            }
        }
    }
}

fn turned(a: f32, b: f32, (cos, sin): (f32, f32)) -> (f32, f32) {
    (a * cos - b * sin, a * sin + b * cos)
}
