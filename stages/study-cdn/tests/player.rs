//! Whole sessions over a scripted network.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use study_cdn::abr::{AbrChoice, BbaParams, ThroughputParams};
use study_cdn::catalog::Title;
use study_cdn::player::{
    Decisions, Next, PlannedRequest, Player, PlayerError, PlayerParams, SegmentRecord, SessionSummary,
};
use study_units::{Probability, SimDuration, SimTime};

const START: SimTime = SimTime::from_nanos(7_000_000_000);

fn ms(ms: u64) -> SimDuration {
    SimDuration::from_millis(ms)
}

fn params() -> PlayerParams {
    PlayerParams {
        abr: AbrChoice::Bba(BbaParams::DEFAULT),
        prefetch: 1,
        startup_threshold: ms(2_000),
        rebuffer_threshold: ms(0),
        max_buffer: ms(30_000),
        decisions: Decisions::ClosedLoop,
    }
}

fn title(durations_ms: &[u64]) -> Arc<Title> {
    let rungs: Arc<[u32]> = [400, 800, 1_500, 3_000, 6_000, 12_000].into();
    let durations: Vec<SimDuration> = durations_ms.iter().map(|d| ms(*d)).collect();
    let sizes = durations_ms.iter().flat_map(|d| rungs.iter().map(move |r| u64::from(*r) * d / 8)).collect();
    Arc::new(Title::new(rungs.clone(), durations, sizes).unwrap())
}

fn four_seconds(segments: usize) -> Arc<Title> {
    title(&vec![4_000; segments])
}

/// Plays until every segment has arrived, or until `give_up`. The network says how long each segment takes; all completions
/// of an instant are reported before the player is asked.
fn drive(
    player: &mut Player,
    give_up: SimTime,
    mut network: impl FnMut(usize, usize, SimTime) -> SimDuration,
) -> SessionSummary {
    let mut now = player.start();
    let mut arriving: BinaryHeap<Reverse<(SimTime, usize)>> = BinaryHeap::new();
    loop {
        let wait = match player.next_request(now) {
            Next::Request { segment, rung } => {
                arriving.push(Reverse((now + network(segment, rung, now), segment)));
                continue;
            }
            Next::WaitUntil(at) => {
                assert!(at > now, "a wait ends later than it begins");
                Some(at)
            }
            Next::Blocked => {
                assert!(player.in_flight() > 0, "nothing would ever wake the player");
                None
            }
            Next::Done => None,
        };
        let arrival = arriving.peek().map(|Reverse((at, _))| *at);
        let Some(next) = [wait, arrival].into_iter().flatten().min() else { break };
        if next > give_up {
            return player.finish(give_up);
        }
        now = next;
        while let Some(Reverse((_, segment))) = arriving.peek().filter(|a| a.0.0 == now).copied() {
            arriving.pop();
            let rung = player.records()[segment].rung;
            let bytes = player.title().sizes(segment)[rung];
            player.on_complete(now, segment, bytes);
        }
    }
    player.finish(now)
}

fn fixed(params: &PlayerParams, title: &Arc<Title>, rung: usize) -> Player {
    Player::fixed_rung(params, Arc::clone(title), START, rung).unwrap()
}

/// Plays one rung, each segment taking its entry of `fetch_ms`.
fn play(params: &PlayerParams, fetch_ms: &[u64]) -> (SessionSummary, Vec<SegmentRecord>) {
    let mut player = fixed(params, &four_seconds(fetch_ms.len()), 1);
    let summary = drive(&mut player, SimTime::NEVER, |segment, _, _| ms(fetch_ms[segment]));
    (summary, player.records().to_vec())
}

fn after_start(at: SimTime) -> u64 {
    at.since(START).as_nanos() / 1_000_000
}

