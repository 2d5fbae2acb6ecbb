//! Recovery's switches: what each one does, and that nothing happens without it.

use crate::support::{fetch, params};
use study_evidence::{Topic, claim};
use study_transport::{
    CongestionControl, Connection, ConnectionConfig, Fate, Path, Protocol, Scheduler, SessionState, StreamReport,
};
use study_units::{BitRate, SimDuration, SimTime};

/// A link whose packets may each be late or lost: `fate` says by how much, by number.
struct Scripted<F> {
    rate: BitRate,
    one_way: SimDuration,
    free_at: SimTime,
    fate: F,
    /// When each packet of the server left.
    sent: Vec<SimTime>,
    /// Nothing is transmitted between these times.
    stall: Option<(SimTime, SimTime)>,
}

impl<F: FnMut(usize, SimTime) -> Option<SimDuration>> Path for Scripted<F> {
    fn send_down(&mut self, now: SimTime, ip_bytes: u32) -> Fate {
        let late = (self.fate)(self.sent.len(), now);
        self.sent.push(now);
        self.free_at = self.free_at.max(now);
        if let Some((_, until)) = self.stall.filter(|(from, until)| (*from..*until).contains(&self.free_at)) {
            self.free_at = until;
        }
        self.free_at += self.rate.serialization(u64::from(ip_bytes));
        late.map_or(Fate::Lost, |late| Fate::Arrives(self.free_at + self.one_way + late))
    }
    fn send_up(&mut self, now: SimTime, _ip_bytes: u32) -> Fate {
        Fate::Arrives(now + self.one_way)
    }
}

fn ms(ms: u64) -> SimDuration {
    SimDuration::from_millis(ms)
}

/// 20 Mbit/s and 40 ms of round trip.
fn run<F: FnMut(usize, SimTime) -> Option<SimDuration>>(
    config: &ConnectionConfig,
    bytes: u64,
    fate: F,
) -> (StreamReport, Connection<Scripted<F>>) {
    let rate = "20 Mbit/s".parse().unwrap();
    let path = Scripted { rate, one_way: ms(20), free_at: SimTime::ZERO, fate, sent: Vec::new(), stall: None };
    let (reports, connection) = fetch(config, path, &[bytes]);
    (reports[0], connection)
}

fn config(protocol: Protocol) -> ConnectionConfig {
    ConnectionConfig::new(protocol, CongestionControl::Cubic, Scheduler::RoundRobin, SessionState::Cold, &params())
}

/// Every 20th packet is 6 ms late: at 0.6 ms a packet ten later ones overtake it.
fn reordering(index: usize, _now: SimTime) -> Option<SimDuration> {
    Some(if index > 40 && index.is_multiple_of(20) { ms(6) } else { SimDuration::ZERO })
}

#[test]
fn reordering_is_taken_for_loss_at_a_fixed_threshold_and_an_adaptive_window_removes_that() {
    // Mechanism of Kakhki et al. (IMC 2017, section 5.2): a threshold of three packets under a link that reorders.
    let mut quic = config(Protocol::H3);
    let (fixed, a) = run(&quic, 3_000_000, reordering);
    quic.rules.adaptive_reordering = true;
    let (adaptive, b) = run(&quic, 3_000_000, reordering);
    let kakhki = |rule: &str, spurious: u64| {
        claim!(
            Topic::Recovery,
            "false losses of a link that reorders",
            "Kakhki et al., IMC 2017, section 5.2",
            format!("H3, {rule}, every 20th packet 6 ms late, 3 MB"),
        )
        .ours(spurious as f64, "packets")
    };
    kakhki("threshold of three packets", a.stats().spurious).at_least(51.0);
    assert_eq!(a.stats().packets_lost, a.stats().spurious, "nothing was lost");
    kakhki("adaptive window", b.stats().spurious).at_most(2.0);
    let (fixed, adaptive) = (fixed.completed.as_nanos() as f64, adaptive.completed.as_nanos() as f64);
    assert!(adaptive < 0.8 * fixed, "{adaptive} against {fixed}");
}

