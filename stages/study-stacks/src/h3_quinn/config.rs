//! quinn's configuration and its UDP socket, from the settings of a stack.

use crate::error::StackError;
use crate::readback::{End, Evidence, Readback};
use crate::server::Listener;
use crate::settings::{Datagram, StackSettings};
use crate::sys;
use quinn::congestion::{Bbr, BbrConfig, Controller, ControllerFactory, Cubic, CubicConfig, NewReno, NewRenoConfig};
use quinn::{IdleTimeout, MtuDiscoveryConfig, TransportConfig, VarInt};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use study_transport::{CongestionControl, Limit};

/// Where quinn begins when it looks for larger packets (RFC 9000 section 14.1).
const SMALLEST: u16 = 1_200;

/// A UDP socket on `address` with the buffers of `settings`.
pub(crate) fn socket(settings: &StackSettings, address: SocketAddr) -> Result<UdpSocket, StackError> {
    let failed = |error: io::Error| StackError::socket(address, &error);
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP)).map_err(failed)?;
    socket.set_nonblocking(true).map_err(failed)?;
    if let Some(bytes) = settings.udp_buffer {
        // The kernel cuts what it does not allow: the read-back tells.
        let size = usize::try_from(bytes.min(i32::MAX as u64 / 2)).unwrap_or_default();
        socket.set_recv_buffer_size(size).map_err(failed)?;
        socket.set_send_buffer_size(size).map_err(failed)?;
    }
    socket.bind(&address.into()).map_err(failed)?;
    Ok(socket.into())
}

/// A bound socket for a server.
pub(crate) fn bind(settings: &StackSettings, address: SocketAddr) -> Result<Listener, StackError> {
    socket(settings, address).map(Listener::Udp)
}

/// An endpoint on `socket`, and the socket's descriptor for read-backs. Must be called on a runtime.
pub(crate) fn endpoint(
    settings: &StackSettings,
    server: Option<quinn::ServerConfig>,
    socket: UdpSocket,
) -> io::Result<(quinn::Endpoint, OwnedFd)> {
    let descriptor = socket.as_fd().try_clone_to_owned()?;
    let runtime = Arc::new(quinn::TokioRuntime);
    let endpoint = quinn::Endpoint::new(quinn::EndpointConfig::default(), server, socket, runtime)?;
    if !settings.offload {
        // quinn switches it on when it takes the socket.
        sys::set_udp_gro(descriptor.as_fd(), false)?;
    }
    Ok((endpoint, descriptor))
}

/// What the UDP socket has.
pub(crate) fn socket_rows(end: End, settings: &StackSettings, descriptor: BorrowedFd<'_>) -> Vec<Readback> {
    let by = Evidence::Kernel;
    let socket = SockRef::from(&descriptor);
    let mut rows = Vec::new();
    // Linux gives twice what is asked for and uses half of it for its own.
    let half = |size: io::Result<usize>| size.map(|bytes| bytes as u64 / 2).unwrap_or_default();
    let (receive, send) = (half(socket.recv_buffer_size()), half(socket.send_buffer_size()));
    rows.push(Readback::at_least(end, "udp_receive_buffer", settings.udp_buffer, receive, by).unit("B"));
    rows.push(Readback::at_least(end, "udp_send_buffer", settings.udp_buffer, send, by).unit("B"));
    if let Ok(joined) = sys::udp_gro(descriptor) {
        rows.push(Readback::equal(end, "udp_gro", settings.offload, joined, by));
    }
    rows.push(Readback::told(end, "udp_gso", settings.offload));
    rows
}

fn controller(settings: &StackSettings) -> Result<Arc<dyn ControllerFactory + Send + Sync>, StackError> {
    let window = initial_window(settings);
    let (controller, _) = settings.stack.controller(settings.congestion_control.name())?;
    Ok(match controller {
        CongestionControl::NewReno => {
            let mut config = NewRenoConfig::default();
            config.initial_window(window);
            Arc::new(config)
        }
        CongestionControl::BbrV1 => {
            let mut config = BbrConfig::default();
            config.initial_window(window);
            Arc::new(config)
        }
        // The registry has no further ones.
        _ => {
            let mut config = CubicConfig::default();
            config.initial_window(window);
            Arc::new(config)
        }
    })
}

/// Initial congestion window in bytes of UDP payload.
fn initial_window(settings: &StackSettings) -> u64 {
    let packet = match settings.datagram {
        Datagram::Fixed(size) => size,
        Datagram::Discover(_) => SMALLEST,
    };
    u64::from(settings.initial_window) * u64::from(packet)
}

/// What a connection's congestion controller is, as quinn says.
pub(crate) fn controller_rows(end: End, settings: &StackSettings, running: Box<dyn Controller>) -> Vec<Readback> {
    let window = running.initial_window();
    let any = running.into_any();
    let name = if any.is::<Cubic>() {
        CongestionControl::Cubic.name()
    } else if any.is::<NewReno>() {
        CongestionControl::NewReno.name()
    } else if any.is::<Bbr>() {
        CongestionControl::BbrV1.name()
    } else {
        "another"
    };
    let asked = settings.congestion_control.name();
    vec![
        Readback::equal(end, "congestion_control", asked, name, Evidence::Stack),
        Readback::number(end, "initial_window", Some(initial_window(settings)), window, Evidence::Stack).unit("B"),
    ]
}

/// The size of packets: fixed, or found.
pub(crate) fn datagram_row(end: End, settings: &StackSettings, current: u16) -> Readback {
    let asked = match settings.datagram {
        Datagram::Fixed(size) => Some(u64::from(size)),
        Datagram::Discover(_) => None,
    };
    Readback::number(end, "datagram", asked, current.into(), Evidence::Stack).unit("B")
}

/// quinn's transport configuration.
pub(crate) fn transport(settings: &StackSettings) -> Result<TransportConfig, StackError> {
    let refused = |setting, asked: u64| StackError::Setting {
        stack: settings.stack.name(),
        setting,
        asked: asked.to_string(),
        reason: "it is larger than QUIC can say".to_owned(),
    };
    let number = |setting, value: u64| VarInt::from_u64(value).map_err(|_| refused(setting, value));
    let mut config = TransportConfig::default();
    config.congestion_controller_factory(controller(settings)?);
    config.enable_segmentation_offload(settings.offload);
    // Each stream in turn, as HTTP/2's server does it.
    config.send_fairness(true);
    config.max_concurrent_bidi_streams(settings.streams.into());
    if let Some(bytes) = settings.stream_window {
        config.stream_receive_window(number("stream_window", bytes)?);
    }
    if let Some(bytes) = settings.connection_window {
        config.receive_window(number("connection_window", bytes)?);
    }
    match settings.send {
        Limit::Size(bytes) => {
            config.send_window(bytes.get());
        }
        Limit::Unlimited if settings.least_window > 0 => {
            config.send_window(settings.least_window);
        }
        _ => {}
    }
    match settings.datagram {
        Datagram::Fixed(size) => config.initial_mtu(size).min_mtu(size).mtu_discovery_config(None),
        Datagram::Discover(most) => {
            let mut discovery = MtuDiscoveryConfig::default();
            discovery.upper_bound(most);
            config.mtu_discovery_config(Some(discovery))
        }
    };
    let idle = u64::try_from(settings.idle_timeout.as_millis()).unwrap_or(u64::MAX);
    let idle = IdleTimeout::try_from(settings.idle_timeout).map_err(|_| refused("idle_timeout", idle))?;
    config.max_idle_timeout(Some(idle));
    Ok(config)
}