#[test]
fn a_fast_network_gives_no_stall_and_every_second_is_counted_once() {
    let (summary, records) = play(&params(), &[1_000, 1_000, 1_000]);
    assert_eq!(summary.startup, Some(ms(1_000)));
    assert_eq!((summary.stall, summary.stall_count, summary.played), (ms(0), 0, ms(12_000)));
    assert_eq!(summary.wall, ms(13_000), "the last buffer is played out");
    assert_eq!(summary.mean_bitrate_kbit_s, Some(800.0));
    assert_eq!((summary.bytes, summary.segments, summary.switches, summary.completed), (1_200_000, 3, 0, true));
    let buffers: Vec<_> = records.iter().map(|r| (r.buffer_before, r.buffer_after)).collect();
    assert_eq!(buffers, [(ms(0), ms(4_000)), (ms(4_000), ms(7_000)), (ms(7_000), ms(10_000))]);
}

#[test]
fn a_slow_network_stalls_from_the_dry_instant_and_once_per_segment() {
    // Arrivals at 6, 12, 18 s; played 6-10, 12-16, 18-22.
    let (summary, records) = play(&params(), &[6_000, 6_000, 6_000]);
    assert_eq!(summary.startup, Some(ms(6_000)));
    assert_eq!((summary.stall, summary.stall_count), (ms(4_000), 2));
    assert_eq!(records.iter().map(|r| r.stall).collect::<Vec<_>>(), [ms(0), ms(2_000), ms(2_000)]);
    assert_eq!((summary.played, summary.wall), (ms(12_000), ms(22_000)));
    assert!((summary.stall_ratio() - 0.25).abs() < 1e-15);
}

#[test]
fn a_fetch_exactly_as_long_as_the_buffer_is_no_stall() {
    let (summary, _) = play(&params(), &[4_000; 5]);
    assert_eq!((summary.stall, summary.stall_count), (ms(0), 0));
    assert_eq!(summary.wall, ms(24_000));
    let mut late = fixed(&params(), &four_seconds(2), 0);
    let summary = drive(&mut late, SimTime::NEVER, |_, _, _| ms(4_000) + SimDuration::from_nanos(1));
    assert_eq!((summary.stall, summary.stall_count), (SimDuration::from_nanos(1), 1), "one nanosecond later it is");
}

#[test]
fn segments_that_come_before_their_turn_wait_for_the_gap() {
    let (summary, records) = play(&PlayerParams { prefetch: 3, ..params() }, &[5_000, 1_000, 2_000]);
    assert_eq!(summary.startup, Some(ms(5_000)));
    assert_eq!(records.iter().map(|r| r.buffer_after).collect::<Vec<_>>(), [ms(12_000), ms(0), ms(0)]);
    // Played 1-5; segment 2 is there at 3, segment 1 at 7: it alone ends the stall, then 8 s are there.
    let (summary, records) = play(&PlayerParams { prefetch: 3, ..params() }, &[1_000, 7_000, 3_000]);
    assert_eq!(records.iter().map(|r| r.stall).collect::<Vec<_>>(), [ms(0), ms(2_000), ms(0)]);
    assert_eq!((summary.stall_count, summary.wall), (1, ms(15_000)));
}

#[test]
fn the_window_slides_when_any_segment_completes() {
    let (_, records) = play(&PlayerParams { prefetch: 2, ..params() }, &[5_000, 1_000, 1_000, 1_000]);
    let requested: Vec<u64> = records.iter().map(|r| after_start(r.requested)).collect();
    assert_eq!(requested, [0, 0, 1_000, 2_000]);
}

#[test]
fn a_full_buffer_holds_the_next_request_until_there_is_room() {
    let (summary, records) = play(&PlayerParams { max_buffer: ms(8_000), ..params() }, &[1_000; 4]);
    let requested: Vec<u64> = records.iter().map(|r| after_start(r.requested)).collect();
    assert_eq!(requested, [0, 1_000, 5_000, 9_000]);
    assert_eq!((summary.stall_count, summary.wall), (0, ms(17_000)));
    // What is in flight takes room too: three of 4 s are asked for at once although the depth is 8.
    let (_, records) = play(&PlayerParams { prefetch: 8, max_buffer: ms(12_000), ..params() }, &[1_000; 4]);
    let requested: Vec<u64> = records.iter().map(|r| after_start(r.requested)).collect();
    assert_eq!(requested, [0, 0, 0, 5_000]);
}

