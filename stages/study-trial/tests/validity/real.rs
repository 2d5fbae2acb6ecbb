//! Read-backs of the real stacks: the names of their settings are those that the checks look for.
//!
//! Both stacks talk over the loopback interface, which is the one fault that must be found.

use crate::clean::{BDP, CHAIN, block};
use std::time::Duration;
use study_stacks::{Client, Credentials, Listener, ObjectId, Server, Service, StackSettings};
use study_trial::validity::{Check, Dialed, Evidence, Status, record};

const NAME: &str = "origin.study";

/// The clean evidence of an arm with what its stack really says.
async fn with_real_connection(mut evidence: Evidence, credentials: &Credentials) -> Evidence {
    let hop = &mut evidence.hops[0];
    let settings = StackSettings { connect_timeout: Duration::from_secs(20), ..hop.server.clone() };
    (hop.client, hop.server) = (settings.clone(), settings.clone());
    let listener = Listener::bind(&settings, "127.0.0.1:0".parse().unwrap()).unwrap();
    let server = Server::start(listener, settings.clone(), credentials, Service::origin(Duration::ZERO)).unwrap();
    let client = Client::new(settings, credentials.trust()).unwrap();
    let connection = client.connect(server.address(), NAME).await.unwrap();
    let fetched = connection.fetch(&ObjectId { title: 0, segment: 0, rung: 0 }.path(20_000)).await;
    assert!(fetched.is_complete(), "{fetched:?}");
    hop.dialed = vec![Dialed::of(&connection)];
    hop.accepted = server.connections();
    server.stop().await;
    evidence
}

fn of<'r>(rows: &'r [Check], id: &str, arm: &str) -> &'r Check {
    rows.iter()
        .find(|row| row.id == id && row.arm.as_deref() == Some(arm))
        .unwrap_or_else(|| panic!("no {id} of {arm}"))
}

#[test]
fn the_checks_find_what_the_real_stacks_say() {
    let credentials = Credentials::new(&[NAME], CHAIN).unwrap();
    let arms: Vec<Evidence> = study_stacks::runtime().unwrap().block_on(async {
        let mut arms = Vec::new();
        for evidence in block() {
            arms.push(with_real_connection(evidence, &credentials).await);
        }
        arms
    });
    let rows = record(&arms);
    for arm in ["h2-hyper", "h3-quinn"] {
        assert_eq!(of(&rows, "E1", arm).status, Status::Fail, "loopback: {:?}", of(&rows, "E1", arm));
        for id in ["H1", "H5", "H8", "H9", "H10", "H11", "H12", "H18", "H20"] {
            let row = of(&rows, id, arm);
            assert_eq!(row.status, Status::Pass, "{row:?}");
            assert_ne!(row.measured, "nothing", "{row:?}");
        }
    }
    assert_eq!(of(&rows, "H1", "h2-hyper").measured, "cubic");
    assert_eq!(of(&rows, "H8", "h3-quinn").measured, format!("connection_window {0}, stream_window {0}", 4 * BDP));
    assert_eq!(of(&rows, "H5", "h3-quinn").measured, "14520 B");
    assert_eq!(of(&rows, "H11", "h3-quinn").measured, CHAIN.to_string());
    assert_eq!(of(&rows, "H12", "h2-hyper").measured, "cold");
    // On a real host the buffers may be cut, and TCP is not told to pace: both are found out, not passed over.
    assert_ne!(of(&rows, "H6", "h3-quinn").status, Status::Unknown);
    assert_ne!(of(&rows, "H7", "h2-hyper").status, Status::Unknown);
    let pacing = rows.iter().find(|row| row.id == "H17" && row.arm.is_none()).unwrap();
    assert_eq!(pacing.status, Status::Warn, "{pacing:?}");
}