#[test]
fn rack_widens_its_window_with_false_losses_and_only_when_told() {
    // 15 ms late: more than a quarter of the round trip of 40 ms, so the first window of RFC 8985 is too small.
    let late = |index: usize, _| Some(if index > 40 && index.is_multiple_of(20) { ms(15) } else { SimDuration::ZERO });
    let mut tcp = config(Protocol::H2);
    let (_, widening) = run(&tcp, 3_000_000, late);
    tcp.rules.adaptive_reordering = false;
    let (_, fixed) = run(&tcp, 3_000_000, late);
    let (widening, fixed) = (widening.stats().spurious, fixed.stats().spurious);
    assert!(4 * widening < fixed, "{widening} against {fixed} false losses");
}

#[test]
fn a_false_loss_is_undone_and_costs_nothing_then() {
    for protocol in [Protocol::H2, Protocol::H3] {
        for control in [CongestionControl::Cubic, CongestionControl::NewReno] {
            let mut config = config(protocol);
            config.congestion_control = control;
            config.rules.adaptive_reordering = false;
            let late = |index: usize, _| Some(if index == 60 { ms(15) } else { SimDuration::ZERO });
            let never = |_: usize, _| Some(SimDuration::ZERO);
            let (kept, a) = run(&config, 2_000_000, late);
            config.rules.undo = true;
            let (undone, b) = run(&config, 2_000_000, late);
            let (clean, _) = run(&config, 2_000_000, never);
            assert_eq!((a.stats().congestion_events, a.stats().undone), (1, 0));
            assert_eq!((b.stats().congestion_events, b.stats().undone), (1, 1), "{protocol:?} {control:?}");
            assert!(undone.completed < kept.completed);
            // The repair itself was sent, and the window stood still for a while.
            assert!(undone.completed.since(clean.completed) < ms(15), "{protocol:?} {control:?}");
        }
    }
}

#[test]
fn a_true_loss_is_never_undone() {
    for protocol in [Protocol::H2, Protocol::H3] {
        let mut config = config(protocol);
        (config.rules.undo, config.rules.frto) = (true, protocol == Protocol::H2);
        let loss = |index: usize, _| (index % 37 != 36).then_some(SimDuration::ZERO);
        let (_, connection) = run(&config, 2_000_000, loss);
        assert!(connection.stats().congestion_events > 3);
        assert_eq!(connection.stats().undone, 0);
    }
}

#[test]
fn a_delay_spike_that_fires_the_timeout_is_undone_by_f_rto() {
    // The link stands still from 300 to 900 ms and then goes on in order: no loss, but a timeout.
    let stalled = |frto: bool| {
        let mut tcp = config(Protocol::H2);
        tcp.rules.frto = frto;
        let never = |_: usize, _: SimTime| Some(SimDuration::ZERO);
        let stall = Some((SimTime::ZERO + ms(300), SimTime::ZERO + ms(900)));
        let path = Scripted {
            rate: "20 Mbit/s".parse().unwrap(),
            one_way: ms(20),
            free_at: SimTime::ZERO,
            fate: never,
            sent: Vec::new(),
            stall,
        };
        let (reports, connection) = fetch(&tcp, path, &[2_000_000]);
        (reports[0], connection)
    };
    let ((go_back, a), (undone, b)) = (stalled(false), stalled(true));
    assert!(a.stats().timeouts >= 1 && b.stats().timeouts >= 1);
    assert_eq!((a.stats().undone, b.stats().undone), (0, 1));
    assert!(50 * b.stats().packets_lost < a.stats().packets_lost, "{:?} {:?}", a.stats(), b.stats());
    assert!(undone.completed <= go_back.completed);
}

#[test]
fn proportional_rate_reduction_sends_through_the_recovery() {
    let lost = |index: usize, _| (index != 200).then_some(SimDuration::ZERO);
    let pause = |prr: bool| {
        let mut tcp = config(Protocol::H2);
        (tcp.rules.prr, tcp.params.ack_every, tcp.ack.every) = (prr, 1, 1);
        let (_, connection) = run(&tcp, 1_500_000, lost);
        assert_eq!(connection.stats().congestion_events, 1);
        let sent = &connection.path.sent;
        // The longest silence of the sender after the lost packet.
        sent[200..].windows(2).map(|w| w[1].since(w[0])).max().unwrap()
    };
    let (with, without) = (pause(true), pause(false));
    assert!(without > ms(8), "waits until the pipe is below the window: {without:?}");
    assert!(with < ms(4), "sends for what is delivered: {with:?}");
}