#[test]
fn thresholds_that_the_buffer_cannot_reach_count_as_met_when_it_is_full() {
    let startup = PlayerParams { startup_threshold: ms(20_000), max_buffer: ms(8_000), ..params() };
    assert_eq!(play(&startup, &[1_000; 4]).0.startup, Some(ms(2_000)), "two segments fill the buffer");
    let rebuffer = PlayerParams { rebuffer_threshold: ms(20_000), max_buffer: ms(8_000), ..params() };
    // Played 1-5, stalled until segments 1 (11 s) and 2 (12 s) fill the buffer.
    let (summary, records) = play(&rebuffer, &[1_000, 10_000, 1_000, 1_000]);
    assert_eq!(records.iter().map(|r| r.stall).collect::<Vec<_>>(), [ms(0), ms(0), ms(7_000), ms(0)]);
    assert_eq!(summary.stall, ms(7_000));
}

#[test]
fn a_short_title_starts_when_it_is_all_there() {
    let mut player = fixed(&params(), &title(&[1_500]), 0);
    let summary = drive(&mut player, SimTime::NEVER, |_, _, _| ms(300));
    assert_eq!((summary.startup, summary.wall, summary.completed), (Some(ms(300)), ms(1_800), true));
}

#[test]
fn a_segment_longer_than_the_buffer_is_asked_for_when_everything_else_is_played() {
    let (summary, records) = play(&PlayerParams { max_buffer: ms(3_000), ..params() }, &[1_000, 1_000]);
    assert_eq!(after_start(records[1].requested), 5_000);
    assert_eq!((summary.stall, summary.wall), (ms(1_000), ms(10_000)));
}

#[test]
fn after_a_stall_playback_waits_for_the_rebuffer_threshold() {
    let slow = PlayerParams { rebuffer_threshold: ms(8_000), ..params() };
    // Arrivals at 1, 11, 12, 13 s: dry at 5 s, 8 s of buffer at 12 s.
    let (summary, records) = play(&slow, &[1_000, 10_000, 1_000, 1_000]);
    assert_eq!(records.iter().map(|r| r.stall).collect::<Vec<_>>(), [ms(0), ms(0), ms(7_000), ms(0)]);
    assert_eq!((summary.stall_count, summary.wall), (1, ms(24_000)));
    // At the end there is never as much: the last segment is enough.
    let (summary, _) = play(&slow, &[1_000, 10_000]);
    assert_eq!((summary.stall, summary.wall), (ms(6_000), ms(15_000)));
}

#[test]
fn a_session_that_is_given_up_counts_what_was_seen() {
    let run = |seconds: u64| {
        let mut player = fixed(&params(), &four_seconds(3), 0);
        let summary =
            drive(&mut player, START + ms(seconds * 1_000), |segment, _, _| ms([1_000, 10_000, 100_000][segment]));
        let lost: SimDuration = player.records().iter().fold(ms(0), |sum, r| sum + r.stall);
        (summary, lost)
    };
    let (never, _) = run(0);
    assert_eq!((never.startup, never.played, never.wall, never.mean_bitrate_kbit_s), (None, ms(0), ms(0), None));
    let (playing, _) = run(3);
    assert_eq!(
        (playing.played, playing.stall, playing.wall),
        (ms(4_000), ms(0), ms(5_000)),
        "the buffer is played out"
    );
    assert!(!playing.completed);
    let (stalled, attributed) = run(9);
    assert_eq!((stalled.stall, stalled.stall_count, stalled.wall), (ms(4_000), 1, ms(9_000)));
    assert_eq!(attributed, ms(0), "no segment ended it");
    assert_eq!(stalled.segments, 1);
}

