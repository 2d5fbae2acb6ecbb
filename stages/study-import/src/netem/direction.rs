//! From the qdiscs on a packet's way to one direction of a link, with every difference said.
//!
//! | tc | a link here | effect |
//! |---|---|---|
//! | netem delays first, then its rate, tbf or htb acts | rate first, then delay | none for the sum of a constant delay |
//! | netem's `limit` counts delayed packets too | the queue is what is left when the delay is full; where nothing is left, a policer | the same room, and the same long-run cap, for full packets |
//! | jitter: a draw per packet, order kept only with `rate` | wanders with time, order kept | no reordering: the share it has there is printed |
//! | `loss p corr` | the chain with the same loss and mean run | runs longer than two are nearly as frequent |
//! | `corrupt` | loss: the receiver's checksum drops the packet | none for TCP and QUIC |
//! | tc counts the Ethernet header | `overhead: 14 B` | none on Ethernet |
//! | with segmentation offload a netem packet has up to 64 KiB | packets are packets | switch offload off where the line is run |
//!
//! Sources: Linux `net/sched/sch_netem.c`, `sch_tbf.c`, `sch_htb.c`.

use super::correlated;
use super::options::{Netem, NetemLoss};
use super::reordering::{self, Spread};
use super::tbf::{Fifo, HtbClass, Tbf};
use super::tree::{Element, Way};
use crate::wording::{bits, milliseconds, percent, significant};
use study_link::{
    Bernoulli, DirectionParams, FULL_PACKET_BYTES, FourState, GilbertElliott, JitterDistribution, JitterParams, Loss,
    LossClock, Queue, QueueLimit, Rate, TokenBucket,
};
use study_tree::{Diagnostic, Diagnostics, Span};
use study_units::{BitRate, Bytes, Probability, SimDuration};

/// A direction, what it really does, and where the link differs from the commands.
pub(crate) struct Mapped {
    pub direction: DirectionParams,
    pub facts: Vec<String>,
    pub deviations: Vec<String>,
}

/// What is on a packet's way.
struct Parts<'w> {
    netem: Option<(&'w Netem, Span)>,
    tbf: Option<&'w Tbf>,
    class: Option<&'w HtbClass>,
    fifo: Option<Fifo>,
    /// netem above a token bucket.
    netem_first: bool,
}

/// Bytes that the Ethernet header adds to each packet that tc sees.
const ETHERNET: u64 = 14;
/// The pace of full packets at which reordering is told: 10 Mbit/s.
const SPACING_MS: f64 = 1.2;
/// The kernel's own bound, 2^31 - 1 ns.
const MOST_JITTER: u64 = 2_147_483_647;

pub(crate) fn map(way: &Way, problems: &mut Diagnostics) -> Option<Mapped> {
    let parts = Parts::of(way, problems)?;
    let mut mapped = Mapped {
        direction: DirectionParams::plain(SimDuration::ZERO, Rate::Unlimited),
        facts: Vec::new(),
        deviations: Vec::new(),
    };
    if let Some((netem, span)) = parts.netem {
        mapped.delay(netem);
        mapped.losses(netem, span, problems)?;
        if let Some(span) = netem.ecn {
            let message = "`ecn` marks packets of senders that negotiate it; a link loses them";
            problems.push(Diagnostic::warning("import-deviation", span, message).help("right for senders without ECN"));
            mapped.deviations.push("ecn: packets that would be marked are lost".to_owned());
        }
        if netem.seed.is_some() {
            mapped.deviations.push("seed: the study's own seed draws the losses".to_owned());
        }
    }
    mapped.rates(&parts, &way.device, problems)?;
    mapped.room(&parts, problems)?;
    Some(mapped)
}

