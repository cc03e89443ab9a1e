//! Chance with a seed: the same seed gives the same plan on every machine.

/// A splitmix64 generator.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// The chance of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Chance of its own for one part of the work, whatever the others draw.
    #[must_use]
    pub fn part(seed: u64, part: u64) -> Self {
        let mut whole = Self(seed ^ part.wrapping_mul(0xd1b5_4a32_d192_ed03));
        Self(whole.draw())
    }

    /// The next 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below `end`; 0 when there is none.
    pub fn below(&mut self, end: u64) -> u64 {
        self.draw() % end.max(1)
    }

    /// Puts the items in another order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            let other = self.below(end as u64 + 1);
            items.swap(end, usize::try_from(other).unwrap_or(end));
        }
    }
}
