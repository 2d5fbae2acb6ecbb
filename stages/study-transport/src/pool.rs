//! What a client has to one server: one connection of HTTP/2 or HTTP/3, or up to six of HTTP/1.1.
//!
//! Driven like a [`Connection`]. Under HTTP/1.1 a connection has one request outstanding. A request takes an idle
//! connection; where there is none, another is opened (up to `h1_connections`), and the request leaves on whichever is
//! ready first. Each has its handshake and its congestion control; all of them share one [`Path`], which is asked in the
//! order of time (at equal times in the order of the connections).
//!
//! | reference | here | effect |
//! |---|---|---|
//! | a second connection may use a ticket that the first one got (RFC 8446 section 4.6.1) | all have the session's state | later connections of a cold session pay the full handshake |
//! | browsers close idle connections | they stay open | none within a session |
//! | the wait for a free connection | part of the response's time, not of its head-of-line wait | - |
//!
//! Consumes no random numbers.

use crate::config::{ConnectionConfig, Priority, Scheduler};
use crate::connection::{AppEvent, Connection, Fate, Flight, Heading, Path, StreamId};
use crate::qlog::{Recording, Trace};
use crate::send_queue::Availability;
use crate::stats::{ConnectionStats, StreamReport};
use std::collections::VecDeque;
use study_units::SimTime;

/// The shared path, where its holder is.
#[derive(Debug)]
struct Lent<P>(Option<P>);

/// Only the holder sends; a path whose queue decides late (`Fate::Undecided`) serves one connection at a time.
impl<P: Path> Path for Lent<P> {
    #[inline]
    fn send_down(&mut self, now: SimTime, ip_bytes: u32) -> Fate {
        self.0.as_mut().map_or(Fate::Lost, |path| path.send_down(now, ip_bytes))
    }
    #[inline]
    fn send_up(&mut self, now: SimTime, ip_bytes: u32) -> Fate {
        self.0.as_mut().map_or(Fate::Lost, |path| path.send_up(now, ip_bytes))
    }
    #[inline]
    fn send(&mut self, now: SimTime, heading: Heading, ip_bytes: u32, flight: Flight) -> Fate {
        self.0.as_mut().map_or(Fate::Lost, |path| path.send(now, heading, ip_bytes, flight))
    }
    #[inline]
    fn next_event(&self) -> SimTime {
        self.0.as_ref().map_or(SimTime::NEVER, P::next_event)
    }
    #[inline]
    fn resolve(&mut self, now: SimTime) -> Option<(Heading, Option<SimTime>)> {
        self.0.as_mut()?.resolve(now)
    }
}

#[derive(Debug)]
struct Member<P> {
    connection: Connection<Lent<P>>,
    /// HTTP/1.1: it has a request outstanding.
    busy: bool,
    /// The pool's number of each of its streams.
    streams: Vec<StreamId>,
}

/// A request of the pool.
#[derive(Debug, Clone, Copy)]
struct Place {
    requested: SimTime,
    /// Connection and its number of the stream, once it has one.
    at: Option<(usize, StreamId)>,
}

/// The connections of one client to one server.
#[derive(Debug)]
pub struct Pool<P> {
    config: ConnectionConfig,
    label: String,
    now: SimTime,
    members: Vec<Member<P>>,
    /// Which member has the path.
    holder: usize,
    places: Vec<Place>,
    /// HTTP/1.1: requests without a connection.
    waiting: VecDeque<(StreamId, Priority)>,
    events: VecDeque<AppEvent>,
    /// Where logs are wanted.
    recording: Option<Box<Recording>>,
}

impl<P: Path> Pool<P> {
    /// Opens the first connection at `start`.
    #[must_use]
    pub fn open(config: ConnectionConfig, path: P, start: SimTime) -> Self {
        Self::open_with(config, path, start, None)
    }

    /// Opens the first connection at `start`; all connections write logs.
    #[must_use]
    pub fn open_recorded(config: ConnectionConfig, path: P, start: SimTime, recording: Recording) -> Self {
        Self::open_with(config, path, start, Some(Box::new(recording)))
    }

    fn open_with(config: ConnectionConfig, path: P, start: SimTime, recording: Option<Box<Recording>>) -> Self {
        let mut pool = Self {
            config,
            label: "connection".to_owned(),
            now: start,
            members: Vec::new(),
            holder: 0,
            places: Vec::new(),
            waiting: VecDeque::new(),
            events: VecDeque::new(),
            recording,
        };
        pool.add(Some(path));
        pool
    }

    /// Names the connections in messages about them.
    #[must_use]
    pub fn labelled(mut self, label: &str) -> Self {
        label.clone_into(&mut self.label);
        for (i, member) in self.members.iter_mut().enumerate() {
            member.connection.set_label(&format!("{label}, connection {i}"));
        }
        self
    }

    fn add(&mut self, path: Option<P>) {
        let (config, path) = (self.config.clone(), Lent(path));
        let mut connection = match &self.recording {
            Some(recording) => Connection::open_recorded(config, path, self.now, recording, self.members.len()),
            None => Connection::open(config, path, self.now),
        };
        connection.set_label(&format!("{}, connection {}", self.label, self.members.len()));
        self.holder = self.members.len();
        self.members.push(Member { connection, busy: false, streams: Vec::new() });
    }

    /// The member at `index`, with the path.
    fn lend(&mut self, index: usize) -> &mut Member<P> {
        if self.holder != index {
            let path = self.members[self.holder].connection.path.0.take();
            self.members[index].connection.path.0 = path;
            self.holder = index;
        }
        &mut self.members[index]
    }