impl<'w> Parts<'w> {
    fn of(way: &'w Way, problems: &mut Diagnostics) -> Option<Self> {
        let mut parts = Self { netem: None, tbf: None, class: None, fifo: None, netem_first: false };
        for element in &way.elements {
            match element {
                Element::Netem(netem, span) => {
                    if parts.netem.is_some() {
                        let message = "two netem in a row are two links";
                        let help = "import each by itself; a path of several links is several links in a study";
                        problems.push(Diagnostic::error("import-unsupported", *span, message).help(help));
                        return None;
                    }
                    parts.netem = Some((netem, *span));
                }
                Element::Tbf(tbf) => {
                    parts.netem_first = parts.netem.is_some();
                    parts.tbf = Some(tbf);
                }
                // The class next to the leaf: those above it lend, and a link is alone.
                Element::Class(class) => parts.class = Some(class),
                Element::Fifo(fifo) => parts.fifo = Some(*fifo),
                Element::Classes => {}
            }
        }
        if let (true, Some(tbf)) = (parts.netem_first, parts.tbf) {
            let message = "a qdisc below netem is known to misbehave: netem sends by its own clock, and packets have been seen to stall";
            let help = "put netem below the rate limit (tbf root, netem `parent 1:1`), or use netem's own `rate`";
            problems.push(Diagnostic::warning("import-deviation", tbf.span, message).help(help));
        }
        Some(parts)
    }
}

