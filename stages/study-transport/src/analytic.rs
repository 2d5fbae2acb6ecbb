//! Closed forms that a packet-level simulation is measured against.
//!
//! Purpose: one place for the formulas of the field, so that tests, reports and the teaching labs quote the same theory.
//! Nothing here simulates, with one exception that is a schedule: [`no_loss_completion`].
//!
//! Units: `p` is a loss probability per packet in (0, 1); windows `W` are in segments and are means over time;
//! times are seconds; rates are packets per second unless the name says otherwise; `b` is the number of segments per
//! acknowledgement (1, or 2 with delayed ACKs). A throughput is `W * MSS / RTT`.
//!
//! | what | equation | source |
//! |---|---|---|
//! | [`mathis_window`] | `W = C / sqrt(p)` | Mathis, Semke, Mahdavi, Ott, CCR 27(3), 1997 |
//! | [`periodic_reno_window`] | `0.375 P^2 + 1.25 P + 0.375 = 1/p`, `W = (1/p) / (P/2 + 1.5) - 0.5` | counted from an integer-window sender, one ACK per packet |
//! | [`Pftk`] | full model and approximation | Padhye, Firoiu, Towsley, Kurose, SIGCOMM 1998, eq. 32 and 33 |
//! | [`tfrc_rate`] | the approximation with `b = 1`, `T0 = 4 RTT` | RFC 5348 section 3.1 |
//! | [`Cubic`] | `W_cubic(t) = C (t - K)^3 + W_max`, average window | RFC 9438 sections 4.2, 4.3, 5.1 |
//! | [`reno_window`], [`highspeed_window`] | `1.2 / sqrt(p)`, `max(that, 0.12 / p^0.835)` | RFC 9438 section 5.1; RFC 3649 |
//! | [`window_limited_rate`], [`link_limited_goodput`] | `8 W / RTT`, `R * MSS / (MSS + headers)` | arithmetic |
//! | [`slow_start_segments`], [`slow_start_rounds`] | `IW (g^r - 1) / (g - 1)` | geometric growth by `g` per round |
//! | [`stalled_streams`] | `k (1 - C(N - N/k, n) / C(N, n))` | losses drawn without replacement |
//! | [`md1_wait`], [`mm1_wait`] | `rho / (2 (1 - rho))`, twice that | Pollaczek and Khinchin |
//! | [`mm1k_blocking`], [`md1k_blocking`] | closed form; chain embedded at departures | standard queueing theory |
//! | [`Gilbert`] | stationary loss, bursts, variance | Gilbert, Bell System Technical Journal 39, 1960 |
//!
//! | reference | here | effect |
//! |---|---|---|
//! | Mathis' constants for random loss, 1.31 and 0.93 | as usually quoted, not read again in the paper | compare within a band, never to digits |
//! | RFC 9438 prints 1.054 | the constant is worked out, 1.05383 | tables 1 and 2 agree to every digit |
//! | RFC 9438 table 3 | the inverse of the averages | agrees to one unit of the second digit; most printed entries are not the rounded formula |
//! | RFC 5348 | its formula has no `min(1, ..)`, and neither has `tfrc_rate` | differs from the approximation above p = 0.296 |
//!
//! Random streams: none.

use study_units::{BitRate, SimDuration};

/// What Mathis' constant depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MathisLoss {
    /// Every 1/p-th packet is lost, each packet is acknowledged: `sqrt(3/2)`.
    PeriodicEveryPacket,
    /// Every 1/p-th packet is lost, every second packet is acknowledged: `sqrt(3/4)`.
    PeriodicDelayed,
    /// Independent losses, each packet is acknowledged: 1.31 (as usually quoted).
    RandomEveryPacket,
    /// Independent losses, every second packet is acknowledged: 0.93 (as usually quoted).
    RandomDelayed,
}

impl MathisLoss {
    /// The constant C, without unit.
    #[must_use]
    pub fn constant(self) -> f64 {
        match self {
            Self::PeriodicEveryPacket => 1.5_f64.sqrt(),
            Self::PeriodicDelayed => 0.75_f64.sqrt(),
            Self::RandomEveryPacket => 1.31,
            Self::RandomDelayed => 0.93,
        }
    }
}

