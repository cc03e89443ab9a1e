//! Time and chance: the only places where a clock or a random number is read.

use bowline_core::id::Millis;

/// Tells the time.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970. Never goes backwards within a process.
    fn now(&self) -> Millis;
}

/// The machine's clock: wall time at start, then the monotonic clock, so that a
/// clock that is set while we run neither fires a timer early nor postpones it.
pub struct SystemClock {
    started: std::time::Instant,
    wall_ms: u64,
}

impl Default for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock")]
    fn default() -> Self {
        let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Self {
            started: std::time::Instant::now(),
            wall_ms: u64::try_from(wall.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Millis {
        let passed = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Millis(self.wall_ms).plus(passed)
    }
}

/// Draws random bytes.
pub trait Chance: Send + Sync {
    /// Eight fresh bytes.
    fn draw(&self) -> [u8; 8];
}

/// The operating system's generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemChance;

impl Chance for SystemChance {
    fn draw(&self) -> [u8; 8] {
        let mut bytes = [0; 8];
        if getrandom::fill(&mut bytes).is_err() {
            // Ids must differ, not be secret: the address and time of a fresh
            // hasher are enough when the generator is missing.
            let hasher = std::hash::RandomState::new();
            bytes = std::hash::BuildHasher::hash_one(&hasher, "bowline").to_be_bytes();
        }
        bytes
    }
}
