//! The first packets of a link: sent until one is answered, so that no experiment meets a device that is not yet up.

use crate::error::{At, ShaperError, Step, StepError};
use crate::rig::Link;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// How long to wait for an answer before asking again.
const AGAIN: Duration = Duration::from_millis(5);

/// Exchanges datagrams over the link, past the model, until one has come back; then closes the link.
pub(crate) fn wait(link: &Link, near: &UdpSocket, far: &UdpSocket, within: Duration) -> Result<(), ShaperError> {
    link.pass_through();
    let target = far.local_addr().at(Step::FirstPacket, "address")?;
    let began = Instant::now();
    let mut asked = 0_u32;
    while began.elapsed() < within {
        asked += 1;
        // A device that is not yet up may refuse; that is what this loop is for.
        drop(near.send_to(&asked.to_be_bytes(), target));
        if hop(far, AGAIN)?.is_some_and(|from| far.send_to(b"back", from).is_ok()) && hop(near, AGAIN)?.is_some() {
            link.stop();
            return Ok(());
        }
    }
    Err(StepError::new(
        Step::FirstPacket,
        nix::libc::ETIMEDOUT,
        format!("link `{}`, {asked} datagrams without an answer", link.spec().name),
    )
    .into())
}

/// Waits for a datagram; `None` when none comes in time.
fn hop(socket: &UdpSocket, patience: Duration) -> Result<Option<SocketAddr>, StepError> {
    socket.set_read_timeout(Some(patience)).at(Step::FirstPacket, "time-out")?;
    match socket.recv_from(&mut [0; 64]) {
        Ok((_, from)) => Ok(Some(from)),
        Err(error) if [ErrorKind::WouldBlock, ErrorKind::TimedOut, ErrorKind::Interrupted].contains(&error.kind()) => {
            Ok(None)
        }
        Err(error) => Err(error).at(Step::FirstPacket, "receive"),
    }
}
