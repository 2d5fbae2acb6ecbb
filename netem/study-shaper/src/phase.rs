//! What a packet belongs to, as far as one can see from outside; matters to losses with `phases: split` only.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | the simulator knows what each packet carries | TCP: SYN and TLS handshake records are handshake, no payload is an acknowledgement; QUIC: long headers are handshake, short packets acknowledgements | a QUIC acknowledgement with a piece of data counts as data in both; a TLS record that begins inside a segment is missed |

use study_link::{Phase, Way};

/// Largest UDP payload with a short QUIC header that is taken for a bare acknowledgement, bytes.
const BARE_ACK: usize = 60;

/// The phase of an IPv4 packet.
pub(crate) fn of(packet: &[u8], way: Way) -> Phase {
    let header = usize::from(packet.first().copied().unwrap_or(0) & 0x0f) * 4;
    let data = match way {
        Way::Down => Phase::Response,
        Way::Up => Phase::Request,
    };
    match (packet.get(9), packet.get(header..)) {
        (Some(6), Some(segment)) => tcp(segment, data),
        (Some(17), Some(datagram)) => match datagram.get(8) {
            Some(first) if first & 0x80 != 0 => Phase::Handshake,
            Some(_) if datagram.len() - 8 <= BARE_ACK => Phase::Ack,
            _ => data,
        },
        _ => data,
    }
}

fn tcp(segment: &[u8], data: Phase) -> Phase {
    const SYN: u8 = 0x02;
    const TLS_HANDSHAKE: u8 = 22;
    let offset = usize::from(segment.get(12).copied().unwrap_or(0x50) >> 4) * 4;
    match (segment.get(13), segment.get(offset)) {
        (Some(flags), _) if flags & SYN != 0 => Phase::Handshake,
        (_, None) => Phase::Ack,
        (_, Some(&TLS_HANDSHAKE)) => Phase::Handshake,
        _ => data,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(protocol: u8, rest: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; 20];
        packet[0] = 0x45;
        packet[9] = protocol;
        packet.extend(rest);
        packet
    }
    fn segment(flags: u8, payload: &[u8]) -> Vec<u8> {
        let mut segment = vec![0; 20];
        (segment[12], segment[13]) = (0x50, flags);
        segment.extend(payload);
        ip(6, &segment)
    }
    fn datagram(first: u8, length: usize) -> Vec<u8> {
        let mut datagram = vec![0; 8 + length];
        datagram[8] = first;
        ip(17, &datagram)
    }

    #[test]
    fn packets_are_told_apart_from_outside() {
        assert_eq!(of(&segment(0x12, &[]), Way::Down), Phase::Handshake);
        assert_eq!(of(&segment(0x10, &[]), Way::Up), Phase::Ack);
        assert_eq!(of(&segment(0x18, &[22, 3, 3]), Way::Down), Phase::Handshake);
        assert_eq!(of(&segment(0x18, &[23, 3, 3]), Way::Down), Phase::Response);
        assert_eq!(of(&segment(0x18, &[23, 3, 3]), Way::Up), Phase::Request);
        assert_eq!(of(&datagram(0xc3, 1_200), Way::Up), Phase::Handshake);
        assert_eq!(of(&datagram(0x43, 35), Way::Up), Phase::Ack);
        assert_eq!(of(&datagram(0x43, 1_200), Way::Down), Phase::Response);
        assert_eq!(of(&[], Way::Down), Phase::Response);
    }
}
