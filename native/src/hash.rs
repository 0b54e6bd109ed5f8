//! How tables in memory are hashed: by xxh3 with a secret of the process, so that no page can know what collides.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

use xxhash_rust::xxh3::xxh3_64_with_seed;

static SECRET: OnceLock<u64> = OnceLock::new();

#[derive(Clone, Copy)]
pub struct Hashed(u64);

impl Default for Hashed {
    fn default() -> Self {
        Hashed(*SECRET.get_or_init(|| RandomState::new().hash_one(0u8)))
    }
}

impl BuildHasher for Hashed {
    type Hasher = Hashing;

    fn build_hasher(&self) -> Hashing {
        Hashing(self.0)
    }
}

/// Each piece is hashed with what came of those before.
pub struct Hashing(u64);

impl Hasher for Hashing {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }

    fn write_u8(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