/// Mean window \[segments\] at loss `p`. An asymptote: no timeouts, no window limit, `p` at most about 1 %.
#[must_use]
pub fn mathis_window(p: f64, loss: MathisLoss) -> f64 {
    loss.constant() / p.sqrt()
}

/// Mean window \[segments\] of a Reno sender with whole windows and one ACK per packet that loses every 1/p-th packet.
///
/// It lies 1 to 14 % below Mathis' asymptote and is the reference for periodic losses.
#[must_use]
pub fn periodic_reno_window(p: f64) -> f64 {
    let packets = 1.0 / p;
    let peak = (-1.25 + (1.25 * 1.25 + 4.0 * 0.375 * (packets - 0.375)).sqrt()) / (2.0 * 0.375);
    packets / (peak / 2.0 + 1.5) - 0.5
}

/// Path and receiver of the model of Padhye et al.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pftk {
    /// Mean round trip \[s\], above 0.
    pub rtt: f64,
    /// First retransmission timeout T0 \[s\], above 0.
    pub timeout: f64,
    /// Segments per acknowledgement, 1 or 2.
    pub b: f64,
    /// Largest window \[segments\]; infinite when nothing limits it.
    pub max_window: f64,
}

impl Pftk {
    /// Throughput \[packets/s\] of the full model.
    #[must_use]
    pub fn full(&self, p: f64) -> f64 {
        let Self { rtt, timeout, b, max_window } = *self;
        let third = (2.0 + b) / (3.0 * b);
        let unlimited = third + (8.0 * (1.0 - p) / (3.0 * b * p) + third * third).sqrt();
        let (window, round_trips) = if unlimited < max_window {
            (unlimited, b / 2.0 * unlimited + 1.0)
        } else {
            (max_window, b / 8.0 * max_window + (1.0 - p) / (p * max_window) + 2.0)
        };
        let timeouts = Self::timeout_share(p, window);
        let backoff = 1.0 + p * (1.0 + p * (2.0 + p * (4.0 + p * (8.0 + p * (16.0 + p * 32.0)))));
        ((1.0 - p) / p + window + timeouts / (1.0 - p)) / (rtt * round_trips + timeouts * timeout * backoff / (1.0 - p))
    }
    /// Q: the probability that a loss in a window of `w` segments ends in a timeout.
    fn timeout_share(p: f64, w: f64) -> f64 {
        let sent = 1.0 - p;
        let cube = sent * sent * sent;
        let share = (1.0 - cube) * (1.0 + cube * (1.0 - libm::pow(sent, w - 3.0))) / (1.0 - libm::pow(sent, w));
        share.min(1.0)
    }
    /// Throughput \[packets/s\] of the approximation.
    #[must_use]
    pub fn approximate(&self, p: f64) -> f64 {
        let Self { rtt, timeout, b, max_window } = *self;
        let timeouts = (3.0 * (3.0 * b * p / 8.0).sqrt()).min(1.0);
        let seconds = rtt * (2.0 * b * p / 3.0).sqrt() + timeout * timeouts * p * (1.0 + 32.0 * p * p);
        (1.0 / seconds).min(max_window / rtt)
    }
}

/// Rate \[packets/s\] that TCP-friendly rate control allows at loss event rate `p` and round trip `rtt` \[s\].
#[must_use]
pub fn tfrc_rate(p: f64, rtt: f64) -> f64 {
    let timeouts = 3.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p);
    1.0 / (rtt * (2.0 * p / 3.0).sqrt() + 4.0 * rtt * timeouts)
}

/// Mean window \[segments\] that RFC 9438 compares with: Reno.
#[must_use]
pub fn reno_window(p: f64) -> f64 {
    1.2 / p.sqrt()
}

/// Mean window \[segments\] of HighSpeed TCP, never below Reno's.
#[must_use]
pub fn highspeed_window(p: f64) -> f64 {
    (0.12 / libm::pow(p, 0.835)).max(reno_window(p))
}

