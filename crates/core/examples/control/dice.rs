//! Chance from a seed, the same on every machine: no function of the platform's
//! mathematics is used, only sums and products.

/// Draws of one simulated run.
pub(crate) struct Dice(u64);

impl Dice {
    /// Those of run `run` of cell `cell`.
    pub(crate) fn new(seed: u64, cell: u64, run: u64) -> Self {
        let mut dice = Self(seed ^ cell.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ run.rotate_left(32));
        let _ = dice.word();
        dice
    }

    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to below 1.
    pub(crate) fn share(&mut self) -> f64 {
        f64::from(u32::try_from(self.word() >> 32).unwrap_or(0)) / 4_294_967_296.0
    }

    /// Mean 0, deviation 1, near enough to normal: the sum of twelve shares.
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.share()).sum::<f64>() - 6.0
    }

    /// One of so many, from 0.
    pub(crate) fn pick(&mut self, of: usize) -> usize {
        let of = u64::try_from(of.max(1)).unwrap_or(1);
        usize::try_from(self.word() % of).unwrap_or(0)
    }
}