impl Mapped {
    fn delay(&mut self, netem: &Netem) {
        let mean = netem.delay;
        self.direction.one_way = SimDuration::from_nanos(mean);
        if mean > 0 {
            self.facts.push(format!(
                "the delay is one way: it adds {} ms to each round trip, once, and twice only where the other end has it too",
                milliseconds(mean)
            ));
        }
        if netem.jitter == 0 {
            return;
        }
        let jitter = netem.jitter.min(MOST_JITTER);
        if jitter < netem.jitter {
            self.deviations.push("the kernel cuts the jitter at 2147 ms".to_owned());
        }
        let spread = if netem.normal { Spread::Normal } else { Spread::Uniform };
        self.jitter(mean, jitter, spread);
        let reordered = reordering::share(spread, jitter as f64 / 1e6, SPACING_MS);
        let jitter_ms = milliseconds(jitter);
        self.facts.push(match spread {
            Spread::Uniform => format!(
                "jitter: uniform between {} and {} ms, a new draw for each packet (without `distribution` the kernel's draws are \
                 uniform, whatever tc-netem(8) says)",
                milliseconds(mean.saturating_sub(jitter)),
                milliseconds(mean + jitter)
            ),
            Spread::Normal => format!("jitter: normal with a standard deviation of {jitter_ms} ms, a new draw for each packet"),
        });
        if netem.rate.is_some() {
            self.facts.push("reordering: none, because netem keeps the order where it has a `rate`".to_owned());
        } else {
            self.facts.push(format!(
                "reordering: {} of full packets sent at 10 Mbit/s arrive behind a later one, because netem sends by time",
                percent(reordered)
            ));
            self.deviations.push(
                "order is kept here, and the jitter wanders with `correlation_time`; write `reorder: true` to let packets pass \
                 one another"
                    .to_owned(),
            );
        }
        if netem.delay_correlation > 0.0 {
            self.facts.push(format!(
                "the delay's correlation of {} does nothing: the kernel takes the number modulo the size of its table, which \
                 leaves nothing of it",
                percent(netem.delay_correlation)
            ));
        }
    }
    /// Base delay and jitter with the mean, and where it is possible the deviation, of netem's.
    fn jitter(&mut self, mean: u64, jitter: u64, spread: Spread) {
        // What the delay may be smaller than its mean, and `std_dev`, in units of that: see the model of jitter.
        let (distribution, below, per_below) = match spread {
            Spread::Uniform => (JitterDistribution::Uniform, jitter, 1.0 / 3.0_f64.sqrt()),
            Spread::Normal => (JitterDistribution::Normal, 3 * jitter, 1.0 / 3.0),
        };
        let clipped = below > mean;
        let below = below.min(mean);
        let std_dev = SimDuration::from_nanos((below as f64 * per_below / 1e3).round() as u64 * 1_000);
        if std_dev == SimDuration::ZERO {
            self.deviations.push("jitter below a microsecond is left out".to_owned());
            return;
        }
        if clipped {
            let there = match spread {
                Spread::Uniform => "draws below 0 are sent at once",
                Spread::Normal => "draws beyond 3 standard deviations reach below 0",
            };
            self.deviations.push(format!(
                "the jitter exceeds the delay: there {there}; here it is narrowed to a standard deviation of {} ms, so that the \
                 mean stays {} ms",
                milliseconds(std_dev.as_nanos()),
                milliseconds(mean)
            ));
        }
        self.direction.one_way = SimDuration::from_nanos(mean - below);
        let correlation_time = SimDuration::from_millis(50);
        self.direction.jitter = Some(JitterParams { std_dev, distribution, correlation_time, reorder: false });
    }
    fn losses(&mut self, netem: &Netem, span: Span, problems: &mut Diagnostics) -> Option<()> {
        let share = |x: f64| Probability::new(x.clamp(0.0, 1.0)).unwrap_or_default();
        let corrupt = netem.corrupt;
        // Lost by one cause or the other, independently.
        let either = |x: f64| if corrupt > 0.0 { share(1.0 - (1.0 - x) * (1.0 - corrupt)) } else { share(x) };
        if corrupt > 0.0 {
            self.deviations.push(format!(
                "corrupt: a packet with a wrong bit is dropped by the receiver's checksum, so it is {} more loss here",
                percent(corrupt)
            ));
        }
        let loss = match netem.loss {
            None | Some((NetemLoss::Random(0.0, _), _)) if corrupt == 0.0 => Loss::None,
            None => bernoulli(share(corrupt)),
            Some((NetemLoss::Random(p, 0.0), _)) => bernoulli(either(p)),
            Some((NetemLoss::Random(p, rho), at)) => self.correlated(p, rho, corrupt, at, problems)?,
            Some((NetemLoss::Gemodel([p, r, bad, good]), _)) => {
                Loss::GilbertElliott(gilbert(share(p), share(r), either(bad), either(good)))
            }
            Some((NetemLoss::State([p13, p31, p32, p23, p14]), at)) => {
                let sum = [("p13", p13, "p14", p14), ("p31", p31, "p32", p32)];
                if let Some((a, _, b, _)) = sum.into_iter().find(|(_, x, _, y)| x + y > 1.0 + 1e-12) {
                    let message = format!("`{a}` and `{b}` of `loss state` are together above 100 %");
                    problems.push(
                        Diagnostic::error("import-value", at, message).help("both leave one state: lower one of them"),
                    );
                    return None;
                }
                if corrupt > 0.0 {
                    let message = "`corrupt` beside `loss state` cannot be said by one loss process";
                    problems.push(Diagnostic::error("import-unsupported", span, message).help("leave out one of them"));
                    return None;
                }
                let [p13, p31, p32, p23, p14] = [p13, p31, p32, p23, p14].map(share);
                self.deviations.push(
                    "old kernels compare one draw with `p13` alone and lose the packet that ends a burst; this is the chain \
                     as published"
                        .to_owned(),
                );
                let (clock, slot) = (LossClock::Packet, None);
                Loss::FourState(FourState { p13, p31, p32, p23, p14, clock, slot, slot_bytes: None, phases: None })
            }
        };
        self.direction.loss = loss;
        Some(())
    }
    fn correlated(&mut self, p: f64, rho: f64, corrupt: f64, at: Span, problems: &mut Diagnostics) -> Option<Loss> {
        if rho > correlated::STRONGEST {
            let message = format!("a loss with a correlation of {} depends on how it begins", percent(rho));
            problems.push(Diagnostic::error("import-unsupported", at, message).help("write `loss gemodel` for bursts"));
            return None;
        }
        let real = correlated::effect(p, rho);
        let message = format!(
            "`loss {}` with a correlation of {} loses {}, in runs of {} packets on average",
            percent(p),
            percent(rho),
            percent(real.loss),
            significant(real.run, 3)
        );
        let help =
            "for bursts with a stated loss write `loss gemodel p r`, which loses p / (p + r) in runs of 1 / r packets";
        problems.push(
            Diagnostic::warning("import-deviation", at, format!("{message}: netem's correlation distorts the rate"))
                .help(help),
        );
        self.facts.push(message);
        if real.loss < 1e-9 {
            self.deviations.push("so small a loss is none here".to_owned());
            return Some(if corrupt > 0.0 { bernoulli(Probability::new(corrupt)?) } else { Loss::None });
        }
        self.deviations.push(
            "correlated draws are a chain with the same long-run loss and the same mean run; longer memory is not kept"
                .to_owned(),
        );
        // Rounded to what is worth writing: six digits.
        let round = |x: f64| significant(x, 6).parse::<f64>().ok().and_then(Probability::new);
        let leave = 1.0 / real.run;
        let enter = real.loss * leave / (1.0 - real.loss);
        Some(Loss::GilbertElliott(gilbert(round(enter)?, round(leave)?, Probability::ONE, Probability::new(corrupt)?)))
    }
    fn rates(&mut self, parts: &Parts<'_>, device: &str, problems: &mut Diagnostics) -> Option<()> {
        let rate = parts.netem.and_then(|(netem, _)| netem.rate);
        let mut overhead = if is_ethernet(device) { ETHERNET } else { 0 };
        if let Some(rate) = rate {
            self.direction.rate = Rate::Constant(BitRate::from_bits_per_second(rate.bits));
            let full = (FULL_PACKET_BYTES + overhead) as i64;
            let on_wire = rate.wire(full) - FULL_PACKET_BYTES as i64;
            if rate.cell > 0 {
                let small = rate.wire(40 + overhead as i64);
                self.deviations.push(format!(
                    "cells of {} B with {} B more each: `overhead` is that of a full packet, {} B; a packet of 40 B takes {} B there \
                     and {} B here",
                    rate.cell,
                    rate.cell_overhead,
                    on_wire,
                    small,
                    40 + on_wire.max(0)
                ));
            }
            if on_wire < 0 {
                self.deviations
                    .push(format!("a packet is counted with {} B less there; here with all its bytes", -on_wire));
            }
            overhead = on_wire.max(0) as u64;
            if overhead > 65_535 {
                let message = format!("each packet takes {overhead} B more, which is above 65535 B");
                let help = "lower the overhead or the cell size";
                problems.push(Diagnostic::error("import-value", rate.span, message).help(help));
                return None;
            }
        }
        let bucket = parts.tbf.map(|tbf| (tbf.rate, Some(tbf.burst), tbf.span));
        let class = parts.class.map(|class| (class.rate, class.burst, class.span));
        if let (Some(tbf), Some(class)) = (parts.tbf, parts.class) {
            let (low, high) = (tbf.rate.min(class.rate), tbf.rate.max(class.rate));
            self.deviations.push(format!(
                "two rate limits in a row: the lower, {}, counts ({})",
                bits(low),
                bits(high)
            ));
        }
        let limits = [bucket, class].into_iter().flatten().min_by_key(|(rate, ..)| *rate);
        match limits {
            Some((bits, Some(burst), span)) => self.shaper(bits, burst, overhead, span, problems)?,
            // htb's default burst is about one packet: a plain rate.
            Some((bits, None, _)) if rate.is_none() => {
                self.direction.rate = Rate::Constant(BitRate::from_bits_per_second(bits));
            }
            Some((bits, None, _)) => {
                let bits = bits.min(rate.map_or(bits, |rate| rate.bits));
                self.direction.rate = Rate::Constant(BitRate::from_bits_per_second(bits));
            }
            None => {}
        }
        if let Some(peak) = parts.tbf.and_then(|tbf| tbf.peakrate) {
            let peak = peak.min(rate.map_or(peak, |rate| rate.bits));
            self.direction.rate = Rate::Constant(BitRate::from_bits_per_second(peak));
        }
        if let Some(class) = parts.class
            && class.ceil.is_some_and(|ceil| ceil != class.rate)
        {
            self.deviations.push("`ceil` is what the class may borrow from others; alone it has its `rate`".to_owned());
        }
        if limits.is_some() || rate.is_some() {
            self.direction.overhead = Bytes::new(overhead);
            if rate.is_none() && overhead > 0 {
                self.facts.push("tc counts the Ethernet header, 14 B of each packet, as carried".to_owned());
            }
        }
        Some(())
    }
    fn shaper(&mut self, bits: u64, burst: u64, overhead: u64, span: Span, problems: &mut Diagnostics) -> Option<()> {
        let full = FULL_PACKET_BYTES + overhead;
        if burst < full {
            let message = format!(
                "a burst of {burst} B lets no full packet pass: with its header it has {full} B, and tbf drops what is larger"
            );
            problems.push(
                Diagnostic::error("import-value", span, message).help(format!("give a burst of at least {full} bytes")),
            );
            return None;
        }
        self.direction.shaper =
            Some(TokenBucket { rate: BitRate::from_bits_per_second(bits), burst: Bytes::new(burst) });
        Some(())
    }
    /// The queue, and what netem's `limit` makes of the rate.
    fn room(&mut self, parts: &Parts<'_>, problems: &mut Diagnostics) -> Option<()> {
        let full = FULL_PACKET_BYTES + self.direction.overhead.get();
        let rate = self.direction.mean_rate();
        let tbf_queue = parts.tbf.filter(|_| parts.netem.is_none() || parts.netem_first);
        if parts.tbf.is_some() && tbf_queue.is_none() {
            self.facts.push("tbf's own `limit` or `latency` has no effect: netem below it is its queue".to_owned());
        }
        let in_flight = parts.netem.map(|(netem, _)| self.cap(netem, rate, full));
        let limit = match (tbf_queue, in_flight) {
            (Some(tbf), _) => {
                if tbf.limit < full {
                    let message =
                        format!("a limit of {} B holds no full packet: with its header it has {full} B", tbf.limit);
                    let help = format!("give a limit of at least {full} bytes");
                    problems.push(Diagnostic::error("import-value", tbf.span, message).help(help));
                    return None;
                }
                let packets = (tbf.limit / full, tbf.limit / FULL_PACKET_BYTES);
                self.facts.push(format!(
                    "tbf's queue holds {} B: {} full packets of {full} B{}",
                    tbf.limit,
                    packets.0,
                    if packets.0 == packets.1 {
                        String::new()
                    } else {
                        format!(" ({} if the header did not count)", packets.1)
                    }
                ));
                QueueLimit::Bytes(Bytes::new(tbf.limit))
            }
            (None, Some(left)) => QueueLimit::Packets(left),
            _ => match parts.fifo {
                Some(Fifo::Packets(packets)) => QueueLimit::Packets(packets.max(1)),
                Some(Fifo::Bytes(bytes)) => QueueLimit::Bytes(Bytes::new(bytes.max(full))),
                None => {
                    if rate.is_some() {
                        let message = "the queue is the device's own: 1000 packets unless `txqueuelen` says otherwise";
                        self.deviations.push(message.to_owned());
                    }
                    QueueLimit::Packets(1000)
                }
            },
        };
        self.direction.queue = if rate.is_some() { Queue::DropTail(limit) } else { Queue::Unlimited };
        Some(())
    }
    /// Packets of netem's limit that are left for the queue when the delay is full of packets; tells the cap on the rate.
    fn cap(&mut self, netem: &Netem, rate: Option<BitRate>, full: u64) -> u64 {
        let limit = netem.limit.max(1);
        if netem.delay == 0 {
            return limit;
        }
        if let Some(rate) = rate {
            let delayed = (rate.bits_per_second() as f64 / 8e9 * netem.delay as f64 / full as f64).ceil() as u64;
            if delayed < limit {
                self.facts.push(format!(
                    "limit {limit}: {delayed} packets are in the delay at {}, which leaves {} for the queue",
                    bits(rate.bits_per_second()),
                    limit - delayed
                ));
                return limit - delayed;
            }
        }
        let per_second = |bytes: u64| (limit as f64 * (bytes * 8) as f64 / (netem.delay as f64 / 1e9)) as u64;
        self.facts.push(format!(
            "limit {limit}: at most so many packets are delayed at a time, so full packets pass at {} at most{}",
            bits(per_second(FULL_PACKET_BYTES)),
            rate.map_or_else(String::new, |rate| format!(", whatever the rate of {}", bits(rate.bits_per_second())))
        ));
        self.deviations.push(
            "limit: a policer of that rate with a burst of all delayed packets, counted in bytes; after a pause it lets up to twice as \
             many pass within one delay"
                .to_owned(),
        );
        let burst = Bytes::new(limit.saturating_mul(full));
        self.direction.policer =
            Some(TokenBucket { rate: BitRate::from_bits_per_second(per_second(full).max(8)), burst });
        limit
    }
}

/// Devices without an Ethernet header.
fn is_ethernet(device: &str) -> bool {
    let name = device.rsplit('_').next().unwrap_or(device);
    !["tun", "ppp", "wg", "sit", "gre", "ipip", "wwan", "rmnet"].iter().any(|prefix| name.starts_with(prefix))
}

const fn bernoulli(rate: Probability) -> Loss {
    Loss::Bernoulli(Bernoulli { rate, clock: LossClock::Packet, slot: None, slot_bytes: None, phases: None })
}

const fn gilbert(p: Probability, r: Probability, bad: Probability, good: Probability) -> GilbertElliott {
    GilbertElliott {
        good_to_bad: p,
        bad_to_good: r,
        loss_in_bad: bad,
        loss_in_good: good,
        clock: LossClock::Packet,
        slot: None,
        slot_bytes: None,
        phases: None,
    }
}
