//! How many packets netem's jitter puts out of order.
//!
//! Purpose: without `rate`, netem gives each packet its own delay and sends in the order of the times so found, so jitter reorders.
//!
//! Equations. Packets leave every `s` seconds with independent delays of distribution function F. A packet is reordered (RFC 4737: it
//! arrives after one that was sent later) with the probability `1 - E[product over k >= 1 of (1 - F(X - k s))]`, X being its own
//! delay. Uniform delays between -w and w: F is linear. Normal delays: F is the normal distribution function.
//!
//! Sources: Linux `net/sched/sch_netem.c` (`tabledist`, `tfifo_enqueue`); RFC 4737 section 4.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | table of 4,096 values for `normal`, from -4 to 3.52 sigma | the normal distribution | below 0.1 points |
//! | delays below 0 become 0 | not cut | only where the jitter exceeds the delay |
//! | the delay's correlation | none: the kernel takes the number modulo the table's size, which destroys it | none |
//!
//! Random streams: none.

/// Distribution of the delay about its mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spread {
    /// Between minus and plus the jitter.
    Uniform,
    /// With the jitter as standard deviation.
    Normal,
}

impl Spread {
    /// Distribution function at `x` times the jitter.
    fn below(self, x: f64) -> f64 {
        match self {
            Self::Uniform => (0.5 + 0.5 * x).clamp(0.0, 1.0),
            Self::Normal => 0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2),
        }
    }
    const fn reach(self) -> f64 {
        match self {
            Self::Uniform => 1.0,
            Self::Normal => 6.0,
        }
    }
}

/// Share of packets that arrive behind a later one; `spacing` and `jitter` in one unit, both above 0.
pub(crate) fn share(spread: Spread, jitter: f64, spacing: f64) -> f64 {
    let (steps, reach, step) = (2_000_i32, spread.reach(), spacing / jitter);
    let mut kept = 0.0;
    for i in 0..steps {
        let edge = |i: i32| reach * (2.0 * f64::from(i) / f64::from(steps) - 1.0);
        let (a, b) = (edge(i), edge(i + 1));
        let weight = spread.below(b) - spread.below(a);
        let (mut x, mut product) = (0.5 * (a + b) - step, 1.0);
        while x > -reach && product > 1e-12 {
            product *= 1.0 - spread.below(x);
            x -= step;
        }
        kept += weight * product;
    }
    1.0 - kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use study_ident::SeedPath;

    #[test]
    fn shares_agree_with_packets_drawn_one_by_one() {
        let n = 400_000;
        for (spread, jitter, spacing) in [
            (Spread::Uniform, 10.0, 1.2),
            (Spread::Normal, 20.0, 6.0),
            (Spread::Normal, 2.0, 1.2),
            (Spread::Uniform, 1.0, 1.5),
        ] {
            let mut stream = SeedPath::root(3).stream("delays");
            let arrivals: Vec<f64> = (0..n)
                .map(|k| {
                    let x = match spread {
                        Spread::Uniform => 2.0 * stream.uniform() - 1.0,
                        Spread::Normal => stream.normal(),
                    };
                    f64::from(k) * spacing + jitter * x
                })
                .collect();
            let mut earliest = f64::INFINITY;
            let late = arrivals.iter().rev().filter(|arrival| {
                let behind = **arrival > earliest;
                earliest = earliest.min(**arrival);
                behind
            });
            let found = late.count() as f64 / f64::from(n);
            let expected = share(spread, jitter, spacing);
            // Neighbours are correlated over about 2 reach / spacing packets.
            let alike = 1.0 + 2.0 * jitter / spacing;
            let sigma = (expected * (1.0 - expected) / f64::from(n) * alike).sqrt();
            assert!((found - expected).abs() < 3.0 * sigma, "{spread:?} {jitter} {spacing}: {found} {expected}");
        }
        assert_eq!(share(Spread::Uniform, 1.0, 2.0), 0.0, "too far apart to pass one another");
    }
}
