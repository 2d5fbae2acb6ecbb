//! Session states, by the handshake that there was and not by the one that was asked for.

use crate::{NAME, credentials, each, origin, run, serve, settings};
use study_stacks::readback::Verdict;
use study_stacks::{Client, Connection, HandshakeKind, ObjectId, StackChoice, StackSettings};
use study_transport::SessionState;

/// A connection with session state `client` to a server that allows `server`, after a first visit if asked for; and whether
/// the server saw early data, where it knows.
async fn visit(
    stack: StackChoice,
    client: SessionState,
    server: SessionState,
    prime: bool,
) -> (Connection, Option<bool>) {
    let credentials = credentials();
    let server = serve(&settings(stack).session(server), &credentials, origin());
    let viewer = Client::new(settings(stack).session(client), credentials.trust()).unwrap();
    if prime {
        viewer.prime(server.address(), NAME).await.unwrap();
    }
    let connection = viewer.connect(server.address(), NAME).await.unwrap();
    let record = connection.fetch(&ObjectId { title: 1, segment: 1, rung: 1 }.path(100_000)).await;
    assert!(record.is_complete() && record.verified, "{record:?}");
    let seen = server.connections().last().unwrap().handshake.early_data;
    (connection, seen)
}

#[test]
fn each_state_is_verified_by_the_handshake() {
    each(|stack| {
        for state in [SessionState::Cold, SessionState::Resumed, SessionState::ZeroRtt] {
            run(async {
                let (connection, _) = visit(stack, state, state, true).await;
                let report = connection.handshake();
                assert_eq!(report.session(), Some(state), "{stack:?}: {report:?}");
                let rows = connection.readbacks();
                assert_eq!(crate::row(&rows, "session").verdict, Verdict::Same);
                assert_eq!(
                    report.chain_bytes,
                    (state == SessionState::Cold).then_some(3_000),
                    "a ticket saves the chain"
                );
                assert_eq!(report.early_data, (state == SessionState::ZeroRtt).then_some(true));
            });
        }
    });
}

#[test]
fn over_tcp_the_server_reads_early_data_too() {
    run(async {
        let (_, seen) = visit(StackChoice::H2Hyper, SessionState::ZeroRtt, SessionState::ZeroRtt, true).await;
        assert_eq!(seen, Some(true));
    });
}

#[test]
fn a_cold_visitor_has_a_full_handshake_even_where_tickets_are_given() {
    each(|stack| {
        run(async {
            let credentials = credentials();
            let server = serve(&settings(stack).session(SessionState::ZeroRtt), &credentials, origin());
            let viewer = Client::new(settings(stack), credentials.trust()).unwrap();
            for _ in 0..2 {
                let connection = viewer.connect(server.address(), NAME).await.unwrap();
                assert!(connection.fetch("/health").await.is_complete());
                assert_eq!(connection.handshake().kind, Some(HandshakeKind::Full));
            }
        });
    });
}

#[test]
fn a_state_that_was_wanted_and_not_had_is_a_mismatch() {
    each(|stack| {
        for wanted in [SessionState::Resumed, SessionState::ZeroRtt] {
            run(async {
                let (connection, _) = visit(stack, wanted, SessionState::ZeroRtt, false).await;
                let rows = connection.readbacks();
                let row = crate::row(&rows, "session");
                assert_eq!((row.verdict, row.got.as_str()), (Verdict::Differs, "cold"), "{stack:?}");
            });
        }
    });
}

#[test]
fn a_server_without_early_data_makes_a_resumed_session_of_one_that_wanted_it() {
    each(|stack| {
        run(async {
            let (connection, _) = visit(stack, SessionState::ZeroRtt, SessionState::Resumed, true).await;
            assert_eq!(connection.handshake().session(), Some(SessionState::Resumed), "{stack:?}");
        });
    });
}

#[test]
fn a_server_without_tickets_is_named() {
    each(|stack| {
        run(async {
            let credentials = credentials();
            let server = serve(&settings(stack), &credentials, origin());
            let mut set: StackSettings = settings(stack).session(SessionState::Resumed);
            set.connect_timeout = std::time::Duration::from_secs(1);
            let viewer = Client::new(set, credentials.trust()).unwrap();
            let error = viewer.prime(server.address(), NAME).await.unwrap_err();
            assert_eq!(error.code(), "no_ticket");
            assert!(error.cure().is_some());
        });
    });
}
