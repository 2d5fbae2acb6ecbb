//! TCP sockets: what is set before they listen or connect, and what they have afterwards.

use crate::counters::{TcpCounters, host};
use crate::error::StackError;
use crate::readback::{End, Evidence, Readback, Verdict};
use crate::server::Listener;
use crate::settings::StackSettings;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use study_transport::Limit;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 1_024;
/// The slow-start threshold of a connection that has none yet: 2^31 - 1.
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// A listening socket with all that `settings` say.
pub(crate) fn bind(settings: &StackSettings, address: SocketAddr) -> Result<Listener, StackError> {
    let failed = |error: io::Error| StackError::socket(address, &error);
    let socket = new(address)?;
    // A port in TIME_WAIT is free; one that somebody listens on is not.
    socket.set_reuse_address(true).map_err(failed)?;
    apply(&socket, settings)?;
    socket.bind(&address.into()).map_err(failed)?;
    socket.listen(BACKLOG).map_err(failed)?;
    Ok(Listener::Tcp(socket.into()))
}

/// A socket that is about to connect, with all that `settings` say.
pub(crate) fn connecting(settings: &StackSettings, address: SocketAddr) -> Result<std::net::TcpStream, StackError> {
    let socket = new(address)?;
    apply(&socket, settings)?;
    Ok(socket.into())
}

fn new(address: SocketAddr) -> Result<Socket, StackError> {
    let failed = |error: io::Error| StackError::socket(address, &error);
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP)).map_err(failed)?;
    socket.set_nonblocking(true).map_err(failed)?;
    Ok(socket)
}

fn apply(socket: &Socket, settings: &StackSettings) -> Result<(), StackError> {
    let (_, own) = settings.stack.controller(settings.congestion_control.name())?;
    socket.set_tcp_congestion(own.as_bytes()).map_err(|error| no_controller(settings, &error))?;
    let refused = |setting: &'static str, asked: u64| {
        let stack = settings.stack.name();
        move |error: io::Error| StackError::Setting {
            stack,
            setting,
            asked: asked.to_string(),
            reason: error.to_string(),
        }
    };
    socket.set_tcp_nodelay(settings.nodelay).map_err(refused("tcp_nodelay", settings.nodelay.into()))?;
    if let Limit::Size(bytes) = settings.tcp_receive {
        socket.set_recv_buffer_size(size(bytes.get())).map_err(refused("receive_window", bytes.get()))?;
    }
    if let Limit::Size(bytes) = settings.send {
        socket.set_send_buffer_size(size(bytes.get())).map_err(refused("send_buffer", bytes.get()))?;
    }
    if let Some(lowat) = settings.notsent_lowat {
        socket.set_tcp_notsent_lowat(lowat).map_err(refused("notsent_lowat", lowat.into()))?;
    }
    Ok(())
}

/// Socket options are 32-bit integers.
fn size(bytes: u64) -> usize {
    usize::try_from(bytes.min(i32::MAX as u64 / 2)).unwrap_or_default()
}

fn no_controller(settings: &StackSettings, error: &io::Error) -> StackError {
    let asked = settings.congestion_control.name().to_owned();
    if error.kind() == io::ErrorKind::PermissionDenied {
        return StackError::ControllerRefused { asked, reason: error.to_string() };
    }
    let loaded = host::tcp_controllers().unwrap_or_default();
    let named = |own: &String| controller_name(settings, own);
    let has = loaded.iter().map(named).collect::<Vec<_>>().join(", ");
    StackError::NoController { stack: settings.stack.name(), asked, has }
}

/// The name in study files of what the kernel calls `own`; the kernel's own name where studies have none.
fn controller_name(settings: &StackSettings, own: &str) -> String {
    let known = settings.stack.controllers().iter().find(|(_, name)| *name == own);
    known.map_or_else(|| own.to_owned(), |(controller, _)| controller.name().to_owned())
}