/// Loss at which Reno has a mean window of `w` segments.
#[must_use]
pub fn reno_loss(w: f64) -> f64 {
    (1.2 / w) * (1.2 / w)
}

/// Loss at which HighSpeed TCP has a mean window of `w` segments.
#[must_use]
pub fn highspeed_loss(w: f64) -> f64 {
    libm::pow(0.12 / w, 1.0 / 0.835).max(reno_loss(w))
}

/// The constants of CUBIC.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cubic {
    /// Scale C \[segments/s^3\].
    pub c: f64,
    /// Factor of the window after a loss, 0 to 1.
    pub beta: f64,
}

impl Cubic {
    /// The constants of RFC 9438: C = 0.4, beta = 0.7.
    pub const RFC_9438: Self = Self { c: 0.4, beta: 0.7 };

    /// K \[s\]: time to climb back to a window of `w_max` segments after a reduction.
    #[must_use]
    pub fn k(&self, w_max: f64) -> f64 {
        libm::cbrt(w_max * (1.0 - self.beta) / self.c)
    }
    /// `W_cubic` \[segments\] at `t` seconds after the epoch began, for a plateau at `w_max`.
    #[must_use]
    pub fn window_at(&self, t: f64, w_max: f64) -> f64 {
        let d = t - self.k(w_max);
        self.c * d * d * d + w_max
    }
    /// Mean of the curve between two losses over `w_max`: 0.925 for beta = 0.7.
    #[must_use]
    pub fn mean_share_of_w_max(&self) -> f64 {
        1.0 - (1.0 - self.beta) / 4.0
    }
    /// Additive increase of the Reno-friendly region \[segments per window of ACKs\]: 0.529 for beta = 0.7.
    #[must_use]
    pub fn reno_friendly_alpha(&self) -> f64 {
        3.0 * (1.0 - self.beta) / (1.0 + self.beta)
    }
    /// Mean window \[segments\] of the cubic region alone at loss `p` and round trip `rtt` \[s\].
    #[must_use]
    pub fn cubic_region_window(&self, p: f64, rtt: f64) -> f64 {
        self.average_constant() * libm::pow(rtt / p, 0.75)
    }
    /// Mean window \[segments\] at loss `p` and round trip `rtt` \[s\]: the larger of the two regions.
    #[must_use]
    pub fn average_window(&self, p: f64, rtt: f64) -> f64 {
        self.cubic_region_window(p, rtt).max(reno_window(p))
    }
    /// Loss at which the mean window is `w` segments at a round trip of `rtt` \[s\].
    #[must_use]
    pub fn loss_for_window(&self, w: f64, rtt: f64) -> f64 {
        (rtt * libm::pow(self.average_constant() / w, 4.0 / 3.0)).max(reno_loss(w))
    }
    fn average_constant(&self) -> f64 {
        libm::pow(self.c * (3.0 + self.beta) / (4.0 * (1.0 - self.beta)), 0.25)
    }
}

/// Largest rate \[bit/s\] of a window of `bytes` over a round trip of `rtt` \[s\].
#[must_use]
pub fn window_limited_rate(bytes: f64, rtt: f64) -> f64 {
    8.0 * bytes / rtt
}

/// Payload rate \[same unit as `rate`\] of a full link whose packets carry `mss` bytes of payload under `headers` bytes.
#[must_use]
pub fn link_limited_goodput(rate: f64, mss: f64, headers: f64) -> f64 {
    rate * mss / (mss + headers)
}

/// Segments sent in the first `rounds` rounds of slow start from `initial` segments, growing by `growth` (above 1) a round.
#[must_use]
pub fn slow_start_segments(initial: f64, growth: f64, rounds: u32) -> f64 {
    initial * (libm::pow(growth, f64::from(rounds)) - 1.0) / (growth - 1.0)
}

/// Rounds of slow start that `segments` segments take.
#[must_use]
pub fn slow_start_rounds(segments: f64, initial: f64, growth: f64) -> u32 {
    // Counted up, because a logarithm may round across a whole number.
    let mut rounds = 0;
    while slow_start_segments(initial, growth, rounds) < segments {
        rounds += 1;
    }
    rounds
}

