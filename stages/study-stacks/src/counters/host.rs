//! What the kernel counts for the network namespace of the calling thread.
//!
//! `/proc/net` follows the process's first thread; `/proc/thread-self/net` follows the thread that reads, which is what a
//! role in its own namespace needs.

use crate::error::StackError;
use serde::Serialize;
use std::collections::BTreeMap;

/// Drops and errors of UDP in a namespace, since it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct UdpCounters {
    /// Datagrams delivered to sockets.
    pub received: u64,
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams dropped because a receive buffer was full.
    pub receive_buffer_errors: u64,
    /// Datagrams not sent because a send buffer was full.
    pub send_buffer_errors: u64,
}

/// Drops of one interface, since it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct InterfaceCounters {
    /// Packets received.
    pub received: u64,
    /// Received packets that were dropped.
    pub receive_dropped: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets dropped before they were sent.
    pub send_dropped: u64,
}

fn read(path: &str) -> Result<String, StackError> {
    std::fs::read_to_string(path).map_err(|error| StackError::Host { what: path.to_owned(), reason: error.to_string() })
}

/// UDP's counters in the calling thread's namespace.
///
/// # Errors
/// [`StackError::Host`] when the kernel's file cannot be read.
pub fn udp() -> Result<UdpCounters, StackError> {
    read("/proc/thread-self/net/snmp").map(|text| parse_udp(&text))
}

/// Counters of each interface in the calling thread's namespace.
///
/// # Errors
/// [`StackError::Host`] when the kernel's file cannot be read.
pub fn interfaces() -> Result<BTreeMap<String, InterfaceCounters>, StackError> {
    read("/proc/thread-self/net/dev").map(|text| parse_interfaces(&text))
}

/// The largest buffer that autotuning may give a TCP socket in the calling thread's namespace, in bytes:
/// `tcp_rmem` for receiving, `tcp_wmem` for sending.
///
/// # Errors
/// [`StackError::Host`] when the kernel's file cannot be read.
pub fn tcp_buffer_ceiling(name: &str) -> Result<u64, StackError> {
    let path = format!("/proc/sys/net/ipv4/{name}");
    let text = read(&path)?;
    let last = text.split_whitespace().last().and_then(|word| word.parse().ok());
    last.ok_or_else(|| StackError::Host { what: path, reason: format!("`{}` is no list of sizes", text.trim()) })
}

/// The congestion controllers that the kernel has loaded.
///
/// # Errors
/// [`StackError::Host`] when the kernel's file cannot be read.
pub fn tcp_controllers() -> Result<Vec<String>, StackError> {
    let text = read("/proc/sys/net/ipv4/tcp_available_congestion_control")?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

fn parse_udp(text: &str) -> UdpCounters {
    let mut rows = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, values) = (rows.next().unwrap_or_default(), rows.next().unwrap_or_default());
    let value = |wanted: &str| {
        let mut pairs = names.split_whitespace().zip(values.split_whitespace());
        pairs.find(|(name, _)| *name == wanted).and_then(|(_, value)| value.parse().ok()).unwrap_or_default()
    };
    UdpCounters {
        received: value("InDatagrams"),
        sent: value("OutDatagrams"),
        receive_buffer_errors: value("RcvbufErrors"),
        send_buffer_errors: value("SndbufErrors"),
    }
}

fn parse_interfaces(text: &str) -> BTreeMap<String, InterfaceCounters> {
    let row = |line: &str| {
        let (name, values) = line.split_once(':')?;
        let values: Vec<u64> = values.split_whitespace().map(|word| word.parse().unwrap_or_default()).collect();
        let at = |i: usize| values.get(i).copied();
        let counted =
            InterfaceCounters { received: at(1)?, receive_dropped: at(3)?, sent: at(9)?, send_dropped: at(11)? };
        Some((name.trim().to_owned(), counted))
    };
    text.lines().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SNMP: &str = "Tcp: RetransSegs\nTcp: 4\n\
        Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors\nUdp: 11 2 3 14 5 6 7\n\
        UdpLite: InDatagrams\nUdpLite: 99\n";
    const DEV: &str = "Inter-|   Receive | Transmit\n face |bytes packets errs drop fifo frame compressed multicast|bytes \
        packets errs drop fifo colls carrier compressed\n  tun0: 100 2 0 3 0 0 0 0 500 6 0 7 0 0 0 0\n";

    #[test]
    fn udp_drops_are_found_by_name() {
        let expected = UdpCounters { received: 11, sent: 14, receive_buffer_errors: 5, send_buffer_errors: 6 };
        assert_eq!(parse_udp(SNMP), expected);
        assert_eq!(parse_udp("nothing"), UdpCounters::default());
    }

    #[test]
    fn interface_drops_are_read_for_both_directions() {
        let expected = InterfaceCounters { received: 2, receive_dropped: 3, sent: 6, send_dropped: 7 };
        assert_eq!(parse_interfaces(DEV), BTreeMap::from([("tun0".to_owned(), expected)]));
    }

    #[test]
    fn this_kernel_can_be_asked() {
        assert!(interfaces().unwrap().contains_key("lo"));
        udp().unwrap();
        assert!(tcp_buffer_ceiling("tcp_rmem").unwrap() > 4_096);
        assert!(tcp_controllers().unwrap().iter().any(|name| name == "reno"));
        assert_eq!(tcp_buffer_ceiling("no_such_key").unwrap_err().code(), "host");
    }
}
