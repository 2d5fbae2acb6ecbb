//! Outside truth: rate, queue and delay of a link against the kernel's token bucket filter on a plain virtual Ethernet pair,
//! with nothing of ours on the way.
//!
//! Rate: full packets sent faster than the link; looked at once the bucket is empty. A bucket of one packet would lose tokens
//! whenever the kernel's timer is late (seen: 36 of 40 Mbit/s), so it holds ten. Delay: packets far apart. The filter, having
//! tokens, hands each over when its transmission begins, the model when its last bit has come: one transmission more.

use crate::accuracy::{judged, when_clean};
use crate::traffic::{holds, io, pair, symmetric, way};
use crate::{Check, Named, Place};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;
use study_link::{Queue, QueueLimit};
use study_shaper::calibration::slope;
use study_shaper::netlink::{InterfaceSettings, Netlink, token_bucket};
use study_shaper::{End, Namespace, StepError, Summary, Timing, clock};
use study_units::{BitRate, Bytes};

pub const ALL: &[Named] = &[
    ("rate_and_delay_are_those_of_the_kernels_token_bucket", rate_and_delay_are_those_of_the_kernels_token_bucket),
    ("a_full_queue_drops_as_many_as_the_kernels", a_full_queue_drops_as_many_as_the_kernels),
];

/// IP bytes of a full packet, and bytes on an Ethernet wire.
const PACKET: u64 = 1_500;
const WIRE: u64 = 1_514;
const RATE: u64 = 40_000_000;
/// Packets in the bucket where rates are compared.
const BUCKET: usize = 10;
/// Packets after which the bucket is empty and the queue is not.
const SETTLED: usize = 60;

/// A sender and a receiver in two namespaces, joined by a pair with a token bucket on the sender's side.
struct KernelLink {
    sender: UdpSocket,
    receiver: UdpSocket,
    _namespaces: [Namespace; 2],
}

fn settings(last: u8) -> InterfaceSettings {
    let address = Ipv4Addr::new(10, 99, 0, last);
    InterfaceSettings { address, prefix: 30, mtu: 1500, queue_length: 10_000, segments: Some(1), arp: true }
}

impl KernelLink {
    fn new(bucket: usize, limit_bytes: u32) -> Result<Self, StepError> {
        let namespaces = [Namespace::create()?, Namespace::create()?];
        let [left, right] = &namespaces;
        let bind = |last: u8| UdpSocket::bind((Ipv4Addr::new(10, 99, 0, last), 0)).map_err(io);
        left.run(|| {
            let netlink = Netlink::open()?;
            netlink.add_veth("left", "right", right.as_fd(), [2, 0, 0, 0, 0, 1])
        })?;
        let receiver = right.run(|| {
            Netlink::open()?.configure("right", &settings(2))?;
            bind(2)
        })?;
        let sender = left.run(|| {
            let netlink = Netlink::open()?;
            netlink.configure("left", &settings(1))?;
            let filter = token_bucket(BitRate::from_bits_per_second(RATE), (bucket as u64 * WIRE) as u32, limit_bytes);
            netlink.add_qdisc("left", "tbf", &filter)?;
            bind(1)
        })?;
        Ok(Self { sender, receiver, _namespaces: namespaces })
    }
}

/// Full packets sent as fast as possible.
struct Burst {
    /// When each arrived after the first was sent, ns.
    arrivals: Vec<u64>,
    /// How long sending took, in packets that the link carries meanwhile.
    meanwhile: i64,
    /// Median time that packets far apart took, ms.
    delay_ms: f64,
}

fn burst(sender: &UdpSocket, receiver: &UdpSocket, packets: usize) -> Result<Burst, String> {
    let target: SocketAddr = receiver.local_addr().map_err(|e| e.to_string())?;
    // One packet ahead, so that neighbours know each other.
    receiver.set_read_timeout(Some(Duration::from_millis(200))).map_err(|e| e.to_string())?;
    let mut buffer = [0; 2_048];
    sender.send_to(&[0; 10], target).map_err(|e| e.to_string())?;
    receiver.recv(&mut buffer).map_err(|e| format!("the first packet: {e}"))?;
    std::thread::sleep(Duration::from_millis(5));
    std::thread::scope(|scope| {
        let arrivals = scope.spawn(|| {
            let (mut buffer, mut arrivals) = ([0; 2_048], Vec::new());
            while arrivals.len() < packets && receiver.recv(&mut buffer).is_ok() {
                arrivals.push(clock::now());
            }
            arrivals
        });
        let payload = vec![0; PACKET as usize - 28];
        let began = clock::now();
        for _ in 0..packets {
            sender.send_to(&payload, target).map_err(|e| e.to_string())?;
        }
        let meanwhile = ((clock::now() - began) as f64 / 1e9 * RATE as f64 / (8 * WIRE) as f64) as i64;
        let arrivals: Vec<u64> = arrivals.join().map_err(|_| "the receiver")?;
        Ok(Burst { arrivals: arrivals.into_iter().map(|at| at - began).collect(), meanwhile, delay_ms: 0.0 })
    })
}

