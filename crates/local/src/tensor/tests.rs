//! Products and unpacking, against plain numbers.

use super::*;

fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn eight(rows: usize, columns: usize) -> (Matrix, Vec<f32>) {
    let plain = numbers(rows * columns, 3);
    let blocks = plain.as_chunks::<BLOCK>().0.iter().map(|chunk| Eight::pack(chunk)).collect();
    (Matrix { rows, columns, blocks: Blocks::Eight(blocks) }, plain)
}

fn four(rows: usize, columns: usize) -> Matrix {
    let mut bytes = numbers(rows * columns, 5).into_iter().map(|number| (number.abs() * 255.0) as u8);
    let block = |_| Four {
        scale: single_to_half(0.01),
        least: single_to_half(-0.07),
        quants: std::array::from_fn(|_| bytes.next().unwrap()),
    };
    let blocks = (0..rows * columns / BLOCK).map(block).collect();
    Matrix { rows, columns, blocks: Blocks::Four(blocks) }
}

fn check(matrix: &Matrix, inputs: usize) {
    let vectors = numbers(inputs * matrix.columns, 11);
    let mut ready = Inputs::default();
    ready.set(&vectors, matrix.columns);
    for rows in [0..matrix.rows, 1..matrix.rows - 2] {
        let mut products = vec![f32::NAN; inputs * rows.len()];
        multiply(matrix, rows.clone(), &ready, &mut products);
        for (input, vector) in vectors.chunks(matrix.columns).enumerate() {
            for (place, row) in rows.clone().enumerate() {
                let mut plain = vec![0.0; matrix.columns];
                matrix.row(row, &mut plain);
                let wanted: f32 = plain.iter().zip(vector).map(|(a, b)| a * b).sum();
                let got = products[input * rows.len() + place];
                assert!((got - wanted).abs() < 0.15, "row {row}, input {input}: {got} for {wanted}");
            }
        }
    }
}

#[test]
fn products_of_both_kinds_are_those_of_the_plain_numbers() {
    for inputs in [1, 2, 4, 5, 9] {
        check(&eight(13, 96).0, inputs);
        check(&four(13, 96), inputs);
    }
}

#[test]
fn eight_bits_keep_a_number_to_within_half_a_step() {
    let (matrix, plain) = eight(4, 64);
    let mut row = vec![0.0; 64];
    for (at, wanted) in plain.chunks(64).enumerate() {
        matrix.row(at, &mut row);
        assert!(row.iter().zip(wanted).all(|(got, wanted)| (got - wanted).abs() < 0.005));
    }
}

#[test]
fn half_precision_goes_both_ways() {
    for bits in (0..0x7c00_u16).chain(0x8000..0xfc00) {
        assert_eq!(single_to_half(half_to_single(bits)), bits);
    }
    assert_eq!(half_to_single(0x3c00), 1.0);
    assert_eq!(half_to_single(0x0001), 2.0_f32.powi(-24));
    assert_eq!(single_to_half(1.0e9), single_to_half(65_504.0));
}

#[test]
fn the_exponential_is_that_of_the_standard_library() {
    for step in -8_000..8_000 {
        let number = step as f32 / 100.0;
        let (got, wanted) = (kernel::float::exp(number), number.exp());
        assert!((got - wanted).abs() <= wanted * 1e-6, "{number}: {got} for {wanted}");
    }
}

/// Blocks whose numbers are known from the definition of their kind.
#[test]
fn every_kind_is_unpacked_as_its_definition_says() {
    let half = |number: f32| single_to_half(number).to_le_bytes();
    let check = |kind: Kind, block: Vec<u8>, wanted: fn(usize) -> f32| {
        let mut got = Vec::new();
        unpack::numbers(kind, &block, &mut got);
        let (count, bytes) = kind.block();
        assert_eq!((got.len() as u64, block.len() as u64), (count, bytes), "{kind:?}");
        for (at, got) in got.into_iter().enumerate() {
            assert!((got - wanted(at)).abs() < 1e-2, "{kind:?}[{at}]: {got} for {}", wanted(at));
        }
    };
    // Low halves count up, high halves count down.
    let nibbles: Vec<u8> = (0..16).map(|at| at | (15 - at) << 4).collect();
    check(Kind::Q4_0, [half(0.5).to_vec(), nibbles.clone()].concat(), |at| {
        (if at < 16 { at as f32 } else { 31.0 - at as f32 } - 8.0) * 0.5
    });
    check(Kind::Q4_1, [half(0.5).to_vec(), half(1.0).to_vec(), nibbles.clone()].concat(), |at| {
        (if at < 16 { at as f32 } else { 31.0 - at as f32 }) * 0.5 + 1.0
    });
    let odd = 0xaaaa_aaaa_u32.to_le_bytes().to_vec();
    check(Kind::Q5_0, [half(0.5).to_vec(), odd.clone(), nibbles.clone()].concat(), |at| {
        let low = if at < 16 { at as f32 } else { 31.0 - at as f32 };
        (low + if at % 2 == 1 { 16.0 } else { 0.0 } - 16.0) * 0.5
    });
    check(Kind::Q5_1, [half(0.5).to_vec(), half(2.0).to_vec(), odd, nibbles].concat(), |at| {
        let low = if at < 16 { at as f32 } else { 31.0 - at as f32 };
        (low + if at % 2 == 1 { 16.0 } else { 0.0 }) * 0.5 + 2.0
    });
    check(Kind::Q8_0, [half(0.25).to_vec(), (0..32).collect()].concat(), |at| at as f32 * 0.25);
    // All scales 3 and all leasts 2: six bits each, the upper ones spread over two places.
    let scales = [vec![3_u8; 4], vec![2; 4], vec![3 | 2 << 4; 4]].concat();
    let head = [half(0.5).to_vec(), half(0.25).to_vec(), scales].concat();
    let four_k = [head.clone(), vec![0x94; 128]].concat();
    check(Kind::Q4K, four_k, |at| (if at / 32 % 2 == 0 { 4.0 } else { 9.0 }) * 1.5 - 0.5);
    // Fifth bits: only those of the second and last group of 32.
    let five_k = [head, vec![0b1000_0010; 32], vec![0x94; 128]].concat();
    check(Kind::Q5K, five_k, |at| {
        let fifth = if matches!(at / 32, 1 | 7) { 16.0 } else { 0.0 };
        (fifth + if at / 32 % 2 == 0 { 4.0 } else { 9.0 }) * 1.5 - 0.5
    });
    // Low nibbles 5 and 10, two high bits 3, 2, 1, 0 for the four quarters of each half.
    let six_k = [vec![0xa5; 128], vec![0b0001_1011; 64], vec![2; 16], half(0.5).to_vec()].concat();
    check(Kind::Q6K, six_k, |at| {
        let quarter = at % 128 / 32;
        let low = if quarter < 2 { 5.0 } else { 10.0 };
        low + [48.0, 32.0, 16.0, 0.0][quarter] - 32.0
    });
    check(Kind::F16, half(1.5).to_vec(), |_| 1.5);
    check(Kind::Bf16, vec![0xc0, 0x3f], |_| 1.5);
    check(Kind::F32, 1.5_f32.to_le_bytes().to_vec(), |_| 1.5);
}
