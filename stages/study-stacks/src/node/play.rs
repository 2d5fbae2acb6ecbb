//! A player over a real connection.

use crate::clock;
use crate::driver::{Connection, FetchRecord};
use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::time::Duration;
use study_cdn::player::{Next, Player, SessionSummary};
use study_tree::choices;
use study_units::{SimDuration, SimTime};

choices! {
    /// Whether a player waits for its buffer.
    pub enum Pacing {
        /// It waits as a viewer's does.
        RealTime = "real_time",
        /// With nothing in flight, its clock jumps to the instant at which it would ask again: transfers stand back to
        /// back, and what it says of time is in that clock.
        BackToBack = "back_to_back",
    }
}

/// Plays to the end of the title, or until a transfer has failed and the others under way have ended; what was played then
/// is in the summary. `path` names the object of a segment and rung. `ended` is told of each transfer, with its segment and the
/// player right after it; when it says `false`, no more is asked for.
pub async fn play(
    connection: &Connection,
    player: &mut Player,
    pacing: Pacing,
    path: impl Fn(usize, usize) -> String,
    mut ended: impl FnMut(usize, &FetchRecord, &Player) -> bool,
) -> SessionSummary {
    let mut under_way = FuturesUnordered::new();
    // How far the player's clock is ahead of the machine's.
    let mut ahead = SimDuration::ZERO;
    let mut going_on = true;
    loop {
        let now = clock::now() + ahead;
        let next = if going_on { player.next_request(now) } else { Next::Done };
        let first = match next {
            Next::Request { segment, rung } => {
                let path = path(segment, rung);
                under_way.push(async move { (segment, connection.fetch(&path).await) });
                continue;
            }
            Next::WaitUntil(instant) if under_way.is_empty() && pacing == Pacing::BackToBack => {
                ahead = ahead + instant.since(now);
                continue;
            }
            Next::WaitUntil(_) if pacing == Pacing::BackToBack => under_way.next().await,
            Next::WaitUntil(instant) => {
                let wait = Duration::from_nanos(instant.since(now).as_nanos());
                tokio::select! {
                    Some(done) = under_way.next() => Some(done),
                    () = tokio::time::sleep(wait) => continue,
                }
            }
            Next::Blocked | Next::Done => under_way.next().await,
        };
        let Some(first) = first else { break };
        // All that has ended by now counts before the player is asked again.
        let mut done = Some(first);
        while let Some((segment, record)) = done {
            match record.last_byte_ns {
                Some(at) => player.on_complete(SimTime::from_nanos(at) + ahead, segment, record.bytes),
                None => going_on = false,
            }
            going_on &= ended(segment, &record, player);
            done = under_way.next().now_or_never().flatten();
        }
    }
    player.finish(clock::now() + ahead)
}