/// Payload of a packet of the no-loss schedule \[B\].
pub const ORACLE_PAYLOAD: u64 = 1448;
/// Size of every packet of the no-loss schedule on the wire \[B\].
pub const ORACLE_WIRE: u64 = 1500;
/// First window of the no-loss schedule \[packets\].
pub const ORACLE_INITIAL_WINDOW: usize = 10;

/// When the last byte of one object arrives, counted from the start of the connection, if nothing is lost.
///
/// The request arrives after `handshake_rtts` round trips and a half. The server sends in slow start: 10 packets, then two
/// for every ACK. Each packet is acknowledged at once; ACKs take no time on the link; every packet, the short last one too,
/// counts [`ORACLE_WIRE`] bytes; the buffer has no limit; there is no pacing and no HyStart.
#[must_use]
pub fn no_loss_completion(bytes: u64, rate: BitRate, rtt: SimDuration, handshake_rtts: u64) -> SimDuration {
    let packets = bytes.div_ceil(ORACLE_PAYLOAD) as usize;
    let serialization = rate.serialization(ORACLE_WIRE);
    let start = rtt * handshake_rtts + rtt.half();
    let mut free_at = start;
    let mut finished: Vec<SimDuration> = Vec::with_capacity(packets);
    for i in 0..packets {
        let released = match i.checked_sub(ORACLE_INITIAL_WINDOW) {
            None => start,
            Some(later) => finished[later / 2] + rtt,
        };
        free_at = free_at.max(released) + serialization;
        finished.push(free_at);
    }
    free_at + rtt.half()
}

/// Expected number of stalled streams when `losses` of `packets` packets are lost, `streams` streams take turns packet by
/// packet, and each stream waits for its own losses only. With all streams in one ordered byte stream all of them stall.
#[must_use]
pub fn stalled_streams(streams: f64, packets: f64, losses: u32) -> f64 {
    let others = packets - packets / streams;
    // The share of draws that miss one stream, without replacement.
    let missed: f64 = (0..losses).map(|i| ((others - f64::from(i)) / (packets - f64::from(i))).max(0.0)).product();
    streams * (1.0 - missed)
}

/// The limit of [`stalled_streams`] for many packets.
#[must_use]
pub fn stalled_streams_limit(streams: f64, losses: u32) -> f64 {
    streams * (1.0 - libm::pow(1.0 - 1.0 / streams, f64::from(losses)))
}

/// Streams stalled by a run of `burst` consecutive losses when `streams` streams take turns packet by packet.
#[must_use]
pub fn stalled_streams_by_burst(streams: u64, burst: u64) -> u64 {
    streams.min(burst)
}

/// Mean wait of M/D/1 \[service times\] at load `rho` below 1.
#[must_use]
pub fn md1_wait(rho: f64) -> f64 {
    rho / (2.0 * (1.0 - rho))
}

/// Mean wait of M/M/1 \[mean service times\] at load `rho` below 1.
#[must_use]
pub fn mm1_wait(rho: f64) -> f64 {
    rho / (1.0 - rho)
}

/// Share of arrivals blocked by M/M/1/K at load `rho`, with room for `k` customers, the one in service included.
#[must_use]
pub fn mm1k_blocking(rho: f64, k: u32) -> f64 {
    // The sum instead of its closed form, which is 0/0 at rho = 1.
    let power = |i: u32| libm::pow(rho, f64::from(i));
    power(k) / (0..=k).map(power).sum::<f64>()
}

