//! One side: an endpoint with its one connection, fed with datagrams and timers.

use crate::Refused;
use crate::credentials::{Credentials, NAME};
use bytes::BytesMut;
use quinn_proto::{
    Connection, ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig, Event, StreamId, TransportConfig,
};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

/// The bytes of a datagram.
pub type Datagram = Vec<u8>;

/// Addresses that only name the sides.
const CLIENT: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 0, 0, 1), 40_000);
const SERVER: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 0, 0, 2), 443);

pub struct Side {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    peer: SocketAddr,
    /// Answers that belong to no connection yet.
    loose: Vec<Datagram>,
}

impl Side {
    pub fn server(credentials: &Credentials, transport: Arc<TransportConfig>) -> Result<Self, Refused> {
        let mut config = credentials.server()?;
        config.transport = transport;
        let endpoint = Endpoint::new(endpoint_config(), Some(Arc::new(config)), false, Some([2; 32]));
        Ok(Self { endpoint, connection: None, peer: CLIENT.into(), loose: Vec::new() })
    }
    pub fn client(credentials: &Credentials, transport: Arc<TransportConfig>, now: Instant) -> Result<Self, Refused> {
        let mut config = credentials.client()?;
        config.transport_config(transport);
        let mut endpoint = Endpoint::new(endpoint_config(), None, false, Some([1; 32]));
        let connection = endpoint.connect(now, config, SERVER.into(), NAME).map_err(|e| Refused(e.to_string()))?;
        Ok(Self { endpoint, connection: Some(connection), peer: SERVER.into(), loose: Vec::new() })
    }
    pub fn connection(&mut self) -> Option<&mut Connection> {
        self.connection.as_mut().map(|(_, connection)| connection)
    }
    pub fn poll(&mut self) -> Option<Event> {
        self.settle();
        self.connection()?.poll()
    }

    pub fn receive(&mut self, now: Instant, datagram: Datagram) {
        let mut answer = Vec::new();
        let data = BytesMut::from(datagram.as_slice());
        match self.endpoint.handle(now, self.peer, None, None, data, &mut answer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some(connection) = self.connection() {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                if let Ok(accepted) = self.endpoint.accept(incoming, now, &mut answer, None) {
                    self.connection = Some(accepted);
                }
            }
            Some(DatagramEvent::Response(transmit)) => self.loose.push(answer[..transmit.size].to_vec()),
            None => {}
        }
        self.settle();
    }
    pub fn on_timer(&mut self, now: Instant) {
        if let Some(connection) = self.connection() {
            connection.handle_timeout(now);
        }
        self.settle();
    }

    /// Everything that may leave now.
    pub fn transmit(&mut self, now: Instant) -> Vec<Datagram> {
        let mut datagrams = std::mem::take(&mut self.loose);
        if let Some(connection) = self.connection() {
            let mut buffer = Vec::new();
            while let Some(transmit) = connection.poll_transmit(now, 1, &mut buffer) {
                datagrams.push(buffer[..transmit.size].to_vec());
                buffer.clear();
            }
        }
        self.settle();
        datagrams
    }

    /// Writes what the stream takes; with `finish` it ends when all of it is written.
    pub fn write(&mut self, stream: StreamId, bytes: &[u8], finish: bool) -> usize {
        let Some(connection) = self.connection() else { return 0 };
        let mut send = connection.send_stream(stream);
        let written = send.write(bytes).unwrap_or(0);
        if finish && written == bytes.len() {
            // A stream that the peer has stopped has nothing to finish.
            let _ = send.finish();
        }
        written
    }
    /// Reads what is there; returns how many bytes.
    pub fn read(&mut self, stream: StreamId) -> u64 {
        let Some(connection) = self.connection() else { return 0 };
        let mut receive = connection.recv_stream(stream);
        let Ok(mut chunks) = receive.read(true) else { return 0 };
        let mut bytes = 0;
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            bytes += chunk.bytes.len() as u64;
        }
        let _ = chunks.finalize();
        bytes
    }

    /// Hands events between connection and endpoint.
    fn settle(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
    }
}

fn endpoint_config() -> Arc<EndpointConfig> {
    Arc::new(EndpointConfig::new(Arc::new(FixedReset)))
}

/// Stateless resets need a key; none is ever sent here, so its content does not matter, but its presence does.
struct FixedReset;

impl quinn_proto::crypto::HmacKey for FixedReset {
    fn sign(&self, _data: &[u8], signature: &mut [u8]) {
        signature.fill(0);
    }
    fn signature_len(&self) -> usize {
        64
    }
    fn verify(&self, _data: &[u8], signature: &[u8]) -> Result<(), quinn_proto::crypto::CryptoError> {
        if signature.iter().all(|b| *b == 0) { Ok(()) } else { Err(quinn_proto::crypto::CryptoError) }
    }
}
