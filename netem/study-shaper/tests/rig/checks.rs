//! What must hold on any machine under any load.

use crate::traffic::{datagrams, equal, holds, io, lossy, options, pair, pair_with, symmetric, udp, way};
use crate::{Check, Named, Place};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;
use study_ident::SeedPath;
use study_link::{Codel, Direction, JitterDistribution, JitterParams, Queue, QueueLimit, Verdict};
use study_shaper::{DirectionRecord, End, Rig, ShaperError, Topology, clock};
use study_units::{SimDuration, SimTime};

pub const ALL: &[Named] = &[
    ("losses_are_those_of_the_model_in_every_run", losses_are_those_of_the_model_in_every_run),
    ("every_packet_is_accounted_for", every_packet_is_accounted_for),
    ("queues_that_decide_late_lose_no_packet_from_the_books", queues_that_decide_late_lose_no_packet_from_the_books),
    ("neighbours_talk_over_their_link_and_others_do_not", neighbours_talk_over_their_link_and_others_do_not),
    ("kernel_settings_are_read_back", kernel_settings_are_read_back),
    ("one_thread_carries_several_links", one_thread_carries_several_links),
    ("a_closed_link_carries_nothing_and_a_reset_begins_anew", a_closed_link_carries_nothing_and_a_reset_begins_anew),
    ("rates_above_the_ceiling_are_refused", rates_above_the_ceiling_are_refused),
    ("the_first_handshake_meets_a_ready_link", the_first_handshake_meets_a_ready_link),
    ("jitter_keeps_order_unless_asked", jitter_keeps_order_unless_asked),
];

/// Time between packets that no machine is too slow for.
const EVERY: Duration = Duration::from_micros(200);

fn losses_are_those_of_the_model_in_every_run(place: &Place) -> Check {
    let direction = lossy(way(2, 50), 0.1);
    let mut digests = Vec::new();
    for _ in 0..2 {
        let rig = pair(place, symmetric(direction.clone()), 7)?;
        let link = &rig.links()[0];
        datagrams(&rig, link, End::Near, 500, 300, EVERY);
        datagrams(&rig, link, End::Far, 700, 300, EVERY);
        let record = link.record();
        for (record, name, count) in [(&record.up, "up", 500), (&record.down, "down", 700_u64)] {
            equal("packets", &record.packets, &count)?;
            let mut model = Direction::new(&direction, link.spec().seed.child(name));
            let lost: Vec<u64> =
                (0..count).filter(|&i| model.send(SimTime::from_nanos(i), 328) == Verdict::LostRandom).collect();
            equal(name, &record.loss_bits.indices().collect::<Vec<_>>(), &lost)?;
            equal("losses", &record.losses.random, &(lost.len() as u64))?;
            holds(!lost.is_empty(), || "no loss at 10 %".to_owned())?;
        }
        digests.push((record.up.loss_digest, record.down.loss_digest));
    }
    equal("digests of two runs", &digests[0], &digests[1])?;
    holds(digests[0].0 != digests[0].1, || "both directions have the same losses".to_owned())
}

/// Packets that came are lost under a label, delivered, or refused.
fn accounted(record: &DirectionRecord) -> Check {
    let losses = record.losses;
    let gone = losses.random
        + losses.queue
        + losses.policer
        + losses.outage
        + record.delivered
        + record.write_errors
        + record.in_flight;
    equal("packets and their fates", &gone, &record.packets)
}

fn every_packet_is_accounted_for(place: &Place) -> Check {
    let rig = pair(place, symmetric(lossy(way(5, 20), 0.05)), 3)?;
    let link = &rig.links()[0];
    let arrived = datagrams(&rig, link, End::Near, 400, 1_000, EVERY);
    let record = link.record();
    equal("packets", &record.up.packets, &400)?;
    equal("bytes", &record.up.bytes, &(400 * 1_028))?;
    equal("arrived", &u64::from(arrived), &record.up.delivered)?;
    equal("delivered", &record.up.delivered, &(400 - record.up.losses.random))?;
    equal("delivered bytes", &record.up.delivered_bytes, &(record.up.delivered * 1_028))?;
    equal("largest", &record.up.largest_frame, &1_028)?;
    equal("late ones counted", &record.up.lateness.count, &record.up.delivered)?;
    equal("other losses", &record.foreign_losses(), &0)?;
    equal("realised loss", &record.up.realised.per_packet, &(record.up.losses.random as f64 / 400.0))?;
    equal("nothing came back", &record.down.packets, &0)?;
    equal("strangers", &(record.up.ignored + record.down.ignored), &0)?;
    accounted(&record.up)
}

