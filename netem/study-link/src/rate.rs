//! The rate of a link: constant, piecewise constant in time, or unlimited.
//!
//! Purpose: when the last bit of a packet has left, given when its first bit may leave.
//!
//! Equations. Capacity of an interval: `C(a, b) = integral of rate(t) dt` over `a..b` \[bit\]. A packet of `w` bytes whose
//! transmission may begin at `s` \[ns\] ends at the smallest whole nanosecond `f` with `C(s, f) >= 8 w`. Amounts are
//! counted in bits times nanoseconds per second, as integers, so nothing is lost to rounding except that `f` is
//! rounded up: no interval ever carries more than its capacity, and a packet costs at most 1 ns too much.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | kernel tbf and htb send a burst from saved tokens | no tokens are saved | no burst above the rate after idle time |
//! | trace shapers with delivery opportunities (Mahimahi) waste what a packet does not fill | fluid | up to one packet per opportunity more |
//! | tools that sample a trace when a transfer begins | the schedule is integrated | a rate change in mid-packet counts from its instant |
//!
//! Random streams: none.

use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use study_tree::{Cx, Decode, Diagnostic, FileRef, MapReader, Node, did_you_mean};
use study_units::{BitRate, SimDuration};

/// One step of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateStep {
    /// How long the step lasts, at least 1 ns (key `for`).
    #[serde(rename = "for")]
    pub duration: SimDuration,
    /// The rate during it; 0 holds packets until a later step.
    pub rate: BitRate,
}

/// Why a list of steps is no schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// There is no step.
    #[error("a schedule without steps has no rate")]
    Empty,
    /// A step (counted from 0) takes no time.
    #[error("step {step} of the schedule lasts no time")]
    NoDuration {
        /// Which step, from 0.
        step: usize,
    },
    /// Every step has rate 0.
    #[error("every step of the schedule has rate 0, so nothing would ever pass")]
    AllZero,
    /// The last step has rate 0 and lasts for ever.
    #[error("the schedule does not repeat and ends with rate 0, so packets would be held for ever")]
    EndsAtZero,
    /// All steps together last longer than 292 years.
    #[error("the schedule lasts longer than 292 years")]
    TooLong,
}

/// A piecewise-constant rate that begins with its first step at time 0.
///
/// After the last step it begins again (`repeat`), or keeps the rate of the last step for ever. Some capacity always
/// returns: a schedule that would hold packets for ever cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateSchedule {
    steps: Arc<[RateStep]>,
    repeat: bool,
    period: u64,
    /// Bit nanoseconds per second in one pass over the steps.
    period_capacity: u128,
}

impl RateSchedule {
    /// A schedule of these steps.
    ///
    /// # Errors
    /// A [`ScheduleError`] when a step lasts no time, or when packets would be held for ever.
    pub fn new(steps: Vec<RateStep>, repeat: bool) -> Result<Self, ScheduleError> {
        let last = steps.last().ok_or(ScheduleError::Empty)?;
        if let Some(step) = steps.iter().position(|s| s.duration == SimDuration::ZERO) {
            return Err(ScheduleError::NoDuration { step });
        }
        if steps.iter().all(|s| s.rate.bits_per_second() == 0) {
            return Err(ScheduleError::AllZero);
        }
        if !repeat && last.rate.bits_per_second() == 0 {
            return Err(ScheduleError::EndsAtZero);
        }
        let period = steps.iter().try_fold(0u64, |sum, s| sum.checked_add(s.duration.as_nanos()));
        let period = period.filter(|p| *p <= u64::MAX / 2).ok_or(ScheduleError::TooLong)?;
        let period_capacity = steps.iter().map(|s| capacity(s.rate.bits_per_second(), s.duration.as_nanos())).sum();
        Ok(Self { steps: steps.into(), repeat, period, period_capacity })
    }
    /// The steps in order.
    #[must_use]
    pub fn steps(&self) -> &[RateStep] {
        &self.steps
    }
    /// Whether it begins again after the last step.
    #[must_use]
    pub const fn repeats(&self) -> bool {
        self.repeat
    }
    /// How long all steps last together.
    #[must_use]
    pub const fn period(&self) -> SimDuration {
        SimDuration::from_nanos(self.period)
    }
    /// The mean rate over all steps, rounded down to a bit per second.
    #[must_use]
    pub fn mean_rate(&self) -> BitRate {
        BitRate::from_bits_per_second(u64::try_from(self.period_capacity / u128::from(self.period)).unwrap_or(u64::MAX))
    }
}

