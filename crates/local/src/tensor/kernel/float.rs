//! Plain numbers: norms, gates and exponentials, as loops the compiler makes vectors of.

/// Divides a vector by the root of its mean square and multiplies it with weights.
pub(crate) fn normalise(vector: &[f32], weights: &[f32], epsilon: f32, into: &mut [f32]) {
    pulp::Arch::new().dispatch(Normalise { vector, weights, epsilon, into });
}

struct Normalise<'a> {
    vector: &'a [f32],
    weights: &'a [f32],
    epsilon: f32,
    into: &'a mut [f32],
}

impl pulp::NullaryFnOnce for Normalise<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let mean = product(self.vector, self.vector) / self.vector.len().max(1) as f32;
        let scale = 1.0 / (mean + self.epsilon).sqrt();
        for ((out, number), weight) in self.into.iter_mut().zip(self.vector).zip(self.weights) {
            *out = number * scale * weight;
        }
    }
}

/// `gate * sigmoid(gate) * up`, into `gate`.
pub(crate) fn gated(gate: &mut [f32], up: &[f32]) {
    pulp::Arch::new().dispatch(Gated { gate, up });
}

struct Gated<'a> {
    gate: &'a mut [f32],
    up: &'a [f32],
}

impl pulp::NullaryFnOnce for Gated<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (gate, up) in self.gate.iter_mut().zip(self.up) {
            *gate = *gate / (1.0 + exp(-*gate)) * up;
        }
    }
}

/// The product of two vectors, eight sums at a time.
#[inline(always)]
pub(super) fn product(left: &[f32], right: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 8];
    let (left, left_rest) = left.as_chunks::<8>();
    let (right, right_rest) = right.as_chunks::<8>();
    for (left, right) in left.iter().zip(right) {
        for ((sum, left), right) in sums.iter_mut().zip(left).zip(right) {
            *sum += left * right;
        }
    }
    let rest: f32 = left_rest.iter().zip(right_rest).map(|(left, right)| left * right).sum();
    sums.into_iter().sum::<f32>() + rest
}

/// e to the power of a number, to within two units of the last place of a float; from
/// -87 downwards it is nearly zero, from 88 upwards the largest there is.
#[inline(always)]
pub(crate) fn exp(number: f32) -> f32 {
    const LOG2_E: f32 = std::f32::consts::LOG2_E;
    // ln 2 in two parts, the first with so few bits that its product with n is exact.
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let number = number.clamp(-87.0, 88.0);
    let whole = (number * LOG2_E).round_ties_even();
    let rest = number - whole * LN2_HIGH - whole * LN2_LOW;
    let mut power = 1.987_569_1e-4;
    for factor in [1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        power = power * rest + factor;
    }
    let fraction = power * rest * rest + rest + 1.0;
    // The exponent is between 1 and 254 after the clamp.
    fraction * f32::from_bits((((whole as i32) + 127) << 23).cast_unsigned())
}