fn queues_that_decide_late_lose_no_packet_from_the_books(place: &Place) -> Check {
    let (target, interval) = (SimDuration::from_millis(5), SimDuration::from_millis(100));
    let codel = Codel { target, interval, limit: QueueLimit::Packets(30) };
    for queue in [Queue::Codel(codel), Queue::DropTail(QueueLimit::Packets(10))] {
        let mut direction = way(2, 2);
        direction.queue = queue.clone();
        let rig = pair(place, symmetric(direction), 5)?;
        let link = &rig.links()[0];
        // 1.4 times the rate: the queue fills, whatever the machine does.
        let arrived = datagrams(&rig, link, End::Near, 300, 1_400, Duration::from_micros(4_000));
        let record = link.record().up;
        equal("packets", &record.packets, &300)?;
        accounted(&record)?;
        equal("arrived", &u64::from(arrived), &record.delivered)?;
        holds(record.losses.queue > 0, || format!("{queue:?} dropped nothing"))?;
        equal("random losses", &record.losses.random, &0)?;
    }
    Ok(())
}

fn neighbours_talk_over_their_link_and_others_do_not(place: &Place) -> Check {
    let nodes = ["client", "edge", "shield", "origin"];
    let links = vec![symmetric(way(1, 50)); 3];
    let topology = Topology::chain(&nodes, links, SeedPath::root(1)).map_err(|e| e.to_string())?;
    let rig = Rig::build(&topology, place.backend, &options(place)).map_err(|e| e.to_string())?;
    rig.links().iter().for_each(study_shaper::Link::start);
    for link in rig.links() {
        for end in [End::Near, End::Far] {
            equal(&link.spec().name, &datagrams(&rig, link, end, 20, 100, EVERY), &20)?;
        }
        let record = link.record();
        equal("packets of a hop", &(record.up.packets, record.down.packets), &(20, 20))?;
    }
    equal(
        "an address",
        &rig.address("edge", "client-edge").map_err(|e| e.to_string())?,
        &rig.links()[0].address(End::Far),
    )?;
    holds(rig.address("origin", "client-edge").is_err(), || {
        "the origin has an address on the client's link".to_owned()
    })?;
    let origin = SocketAddr::from((rig.links()[2].address(End::Far), 9));
    let error = udp(&rig, &rig.links()[0], End::Near).send_to(b"x", origin).err().and_then(|e| e.raw_os_error());
    equal("the client calls the origin", &error, &Some(nix::libc::ENETUNREACH))
}

fn kernel_settings_are_read_back(place: &Place) -> Check {
    let rig = pair(place, symmetric(way(1, 50)), 1)?;
    for node in ["client", "origin"] {
        let held = rig.sysctls(node).map_err(|e| e.to_string())?;
        for (name, value) in [("net.ipv4.tcp_no_metrics_save", "1"), ("net.ipv4.tcp_rmem", "4096 131072 67108864")] {
            equal(name, &held.get(name).map(String::as_str), &Some(value))?;
        }
        holds(held.contains_key("net.ipv4.tcp_congestion_control"), || {
            "the host's controller is not recorded".to_owned()
        })?;
    }
    let mut wrong = options(place);
    wrong.sysctls.push(("net.ipv4.tcp_no_metrics_save".to_owned(), "perhaps".to_owned()));
    let error = pair_with(place, symmetric(way(1, 50)), 1, &wrong).err().unwrap_or_default();
    holds(error.contains("`sysctl`") && error.contains("EINVAL"), || format!("a wrong setting: {error}"))
}