#[test]
fn bitrate_is_weighted_by_time_and_switches_are_counted() {
    let uneven = title(&[4_000, 4_000, 2_000]);
    let plan = [(0, 0), (3, 0), (3, 0)].map(|(rung, after)| PlannedRequest { rung, after: ms(after) });
    let mut player = Player::replay(&params(), uneven, START, plan.into()).unwrap();
    let summary = drive(&mut player, SimTime::NEVER, |_, _, _| ms(500));
    assert_eq!(summary.mean_bitrate_kbit_s, Some((4.0 * 400.0 + 6.0 * 3_000.0) / 10.0));
    assert_eq!(summary.switches, 1);
}

#[test]
fn bba_climbs_with_the_buffer_and_falls_with_it() {
    let bba = BbaParams { reservoir: ms(5_000), cushion: ms(10_000) };
    let mut player =
        Player::closed_loop(&PlayerParams { abr: AbrChoice::Bba(bba), ..params() }, four_seconds(12), START);
    // Fast for 8 segments, then the link breaks down.
    drive(&mut player, SimTime::NEVER, |segment, _, _| ms(if segment < 8 { 500 } else { 9_000 }));
    let rungs: Vec<usize> = player.records().iter().map(|r| r.rung).collect();
    // Buffers at the requests: 0, 4, 7.5, 11, 14.5, 18, 21.5, 25 (each plus 3.5 s), then 26 - 9 + ... as below.
    assert_eq!(rungs[..8], [0, 0, 3, 4, 4, 5, 5, 5]);
    let buffers: Vec<u64> = player.records().iter().map(|r| r.buffer_before.as_nanos() / 1_000_000).collect();
    assert_eq!(buffers, [0, 4_000, 7_500, 11_000, 14_500, 18_000, 21_500, 25_000, 26_000, 21_000, 16_000, 11_000]);
    assert_eq!(rungs[8..], [5, 5, 5, 5], "11 s map to 7,360 kbit/s, above R- = 6,000: it stays");
}

#[test]
fn throughput_follows_the_link_also_with_parallel_requests() {
    let throughput = ThroughputParams { samples: 5, safety: Probability::new(0.85).unwrap() };
    let params = PlayerParams { abr: AbrChoice::Throughput(throughput), prefetch: 3, ..params() };
    let mut player = Player::closed_loop(&params, four_seconds(20), START);
    // One link of 4 Mbit/s that serves requests in order: 0.85 x 4,000 = 3,400 kbit/s, the rung of 3,000.
    let title = four_seconds(20);
    let mut free_at = START;
    drive(&mut player, SimTime::NEVER, |segment, rung, now| {
        free_at = free_at.max(now) + SimDuration::from_micros(title.sizes(segment)[rung] * 2);
        free_at.since(now)
    });
    let rungs: Vec<usize> = player.records().iter().map(|r| r.rung).collect();
    assert_eq!(rungs[..3], [0, 0, 0], "nothing is known yet");
    assert!(rungs[3..].iter().all(|r| *r == 3), "{rungs:?}");
}

#[test]
fn what_does_not_fit_the_title_is_refused() {
    let title = four_seconds(2);
    let fixed = Player::fixed_rung(&params(), title.clone(), START, 6).map(|_| ());
    assert_eq!(fixed, Err(PlayerError::NoSuchRung { rung: 6, rungs: 6 }));
    let replay = |plan: &[(usize, u64)]| {
        let plan = plan.iter().map(|(rung, after)| PlannedRequest { rung: *rung, after: ms(*after) }).collect();
        Player::replay(&params(), title.clone(), START, plan).map(|_| ())
    };
    assert_eq!(replay(&[]), Err(PlayerError::Schedule { requests: 0, segments: 2 }));
    assert_eq!(replay(&[(0, 0); 3]), Err(PlayerError::Schedule { requests: 3, segments: 2 }));
    assert_eq!(replay(&[(0, 0), (9, 1)]), Err(PlayerError::NoSuchRung { rung: 9, rungs: 6 }));
    assert_eq!(replay(&[(0, 0)]), Ok(()), "a session that was given up");
}

