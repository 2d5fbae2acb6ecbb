//! Content-addressed objects and action records on disk.
//!
//! Purpose: remember what a stage made, under a key of everything it depends on, so that only what changed runs again.
//!
//! ```text
//! .study/
//!   VERSION                     number of the format; a newer one is refused
//!   objects/ab/<blake3>         bytes by their digest, mode 0444
//!   actions/ab/<key>.json       what an action with that key made (a Record, with a checksum of itself)
//!   nodes/<study>/<node>.json   last keys of a node, newest first: only for saying what changed
//!   quarantine/                 objects that turned out corrupt
//!   tmp/<pid>-<n>/              unfinished files of one process; swept when its lock is free, i.e. when it is dead
//!   claims/<key>                locked while a process computes that key
//!   lock                        shared by runs, exclusive for garbage collection
//! ```
//!
//! **Order of writing.** An object is written to a temporary file on the same file system, synced, renamed, and its folder
//! synced; the record that names it follows in the same way. So a kill or a power cut at any moment leaves temporary
//! files and unreferenced objects at worst, never a record without its objects.
//!
//! **Locks** are `flock`: the kernel releases them when a process dies, so nobody ever has to unlock anything. On a file
//! system without locks the store works without them: two processes may then compute the same key twice (with the
//! same result), and garbage collection is refused.
//!
//! **Trust.** Objects are hashed on every read, records carry a checksum. What does not match is never returned.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod collect;
mod error;
mod history;
mod inspect;
mod layout;
mod lock;
mod object;
mod publish;
mod record;
mod scratch;
mod store;

pub use collect::{GcCount, GcOptions, GcReport};
pub use error::StoreError;
pub use inspect::{Bad, Stats, VerifyReport};
pub use lock::{Attempt, Claim, Lease};
pub use object::ObjectState;
pub use publish::{FaultHook, FaultPoint};
pub use record::{FileRecord, OutputRecord, Record, RecordHead};
pub use store::Store;