/// Share of arrivals blocked by M/D/1/K at load `rho`, with room for `k` customers (at least 1), the one in service included.
///
/// From the chain embedded at departures: a departing customer leaves 0 to k - 1 behind, and during a service `j` arrive
/// with the Poisson probability of mean `rho`.
#[must_use]
pub fn md1k_blocking(rho: f64, k: usize) -> f64 {
    let mut arrivals = vec![libm::exp(-rho)];
    for j in 1..=k {
        arrivals.push(arrivals[j - 1] * rho / j as f64);
    }
    let mut left_behind = vec![1.0];
    for j in 0..k - 1 {
        let inflow = left_behind[0] * arrivals[j] + (1..=j).map(|i| left_behind[i] * arrivals[j - i + 1]).sum::<f64>();
        left_behind.push((left_behind[j] - inflow) / arrivals[0]);
    }
    let empty = left_behind[0] / left_behind.iter().sum::<f64>();
    1.0 - 1.0 / (empty + rho)
}

/// The simple Gilbert chain: nothing is lost in GOOD, everything in BAD.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gilbert {
    /// Probability per packet to go from GOOD to BAD.
    pub p: f64,
    /// Probability per packet to go from BAD to GOOD.
    pub r: f64,
}

impl Gilbert {
    /// The chain with long-run loss `loss` and mean loss runs of `burst` packets.
    #[must_use]
    pub fn from_loss_and_burst(loss: f64, burst: f64) -> Self {
        Self { p: loss / (burst * (1.0 - loss)), r: 1.0 / burst }
    }
    /// Long-run loss.
    #[must_use]
    pub fn loss(&self) -> f64 {
        self.p / (self.p + self.r)
    }
    /// Mean run of losses \[packets\].
    #[must_use]
    pub fn mean_burst(&self) -> f64 {
        1.0 / self.r
    }
    /// Mean run without loss \[packets\].
    #[must_use]
    pub fn mean_gap(&self) -> f64 {
        1.0 / self.p
    }
    /// Correlation of neighbouring packets.
    #[must_use]
    pub fn lambda(&self) -> f64 {
        1.0 - self.p - self.r
    }
    /// Variance of the number of losses among `n` packets of the stationary chain over that of independent losses.
    #[must_use]
    pub fn variance_ratio(&self, n: f64) -> f64 {
        let lambda = self.lambda();
        let gap = 1.0 - lambda;
        self.variance_ratio_limit() - 2.0 * lambda * (1.0 - libm::pow(lambda, n)) / (n * gap * gap)
    }
    /// The limit of [`Self::variance_ratio`] for many packets.
    #[must_use]
    pub fn variance_ratio_limit(&self) -> f64 {
        (1.0 + self.lambda()) / (1.0 - self.lambda())
    }
}

