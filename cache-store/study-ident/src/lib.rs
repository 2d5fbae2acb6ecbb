//! Identity: digests, the canonical encoding that is hashed, and random streams derived by name.
//!
//! Nothing here reads clocks, files or the environment; the same arguments give the same bytes on every machine.

mod canonical;
mod digest;
mod random;

pub use canonical::{CanonicalHasher, canonical_digest};
pub use digest::{Digest, DigestError};
pub use random::{RandomStream, SeedPath};