/// What a connected socket has, read before its first byte of data.
pub(crate) fn readbacks(end: End, settings: &StackSettings, socket: BorrowedFd<'_>) -> Vec<Readback> {
    let by = Evidence::Kernel;
    let reference = SockRef::from(&socket);
    let mut rows = Vec::new();
    let own = reference.tcp_congestion().unwrap_or_default();
    let own = String::from_utf8_lossy(&own).trim_end_matches('\0').to_owned();
    let got = controller_name(settings, &own);
    rows.push(Readback::equal(end, "congestion_control", settings.congestion_control.name(), got, by));
    if let Ok(nodelay) = reference.tcp_nodelay() {
        rows.push(Readback::equal(end, "tcp_nodelay", settings.nodelay, nodelay, by));
    }
    if let Ok(lowat) = reference.tcp_notsent_lowat() {
        let asked = settings.notsent_lowat.map(u64::from);
        rows.push(Readback::number(end, "notsent_lowat", asked, lowat.into(), by).unit("B"));
    }
    // Linux gives twice what is asked for and uses half of it for its own.
    let sizes = [
        ("tcp_receive_buffer", "tcp_rmem", settings.tcp_receive, reference.recv_buffer_size()),
        ("tcp_send_buffer", "tcp_wmem", settings.send, reference.send_buffer_size()),
    ];
    for (setting, ceiling, limit, got) in sizes {
        rows.extend(buffer(end, settings, (setting, ceiling), limit, got.ok()));
    }
    if let Ok(info) = TcpCounters::of(socket.as_fd()) {
        rows.push(Readback::record(end, "tcp_mss", info.snd_mss, by).unit("B"));
        rows.push(window(end, settings, info.snd_cwnd));
        let threshold =
            if info.snd_ssthresh >= NO_THRESHOLD { "none".to_owned() } else { info.snd_ssthresh.to_string() };
        rows.push(Readback::equal(end, "slow_start_threshold", "none", threshold, by));
    }
    rows
}

/// The initial window matters where the data come from.
fn window(end: End, settings: &StackSettings, got: u32) -> Readback {
    let mut row =
        Readback::equal(end, "initial_window", settings.initial_window, got, Evidence::Kernel).unit("packets");
    if end == End::Client && row.verdict == Verdict::Differs {
        row.verdict = Verdict::Record;
    }
    row
}

fn buffer(
    end: End,
    settings: &StackSettings,
    (setting, ceiling): (&'static str, &'static str),
    limit: Limit,
    got: Option<usize>,
) -> Vec<Readback> {
    let got = got.unwrap_or_default() as u64;
    let by = Evidence::Kernel;
    match limit {
        Limit::Size(bytes) => vec![Readback::at_least(end, setting, Some(bytes.get()), got / 2, by).unit("B")],
        Limit::Auto => vec![Readback::record(end, setting, got, by).unit("B")],
        Limit::Unlimited => {
            let mut rows = vec![Readback::record(end, setting, got, by).unit("B")];
            if let Ok(most) = host::tcp_buffer_ceiling(ceiling) {
                let asked = (settings.least_window > 0).then_some(settings.least_window);
                rows.push(Readback::at_least(end, ceiling, asked, most, by).unit("B"));
            }
            rows
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::StackChoice;
    use study_transport::CongestionControl;
    use study_units::Bytes;

    #[test]
    fn a_controller_that_is_not_loaded_and_one_that_is_not_allowed_are_told_apart() {
        let settings = StackSettings::equal(StackChoice::H2Hyper, CongestionControl::BbrV1, Bytes::new(1));
        let missing = no_controller(&settings, &io::Error::from_raw_os_error(libc::ENOENT));
        assert!(matches!(&missing, StackError::NoController { has, .. } if has.contains("newreno")), "{missing}");
        assert!(missing.cure().unwrap().contains("modprobe tcp_bbr"));
        let refused = no_controller(&settings, &io::Error::from_raw_os_error(libc::EPERM));
        assert_eq!(refused.code(), "controller_refused");
        assert!(refused.is_environment() && refused.cure().unwrap().contains("tcp_allowed_congestion_control"));
    }
}
