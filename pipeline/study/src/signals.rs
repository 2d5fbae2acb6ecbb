//! Ctrl-C: the first asks the run to stop at the next good place, the second ends the program.

use crate::exit::{Exit, Failure};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A flag that is set by the first SIGINT or SIGTERM.
pub fn cancel_flag() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the shutdown looks at the flag before the same signal sets it.
        register_conditional_shutdown(signal, Exit::Interrupted as i32, Arc::clone(&flag))
            .and_then(|_| register(signal, Arc::clone(&flag)))
            .map_err(|e| Failure::environment(format!("cannot watch for Ctrl-C: {e}")))?;
    }
    Ok(flag)
}

/// What signals have asked a role of.
pub struct EndFlags {
    /// To end: set by SIGTERM, which is how a role is told that it is not needed any more, and by SIGINT.
    pub end: Arc<AtomicBool>,
    /// Set by SIGINT only.
    pub interrupted: Arc<AtomicBool>,
}

/// Watches for both; the second of them ends the program at once.
pub fn end_flags() -> Result<EndFlags, Failure> {
    let flags = EndFlags { end: cancel_flag()?, interrupted: Arc::default() };
    register(SIGINT, Arc::clone(&flags.interrupted))
        .map_err(|e| Failure::environment(format!("cannot watch for Ctrl-C: {e}")))?;
    Ok(flags)
}
