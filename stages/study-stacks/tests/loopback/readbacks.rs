//! What is asked for is what is there; and where it is not, a row says so.

use crate::{any, connect, credentials, each, origin, row, run, serve, settings};
use study_stacks::counters::host;
use study_stacks::readback::{Evidence, Verdict, mismatches};
use study_stacks::{Counters, Credentials, Datagram, Listener, ObjectId, Readback, Server, StackChoice, StackSettings};
use study_transport::{CongestionControl, Limit};

/// Rows of the client's and the server's end after one transfer, and the server's counters.
fn rows(client: &StackSettings, server: &StackSettings) -> (Vec<Readback>, Vec<Readback>, Counters) {
    run(async {
        let credentials = credentials();
        let running = serve(server, &credentials, origin());
        let connection = connect(client, &credentials, running.address()).await;
        let record = connection.fetch(&ObjectId { title: 1, segment: 1, rung: 1 }.path(400_000)).await;
        assert!(record.is_complete() && record.verified, "{record:?}");
        let seen = running.connections().remove(0);
        (connection.readbacks(), seen.readbacks, seen.counters.unwrap())
    })
}

fn same(set: &StackSettings) -> (Vec<Readback>, Vec<Readback>, Counters) {
    rows(set, set)
}

#[test]
fn each_controller_is_read_back_on_both_ends() {
    let loaded = host::tcp_controllers().unwrap();
    let mut seen = 0;
    each(|stack| {
        for (controller, own) in stack.controllers() {
            if stack == StackChoice::H2Hyper && !loaded.iter().any(|name| name == own) {
                continue;
            }
            let (client, server, _) = same(&StackSettings { congestion_control: *controller, ..settings(stack) });
            for rows in [&client, &server] {
                let row = row(rows, "congestion_control");
                assert_eq!((row.verdict, row.got.as_str()), (Verdict::Same, controller.name()), "{stack:?}");
                assert_ne!(row.evidence, Evidence::Configuration);
            }
        }
    });
    for stack in StackChoice::ALL {
        seen += stack.controllers().len();
    }
    assert_eq!(seen, 6);
}

#[test]
fn a_controller_other_than_the_asked_one_is_a_mismatch() {
    run(async {
        let asked = settings(StackChoice::H2Hyper);
        let other = StackSettings { congestion_control: CongestionControl::NewReno, ..asked.clone() };
        let credentials = credentials();
        let listener = Listener::bind(&other, any()).unwrap();
        let server = Server::start(listener, asked.clone(), &credentials, origin()).unwrap();
        let _connection = connect(&asked, &credentials, server.address()).await;
        let rows = server.connections().remove(0).readbacks;
        let found: Vec<_> = mismatches(&rows).filter(|row| row.setting == "congestion_control").collect();
        assert_eq!((found[0].asked.as_str(), found[0].got.as_str()), ("cubic", "newreno"));
    });
}

#[test]
fn windows_are_read_from_the_wire() {
    each(|stack| {
        let set = StackSettings { stream_window: Some(123_456), connection_window: Some(345_678), ..settings(stack) };
        let (client, _, _) = same(&set);
        for (setting, expected) in [("stream_window", "123456"), ("connection_window", "345678")] {
            let row = row(&client, setting);
            assert_eq!(
                (row.got.as_str(), row.verdict, row.evidence),
                (expected, Verdict::Same, Evidence::Wire),
                "{stack:?}"
            );
        }
        assert_eq!(row(&client, "max_streams").got, "200", "{stack:?}");
    });
}

#[test]
fn stacks_as_they_come_have_the_windows_that_their_documentation_says() {
    // hyper's client: 2 MiB per stream, 5 MiB per connection. quinn: 1.25 MB per stream, unlimited (2^62 - 1) per connection.
    let expected =
        [(StackChoice::H2Hyper, "2097152", "5242880"), (StackChoice::H3Quinn, "1250000", "4611686018427387903")];
    for (stack, stream, connection) in expected {
        let (client, _, _) = same(&StackSettings::as_deployed(stack, CongestionControl::Cubic));
        assert_eq!(row(&client, "stream_window").got, stream);
        assert_eq!(row(&client, "connection_window").got, connection);
        assert_eq!(row(&client, "stream_window").verdict, Verdict::Record, "nothing was asked for");
    }
}

#[test]
fn the_size_of_tls_records_shows_on_the_wire() {
    for asked in [1_400, 4_096] {
        let set = StackSettings { tls_record: Some(asked), ..settings(StackChoice::H2Hyper) };
        let (client, _, _) = same(&set);
        let row = row(&client, "tls_record");
        assert_eq!((row.got.clone(), row.verdict, row.evidence), (asked.to_string(), Verdict::Same, Evidence::Wire));
    }
    let (client, _, _) = same(&settings(StackChoice::H2Hyper));
    let left: u64 = row(&client, "tls_record").got.parse().unwrap();
    assert!(left > 4_096 && left <= 16_384, "how h2 cuts its writes decides: {left}");
}

