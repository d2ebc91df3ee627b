//! Numbers that look random and come again for the same seed (xorshift64*).

use std::time::{SystemTime, UNIX_EPOCH};

/// A source of numbers.
pub struct Random(u64);

impl Random {
    /// The source of this seed; two that are near each other give numbers that are not.
    pub fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..8 {
            random.next();
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 11) % limit
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let at = self.below(from.len() as u64);
        &from[usize::try_from(at).expect("an index")]
    }
}

/// The seed of this run, printed for the log.
pub fn seed() -> u64 {
    let given = std::env::var("PLIMSOLL_SOAK_SEED").ok().and_then(|seed| seed.parse().ok());
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos() as u64;
    let seed = given.unwrap_or_else(now);
    println!("PLIMSOLL_SOAK_SEED={seed}");
    seed
}