#[test]
fn completions_that_make_no_sense_change_nothing() {
    let mut player = fixed(&params(), &four_seconds(2), 0);
    player.on_complete(START, 0, 1);
    assert_eq!(player.next_request(START), Next::Request { segment: 0, rung: 0 });
    player.on_complete(START + ms(5), 0, 1);
    player.on_complete(START + ms(6), 0, 1);
    assert_eq!((player.in_flight(), player.buffer()), (0, ms(4_000) - ms(1)));
}

#[test]
fn a_replay_asks_at_the_planned_times_whatever_the_network_does() {
    let plan: Arc<[PlannedRequest]> = [(0, 100), (2, 100), (5, 2_000), (1, 90_000)]
        .map(|(rung, after)| PlannedRequest { rung, after: ms(after) })
        .into();
    let mut player = Player::replay(&params(), four_seconds(4), START, plan.clone()).unwrap();
    let summary = drive(&mut player, SimTime::NEVER, |_, _, _| ms(40_000));
    assert_eq!(player.schedule(), plan);
    // Arrivals 40.1, 40.1, 42 and 130 s; played 40.1-52.1 and 130-134.
    assert_eq!((summary.startup, summary.stall, summary.wall), (Some(ms(40_100)), ms(77_900), ms(134_000)));
}

/// Play times from the arrival times alone: a segment is shown when it and all before it are there and the one before it has
/// been shown; the first waits for the start-up threshold. Returns start-up and stalls.
fn oracle(title: &Title, records: &[SegmentRecord], threshold: SimDuration) -> (SimDuration, Vec<SimDuration>) {
    let mut there = SimTime::ZERO;
    let in_order: Vec<SimTime> = records
        .iter()
        .map(|r| {
            there = there.max(r.completed.unwrap());
            there
        })
        .collect();
    let mut sum = ms(0);
    let enough = (0..in_order.len()).find(|k| {
        sum = sum + title.duration(*k);
        sum >= threshold
    });
    let startup = in_order[enough.unwrap_or(in_order.len() - 1)];
    let mut shown_until = startup;
    let mut stalls = Vec::new();
    for (segment, arrived) in in_order.iter().enumerate() {
        stalls.push(arrived.since(shown_until));
        shown_until = shown_until.max(*arrived) + title.duration(segment);
    }
    (startup.since(START), stalls.into_iter().filter(|s| *s > ms(0)).collect())
}

prop_compose! {
    fn any_params()(
        bba in any::<bool>(),
        prefetch in 1_u32..6,
        startup in prop_oneof![Just(0), Just(2_000), 0_u64..40_000],
        rebuffer in prop_oneof![Just(0), 0_u64..40_000],
        max_buffer in prop_oneof![Just(30_000), 0_u64..60_000],
    ) -> PlayerParams {
        let throughput = ThroughputParams { samples: 5, safety: Probability::new(0.85).unwrap() };
        PlayerParams {
            abr: if bba { AbrChoice::Bba(BbaParams::DEFAULT) } else { AbrChoice::Throughput(throughput) },
            prefetch,
            startup_threshold: ms(startup),
            rebuffer_threshold: ms(rebuffer),
            max_buffer: ms(max_buffer),
            decisions: Decisions::ClosedLoop,
        }
    }
}

fn durations_and_fetches() -> impl Strategy<Value = Vec<(u64, u64)>> {
    // Multiples of a second make ties common.
    let fetch = prop_oneof![0_u64..12_000, (0_u64..9).prop_map(|s| s * 1_000)];
    prop::collection::vec((prop_oneof![Just(4_000), 1_u64..9_000], fetch), 1..40)
}