    /// The time that the pool has reached.
    #[must_use]
    pub const fn now(&self) -> SimTime {
        self.now
    }
    /// How many connections there are.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.members.len()
    }
    /// When the first handshake was complete at the client; `NEVER` before.
    #[must_use]
    pub fn established_at(&self) -> SimTime {
        self.members.iter().map(|m| m.connection.established_at()).fold(SimTime::NEVER, SimTime::min)
    }
    /// Whether all connections were given up.
    #[must_use]
    pub fn gave_up(&self) -> bool {
        self.members.iter().all(|m| m.connection.gave_up())
    }
    /// Counters of all connections together.
    #[must_use]
    pub fn stats(&self) -> ConnectionStats {
        let mut sum = ConnectionStats::default();
        self.members.iter().for_each(|m| sum.add(m.connection.stats()));
        sum
    }
    /// The logs of all connections, ended now; nothing unless the pool was opened to write them.
    pub fn take_traces(&mut self) -> Vec<Trace> {
        self.members.iter_mut().flat_map(|m| m.connection.take_traces()).collect()
    }
    /// The path that all share.
    ///
    /// # Panics
    /// Never: there is always one holder.
    #[must_use]
    pub fn path(&self) -> &P {
        self.members[self.holder].connection.path.0.as_ref().expect("one connection holds the path")
    }

    /// The client asks, now.
    pub fn request(&mut self) -> StreamId {
        self.request_with(Priority::default())
    }

    /// The client asks, now, and says how urgent it is.
    pub fn request_with(&mut self, priority: Priority) -> StreamId {
        let id = StreamId(self.places.len() as u32);
        self.places.push(Place { requested: self.now, at: None });
        if self.config.multiplexed {
            self.ask(0, id, priority);
        } else {
            self.waiting.push_back((id, priority));
            self.dispatch();
        }
        id
    }

    fn ask(&mut self, index: usize, id: StreamId, priority: Priority) {
        let now = self.now;
        let member = self.lend(index);
        member.connection.wait_until(now);
        let stream = member.connection.request_with(priority);
        member.busy = true;
        member.streams.push(id);
        self.places[id.0 as usize].at = Some((index, stream));
    }

    /// Gives waiting requests to idle connections, and opens connections as long as fewer are on their way than requests wait.
    fn dispatch(&mut self) {
        while !self.waiting.is_empty() {
            let early = self.config.sends_early();
            let idle = self.members.iter().position(|m| {
                !m.busy && !m.connection.gave_up() && (early || m.connection.established_at() != SimTime::NEVER)
            });
            if let Some(index) = idle {
                let Some((id, priority)) = self.next_waiting() else { return };
                self.ask(index, id, priority);
                continue;
            }
            let opening = self.members.iter().filter(|m| !m.busy && !m.connection.gave_up()).count();
            let most = self.config.params.h1_connections as usize;
            if opening >= self.waiting.len() || self.members.len() >= most {
                return;
            }
            let path = self.members[self.holder].connection.path.0.take();
            self.add(path);
        }
    }

    /// The request that is next: in the order of the requests, under `urgency` the most urgent first.
    fn next_waiting(&mut self) -> Option<(StreamId, Priority)> {
        let by_urgency = self.config.scheduler == Scheduler::Urgency;
        let key = |at: &usize| if by_urgency { self.waiting[*at].1.urgency } else { 0 };
        let next = (0..self.waiting.len()).min_by_key(key)?;
        self.waiting.remove(next)
    }

    /// The server answers, now.
    pub fn respond(&mut self, stream: StreamId, body: u64, availability: Availability) {
        let Some((index, local)) = self.places[stream.0 as usize].at else { return };
        let now = self.now;
        let connection = &mut self.lend(index).connection;
        connection.wait_until(now);
        connection.respond(local, body, availability);
    }

    /// Simulates until something happens that the application must know, or until `limit`.
    pub fn advance(&mut self, limit: SimTime) -> Option<AppEvent> {
        if self.config.multiplexed {
            let connection = &mut self.members[0].connection;
            let event = connection.advance(limit);
            self.now = connection.now();
            return event;
        }
        while self.events.is_empty() {
            let next = |m: &Member<P>| m.connection.next_step();
            let (index, at) = self.members.iter().map(next).enumerate().min_by_key(|(i, at)| (*at, *i))?;
            if at > limit || at == SimTime::NEVER {
                if limit != SimTime::NEVER {
                    self.now = self.now.max(limit);
                }
                return None;
            }
            self.step(index, at);
        }
        self.events.pop_front()
    }

    /// One step of one connection, and what follows from it.
    fn step(&mut self, index: usize, at: SimTime) {
        self.now = self.now.max(at);
        let member = self.lend(index);
        if member.connection.flush() {
            return;
        }
        member.connection.step(at);
        let mut events = Vec::new();
        while let Some(event) = member.connection.poll() {
            let name = |local: StreamId| member.streams[local.0 as usize];
            events.push(match event {
                AppEvent::RequestArrived(local) => AppEvent::RequestArrived(name(local)),
                AppEvent::Completed(local) => {
                    member.busy = false;
                    AppEvent::Completed(name(local))
                }
            });
        }
        self.events.extend(events);
        if !self.waiting.is_empty() {
            self.dispatch();
        }
    }

    /// The next event that has happened already, without simulating further.
    pub fn poll(&mut self) -> Option<AppEvent> {
        if self.config.multiplexed { self.members[0].connection.poll() } else { self.events.pop_front() }
    }

    /// What the client saw of a stream; `None` before it is complete.
    #[must_use]
    pub fn report(&self, stream: StreamId) -> Option<StreamReport> {
        let place = self.places.get(stream.0 as usize)?;
        let (index, local) = place.at?;
        let report = self.members[index].connection.report(local)?;
        Some(StreamReport { requested: place.requested, ..report })
    }
}