/// What a study file says about the rate of a direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RateDocument", into = "RateDocument")]
pub enum Rate {
    /// Packets take no time on the wire and never queue.
    Unlimited,
    /// Always the same rate, above 0.
    Constant(BitRate),
    /// Steps in time.
    Schedule(RateSchedule),
    /// A SABRE network log that has been asked for and not been read yet; see [`crate::LinkParams::resolve`].
    Sabre(FileRef),
}

impl Rate {
    /// The rate, or its mean over a schedule; `None` when there is none or when its file has not been read.
    #[must_use]
    pub fn mean(&self) -> Option<BitRate> {
        match self {
            Self::Unlimited | Self::Sabre(_) => None,
            Self::Constant(rate) => Some(*rate),
            Self::Schedule(schedule) => Some(schedule.mean_rate()),
        }
    }
}

/// The canonical document of a rate; read back only from what `Rate` wrote, so positions do not matter.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum RateDocument {
    Text(String),
    Schedule { schedule: Vec<RateStep>, repeat: bool },
    Sabre { sabre: FileRef },
}

impl From<Rate> for RateDocument {
    fn from(rate: Rate) -> Self {
        match rate {
            Rate::Unlimited => Self::Text("unlimited".to_owned()),
            Rate::Constant(rate) => Self::Text(rate.to_string()),
            Rate::Schedule(s) => Self::Schedule { schedule: s.steps.to_vec(), repeat: s.repeat },
            Rate::Sabre(file) => Self::Sabre { sabre: file },
        }
    }
}

impl TryFrom<RateDocument> for Rate {
    type Error = String;
    fn try_from(document: RateDocument) -> Result<Self, String> {
        match document {
            RateDocument::Text(text) if text == "unlimited" => Ok(Self::Unlimited),
            RateDocument::Text(text) => match text.parse::<BitRate>() {
                Ok(rate) if rate.bits_per_second() > 0 => Ok(Self::Constant(rate)),
                Ok(_) => Err("a constant rate of 0 lets nothing pass".to_owned()),
                Err(error) => Err(error.to_string()),
            },
            RateDocument::Schedule { schedule, repeat } => {
                RateSchedule::new(schedule, repeat).map(Self::Schedule).map_err(|e| e.to_string())
            }
            RateDocument::Sabre { sabre } => Ok(Self::Sabre(sabre)),
        }
    }
}

impl Decode for Rate {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        if node.entries().is_some() {
            return decode_map(node, cx);
        }
        if let Some(text) = node.text() {
            if text == "unlimited" {
                return Some(Self::Unlimited);
            }
            if let Some(help) = did_you_mean(text, &["unlimited"]) {
                let message = format!("`{text}` is neither a data rate nor `unlimited`");
                cx.push(Diagnostic::error("unknown-value", node.span, message).help(help));
                return None;
            }
        }
        let rate = BitRate::decode(node, cx)?;
        if rate.bits_per_second() == 0 {
            cx.push(
                Diagnostic::error("out-of-range", node.span, "a constant rate of 0 lets nothing pass")
                    .help("give a rate above 0, `unlimited`, or a schedule in which the rate returns"),
            );
            return None;
        }
        Some(Self::Constant(rate))
    }
    fn schema() -> serde_json::Value {
        json!({ "description": "data rate", "anyOf": [
            { "const": "unlimited" },
            BitRate::schema(),
            { "type": "object", "additionalProperties": false, "required": ["schedule"], "properties": {
                "schedule": { "type": "array", "minItems": 1, "items": RateStep::schema() },
                "repeat": { "type": "boolean", "default": true,
                    "description": "Begin again after the last step; otherwise its rate stays." } } },
            { "type": "object", "additionalProperties": false, "required": ["sabre"],
                "properties": { "sabre": FileRef::schema() } }
        ] })
    }
}

fn decode_map(node: &Node, cx: &mut Cx<'_>) -> Option<Rate> {
    let mut map = MapReader::new(node, cx)?;
    if map.node("sabre").is_some() {
        let file = map.required::<FileRef>("sabre");
        return if map.finish() { file.map(Rate::Sabre) } else { None };
    }
    let Some(list) = map.required_node("schedule") else {
        map.ignore(&["repeat"]);
        map.finish();
        return None;
    };
    let steps = Vec::<RateStep>::decode(list, map.cx);
    let repeat = map.or("repeat", || true);
    let (true, Some(steps), Some(repeat)) = (map.finish(), steps, repeat) else { return None };
    match RateSchedule::new(steps, repeat) {
        Ok(schedule) => Some(Rate::Schedule(schedule)),
        Err(error) => {
            let span = match error {
                ScheduleError::NoDuration { step } => {
                    list.items().and_then(|items| items[step].get("for")).map_or(list.span, |n| n.span)
                }
                _ => list.span,
            };
            let help = match error {
                ScheduleError::EndsAtZero => "write `repeat: true`, or end with a rate above 0",
                _ => "give at least one step with a duration and a rate above 0, e.g. `{ for: 5 s, rate: 2 Mbit/s }`",
            };
            cx.push(Diagnostic::error("out-of-range", span, error.to_string()).help(help));
            None
        }
    }
}