/// Sends full packets five milliseconds apart: the median of how long they took, ms.
fn spaced(sender: &UdpSocket, receiver: &UdpSocket) -> Result<f64, String> {
    let target: SocketAddr = receiver.local_addr().map_err(|e| e.to_string())?;
    let (mut took, mut buffer) = (Vec::new(), [0; 2_048]);
    for _ in 0..60 {
        std::thread::sleep(Duration::from_millis(5));
        let began = clock::now();
        sender.send_to(&[0; PACKET as usize - 28], target).map_err(|e| e.to_string())?;
        receiver.recv(&mut buffer).map_err(|e| e.to_string())?;
        took.push(clock::now() - began);
    }
    Ok(Summary::of(&mut took).p50_ms)
}

/// The same packets over the relay's link and over the kernel's.
fn both(place: &Place, packets: usize, bucket: usize, limit: u64) -> Result<([Burst; 2], Timing), String> {
    let mut direction = way(0, RATE / 1_000_000);
    direction.overhead = Bytes::new(WIRE - PACKET);
    direction.queue = Queue::DropTail(QueueLimit::Bytes(Bytes::new(limit)));
    let rig = pair(place, symmetric(direction), 1)?;
    let link = &rig.links()[0];
    let kernel = KernelLink::new(bucket, limit as u32).map_err(|e| e.to_string())?;
    let [sender, receiver] = [End::Near, End::Far].map(|end| crate::traffic::udp(&rig, link, end));
    judged(&rig, || {
        let mut ours = burst(&sender, &receiver, packets)?;
        let mut kernels = burst(&kernel.sender, &kernel.receiver, packets)?;
        ours.delay_ms = spaced(&sender, &receiver)?;
        kernels.delay_ms = spaced(&kernel.sender, &kernel.receiver)?;
        Ok([ours, kernels])
    })
}

fn rate_of(arrivals: &[u64]) -> f64 {
    slope(arrivals).map_or(0.0, |packets| 8.0 * WIRE as f64 * packets)
}

fn rate_and_delay_are_those_of_the_kernels_token_bucket(place: &Place) -> Check {
    const PACKETS: usize = 400;
    let transmission = 8.0 * WIRE as f64 / RATE as f64 * 1e3;
    let trial = || both(place, PACKETS, BUCKET, 1_000_000);
    when_clean("token bucket", trial, |[ours, kernels]| {
        let arrived = [ours, kernels].map(|burst| burst.arrivals.len());
        holds(arrived == [PACKETS; 2], || format!("{arrived:?} arrived"))?;
        let [our_rate, kernel_rate] = [ours, kernels].map(|burst| rate_of(&burst.arrivals[SETTLED..]));
        let off = ours.delay_ms - kernels.delay_ms - transmission;
        println!(
            "token bucket: {:.3} and the kernel's {:.3} Mbit/s, delay off by {off:.3} ms",
            our_rate / 1e6,
            kernel_rate / 1e6
        );
        holds((our_rate / kernel_rate - 1.0).abs() < 0.01, || {
            format!("{our_rate} bit/s against the kernel's {kernel_rate}")
        })?;
        holds((our_rate / RATE as f64 - 1.0).abs() < 0.01, || format!("{our_rate} bit/s of {RATE}"))?;
        holds(off.abs() < 0.3, || format!("delays differ by {off} ms"))
    })
}

/// What the links carry while the burst is still being sent finds room again; that differs from burst to burst. A packet in
/// transmission counts as queued in the model; the filter has handed it over: one more.
fn a_full_queue_drops_as_many_as_the_kernels(place: &Place) -> Check {
    let trial = || both(place, 80, 1, 30 * WIRE);
    when_clean("queue", trial, |[ours, kernels]| {
        let [our_room, kernel_room] = [ours, kernels].map(|burst| burst.arrivals.len() as i64 - burst.meanwhile);
        println!("queue of 30 packets, 80 sent at once: room for {our_room}, the kernel's for {kernel_room}");
        holds(ours.arrivals.len() < 80 && (our_room + 1 - kernel_room).abs() <= 2, || {
            format!("{our_room} found room, {kernel_room} at the kernel's")
        })
    })
}
