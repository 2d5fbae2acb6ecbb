//! A plain network for the tests: fixed rate, fixed delay, a list or a rule of drops.
use study_transport::{
    AppEvent, Availability, Connection, ConnectionConfig, Fate, Path, StreamReport, TransportParams,
};
use study_tree::{Cx, Decode, Node, Sections, Span};
use study_units::{BitRate, SimDuration, SimTime};

/// Downlink of a rate with an unlimited buffer, uplink without serialisation.
pub struct TestPath<D> {
    pub rate: BitRate,
    pub one_way: SimDuration,
    pub free_at: SimTime,
    pub sent_down: u64,
    pub sent_up: u64,
    /// Called with the number of the server's packet from 0; `true` loses it.
    pub drop_down: D,
    /// (departure end, bytes) of every packet that passed, for the capacity invariant.
    pub log: Vec<(SimTime, u32)>,
}

impl<D: FnMut(u64) -> bool> TestPath<D> {
    pub fn new(rate: &str, rtt: &str, drop_down: D) -> Self {
        let rtt: SimDuration = rtt.parse().unwrap();
        Self {
            rate: rate.parse().unwrap(),
            one_way: rtt.half(),
            free_at: SimTime::ZERO,
            sent_down: 0,
            sent_up: 0,
            drop_down,
            log: Vec::new(),
        }
    }
}

impl<D: FnMut(u64) -> bool> Path for TestPath<D> {
    fn send_down(&mut self, now: SimTime, ip_bytes: u32) -> Fate {
        let index = self.sent_down;
        self.sent_down += 1;
        if (self.drop_down)(index) {
            return Fate::Lost;
        }
        self.free_at = self.free_at.max(now) + self.rate.serialization(u64::from(ip_bytes));
        self.log.push((self.free_at, ip_bytes));
        Fate::Arrives(self.free_at + self.one_way)
    }
    fn send_up(&mut self, now: SimTime, _ip_bytes: u32) -> Fate {
        self.sent_up += 1;
        Fate::Arrives(now + self.one_way)
    }
}

/// Fetches objects of these sizes, all asked for at once, and returns their reports.
pub fn fetch<P: Path>(config: &ConnectionConfig, path: P, sizes: &[u64]) -> (Vec<StreamReport>, Connection<P>) {
    let mut connection = Connection::open(config.clone(), path, SimTime::ZERO);
    let streams: Vec<_> = sizes.iter().map(|_| connection.request()).collect();
    let mut left = sizes.len();
    while left > 0 {
        match connection.advance(SimTime::from_nanos(3_600_000_000_000)) {
            Some(AppEvent::RequestArrived(stream)) => {
                connection.respond(stream, sizes[stream.0 as usize], Availability::Full);
            }
            Some(AppEvent::Completed(_)) => left -= 1,
            None => panic!("the transfer did not end in an hour of simulated time"),
        }
    }
    let reports = streams.iter().map(|s| connection.report(*s).unwrap()).collect();
    (reports, connection)
}

/// The defaults of a study.
pub fn params() -> TransportParams {
    let sections = Sections::new();
    TransportParams::decode(&Node::map(Vec::new(), Span::default()), &mut Cx::new(&sections)).unwrap()
}

/// A bulk transfer of `bytes` on a link of 10 Gbit/s, so that only window and loss count: mean window in packets over
/// the second half, from packets acknowledged per round trip.
pub fn mean_window<D: FnMut(u64) -> bool>(config: &ConnectionConfig, rtt: &str, bytes: u64, drop: D) -> f64 {
    let path = TestPath::new("10 Gbit/s", rtt, drop);
    let (reports, connection) = fetch(config, path, &[bytes]);
    let log = &connection.path.log;
    let half = log.len() / 2;
    let elapsed = reports[0].completed.since(log[half].0).as_secs_f64() - connection.path.one_way.as_secs_f64();
    let rtt: SimDuration = rtt.parse().unwrap();
    (log.len() - half) as f64 / (elapsed / rtt.as_secs_f64())
}