fn one_thread_carries_several_links(place: &Place) -> Check {
    let mut options = options(place);
    options.links_per_thread = 3;
    let links = vec![symmetric(lossy(way(1, 20), 0.2)); 3];
    let topology = Topology::chain(&["a", "b", "c", "d"], links, SeedPath::root(9)).map_err(|e| e.to_string())?;
    let rig = Rig::build(&topology, place.backend, &options).map_err(|e| e.to_string())?;
    rig.links().iter().for_each(study_shaper::Link::start);
    let arrived: Vec<u32> = std::thread::scope(|scope| {
        let flows: Vec<_> =
            rig.links().iter().map(|link| scope.spawn(|| datagrams(&rig, link, End::Near, 300, 500, EVERY))).collect();
        flows.into_iter().map(|flow| flow.join().expect("a count")).collect()
    });
    for (link, arrived) in rig.links().iter().zip(arrived) {
        let record = link.record().up;
        equal("packets", &record.packets, &300)?;
        equal("arrived", &u64::from(arrived), &(300 - record.losses.random))?;
    }
    let [first, second] = [0, 1].map(|i| rig.links()[i].record().up.loss_digest);
    holds(first != second, || "two links lose the same packets".to_owned())
}

fn a_closed_link_carries_nothing_and_a_reset_begins_anew(place: &Place) -> Check {
    let rig = pair(place, symmetric(lossy(way(1, 50), 0.3)), 2)?;
    let link = &rig.links()[0];
    datagrams(&rig, link, End::Near, 100, 100, EVERY);
    let first = link.record().up;
    equal("packets", &first.packets, &100)?;
    link.reset_indices();
    equal("after a reset", &link.record().up.packets, &0)?;
    datagrams(&rig, link, End::Near, 100, 100, EVERY);
    equal("the same losses again", &link.record().up.loss_bits, &first.loss_bits)?;
    link.stop();
    equal("through a closed link", &datagrams(&rig, link, End::Near, 10, 100, EVERY), &0)?;
    equal("counted while closed", &link.record().up.packets, &0)
}

fn rates_above_the_ceiling_are_refused(place: &Place) -> Check {
    let unlimited = study_link::DirectionParams::plain(SimDuration::from_millis(1), study_link::Rate::Unlimited);
    for (params, word) in [(symmetric(way(1, 500)), "500"), (symmetric(unlimited), "unlimited")] {
        let topology = Topology::chain(&["a", "b"], vec![params], SeedPath::root(1)).map_err(|e| e.to_string())?;
        match Rig::build(&topology, place.backend, &options(place)) {
            Err(ShaperError::Rate { asked, .. }) if asked.contains(word) => {}
            other => return Err(format!("{other:?}")),
        }
    }
    Ok(())
}

fn jitter_keeps_order_unless_asked(place: &Place) -> Check {
    for (reorder, expect) in [(false, false), (true, true)] {
        let mut direction = way(20, 50);
        let (std_dev, correlation_time) = (SimDuration::from_millis(5), SimDuration::from_millis(1));
        direction.jitter =
            Some(JitterParams { std_dev, distribution: JitterDistribution::Uniform, correlation_time, reorder });
        let rig = pair(place, symmetric(direction), 4)?;
        let link = &rig.links()[0];
        equal("arrived", &datagrams(&rig, link, End::Near, 300, 200, EVERY), &300)?;
        let reordered = link.record().up.reordered;
        equal("some came out of order", &(reordered > 0), &expect)?;
    }
    Ok(())
}

/// A link that is not yet up would swallow the first SYN, and the handshake would take a second more.
fn the_first_handshake_meets_a_ready_link(place: &Place) -> Check {
    let mut slowest = 0.0_f64;
    for seed in 0..10 {
        let rig = pair(place, symmetric(way(10, 50)), seed)?;
        let link = &rig.links()[0];
        let at = (link.address(End::Far), 0);
        let listener = rig.run_in("origin", || TcpListener::bind(at).map_err(io)).map_err(|e| e.to_string())?;
        let target = listener.local_addr().map_err(|e| e.to_string())?;
        let began = clock::now();
        rig.run_in("client", || TcpStream::connect(target).map_err(io)).map_err(|e| e.to_string())?;
        slowest = slowest.max((clock::now() - began) as f64 / 1e6);
        let counters = rig.counters("client").map_err(|e| e.to_string())?;
        equal("segments sent again", &counters.protocol("Tcp/RetransSegs"), &0)?;
        equal("connections opened", &counters.protocol("Tcp/ActiveOpens"), &1)?;
    }
    println!("first handshakes of ten links with a round trip of 20 ms: the slowest took {slowest:.2} ms");
    Ok(())
}