#[test]
fn timers_fire_at_multiples_of_the_step() {
    // The last packets of the response are lost: a probe must repair them.
    let times = |step: u64| {
        let mut tcp = config(Protocol::H2);
        tcp.rules.timer_step = ms(step);
        // Two handshake packets (SYN-ACK, acknowledgement), three of the chain, then ten of the response: the last one.
        let bytes = 14_000;
        let (_, clean) = run(&tcp, bytes, |_, _| Some(SimDuration::ZERO));
        let last = clean.path.sent.len() - 1;
        let (_, connection) = run(&tcp, bytes, move |i, _| (i != last).then_some(SimDuration::ZERO));
        assert_eq!(connection.path.sent.len(), last + 2);
        *connection.path.sent.last().unwrap()
    };
    let (exact, stepped) = (times(0), times(4));
    assert_ne!(exact.as_nanos() % 4_000_000, 0);
    assert_eq!(stepped.as_nanos() % 4_000_000, 0);
    assert!(stepped > exact && stepped.since(exact) < ms(4));
}

#[test]
fn the_first_packets_are_acknowledged_at_once_where_quick() {
    // 40 packets in pairs: 20 acknowledgements; with 16 quick ones 16 + 12.
    let acks = |quick: u32, every: u32| {
        let mut tcp = config(Protocol::H2);
        tcp.session = SessionState::Resumed;
        (tcp.ack.quick, tcp.ack.every) = (quick, every);
        let (_, connection) = run(&tcp, 40 * 1_400, |_, _| Some(SimDuration::ZERO));
        connection.stats().client_packets
    };
    let plain = acks(0, 2);
    assert_eq!(acks(16, 2) - plain, 8);
    assert!(acks(0, 1) > plain && acks(0, 10) < plain, "the ratio is a factor");
}

#[test]
fn a_handshake_is_probed_without_the_delay_of_acknowledgements() {
    // RFC 9002 section 6.2.1. The server's flight is two packets; the first is acknowledged, so the round trip R is known with
    // a variation of R / 2, and the second is lost: its probe leaves after R + 4 R / 2 = 120 ms, without the 25 ms that
    // acknowledgements of application data may be delayed. A sample has 0.6 ms of serialisation, three of them 1.8 ms.
    let mut quic = config(Protocol::H3);
    quic.params.certificate_chain = study_units::Bytes::new(2_000);
    let lost = |index: usize, _| (index != 1).then_some(SimDuration::ZERO);
    let (_, connection) = run(&quic, 1_000, lost);
    let waited = connection.path.sent[2].since(connection.path.sent[1]);
    assert!((ms(120)..ms(123)).contains(&waited), "{waited:?}");
}

/// Packets that leave within 10 ms of the first acknowledgement after the link was dead from 300 ms for so long.
fn sent_after_a_dead_link(dead: u64) -> usize {
    let quic = config(Protocol::H3);
    let until = SimTime::ZERO + ms(300 + dead);
    let fate = |_: usize, now: SimTime| (now < SimTime::ZERO + ms(300) || now >= until).then_some(SimDuration::ZERO);
    let (_, connection) = run(&quic, 3_000_000, fate);
    let sent = &connection.path.sent;
    let probe = *sent.iter().find(|at| **at >= until).unwrap();
    let answered = *sent.iter().find(|at| **at > probe + ms(30)).unwrap();
    sent.iter().filter(|at| (answered..answered + ms(10)).contains(*at)).count()
}

#[test]
fn losses_over_three_probe_timeouts_are_persistent_congestion() {
    // RFC 9002 section 7.6: the window falls to two packets. Losses over a shorter time only reduce it once.
    let (short, long) = (sent_after_a_dead_link(60), sent_after_a_dead_link(2_000));
    assert!((1..=4).contains(&long), "{long} packets leave after the long silence");
    assert!(short > 10, "{short} after the short one");
}