/// Long-run loss of the general chain of Gilbert and Elliott that loses `loss_in_good` and `loss_in_bad` in its states.
#[must_use]
pub fn gilbert_elliott_loss(chain: Gilbert, loss_in_good: f64, loss_in_bad: f64) -> f64 {
    (chain.r * loss_in_good + chain.p * loss_in_bad) / (chain.p + chain.r)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of a CSV with `#` comments and one header line, as text.
    fn rows<const N: usize>(csv: &'static str) -> Vec<[&'static str; N]> {
        let lines = csv.lines().filter(|l| !l.starts_with('#') && !l.is_empty()).skip(1);
        lines.map(|line| line.split(',').collect::<Vec<_>>().try_into().unwrap()).collect()
    }

    fn number(text: &str) -> f64 {
        text.parse().unwrap()
    }

    /// One unit of the last printed digit.
    fn last_digit(printed: &str) -> f64 {
        let (mantissa, exponent) = printed.split_once('e').unwrap_or((printed, "0"));
        let decimals = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i32);
        format!("1e{}", exponent.parse::<i32>().unwrap() - decimals).parse().unwrap()
    }

    /// The value, rounded as the table is, is what the table prints.
    #[track_caller]
    fn prints_as(value: f64, printed: &str, what: &str) {
        let off = (value - number(printed)).abs() / last_digit(printed);
        assert!(off <= 0.5 + 1e-6, "{what}: {value} does not print as {printed}");
    }

    #[test]
    fn mathis_pftk_and_approximation_reproduce_their_table() {
        let path = |b| Pftk { rtt: 0.1, timeout: 0.3, b, max_window: f64::INFINITY };
        for [p, mathis_1, mathis_2, full_1, full_2, approx_1, approx_2] in
            rows(include_str!("../testdata/tcp_formulas.csv"))
        {
            let loss = number(p);
            prints_as(mathis_window(loss, MathisLoss::PeriodicEveryPacket), mathis_1, p);
            prints_as(mathis_window(loss, MathisLoss::PeriodicDelayed), mathis_2, p);
            prints_as(path(1.0).full(loss) * 0.1, full_1, p);
            prints_as(path(2.0).full(loss) * 0.1, full_2, p);
            prints_as(path(1.0).approximate(loss) * 0.1, approx_1, p);
            prints_as(path(2.0).approximate(loss) * 0.1, approx_2, p);
        }
    }

    #[test]
    fn pftk_throughputs_reproduce_the_quoted_megabits() {
        let mbit = |b, p| Pftk { rtt: 0.1, timeout: 0.3, b, max_window: f64::INFINITY }.full(p) * 1448.0 * 8.0 / 1e6;
        for (p, every, delayed) in [(1e-3, "4.431", "3.124"), (1e-2, "1.312", "0.920"), (3.6e-2, "0.598", "0.419")] {
            prints_as(mbit(1.0, p), every, "b = 1");
            prints_as(mbit(2.0, p), delayed, "b = 2");
        }
        let harsh = Pftk { rtt: 0.2, timeout: 0.4, b: 2.0, max_window: f64::INFINITY };
        prints_as(harsh.full(0.036), "19.26", "200 ms, 3.6 %");
    }

    #[test]
    fn a_window_limit_holds_and_joins_the_unlimited_model() {
        let limited = Pftk { rtt: 0.1, timeout: 0.3, b: 2.0, max_window: 10.0 };
        assert!(limited.full(1e-9) * 0.1 <= 10.0 && limited.full(1e-9) * 0.1 > 9.99);
        assert_eq!(limited.approximate(1e-9), 100.0);
        let free = Pftk { max_window: f64::INFINITY, ..limited };
        assert_eq!(limited.full(0.05), free.full(0.05), "at 5 % the window stays below its limit");
        // At the loss where E[W] = 10 both branches describe the same sawtooth, to a few percent.
        let edge = 0.0145;
        assert!((limited.full(edge) / free.full(edge) - 1.0).abs() < 0.1);
    }

    #[test]
    fn periodic_reno_reference_and_mathis_constants_are_as_quoted() {
        for (p, window) in [(1e-4, "120.98"), (1e-3, "37.24"), (1e-2, "10.79")] {
            prints_as(periodic_reno_window(p), window, "periodic");
        }
        prints_as(MathisLoss::PeriodicEveryPacket.constant(), "1.2247", "C");
        prints_as(MathisLoss::PeriodicDelayed.constant(), "0.8660", "C");
        assert_eq!(mathis_window(0.01, MathisLoss::RandomEveryPacket), 1.31 / 0.1);
        assert_eq!(mathis_window(0.01, MathisLoss::RandomDelayed), 0.93 / 0.1);
    }

    #[test]
    fn tfrc_is_the_approximation_with_four_round_trips_of_timeout() {
        let path = Pftk { rtt: 0.05, timeout: 0.2, b: 1.0, max_window: f64::INFINITY };
        for p in [1e-4, 1e-2, 0.1, 0.29] {
            assert!((tfrc_rate(p, 0.05) / path.approximate(p) - 1.0).abs() < 1e-12, "{p}");
        }
        assert!(tfrc_rate(0.5, 0.05) < path.approximate(0.5));
    }

    #[test]
    fn rfc_9438_tables_1_and_2_come_out_digit_for_digit() {
        for [rtt, p, reno, highspeed, c004, c04, c4] in rows(include_str!("../testdata/rfc9438_tables_1_2.csv")) {
            let (rtt, loss) = (number(rtt), number(p));
            let cubic = |c| Cubic { c, beta: 0.7 }.average_window(loss, rtt).round().to_string();
            let found = [
                reno_window(loss).round().to_string(),
                highspeed_window(loss).round().to_string(),
                cubic(0.04),
                cubic(0.4),
                cubic(4.0),
            ];
            assert_eq!(found, [reno, highspeed, c004, c04, c4], "RTT {rtt} p {p}");
        }
    }

    #[test]
    fn rfc_9438_table_3_comes_out_to_one_unit_of_the_second_digit() {
        for [mbit, w, reno, highspeed, cubic] in rows(include_str!("../testdata/rfc9438_table_3.csv")) {
            let window = number(mbit) * 1e6 * 0.1 / 8.0 / 1500.0;
            prints_as(window, w, mbit);
            for (value, printed) in [
                (reno_loss(window), reno),
                (highspeed_loss(window), highspeed),
                (Cubic::RFC_9438.loss_for_window(window, 0.1), cubic),
            ] {
                let off = (value - number(printed)).abs() / last_digit(printed);
                assert!(off < 1.0, "{mbit} Mbit/s: {value}, printed {printed}");
            }
        }
    }

    #[test]
    fn cubic_windows_at_other_round_trips_are_as_computed() {
        for [rtt, p, window] in rows(include_str!("../testdata/cubic_windows.csv")) {
            prints_as(Cubic::RFC_9438.average_window(number(p), number(rtt)), window, rtt);
        }
    }

    #[test]
    fn the_shape_of_cubic_is_as_quoted() {
        let cubic = Cubic::RFC_9438;
        for (w_max, k) in [(10.0, "1.9574"), (100.0, "4.2172"), (1000.0, "9.0856")] {
            prints_as(cubic.k(w_max), k, "K");
            assert!((cubic.window_at(0.0, w_max) - 0.7 * w_max).abs() < 1e-9 * w_max);
            assert_eq!(cubic.window_at(cubic.k(w_max), w_max), w_max);
        }
        prints_as(cubic.average_constant(), "1.0538", "constant");
        prints_as(cubic.mean_share_of_w_max(), "0.925", "mean");
        prints_as(cubic.reno_friendly_alpha(), "0.5294", "alpha");
        // The mean share is the mean of the curve over one period.
        let n = 100_000;
        let mean = (0..n).map(|i| cubic.window_at(cubic.k(100.0) * (f64::from(i) + 0.5) / f64::from(n), 100.0));
        assert!((mean.sum::<f64>() / f64::from(n) - 92.5).abs() < 1e-6);
        // And a period carries 1/p packets: the average formula is that mean at equilibrium.
        let (p, rtt) = (1e-5, 0.1);
        let mean = cubic.cubic_region_window(p, rtt);
        let packets_per_period = mean * cubic.k(mean / cubic.mean_share_of_w_max()) / rtt;
        assert!((packets_per_period * p - 1.0).abs() < 1e-9, "{packets_per_period}");
    }

    #[test]
    fn window_law_and_header_overhead_are_as_quoted() {
        prints_as(window_limited_rate(65_536.0, 0.05) / 1e6, "10.49", "64 KiB over 50 ms");
        prints_as(link_limited_goodput(10.0, 1448.0, 54.0), "9.6405", "with 2 B of link overhead");
        prints_as(link_limited_goodput(10.0, 1448.0, 52.0), "9.6533", "without");
    }

    #[test]
    fn slow_start_reproduces_its_segments_and_rounds() {
        let cumulative = [10, 30, 70, 150, 310, 630, 1270, 2550, 5110, 10_230];
        for (rounds, segments) in (1..).zip(cumulative) {
            assert_eq!(slow_start_segments(10.0, 2.0, rounds), f64::from(segments));
        }
        for [growth, segments, rounds] in rows(include_str!("../testdata/slow_start_rounds.csv")) {
            let found = slow_start_rounds(number(segments), 10.0, number(growth));
            assert_eq!(found.to_string(), rounds, "growth {growth}, {segments} segments");
        }
        assert_eq!(slow_start_rounds(10.0, 10.0, 2.0), 1);
        assert_eq!(slow_start_rounds(0.0, 10.0, 2.0), 0);
    }

    #[test]
    fn completion_times_without_loss_reproduce_their_table() {
        for [bytes, mbit, rtt_ms, h0, h1, h2, h3] in rows(include_str!("../testdata/no_loss_completion.csv")) {
            let rate = BitRate::from_bits_per_second(number(mbit) as u64 * 1_000_000);
            for (handshake, printed) in (0..).zip([h0, h1, h2, h3]).filter(|(_, printed)| !printed.is_empty()) {
                let rtt = SimDuration::from_millis(number(rtt_ms) as u64);
                let time = no_loss_completion(number(bytes) as u64, rate, rtt, handshake);
                let what = format!("{bytes} B at {mbit} Mbit/s and {rtt_ms} ms");
                prints_as(time.as_millis_f64(), printed, &what);
            }
        }
    }

    #[test]
    fn stalled_streams_reproduce_their_table() {
        for [packets, losses, stalled] in rows(include_str!("../testdata/stalled_streams.csv")) {
            let n = number(losses) as u32;
            let value = match packets {
                "inf" => stalled_streams_limit(8.0, n),
                _ => stalled_streams(8.0, number(packets), n),
            };
            prints_as(value, stalled, &format!("N {packets} n {losses}"));
        }
        assert_eq!(stalled_streams(1.0, 100.0, 3), 1.0);
        assert_eq!(stalled_streams(4.0, 8.0, 7), 4.0, "more losses than the other streams have packets");
        assert_eq!((stalled_streams_by_burst(8, 3), stalled_streams_by_burst(8, 20)), (3, 8));
    }

    #[test]
    fn queues_reproduce_their_waits_and_blocking() {
        for (rho, wait) in [(0.5, "0.5"), (0.8, "2.0"), (0.9, "4.5"), (0.95, "9.5")] {
            prints_as(md1_wait(rho), wait, "M/D/1");
            assert!((mm1_wait(rho) / md1_wait(rho) - 2.0).abs() < 1e-12);
        }
        for [queue, rho, k, blocking] in rows(include_str!("../testdata/queue_blocking.csv")) {
            let value = match queue {
                "md1k" => md1k_blocking(number(rho), number(k) as usize),
                _ => mm1k_blocking(number(rho), number(k) as u32),
            };
            prints_as(value, blocking, &format!("{queue} rho {rho} K {k}"));
        }
        assert!((mm1k_blocking(1.0, 25) - 1.0 / 26.0).abs() < 1e-15);
        // Room for one: a customer is blocked exactly while another is served.
        assert!((md1k_blocking(0.8, 1) - 0.8 / 1.8).abs() < 1e-12);
    }

    #[test]
    fn gilbert_chains_reproduce_their_table() {
        for [loss, burst, p, r, lambda] in rows(include_str!("../testdata/gilbert.csv")) {
            let chain = Gilbert::from_loss_and_burst(number(loss), number(burst));
            prints_as(chain.p, p, "p");
            prints_as(chain.r, r, "r");
            prints_as(chain.lambda(), lambda, "lambda");
            assert!((chain.loss() / number(loss) - 1.0).abs() < 1e-12);
            assert!((chain.mean_burst() / number(burst) - 1.0).abs() < 1e-12);
            assert!((chain.mean_gap() * chain.p - 1.0).abs() < 1e-12);
        }
        let chain = Gilbert::from_loss_and_burst(0.036, 3.0);
        prints_as(chain.variance_ratio(1000.0), "4.773", "n = 1000");
        prints_as(chain.variance_ratio_limit(), "4.784", "limit");
        assert!((chain.variance_ratio(1.0) - 1.0).abs() < 1e-12, "one packet has no neighbour");
        // netem's `gemodel 3% 30% 40% 0%` and `gemodel 5% 20% 80% 5%`.
        prints_as(gilbert_elliott_loss(Gilbert { p: 0.03, r: 0.3 }, 0.0, 0.4), "0.0364", "flagship");
        prints_as(gilbert_elliott_loss(Gilbert { p: 0.05, r: 0.2 }, 0.05, 0.8), "0.2000", "mobile");
    }
}
