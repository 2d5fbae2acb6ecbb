//! The client: a real player on a real connection.
//!
//! The player is the state machine of the simulator. Its clock is the monotonic one since the start of the trial, moved on
//! while it waits for room where the study says `pacing: back_to_back`.

use crate::job::{Arm, Planned, Viewer};
use crate::params::Pacing;
use crate::record::{SessionRecord, TransferRecord};
use crate::validity::Dialed;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, Shared};
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use study_cdn::catalog::Title;
use study_cdn::player::{Decisions, Next, Player, PlayerError};
use study_stacks::{Client, Connection, FetchRecord, ObjectId, StackError, clock};
use study_units::{SimDuration, SimTime};

/// Time for a closed connection's last packets to leave.
const FAREWELL: Duration = Duration::from_millis(20);

/// A session to be played.
pub(crate) struct Session<'a> {
    pub arm: &'a Arm,
    pub viewer: &'a Viewer,
    pub title: Arc<Title>,
    pub pacing: Pacing,
    pub server: (SocketAddr, &'a str),
}

/// What was played.
pub(crate) struct Played {
    pub record: SessionRecord,
    /// Its connection near its end; nothing when there never was one.
    pub dialed: Option<Dialed>,
}

/// A player for this viewer.
pub(crate) fn player(arm: &Arm, viewer: &Viewer, title: Arc<Title>) -> Result<Player, PlayerError> {
    let start = SimTime::ZERO + viewer.arrival;
    match (&viewer.schedule, &arm.player.decisions) {
        (Some(schedule), _) => {
            Player::replay(&arm.player, title, start, schedule.iter().map(|p: &Planned| p.into()).collect())
        }
        (None, Decisions::FixedRung(rung)) => Player::fixed_rung(&arm.player, title, start, *rung),
        (None, Decisions::ClosedLoop | Decisions::Replay(_)) => Ok(Player::closed_loop(&arm.player, title, start)),
    }
}

/// The player's clock.
struct Time {
    epoch: SimTime,
    skipped: SimDuration,
}

impl Time {
    fn now(&self) -> SimTime {
        SimTime::ZERO + clock::now().since(self.epoch) + self.skipped
    }
    /// From now to an instant of the player; nothing when it is over.
    fn until(&self, at: SimTime) -> Duration {
        // The trial may not have begun: instants are compared on the monotonic clock, which has no beginning here.
        let then = self.epoch + at.since(SimTime::ZERO);
        let now = clock::now() + self.skipped;
        Duration::from_nanos(then.since(now.min(then)).as_nanos())
    }
}

type Connecting = Shared<LocalBoxFuture<'static, Result<Rc<Connection>, StackError>>>;
/// Position of the transfer, and its record.
type Fetched = (usize, FetchRecord);

/// A transfer that was asked for.
struct Asked {
    segment: usize,
    rung: usize,
    bytes: u64,
    requested: SimTime,
    completed: Option<SimTime>,
    record: Option<FetchRecord>,
}

/// Plays a session. `epoch` is the start of the trial on the monotonic clock.
pub(crate) async fn play(session: &Session<'_>, client: Rc<Client>, mut player: Player, epoch: SimTime) -> Played {
    let mut time = Time { epoch, skipped: SimDuration::ZERO };
    let arrival = SimTime::ZERO + session.viewer.arrival;
    tokio::time::sleep(time.until(arrival)).await;
    let (address, name) = (session.server.0, session.server.1.to_owned());
    let connecting: Connecting =
        async move { client.connect(address, &name).await.map(Rc::new) }.boxed_local().shared();
    let mut asked = Vec::new();
    drive(session, &mut player, &connecting, &mut time, &mut asked).await;
    let connection = connecting.peek().cloned();
    let ended = time.now();
    let played = close_books(session, player, &asked, connection.as_ref(), (epoch, ended));
    if let Some(Ok(connection)) = &connection {
        connection.close();
        tokio::time::sleep(FAREWELL).await;
    }
    played
}

/// Carries out what the player wants until it has everything, or nothing can come any more.
async fn drive(
    session: &Session<'_>,
    player: &mut Player,
    connecting: &Connecting,
    time: &mut Time,
    asked: &mut Vec<Asked>,
) {
    let deadline = SimTime::ZERO + session.viewer.arrival + session.arm.session_limit;
    let mut flying: FuturesUnordered<LocalBoxFuture<'_, Fetched>> = FuturesUnordered::new();
    loop {
        let wait = ask(session, player, connecting, time, asked, &mut flying);
        if player.has_everything() || time.now() >= deadline {
            return;
        }
        match wait {
            // Nothing in flight and nothing to wait for: a transfer has failed, and the player cannot go on.
            None if flying.is_empty() => return,
            Some(at)
                if flying.is_empty() && session.pacing == Pacing::BackToBack && session.viewer.schedule.is_none() =>
            {
                time.skipped = time.skipped + at.since(time.now().min(at));
                continue;
            }
            _ => {}
        }
        let sleep = tokio::time::sleep(time.until(wait.unwrap_or(deadline).min(deadline)));
        tokio::select! {
            Some((index, record)) = flying.next(), if !flying.is_empty() => {
                land(player, time, asked, index, record);
                // All that has come is reported before the player is asked.
                while let Some(Some((index, record))) = flying.next().now_or_never() {
                    land(player, time, asked, index, record);
                }
                if asked.iter().any(|a| a.record.as_ref().is_some_and(|r| !r.is_complete())) {
                    return;
                }
            }
            () = sleep => {}
        }
    }
}

