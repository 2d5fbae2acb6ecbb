//! Network namespaces that exist as long as somebody holds their descriptor: no name, no mount, nothing to clean up.

use crate::error::{At, Step, StepError};
use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;

/// A network namespace. It ends when this value, its interfaces' descriptors and the threads inside have ended, by
/// whatever way: a killed process leaves none.
#[derive(Debug)]
pub struct Namespace(File);

impl Namespace {
    /// A new, empty network namespace.
    ///
    /// # Errors
    /// When the kernel refuses: usually without `CAP_SYS_ADMIN`, that is outside of a user namespace and not as root.
    pub fn create() -> Result<Self, StepError> {
        in_thread(Self::create_here)
    }
    /// The same, and the calling thread is inside afterwards.
    pub(crate) fn create_here() -> Result<Self, StepError> {
        unshare(CloneFlags::CLONE_NEWNET).at(Step::NetworkNamespace, "unshare(CLONE_NEWNET)")?;
        File::open("/proc/thread-self/ns/net").map(Self).at(Step::NetworkNamespace, "/proc/thread-self/ns/net")
    }
    /// Moves the calling thread into this namespace for good. Sockets made from now on, and threads started from it, are inside.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn enter(&self) -> Result<(), StepError> {
        setns(&self.0, CloneFlags::CLONE_NEWNET).at(Step::EnterNamespace, "setns(CLONE_NEWNET)")
    }
    /// Runs `work` in a thread of its own inside this namespace and waits for it.
    ///
    /// # Errors
    /// What `work` says, or that the namespace could not be entered.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> Result<T, StepError> + Send) -> Result<T, StepError> {
        in_thread(|| {
            self.enter()?;
            work()
        })
    }
    /// The number by which the kernel shows this namespace (`net:[number]`).
    #[must_use]
    pub fn number(&self) -> u64 {
        self.0.metadata().map_or(0, |m| m.ino())
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A namespace belongs to a thread, so what changes it runs in a thread that ends afterwards.
pub(crate) fn in_thread<T: Send>(work: impl FnOnce() -> Result<T, StepError> + Send) -> Result<T, StepError> {
    std::thread::scope(|scope| {
        let handle = std::thread::Builder::new().spawn_scoped(scope, work).at(Step::RelayThread, "spawn")?;
        handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