proptest! {
    #[test]
    fn every_nanosecond_is_startup_play_or_stall(params in any_params(), script in durations_and_fetches()) {
        let title = title(&script.iter().map(|(d, _)| *d).collect::<Vec<_>>());
        let mut player = Player::closed_loop(&params, title.clone(), START);
        let mut asked = Vec::new();
        let summary = drive(&mut player, SimTime::NEVER, |segment, rung, _| {
            asked.push(segment);
            ms(script[segment].1 * (rung as u64 + 1) / 3)
        });
        let records = player.records();
        prop_assert!(summary.completed && asked == (0..script.len()).collect::<Vec<_>>());
        prop_assert_eq!(summary.wall, summary.startup.unwrap() + summary.played + summary.stall);
        prop_assert_eq!(summary.played, title.total());
        let attributed = records.iter().fold(ms(0), |sum, r| sum + r.stall);
        prop_assert_eq!(attributed, summary.stall);
        prop_assert_eq!(records.iter().filter(|r| r.stall > ms(0)).count(), summary.stall_count as usize);
        let last = records.iter().map(|r| r.completed.unwrap()).max().unwrap();
        prop_assert!(summary.ended >= last && summary.ended == START + summary.wall);
    }

    #[test]
    fn stalls_are_those_that_follow_from_the_arrival_times(
        prefetch in 1_u32..6,
        threshold in prop_oneof![Just(0), Just(2_000), 0_u64..12_000],
        script in durations_and_fetches(),
    ) {
        let title = title(&script.iter().map(|(d, _)| *d).collect::<Vec<_>>());
        // A buffer that never fills, so that thresholds are never met early.
        let params = PlayerParams { prefetch, startup_threshold: ms(threshold), max_buffer: ms(10_000_000), ..params() };
        let mut player = fixed(&params, &title, 2);
        let summary = drive(&mut player, SimTime::NEVER, |segment, _, _| ms(script[segment].1));
        let (startup, stalls) = oracle(&title, player.records(), ms(threshold));
        prop_assert_eq!(summary.startup, Some(startup));
        prop_assert_eq!(summary.stall_count as usize, stalls.len());
        prop_assert_eq!(summary.stall, stalls.iter().fold(ms(0), |sum, s| sum + *s));
    }

    #[test]
    fn no_more_is_asked_for_than_depth_and_buffer_allow(params in any_params(), script in durations_and_fetches()) {
        let title = title(&script.iter().map(|(d, _)| *d).collect::<Vec<_>>());
        let mut player = Player::closed_loop(&params, title.clone(), START);
        let summary = drive(&mut player, SimTime::NEVER, |segment, _, _| ms(script[segment].1));
        let records = player.records();
        for (segment, record) in records.iter().enumerate() {
            let open = records[..segment].iter().filter(|r| r.completed.unwrap() > record.requested).count();
            prop_assert!(open < params.prefetch as usize);
            // Not yet playable: a segment that was on its way, or behind one that was.
            let first_open = records[..segment].iter().position(|r| r.completed.unwrap() > record.requested);
            let not_playable = (first_open.unwrap_or(segment)..segment).fold(ms(0), |sum, s| sum + title.duration(s));
            let committed = record.buffer_before + not_playable;
            let fits = committed + title.duration(segment) <= params.max_buffer || committed == ms(0);
            prop_assert!(fits, "segment {}: {} + {}", segment, committed, title.duration(segment));
        }
        prop_assert!(summary.completed);
    }

    #[test]
    fn replaying_a_closed_loop_over_the_same_network_repeats_it(params in any_params(), script in durations_and_fetches()) {
        let title = title(&script.iter().map(|(d, _)| *d).collect::<Vec<_>>());
        // Nothing arrives in the instant it is asked for: else two requests of one instant could not be told apart.
        let network = |segment: usize, rung: usize, _: SimTime| ms(1 + script[segment].1 * (rung as u64 + 1) / 3);
        let mut closed = Player::closed_loop(&params, title.clone(), START);
        let expected = drive(&mut closed, SimTime::NEVER, network);
        let mut replayed = Player::replay(&params, title, START, closed.schedule()).unwrap();
        let summary = drive(&mut replayed, SimTime::NEVER, network);
        prop_assert_eq!(replayed.records(), closed.records());
        prop_assert_eq!(summary, expected);
    }
}