impl Decode for RateStep {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let mut map = MapReader::new(node, cx)?;
        let duration = map.required("for");
        let rate = map.required("rate");
        if map.finish() { Some(Self { duration: duration?, rate: rate? }) } else { None }
    }
    fn schema() -> serde_json::Value {
        json!({ "type": "object", "additionalProperties": false, "required": ["for", "rate"],
            "properties": { "for": SimDuration::schema(), "rate": BitRate::schema() } })
    }
}

/// Bit nanoseconds per second in one byte.
const BYTE: u64 = 8_000_000_000;

fn capacity(bits_per_second: u64, nanos: u64) -> u128 {
    u128::from(bits_per_second) * u128::from(nanos)
}

/// Nanoseconds that an amount takes at a rate above 0, rounded up.
fn nanos_for(amount: u128, bits_per_second: u64) -> u64 {
    // The 128-bit division is a slow library call, and one packet nearly always fits in 64 bits.
    match u64::try_from(amount) {
        Ok(amount) => amount.div_ceil(bits_per_second),
        Err(_) => u64::try_from(amount.div_ceil(u128::from(bits_per_second))).unwrap_or(u64::MAX),
    }
}

/// The run-time state of a rate.
#[derive(Debug, Clone)]
pub(crate) enum Transmitter {
    /// No time at all.
    Unlimited,
    /// A constant rate, with the last division kept: nearly all packets of a direction have one size.
    Constant { bits_per_second: u64, last_wire: u32, last_nanos: u64 },
    /// A place in a schedule.
    Scheduled(Cursor),
}

impl Transmitter {
    /// # Panics
    /// When the rate is a file that has not been read.
    pub(crate) fn new(rate: &Rate) -> Self {
        match rate {
            Rate::Unlimited => Self::Unlimited,
            Rate::Constant(rate) => {
                Self::Constant { bits_per_second: rate.bits_per_second(), last_wire: 0, last_nanos: 0 }
            }
            Rate::Schedule(schedule) => Self::Scheduled(Cursor::new(schedule.clone())),
            Rate::Sabre(_) => panic!("the rate of a link is still a file: call `LinkParams::resolve` first"),
        }
    }
    /// When `wire` bytes that may begin at `start` have left. `start` never goes back.
    #[inline]
    pub(crate) fn finish(&mut self, start: u64, wire: u32) -> u64 {
        match self {
            Self::Unlimited => start,
            Self::Constant { bits_per_second, last_wire, last_nanos } => {
                if *last_wire != wire {
                    *last_wire = wire;
                    *last_nanos = nanos_for(u128::from(wire) * u128::from(BYTE), *bits_per_second);
                }
                start.saturating_add(*last_nanos)
            }
            Self::Scheduled(cursor) => cursor.finish(start, wire),
        }
    }
}

/// A place in a schedule that only moves forward.
#[derive(Debug, Clone)]
pub(crate) struct Cursor {
    schedule: RateSchedule,
    step: usize,
    step_start: u64,
    step_end: u64,
}

