//! Flows that share a bottleneck: fairness, queues, and equality with a flow of its own.
#![allow(clippy::unwrap_used, missing_docs)]

mod limits;
mod scene;

use scene::{bulk, flow, link, ms, objects, run, secs, through};
use study_evidence::{Topic, claim};
use study_link::{Queue, QueueLimit};
use study_sim::{FlowSpec, SharedResult, jain_index};
use study_transport::{CongestionControl, Protocol};
use study_units::{Bytes, SimDuration, SimTime};

fn goodputs(result: &SharedResult) -> Vec<f64> {
    result.flows.iter().map(|f| f.goodput / 1e6).collect()
}

#[test]
fn jains_index_is_one_for_equals_and_one_over_n_for_one_who_has_all() {
    assert_eq!(jain_index(&[3.0, 3.0, 3.0]), 1.0);
    assert_eq!(jain_index(&[5.0, 0.0, 0.0, 0.0]), 0.25);
    // Jain, Chiu, Hawe 1984: with shares 1 and 0 among n, the index is the share of users who have something.
    assert!((jain_index(&[1.0, 2.0, 3.0]) - 36.0 / 42.0).abs() < 1e-15);
    assert_eq!((jain_index(&[]), jain_index(&[0.0])), (1.0, 1.0));
}

#[test]
fn one_flow_over_the_shared_machinery_has_the_times_of_a_flow_on_its_own_link() {
    for protocol in [Protocol::H2, Protocol::H3] {
        for queue in [
            Queue::DropTail(QueueLimit::Packets(20)),
            Queue::DropTail(QueueLimit::Bytes(Bytes::new(30_000))),
            Queue::Codel(study_tree::defaults()),
            Queue::FqCodel(study_tree::defaults()),
        ] {
            let mut params = link("20 Mbit/s", "40 ms", queue);
            (params.down.loss, params.down.jitter) = scene::loss_and_jitter();
            let mut spec = flow(protocol, CongestionControl::Cubic, objects(&[3_000_000, 20_000, 1_000_000]));
            // A first flight that does not fit into the queue, so that it drops.
            spec.config.params.initial_window = 60;
            let shared = run(&params, std::slice::from_ref(&spec), secs(600), (secs(0), secs(600)));
            let own = through(&params, &mut spec);
            assert_eq!(shared.flows[0].completed, own.0, "{protocol:?} {:?}", params.down.queue);
            assert_eq!((shared.down, shared.up), (own.1, own.2));
            let drops_at_arrival = params.down.queue.decides_at_arrival();
            assert!(shared.down.lost_random > 5, "{:?}", shared.down);
            assert!(
                shared.down.lost_queue > 0 || !drops_at_arrival,
                "{protocol:?} {:?} {:?}",
                params.down.queue,
                shared.down
            );
        }
    }
}

#[test]
fn two_equal_cubic_flows_share_fairly() {
    for protocol in [Protocol::H2, Protocol::H3] {
        let params = link("20 Mbit/s", "40 ms", Queue::DropTail(QueueLimit::Bytes(Bytes::new(100_000))));
        let mut flows = vec![flow(protocol, CongestionControl::Cubic, bulk(120)); 2];
        flows[1].start = ms(3_000);
        let result = run(&params, &flows, secs(120), (secs(20), secs(120)));
        let goodputs = goodputs(&result);
        println!("{protocol:?}: {goodputs:?}");
        claim!(
            Topic::Queues,
            "two equal CUBIC flows: Jain's index",
            "Jain, Chiu, Hawe 1984",
            format!("{protocol:?}, 20 Mbit/s, 40 ms, queue of 100 kB, second flow 3 s later, 100 s"),
        )
        .ours(result.jain(), "")
        .expected(1.0)
        .at_least(0.95);
        assert!(goodputs.iter().sum::<f64>() > 18.0, "and the link is used: {goodputs:?}");
        assert_eq!(result.down.lost_queue, result.flows.iter().map(|f| f.down.lost_queue).sum::<u64>());
        assert!(result.down.lost_queue > 0);
    }
}

#[test]
fn the_flow_with_the_shorter_round_trip_gets_more_of_a_drop_tail_queue_and_less_advantage_under_cubic() {
    let mut ratios = Vec::new();
    for controller in [CongestionControl::NewReno, CongestionControl::Cubic] {
        let params = link("20 Mbit/s", "20 ms", Queue::DropTail(QueueLimit::Bytes(Bytes::new(100_000))));
        let mut flows = vec![flow(Protocol::H2, controller, bulk(200)); 2];
        flows[1].extra_one_way = SimDuration::from_millis(60);
        let result = run(&params, &flows, secs(200), (secs(40), secs(200)));
        let goodputs = goodputs(&result);
        println!("{controller:?}: {goodputs:?}");
        ratios.push(goodputs[0] / goodputs[1]);
        assert!(goodputs[0] > 1.3 * goodputs[1], "{controller:?} {goodputs:?}");
    }
    assert!(ratios[1] < ratios[0], "CUBIC's growth does not depend on the round trip: {ratios:?}");
}

