//! The chance in a simulated source: every call of every tool has a stream of its own, so that
//! what one tool draws does not depend on when others are called.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};
use sha2::{Digest as _, Sha256};

/// The seed of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(u64);

impl Seed {
    /// The seed of the file, or a fresh one that differs at every start.
    pub fn new(seed: Option<u64>) -> Self {
        Self(seed.unwrap_or_else(|| RandomState::new().build_hasher().finish()))
    }

    /// The draws of call number `call`, from 0, of a tool.
    pub(super) fn draws(self, tool: &str, call: u64) -> Draws {
        let digest = Sha256::new()
            .chain_update(self.0.to_le_bytes())
            .chain_update(call.to_le_bytes())
            .chain_update(tool)
            .finalize();
        Draws(Xoshiro256PlusPlus::from_seed(digest.into()))
    }
}

/// The draws of one call.
pub(super) struct Draws(Xoshiro256PlusPlus);

impl Draws {
    /// The next number of `0.0..1.0`.
    pub(super) fn next(&mut self) -> f64 {
        self.0.random()
    }
}