impl Cursor {
    fn new(schedule: RateSchedule) -> Self {
        let mut cursor = Self { schedule, step: 0, step_start: 0, step_end: 0 };
        cursor.enter(0, 0);
        cursor
    }
    fn enter(&mut self, step: usize, start: u64) {
        self.step = step;
        self.step_start = start;
        let last_for_ever = !self.schedule.repeat && step + 1 == self.schedule.steps.len();
        self.step_end =
            if last_for_ever { u64::MAX } else { start.saturating_add(self.schedule.steps[step].duration.as_nanos()) };
    }
    fn enter_next(&mut self) {
        let next = if self.step + 1 == self.schedule.steps.len() { 0 } else { self.step + 1 };
        self.enter(next, self.step_end);
    }
    /// Moves to the step that holds `time`; whole periods are skipped at once.
    fn seek(&mut self, time: u64) {
        if self.schedule.repeat && time - self.step_start >= self.schedule.period {
            let periods = (time - self.step_start) / self.schedule.period;
            self.enter(self.step, self.step_start + periods * self.schedule.period);
        }
        while time >= self.step_end && self.step_end != u64::MAX {
            self.enter_next();
        }
    }
    fn finish(&mut self, start: u64, wire: u32) -> u64 {
        self.seek(start);
        let mut need = u128::from(wire) * u128::from(BYTE);
        let mut time = start;
        // From any place on, one period later the same capacity has passed, so whole periods need no walk.
        if self.schedule.repeat && need > self.schedule.period_capacity {
            let periods = (need - 1) / self.schedule.period_capacity;
            need -= periods * self.schedule.period_capacity;
            let skip = u64::try_from(periods).unwrap_or(u64::MAX).saturating_mul(self.schedule.period);
            time = time.saturating_add(skip);
            self.enter(self.step, self.step_start.saturating_add(skip));
        }
        while time < u64::MAX {
            let rate = self.schedule.steps[self.step].rate.bits_per_second();
            let left = capacity(rate, self.step_end - time);
            if need <= left {
                return time + if need == 0 { 0 } else { nanos_for(need, rate) };
            }
            need -= left;
            time = self.step_end;
            self.enter_next();
        }
        u64::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(steps: &[(u64, u64)], repeat: bool) -> Result<RateSchedule, ScheduleError> {
        let step = |&(ms, bits)| RateStep {
            duration: SimDuration::from_millis(ms),
            rate: BitRate::from_bits_per_second(bits),
        };
        RateSchedule::new(steps.iter().map(step).collect(), repeat)
    }

    fn finishes(schedule: RateSchedule, starts: &[(u64, u32)]) -> Vec<u64> {
        let mut transmitter = Transmitter::new(&Rate::Schedule(schedule));
        starts.iter().map(|&(start, wire)| transmitter.finish(start, wire)).collect()
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn a_rate_change_in_mid_packet_counts_from_its_instant() {
        // 1000 bits: 0.5 ms at 1 Mbit/s carry 500, the rest takes 0.25 ms at 2 Mbit/s.
        let s = schedule(&[(1, 1_000_000), (1, 2_000_000)], true).unwrap();
        assert_eq!(s.mean_rate().bits_per_second(), 1_500_000);
        assert_eq!(finishes(s, &[(MS / 2, 125), (3 * MS, 125)]), [MS + MS / 4, 3 * MS + MS / 2]);
    }

    #[test]
    fn rate_zero_holds_packets_until_the_rate_returns() {
        let s = schedule(&[(10, 8_000), (90, 0)], true).unwrap();
        // One byte per ms: the packet that begins at 9 ms has one byte left when the hole begins.
        assert_eq!(finishes(s, &[(9 * MS, 2), (150 * MS, 1)]), [101 * MS, 201 * MS]);
    }

    #[test]
    fn a_packet_may_take_many_periods_and_idle_time_skips_them() {
        let s = schedule(&[(1, 8_000), (1, 0)], true).unwrap();
        // One byte per 2 ms: the n-th byte ends at 2n - 1 ms.
        assert_eq!(finishes(s.clone(), &[(0, 1000)]), [1999 * MS]);
        assert_eq!(finishes(s, &[(0, 1), (1_000_001 * MS, 1)]), [MS, 1_000_003 * MS]);
    }

    #[test]
    fn without_repeat_the_last_rate_stays() {
        let s = schedule(&[(1, 0), (1, 8_000)], false).unwrap();
        assert_eq!(finishes(s, &[(0, 5), (1_000 * MS, 1)]), [6 * MS, 1_001 * MS]);
    }

    #[test]
    fn schedules_that_hold_packets_for_ever_are_refused() {
        assert_eq!(schedule(&[], true), Err(ScheduleError::Empty));
        assert_eq!(schedule(&[(1, 0), (2, 0)], true), Err(ScheduleError::AllZero));
        assert_eq!(schedule(&[(1, 5), (2, 0)], false), Err(ScheduleError::EndsAtZero));
        assert_eq!(schedule(&[(1, 5), (0, 5)], true), Err(ScheduleError::NoDuration { step: 1 }));
        let long = RateStep { duration: SimDuration::from_nanos(u64::MAX / 2), rate: BitRate::from_bits_per_second(1) };
        assert_eq!(RateSchedule::new(vec![long, long], true), Err(ScheduleError::TooLong));
    }

    #[test]
    fn rates_above_what_64_bits_hold_do_not_overflow() {
        let s = schedule(&[(1, u64::MAX)], true).unwrap();
        assert_eq!(finishes(s, &[(0, u32::MAX), (10 * MS, 0)]), [2, 10 * MS]);
        assert_eq!(nanos_for(u128::MAX, 1), u64::MAX);
    }
}