#[test]
fn two_bbr_v1_flows_in_a_deep_buffer_keep_about_a_bdp_in_the_queue() {
    // 20 Mbit/s, 40 ms: BDP 100 kB; the buffer holds ten. Each flow caps at two of its own estimate (transport.md 1.8).
    let params = link("20 Mbit/s", "40 ms", Queue::DropTail(QueueLimit::Bytes(Bytes::new(1_000_000))));
    let mut flows = vec![flow(Protocol::H3, CongestionControl::BbrV1, bulk(60)); 2];
    flows[1].start = ms(1_500);
    let result = run(&params, &flows, secs(60), (secs(20), secs(60)));
    let wait = result.flows[0].down.mean_wait().unwrap().as_millis_f64();
    println!("BBRv1: {:?}", goodputs(&result));
    // A queue of one BDP is a wait of one round trip; with the BDP on the way, two are in flight.
    claim!(
        Topic::Bbr,
        "two BBRv1 flows in a deep buffer: standing queue",
        "two BDP in flight, Cardwell et al. 2016",
        "H3, 20 Mbit/s, 40 ms, queue of 10 BDP",
    )
    .ours(wait / 40.0, "BDP")
    .expected(1.0)
    .between(0.7, 1.3);
    assert!(goodputs(&result).iter().sum::<f64>() > 18.0);
    assert_eq!(result.down.lost_queue, 0);
}

fn sparse() -> FlowSpec {
    // A small object at a time: a request, a few packets, the next request.
    flow(Protocol::H3, CongestionControl::Cubic, objects(&[2_000; 400]))
}

#[test]
fn fq_codel_isolates_a_sparse_flow_and_drop_tail_does_not() {
    let deep = Queue::DropTail(QueueLimit::Bytes(Bytes::new(400_000)));
    let mut waits = Vec::new();
    for queue in [deep, Queue::FqCodel(study_tree::defaults())] {
        let params = link("10 Mbit/s", "40 ms", queue);
        let flows = [flow(Protocol::H2, CongestionControl::Cubic, bulk(60)), sparse()];
        let result = run(&params, &flows, secs(60), (secs(10), secs(60)));
        let [bulk, sparse] = &result.flows[..] else { panic!() };
        let wait = |f: &study_sim::FlowResult| f.down.mean_wait().unwrap().as_millis_f64();
        println!("{:?}: bulk {:.1} ms, sparse {:.2} ms", params.down.queue, wait(bulk), wait(sparse));
        assert!(bulk.goodput > 8e6, "{}", bulk.goodput);
        waits.push((wait(bulk), wait(sparse), sparse.down.lost()));
    }
    assert!(waits[0].1 > 50.0, "behind the other's queue: {waits:?}");
    // At most one packet of the bulk flow is on the wire (1.2 ms), and one more may be ahead.
    assert!(waits[1].1 < 3.0 && waits[1].2 == 0, "{waits:?}");
}

#[test]
fn codel_keeps_the_standing_delay_near_its_target() {
    for (rate, rtt) in [("10 Mbit/s", "40 ms"), ("50 Mbit/s", "80 ms")] {
        let params = link(rate, rtt, Queue::Codel(study_tree::defaults()));
        let result = run(
            &params,
            &[flow(Protocol::H2, CongestionControl::NewReno, bulk(120))],
            secs(120),
            (secs(20), secs(120)),
        );
        let wait = result.flows[0].down.mean_wait().unwrap().as_millis_f64();
        let deep = link(rate, rtt, Queue::DropTail(QueueLimit::Packets(1_000)));
        let bloated =
            run(&deep, &[flow(Protocol::H2, CongestionControl::NewReno, bulk(120))], secs(120), (secs(20), secs(120)));
        let bloat = bloated.flows[0].down.mean_wait().unwrap().as_millis_f64();
        println!("{rate} {rtt}: CoDel {wait:.2} ms, drop-tail {bloat:.1} ms, {:?}", goodputs(&result));
        // The sawtooth's minimum is at or below the target; its mean is within a few targets.
        assert!(wait < 15.0, "{wait}");
        assert!(bloat > 5.0 * wait, "{bloat} {wait}");
        assert!(result.down.lost_queue > 5);
    }
}

#[test]
fn four_codel_flows_keep_a_standing_queue_around_the_target() {
    let params = link("20 Mbit/s", "40 ms", Queue::Codel(study_tree::defaults()));
    let flows: Vec<FlowSpec> = (0..4)
        .map(|i| FlowSpec { start: ms(i * 300), ..flow(Protocol::H2, CongestionControl::Cubic, bulk(120)) })
        .collect();
    let result = run(&params, &flows, secs(120), (secs(20), secs(120)));
    let waits: Vec<f64> = result.flows.iter().map(|f| f.down.mean_wait().unwrap().as_millis_f64()).collect();
    println!("CoDel, four flows: {waits:?} ms, {:?}, Jain {:.4}", goodputs(&result), result.jain());
    assert!(waits.iter().all(|w| (2.0..20.0).contains(w)), "{waits:?}");
    assert!(result.jain() > 0.95);
}

