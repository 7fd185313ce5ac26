//! Chance, for scripts that nobody wrote.

/// SplitMix64: the same seed, the same script.
pub struct Dice(pub u64);

impl Dice {
    /// 0 to one less than `sides`.
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % sides as u64) as usize
    }

    /// One of them, if there is any.
    pub fn pick<T>(&mut self, from: impl IntoIterator<Item = T>) -> Option<T> {
        let mut from: Vec<T> = from.into_iter().collect();
        (!from.is_empty()).then(|| from.swap_remove(self.roll(from.len())))
    }

    /// True once in so many times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.roll(n) == 0
    }
}