#[test]
fn a_record_larger_than_asked_is_a_mismatch() {
    let plain = settings(StackChoice::H2Hyper);
    let (client, _, _) = rows(&StackSettings { tls_record: Some(1_400), ..plain.clone() }, &plain);
    assert_eq!(row(&client, "tls_record").verdict, Verdict::Differs);
}

#[test]
fn both_arms_carry_the_same_chain() {
    let chains: Vec<u64> = StackChoice::ALL
        .iter()
        .map(|stack| {
            run(async {
                let credentials = Credentials::new(&[crate::NAME], 4_321).unwrap();
                let server = serve(&settings(*stack), &credentials, origin());
                let connection = connect(&settings(*stack), &credentials, server.address()).await;
                connection.handshake().chain_bytes.unwrap()
            })
        })
        .collect();
    assert_eq!(chains, [4_321, 4_321]);
}

#[test]
fn tcp_options_are_read_from_the_accepted_socket() {
    let set = StackSettings {
        notsent_lowat: Some(16_384),
        tcp_receive: Limit::of(100_000),
        send: Limit::of(90_000),
        nodelay: false,
        http_send_buffer: Some(32_768),
        ..settings(StackChoice::H2Hyper)
    };
    let (client, server, counters) = same(&set);
    for rows in [&client, &server] {
        for setting in ["notsent_lowat", "tcp_receive_buffer", "tcp_send_buffer", "tcp_nodelay"] {
            let row = row(rows, setting);
            assert_eq!((row.verdict, row.evidence), (Verdict::Same, Evidence::Kernel), "{row:?}");
        }
        assert_eq!(row(rows, "tcp_nodelay").got, "false");
    }
    assert_eq!(row(&server, "http_send_buffer").verdict, Verdict::Unknown, "hyper does not say");
    let Counters::Tcp(tcp) = counters else { panic!("TCP has the kernel's counters") };
    assert!(tcp.bytes_sent.unwrap() > 400_000 && tcp.info_bytes >= 192, "{tcp:?}");
}

#[test]
fn autotuned_buffers_are_checked_against_their_ceiling() {
    let enough = StackSettings { least_window: 65_536, ..settings(StackChoice::H2Hyper) };
    let beyond = StackSettings { least_window: 1 << 40, ..enough.clone() };
    for (set, verdict) in [(enough, Verdict::Same), (beyond, Verdict::Differs)] {
        let (client, server, _) = same(&set);
        assert_eq!((row(&client, "tcp_rmem").verdict, row(&server, "tcp_wmem").verdict), (verdict, verdict));
    }
}

#[test]
fn quinn_is_set_and_asked_about_packets_windows_and_offloads() {
    let set = StackSettings {
        initial_window: 32,
        datagram: Datagram::Fixed(1_300),
        udp_buffer: Some(100_000),
        ..settings(StackChoice::H3Quinn)
    };
    let (client, server, counters) = same(&set);
    for rows in [&client, &server] {
        assert_eq!(row(rows, "initial_window").got, (32 * 1_300).to_string());
        assert_eq!((row(rows, "datagram").got.as_str(), row(rows, "datagram").verdict), ("1300", Verdict::Same));
        assert_eq!((row(rows, "udp_gro").got.as_str(), row(rows, "udp_gro").verdict), ("false", Verdict::Same));
        assert_eq!(row(rows, "udp_receive_buffer").verdict, Verdict::Same);
        assert_eq!(mismatches(rows).count(), 0, "{rows:#?}");
    }
    let Counters::Quic(quic) = counters else { panic!("QUIC has quinn's counters") };
    assert_eq!((quic.current_mtu, quic.sent_mtu_probes), (1_300, 0), "no probes");
    assert_eq!(quic.udp_sent, quic.udp_sent_calls, "one datagram per call: no segmentation offload");
}

#[test]
fn offload_is_seen_when_it_is_on() {
    let set = StackSettings { offload: true, ..settings(StackChoice::H3Quinn) };
    let (_, server, counters) = same(&set);
    assert_eq!(row(&server, "udp_gro").got, "true");
    let Counters::Quic(quic) = counters else { panic!("QUIC has quinn's counters") };
    assert!(quic.udp_sent_calls < quic.udp_sent, "{quic:?}");
}

#[test]
fn a_buffer_that_the_kernel_cuts_is_a_mismatch() {
    let set = StackSettings { udp_buffer: Some(1 << 30), ..settings(StackChoice::H3Quinn) };
    let (client, _, _) = same(&set);
    assert_eq!(row(&client, "udp_receive_buffer").verdict, Verdict::Differs);
}

#[test]
fn dropped_datagrams_are_counted_for_the_namespace() {
    let small = std::net::UdpSocket::bind(any()).unwrap();
    let sender = std::net::UdpSocket::bind(any()).unwrap();
    let before = host::udp().unwrap().receive_buffer_errors;
    for _ in 0..20_000 {
        sender.send_to(&[0; 1_200], small.local_addr().unwrap()).unwrap();
    }
    assert!(host::udp().unwrap().receive_buffer_errors > before);
}
