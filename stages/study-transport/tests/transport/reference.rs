//! A second sender of a page, written from the RFCs alone: constant round trip, no link, one acknowledgement per packet.
//! It shares no code with the crate; the two must agree under the same drop list.

use crate::support::{mean_window, params};
use std::collections::{BTreeMap, VecDeque};
use study_evidence::{Topic, claim};
use study_transport::{CongestionControl, ConnectionConfig, Protocol, Scheduler, SessionState};

#[derive(Clone, Copy, PartialEq)]
enum Rule {
    Reno,
    Cubic,
}

struct Window {
    rule: Rule,
    w: f64,
    ssthresh: f64,
    w_max: f64,
    prior: f64,
    w_est: f64,
    epoch: Option<f64>,
    credit: f64,
}

impl Window {
    fn grow(&mut self, t: f64, rtt: f64) {
        if self.w < self.ssthresh {
            self.w += 1.0;
            return;
        }
        if self.rule == Rule::Reno {
            self.credit += 1.0;
            if self.credit >= self.w.floor() {
                self.credit = 0.0;
                self.w += 1.0;
            }
            return;
        }
        if self.epoch.is_none() {
            self.epoch = Some(t);
            self.w_est = self.w;
            self.w_max = self.w_max.max(self.w);
            self.credit = libm::cbrt((self.w_max - self.w) / 0.4);
        }
        let (age, k) = (t - self.epoch.unwrap(), self.credit);
        let curve = |x: f64| 0.4 * (x - k) * (x - k) * (x - k) + self.w_max;
        let alpha = if self.w_est < self.prior { 3.0 * 0.3 / 1.7 } else { 1.0 };
        self.w_est += alpha / self.w.floor();
        if curve(age) < self.w_est {
            self.w = self.w.max(self.w_est.floor());
        } else {
            let target = curve(age + rtt).min(1.5 * self.w).max(self.w);
            self.w += (target - self.w) / self.w;
        }
    }
    fn cut(&mut self) {
        self.prior = self.w;
        if self.rule == Rule::Reno {
            self.w = (self.w / 2.0).floor().max(2.0);
        } else {
            self.w_max = if self.w < self.w_max { self.w * 0.85 } else { self.w };
            self.w = (self.w * 0.7).max(2.0);
        }
        self.ssthresh = self.w;
        self.epoch = None;
        self.credit = 0.0;
    }
}

/// Mean packets per round trip over the second half of `packets` transmissions.
fn reference(rule: Rule, rtt: f64, packets: u64, drop: impl Fn(u64) -> bool) -> f64 {
    let mut window =
        Window { rule, w: 10.0, ssthresh: f64::INFINITY, w_max: 0.0, prior: 0.0, w_est: 0.0, epoch: None, credit: 0.0 };
    let mut acks: VecDeque<(f64, u64)> = VecDeque::new();
    let mut open: BTreeMap<u64, ()> = BTreeMap::new();
    let (mut next, mut t, mut recovery_from, mut half_at, mut half_delivered, mut delivered) = (0, 0.0, 0, 0.0, 0, 0);
    while next < packets {
        let mut at_once = 0;
        if let Some((at, number)) = acks.pop_front() {
            t = at;
            delivered += 1;
            open.remove(&number);
            if number >= recovery_from {
                window.grow(t, rtt);
            }
            let lost: Vec<u64> = open.range(..number.saturating_sub(2)).map(|(n, ())| *n).collect();
            for n in lost {
                open.remove(&n);
                if n >= recovery_from {
                    window.cut();
                    recovery_from = next;
                    at_once = 1;
                }
            }
        }
        while at_once > 0 || open.len() < window.w.floor() as usize {
            at_once = 0;
            open.insert(next, ());
            if !drop(next) {
                acks.push_back((t + rtt, next));
            }
            next += 1;
        }
        if half_at == 0.0 && next >= packets / 2 {
            (half_at, half_delivered) = (t, delivered);
        }
        assert!(!acks.is_empty(), "the reference has no timeouts: keep losses apart");
    }
    f64::from(delivered - half_delivered) / ((t - half_at) / rtt)
}

#[test]
fn both_controllers_match_an_independent_sender_within_3_percent_under_periodic_loss() {
    for (cc, rule) in [(CongestionControl::NewReno, Rule::Reno), (CongestionControl::Cubic, Rule::Cubic)] {
        for (rtt, seconds, p) in [("100 ms", 0.1, 1e-2), ("100 ms", 0.1, 1e-3), ("200 ms", 0.2, 1e-3)] {
            for protocol in [Protocol::H2, Protocol::H3] {
                let mut p1 = params();
                p1.ack_every = 1;
                let config = ConnectionConfig::new(protocol, cc, Scheduler::Sequential, SessionState::Cold, &p1);
                // An integer window locks to the phase of a strictly periodic loss, so periods around 1/p are averaged.
                let ratios: Vec<f64> = (-5..=5)
                    .map(|i| (1.0 / p * (1.0 + 0.02 * f64::from(i))) as u64)
                    .map(|period| {
                        let lost = |i: u64| i % period == period - 1;
                        let ours = mean_window(&config, rtt, period * 120_000, lost);
                        ours / reference(rule, seconds, period * 83, lost)
                    })
                    .collect();
                let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
                let condition = format!("{cc:?}, {protocol:?}, {rtt}, p = {p}, 11 periods around 1/p");
                let (name, source) = (
                    "independent sender, same drops: share of its window",
                    "a page in `reference.rs`, from RFC 5681 and 9438",
                );
                claim!(Topic::Windows, name, source, condition).ours(mean, "").relative(1.0, 0.03);
            }
        }
    }
}
