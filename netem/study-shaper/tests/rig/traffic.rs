//! Packets for the checks.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;
use study_ident::SeedPath;
use study_link::{Bernoulli, DirectionParams, LinkParams, Loss, LossClock, PhaseStreams, Rate};
use study_shaper::clock;
use study_shaper::{End, Link, Rig, RigOptions, StepError, Topology};
use study_units::{BitRate, Probability, SimDuration};

use crate::Place;

/// A direction with a delay and a rate.
pub fn way(one_way_ms: u64, mbit: u64) -> DirectionParams {
    let rate = Rate::Constant(BitRate::from_bits_per_second(mbit * 1_000_000));
    DirectionParams::plain(SimDuration::from_millis(one_way_ms), rate)
}

pub fn symmetric(way: DirectionParams) -> LinkParams {
    LinkParams { down: way.clone(), up: way }
}

/// Independent losses by packet index.
pub fn lossy(mut way: DirectionParams, rate: f64) -> DirectionParams {
    let rate = Probability::new(rate).expect("a share");
    let phases = Some(PhaseStreams::Joint);
    way.loss = Loss::Bernoulli(Bernoulli { rate, clock: LossClock::Packet, slot: None, slot_bytes: None, phases });
    way
}

pub fn options(place: &Place) -> RigOptions {
    RigOptions { tun_node: place.tun_node.clone(), ..RigOptions::default() }
}

/// Two nodes, `client` and `origin`, and an open link.
pub fn pair(place: &Place, params: LinkParams, seed: u64) -> Result<Rig, String> {
    pair_with(place, params, seed, &options(place))
}

pub fn pair_with(place: &Place, params: LinkParams, seed: u64, options: &RigOptions) -> Result<Rig, String> {
    let topology =
        Topology::chain(&["client", "origin"], vec![params], SeedPath::root(seed)).map_err(|e| e.to_string())?;
    let rig = Rig::build(&topology, place.backend, options).map_err(|e| e.to_string())?;
    rig.links()[0].start();
    Ok(rig)
}

pub fn io(error: std::io::Error) -> StepError {
    StepError::new(study_shaper::Step::FirstPacket, error.raw_os_error().unwrap_or(0), error.to_string())
}

/// A UDP socket at an end of a link.
pub fn udp(rig: &Rig, link: &Link, end: End) -> UdpSocket {
    let node = if end == End::Near { &link.spec().near } else { &link.spec().far };
    rig.run_in(node, || UdpSocket::bind((link.address(end), 0)).map_err(io)).expect("a socket")
}

/// Sends datagrams of `payload` bytes, `every` apart, and says how many arrived.
pub fn datagrams(rig: &Rig, link: &Link, from: End, count: u32, payload: usize, every: Duration) -> u32 {
    let to = if from == End::Near { End::Far } else { End::Near };
    let (sender, receiver) = (udp(rig, link, from), udp(rig, link, to));
    let target = receiver.local_addr().expect("an address");
    receiver.set_read_timeout(Some(Duration::from_millis(400))).expect("a time-out");
    std::thread::scope(|scope| {
        let arrived = scope.spawn(|| {
            let mut buffer = [0; 65_536];
            let mut arrived = 0;
            while receiver.recv(&mut buffer).is_ok() {
                arrived += 1;
            }
            arrived
        });
        let (began, data) = (clock::now(), vec![7; payload]);
        for i in 0..u64::from(count) {
            clock::sleep_until(began + i * every.as_nanos() as u64);
            sender.send_to(&data, target).expect("sent");
        }
        arrived.join().expect("a count")
    })
}

/// Sends `bytes` by TCP from the origin to the client; how many arrived.
pub fn download(rig: &Rig, link: &Link, bytes: usize) -> Result<usize, String> {
    let at = SocketAddr::from((link.address(End::Far), 0));
    let listener = rig.run_in(&link.spec().far, || TcpListener::bind(at).map_err(io)).map_err(|e| e.to_string())?;
    let target = listener.local_addr().map_err(|e| e.to_string())?;
    std::thread::scope(|scope| {
        let server = scope.spawn(move || -> std::io::Result<()> {
            let (mut stream, _) = listener.accept()?;
            stream.write_all(&vec![1; bytes])
        });
        let near = rig.namespace(&link.spec().near).map_err(|e| e.to_string())?;
        let mut stream = near
            .run(|| TcpStream::connect_timeout(&target, Duration::from_secs(10)).map_err(io))
            .map_err(|e| format!("connect: {e}"))?;
        stream.set_read_timeout(Some(Duration::from_secs(20))).map_err(|e| e.to_string())?;
        let mut got = Vec::new();
        stream.read_to_end(&mut got).map_err(|e| format!("read: {e}"))?;
        server.join().map_err(|_| "server")?.map_err(|e| format!("write: {e}"))?;
        Ok(got.len())
    })
}

/// Fails with what was expected and found.
pub fn equal<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?}, expected {expected:?}")) }
}

pub fn holds(condition: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if condition { Ok(()) } else { Err(what()) }
}
