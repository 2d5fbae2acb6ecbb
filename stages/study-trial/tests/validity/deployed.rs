//! `compare: as_deployed`: what differs is told, and what was not set up as asked still fails.

use crate::{complaints, planted};
use study_stacks::readback::{End, Verdict};
use study_transport::CongestionControl;
use study_trial::validity::{Compare, Evidence, Status};

fn as_deployed(arms: &mut [Evidence]) {
    arms.iter_mut().for_each(|arm| arm.asked.compare = Compare::AsDeployed);
}

/// A check, and a fault that makes arms differ while each is what was asked for.
type Difference = (&'static str, fn(&mut Vec<Evidence>));

const DIFFERENCES: &[Difference] = &[
    ("H1", |arms| {
        let hop = &mut arms[1].hops[0];
        (hop.client.congestion_control, hop.server.congestion_control) =
            (CongestionControl::NewReno, CongestionControl::NewReno);
        let rows =
            hop.dialed.iter_mut().map(|c| &mut c.readbacks).chain(hop.accepted.iter_mut().map(|c| &mut c.readbacks));
        for row in rows.flatten().filter(|row| row.setting == "congestion_control") {
            (row.asked, row.got) = ("newreno".to_owned(), "newreno".to_owned());
        }
    }),
    ("H5", |arms| arms[1].hops[0].server.initial_window = 32),
    ("H10", |arms| {
        arms[1].hops[0].client.offload = true;
        arms[1].hops[0].server.offload = true;
    }),
    ("H14", |arms| arms[1].host.driver = "another".to_owned()),
    ("H16", |arms| arms[1].order.warm_ups = 7),
    ("H18", |arms| arms[1].hops[0].client.depth = 6),
];

#[test]
fn what_differs_is_a_warning_as_deployed() {
    for (id, difference) in DIFFERENCES {
        let rows = planted(|arms| {
            as_deployed(arms);
            difference(arms);
        });
        let row = rows
            .iter()
            .find(|row| row.id == *id && row.status == Status::Warn)
            .unwrap_or_else(|| panic!("{id}: {rows:#?}"));
        assert!(row.message.contains("as deployed"), "{row:?}");
        assert!(rows.iter().all(|row| row.status != Status::Fail), "{id}: {:?}", complaints(&rows));
        let equal = planted(difference);
        assert!(equal.iter().any(|row| row.id == *id && row.status == Status::Fail), "{id} under `equal`");
    }
}

#[test]
fn what_was_not_set_up_as_asked_fails_all_the_same() {
    let rows = planted(|arms| {
        as_deployed(arms);
        let rows = &mut arms[0].hops[0].accepted[0].readbacks;
        let row = rows.iter_mut().find(|row| row.setting == "congestion_control" && row.end == End::Server).unwrap();
        (row.got, row.verdict) = ("bbr_v1".to_owned(), Verdict::Differs);
    });
    assert!(rows.iter().any(|row| row.id == "H1" && row.status == Status::Fail), "{rows:#?}");
}

#[test]
fn different_links_fail_even_as_deployed() {
    let rows = planted(|arms| {
        as_deployed(arms);
        arms[1].hops[0].seed = "ff".to_owned();
    });
    assert!(rows.iter().any(|row| row.id == "E14" && row.status == Status::Fail));
}
