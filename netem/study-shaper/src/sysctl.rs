//! Kernel settings of a namespace: set explicitly, read back, recorded.

use crate::error::{At, Step, StepError};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Largest TCP buffer, bytes: 64 MiB, so that no window below it is the kernel's doing.
pub const TCP_BUFFER_BYTES: u64 = 64 << 20;

/// What a namespace is set to. Nothing that changes a result is left to the host's defaults where a namespace can decide.
#[must_use]
pub fn defaults() -> Vec<(String, String)> {
    let buffers = |start: u64| format!("4096 {start} {TCP_BUFFER_BYTES}");
    [
        // A second connection must not begin with what the first has learnt.
        ("net.ipv4.tcp_no_metrics_save", "1".to_owned()),
        ("net.ipv4.tcp_no_ssthresh_metrics_save", "1".to_owned()),
        ("net.ipv4.tcp_rmem", buffers(131_072)),
        ("net.ipv4.tcp_wmem", buffers(16_384)),
        // Neighbour discovery would take packet indices.
        ("net.ipv6.conf.all.disable_ipv6", "1".to_owned()),
        ("net.ipv6.conf.default.disable_ipv6", "1".to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// Settings that are recorded besides those that are set: they change results and are the host's.
pub const RECORDED: [&str; 14] = [
    "net.core.default_qdisc",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_fastopen",
    "net.ipv4.tcp_early_retrans",
    "net.ipv4.tcp_frto",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_recovery",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_timestamps",
];

fn path(name: &str) -> PathBuf {
    PathBuf::from("/proc/sys").join(name.replace('.', "/"))
}

/// The value of a setting in the namespace of this thread, white space as single blanks; `None` when the kernel has none.
pub(crate) fn read(name: &str) -> Option<String> {
    let text = std::fs::read_to_string(path(name)).ok()?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Sets what is asked for in the namespace of this thread, reads it back, and says what holds. A setting that the kernel
/// does not have (IPv6 not built in) is left out of the answer.
pub(crate) fn apply(settings: &[(String, String)]) -> Result<BTreeMap<String, String>, StepError> {
    let mut held = BTreeMap::new();
    for (name, value) in settings {
        if !path(name).exists() {
            continue;
        }
        std::fs::write(path(name), value).at(Step::Sysctl, name)?;
        let back = read(name).unwrap_or_default();
        if back != *value {
            return Err(StepError::new(Step::Sysctl, 0, format!("`{name}` was set to `{value}` and reads `{back}`")));
        }
        held.insert(name.clone(), back);
    }
    for name in RECORDED {
        if let Some(value) = read(name) {
            held.entry(name.to_owned()).or_insert(value);
        }
    }
    Ok(held)
}