#[test]
fn flows_that_never_start_or_never_end_are_reported_as_such() {
    let params = link("10 Mbit/s", "40 ms", Queue::Unlimited);
    let mut flows = vec![flow(Protocol::H2, CongestionControl::Cubic, bulk(5)); 2];
    flows[1].start = secs(100);
    let result = run(&params, &flows, secs(10), (secs(0), secs(10)));
    assert_eq!(result.flows.len(), 2);
    assert_eq!(result.flows[1].established, SimTime::NEVER);
    assert_eq!((result.flows[1].bytes, result.flows[1].down.sent), (0, 0));
    assert!(result.flows[0].completed.is_empty() && result.flows[0].bytes > 4_000_000);
}

/// Share of the link's full-packet goodput that one bulk flow gets of a buffer of `share` bandwidth-delay products.
fn utilisation(controller: CongestionControl, share: f64) -> f64 {
    // 20 Mbit/s and 100 ms: 250 kB, or 166.7 full packets.
    let room = Bytes::new((250_000.0 * share) as u64);
    let params = link("20 Mbit/s", "100 ms", Queue::DropTail(QueueLimit::Bytes(room)));
    let mut spec = flow(Protocol::H2, controller, bulk(300));
    spec.config.params.ack_every = 1;
    let result = run(&params, std::slice::from_ref(&spec), secs(300), (secs(100), secs(300)));
    result.flows[0].goodput / (20e6 * 1448.0 / 1500.0)
}

#[test]
fn a_tail_drop_sawtooth_fills_the_link_from_the_buffer_of_theory_on() {
    // transport.md 1.7: CUBIC keeps 0.7 of its window, so it needs B >= 0.43 P; Reno halves it and needs B >= P.
    let cubic = [0.15, 0.43, 0.6].map(|share| utilisation(CongestionControl::Cubic, share));
    let reno = [0.15, 0.43, 1.1].map(|share| utilisation(CongestionControl::NewReno, share));
    println!("CUBIC at B = 0.15, 0.43, 0.6 P: {cubic:?}; Reno at 0.15, 0.43, 1.1 P: {reno:?}");
    let claim = |controller: &str, share: f64, ours: f64| {
        claim!(
            Topic::Queues,
            format!("one {controller} flow and a tail-drop buffer: share of the link"),
            "sawtooth: CUBIC fills from B = 0.43 BDP on, Reno from B = BDP on",
            format!("H2, B = {share} BDP, 20 Mbit/s, 100 ms"),
        )
        .ours(ours, "")
    };
    claim("CUBIC", 0.15, cubic[0]).between(0.90, 0.98);
    claim("CUBIC", 0.43, cubic[1]).at_least(0.99);
    claim("CUBIC", 0.6, cubic[2]).at_least(0.99);
    claim("Reno", 1.1, reno[2]).at_least(0.99);
    // Reno in fluid form: the window rises by a packet per round trip from half of P + B; the round trip grows with the queue.
    for (share, measured) in [(0.15, reno[0]), (0.43, reno[1])] {
        let lowest: f64 = (1.0 + share) / 2.0;
        let (dry, full) = (1.0 - lowest, share * (1.0 + share / 2.0));
        let expected = (dry * (1.0 + lowest) / 2.0 + full) / (dry + full);
        claim("Reno", share, measured).relative(expected, 0.03);
    }
}

#[test]
fn a_window_limits_the_rate_to_one_window_per_round_trip() {
    // transport.md 1.4: rate = W / RTT while the window is below the BDP; the queue stays empty.
    for (window, rtt) in [(10u32, 50u64), (40, 100), (45, 55)] {
        let params =
            link("100 Mbit/s", &format!("{rtt} ms"), Queue::DropTail(QueueLimit::Bytes(Bytes::new(1_000_000))));
        let mut spec = flow(Protocol::H2, CongestionControl::Fixed, bulk(30));
        (spec.config.params.fixed_window, spec.config.params.ack_every) = (window, 1);
        let result = run(&params, std::slice::from_ref(&spec), secs(30), (secs(5), secs(30)));
        let law = f64::from(window) * 1448.0 * 8.0 / (rtt as f64 / 1e3);
        let ratio = result.flows[0].goodput / law;
        // A packet and its acknowledgement take 0.124 ms on the wire beside the round trip, and the sender waits for room for
        // a whole packet, so up to one of the window is unused; a window more or less may fall into the measured time.
        let rounds = 25_000.0 / rtt as f64;
        claim!(
            Topic::NoLoss,
            "window law, rate = W / RTT: share of it",
            "a window per round trip, below the BDP",
            format!("H2, fixed window of {window} packets, {rtt} ms, 100 Mbit/s"),
        )
        .ours(ratio, "")
        .expected(1.0)
        .between(0.997 - 1.0 / f64::from(window), 1.0 + 1.0 / rounds);
    }
}
