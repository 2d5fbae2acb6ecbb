//! Counters of a node that the kernel keeps per namespace. The files are opened once inside, and read from anywhere.

use crate::error::{At, Step, StepError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Counters of a namespace since it was made.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Rows of `/proc/net/snmp`: `Udp/RcvbufErrors`, `Tcp/RetransSegs`, ...
    pub protocols: BTreeMap<String, u64>,
    /// Per interface, in the order of [`INTERFACE_FIELDS`].
    pub interfaces: BTreeMap<String, Vec<u64>>,
}

/// The fields of an interface, as `/proc/net/dev` has them.
pub const INTERFACE_FIELDS: [&str; 16] = [
    "rx_bytes",
    "rx_packets",
    "rx_errors",
    "rx_dropped",
    "rx_fifo",
    "rx_frame",
    "rx_compressed",
    "rx_multicast",
    "tx_bytes",
    "tx_packets",
    "tx_errors",
    "tx_dropped",
    "tx_fifo",
    "tx_collisions",
    "tx_carrier",
    "tx_compressed",
];
const TX_DROPPED: usize = 11;

impl Counters {
    /// A protocol counter, 0 when the kernel has none of that name.
    #[must_use]
    pub fn protocol(&self, name: &str) -> u64 {
        self.protocols.get(name).copied().unwrap_or(0)
    }
    /// Packets that an interface dropped on the way out: for a TUN interface, those that its full queue had no room for.
    #[must_use]
    pub fn transmit_drops(&self, interface: &str) -> u64 {
        self.interfaces.get(interface).and_then(|fields| fields.get(TX_DROPPED)).copied().unwrap_or(0)
    }
    /// UDP datagrams that found a socket's buffer full.
    #[must_use]
    pub fn udp_buffer_errors(&self) -> u64 {
        self.protocol("Udp/RcvbufErrors")
    }
}

/// The open files of one namespace.
#[derive(Debug)]
pub(crate) struct CounterFiles {
    protocols: File,
    interfaces: File,
}

impl CounterFiles {
    /// Opens the files of the namespace of this thread.
    pub(crate) fn open() -> Result<Self, StepError> {
        let open = |path| File::open(path).at(Step::EnterNamespace, path);
        Ok(Self { protocols: open("/proc/thread-self/net/snmp")?, interfaces: open("/proc/thread-self/net/dev")? })
    }
    pub(crate) fn read(&self) -> Result<Counters, StepError> {
        let whole = |file: &File, what| whole(file).at(Step::EnterNamespace, what);
        Ok(Counters {
            protocols: protocols(&whole(&self.protocols, "/proc/net/snmp")?),
            interfaces: interfaces(&whole(&self.interfaces, "/proc/net/dev")?),
        })
    }
}

fn whole(file: &File) -> std::io::Result<String> {
    let (mut text, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        match file.read_at(&mut piece, text.len() as u64)? {
            0 => return Ok(String::from_utf8_lossy(&text).into_owned()),
            n => text.extend_from_slice(&piece[..n]),
        }
    }
}

/// Pairs of lines: names, then values.
fn protocols(text: &str) -> BTreeMap<String, u64> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = BTreeMap::new();
    for pair in lines.chunks(2) {
        let [names, values] = pair else { continue };
        let (mut names, mut values) = (names.split_whitespace(), values.split_whitespace());
        let protocol = names.next().unwrap_or_default().trim_end_matches(':');
        values.next();
        for (name, value) in names.zip(values) {
            if let Ok(value) = value.parse() {
                found.insert(format!("{protocol}/{name}"), value);
            }
        }
    }
    found
}

fn interfaces(text: &str) -> BTreeMap<String, Vec<u64>> {
    let rows = text.lines().filter_map(|line| line.split_once(':'));
    rows.map(|(name, fields)| {
        (name.trim().to_owned(), fields.split_whitespace().filter_map(|f| f.parse().ok()).collect())
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_files_are_read() {
        let found = protocols("Udp: InDatagrams RcvbufErrors\nUdp: 7 3\nTcp: MaxConn RetransSegs\nTcp: -1 9\n");
        assert_eq!((found["Udp/RcvbufErrors"], found["Tcp/RetransSegs"], found.get("Tcp/MaxConn")), (3, 9, None));
        let text = "Inter-| Receive\n face |bytes\n link0: 1 2 3 4 5 6 7 8 9 10 11 901 13 14 15 16\n";
        let counters = Counters { interfaces: interfaces(text), ..Counters::default() };
        assert_eq!(counters.transmit_drops("link0"), 901);
        assert_eq!(counters.transmit_drops("link1"), 0);
    }
}
