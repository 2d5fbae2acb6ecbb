//! Objects come whole, right and in order.

use crate::{connect, credentials, each, origin, run, serve, settings};
use study_stacks::{ObjectId, StackSettings};

fn path(segment: u32, bytes: u64) -> String {
    ObjectId { title: 1, segment, rung: 2 }.path(bytes)
}

#[test]
fn objects_of_any_size_arrive_and_every_byte_is_checked() {
    each(|stack| {
        run(async {
            let (set, credentials) = (settings(stack), credentials());
            let server = serve(&set, &credentials, origin());
            let connection = connect(&set, &credentials, server.address()).await;
            for (segment, bytes) in [(0, 0), (1, 1), (2, 15_360), (3, 2_000_000)] {
                let record = connection.fetch(&path(segment, bytes)).await;
                assert_eq!((record.error.clone(), record.bytes, record.status), (None, bytes, Some(200)), "{stack:?}");
                assert!(record.verified && record.is_complete());
                assert_eq!(record.headers["content-length"], bytes.to_string());
                assert!(record.number("x-server-us").is_some());
                let (sent, headers, last) =
                    (record.sent_ns.unwrap(), record.headers_ns.unwrap(), record.last_byte_ns.unwrap());
                assert!(record.requested_ns <= sent && sent <= headers && headers <= last);
                assert_eq!(record.first_byte_ns.is_some(), bytes > 0);
            }
            assert_eq!((server.stats().requests, server.stats().bytes_sent), (4, 2_015_361));
        });
    });
}

#[test]
fn requests_beyond_the_depth_wait_in_order() {
    each(|stack| {
        run(async {
            let set = StackSettings { depth: 2, ..settings(stack) };
            let credentials = credentials();
            let server = serve(&set, &credentials, origin());
            let connection = connect(&set, &credentials, server.address()).await;
            let paths: Vec<String> = (0..9).map(|segment| path(segment, 50_000)).collect();
            let records = connection.fetch_all(paths.iter().map(String::as_str)).await;
            assert!(records.iter().all(|record| record.is_complete() && record.verified), "{records:#?}");
            assert_eq!(records.iter().map(|record| &record.path).collect::<Vec<_>>(), paths.iter().collect::<Vec<_>>());
            for pair in records.windows(2) {
                assert!(pair[0].sent_ns <= pair[1].sent_ns, "in order");
            }
            for (earlier, later) in records.iter().zip(&records[2..]) {
                let under_way =
                    records.iter().filter(|other| other.sent_ns <= later.sent_ns && other.last_byte_ns > later.sent_ns);
                assert!(under_way.count() <= 2, "{stack:?}: {earlier:?}");
            }
            assert_eq!(server.connections().len(), 1, "all on one connection");
        });
    });
}

#[test]
fn what_is_no_object_is_an_error_with_its_status_and_no_missing_row() {
    each(|stack| {
        run(async {
            let (set, credentials) = (settings(stack), credentials());
            let server = serve(&set, &credentials, origin());
            let connection = connect(&set, &credentials, server.address()).await;
            let record = connection.fetch("/nothing").await;
            assert_eq!((record.status, record.error.as_ref().map(|e| e.code())), (Some(404), Some("status")));
            assert_eq!(connection.fetch("/health").await.text, "ok");
            assert!(connection.fetch(&path(0, 9)).await.is_complete(), "the connection goes on");
            assert_eq!(server.stats().errors, 1);
        });
    });
}

#[test]
fn the_server_keeps_the_counters_of_a_connection_that_has_ended() {
    each(|stack| {
        run(async {
            let (set, credentials) = (settings(stack), credentials());
            let server = serve(&set, &credentials, origin());
            let connection = connect(&set, &credentials, server.address()).await;
            connection.fetch(&path(0, 500_000)).await;
            let open = &server.connections()[0];
            assert!(open.closed_ns.is_none() && open.counters.as_ref().unwrap().packets_sent() > 0);
            connection.close();
            drop(connection);
            let ended = loop {
                let record = server.connections().remove(0);
                if record.closed_ns.is_some() {
                    break record;
                }
                tokio::task::yield_now().await;
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            };
            let sent = match ended.counters.unwrap() {
                study_stacks::Counters::Tcp(tcp) => tcp.bytes_sent.unwrap(),
                study_stacks::Counters::Quic(quic) => quic.udp_sent_bytes,
            };
            assert!((500_000..600_000).contains(&sent), "{stack:?}: {sent} B");
        });
    });
}
