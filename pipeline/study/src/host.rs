//! What tells this machine from others, for results that are measured on it.

use std::fs;
use study_ident::CanonicalHasher;

/// Kernel, processor, number of processors, privilege, and a digest of the machine's own id: measured results of machines that
/// differ in one of these are never taken for each other's.
pub fn fingerprint() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    let mut hasher = CanonicalHasher::new("study/host");
    hasher.text(&read("/etc/machine-id"));
    let user = if user_is_root() { "root" } else { "user" };
    format!(
        "linux {}, {processors} x {}, {user}, {}",
        read("/proc/sys/kernel/osrelease"),
        processor(&read("/proc/cpuinfo")),
        hasher.finish().short()
    )
}

fn processor(info: &str) -> &str {
    let line = info.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split_once(':')).map_or("processor", |(_, name)| name.trim())
}

/// Owner of this process: privileges decide which backends there are.
fn user_is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    line.and_then(|ids| ids.split_whitespace().nth(1)) == Some("0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_the_same_as_itself() {
        assert_eq!(fingerprint(), fingerprint());
        assert!(fingerprint().starts_with("linux "));
    }

    #[test]
    fn a_processor_is_named() {
        assert_eq!(processor("vendor: x\nmodel name\t: Fast 1\n"), "Fast 1");
        assert_eq!(processor(""), "processor");
    }
}