/// Issues what the player wants now; returns when to ask it again.
fn ask<'f>(
    session: &Session<'_>,
    player: &mut Player,
    connecting: &Connecting,
    time: &Time,
    asked: &mut Vec<Asked>,
    flying: &mut FuturesUnordered<LocalBoxFuture<'f, Fetched>>,
) -> Option<SimTime> {
    loop {
        let now = time.now();
        match player.next_request(now) {
            Next::Request { segment, rung } => {
                let bytes = session.title.sizes(segment)[rung];
                let id = ObjectId { title: session.viewer.title, segment: segment as u32, rung: rung as u32 };
                flying.push(fetch(connecting.clone(), id.path(bytes), asked.len()).boxed_local());
                asked.push(Asked { segment, rung, bytes, requested: now, completed: None, record: None });
            }
            Next::WaitUntil(at) => return Some(at),
            Next::Blocked | Next::Done => return None,
        }
    }
}

async fn fetch(connecting: Connecting, path: String, index: usize) -> Fetched {
    let record = match connecting.await {
        Ok(connection) => connection.fetch(&path).await,
        Err(error) => FetchRecord { path, error: Some(error), ..FetchRecord::default() },
    };
    (index, record)
}

fn land(player: &mut Player, time: &Time, asked: &mut [Asked], index: usize, record: FetchRecord) {
    let transfer = &mut asked[index];
    if record.is_complete() {
        let now = time.now();
        transfer.completed = Some(now);
        player.on_complete(now, transfer.segment, transfer.bytes);
    }
    transfer.record = Some(record);
}

fn close_books(
    session: &Session<'_>,
    mut player: Player,
    asked: &[Asked],
    connection: Option<&Result<Rc<Connection>, StackError>>,
    (epoch, ended): (SimTime, SimTime),
) -> Played {
    let summary = player.finish(ended);
    let connected = connection.and_then(|c| c.as_ref().ok());
    let handshake = connected.map(|c| c.handshake()).unwrap_or_default();
    let arrival = epoch + session.viewer.arrival;
    let state = handshake.session().unwrap_or(session.viewer.session);
    let record = SessionRecord {
        viewer: 0,
        session: state.name().to_owned(),
        handshake_us: connected.map(|c| SimTime::from_nanos(c.times().ready_ns).since(arrival).as_micros()),
        startup_us: summary.startup.map(SimDuration::as_micros),
        stall_count: summary.stall_count,
        stall_us: summary.stall.as_micros(),
        played_us: summary.played.as_micros(),
        stall_ratio: summary.stall_ratio(),
        mean_bitrate_kbit_s: summary.mean_bitrate_kbit_s,
        switches: summary.switches,
        segments: summary.segments,
        bytes: summary.bytes,
        completed: summary.completed,
        transfers: asked.iter().map(|a| transfer(a, &player)).collect(),
        packets_sent: None,
        packets_lost: None,
        retransmitted_bytes: None,
        rtt_us: None,
        error: connection.and_then(|c| c.as_ref().err()).map(ToString::to_string),
    };
    Played { record, dialed: connected.map(|c| Dialed::of(c)) }
}

fn transfer(asked: &Asked, player: &Player) -> TransferRecord {
    let (record, of_player) = (asked.record.as_ref(), &player.records()[asked.segment]);
    // The player asked before the stack did: its request may have waited for the handshake.
    let since = |ns: Option<u64>| {
        let (last, at) = (record?.last_byte_ns?, ns?);
        let whole = asked.completed?.since(asked.requested).as_nanos();
        Some(whole.saturating_sub(last.saturating_sub(at)) / 1_000)
    };
    let failed = || match record {
        None => Some("the session ended first".to_owned()),
        Some(record) => record.error.as_ref().map(ToString::to_string),
    };
    TransferRecord {
        segment: asked.segment,
        rung: asked.rung,
        bytes: asked.bytes,
        cache: record.and_then(|r| r.headers.get("x-cache").cloned()).unwrap_or_default(),
        requested_us: asked.requested.since(SimTime::ZERO).as_micros(),
        ttfb_us: record.and_then(|r| since(r.first_byte_ns)),
        ttlb_us: asked.completed.map(|at| at.since(asked.requested).as_micros()),
        origin_fetch_us: record.and_then(|r| r.number("x-origin-fetch-us")),
        buffer_before_us: of_player.buffer_before.as_micros(),
        buffer_after_us: of_player.buffer_after.as_micros(),
        stall_us: of_player.stall.as_micros(),
        error: failed(),
    }
}
