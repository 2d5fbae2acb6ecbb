//! What netem's correlated loss does: `loss 10% 25%` does not lose 10 %.
//!
//! Purpose: the long-run loss and the mean run of losses of netem's random loss with a correlation.
//!
//! Equations. The kernel draws `x[k] = (1 - rho) u[k] + rho x[k-1]`, `u` uniform on 0..1, and loses packet k when `x[k] <= p`. A weighted
//! mean of uniform numbers is not uniform: its variance is `(1 - rho) / (1 + rho)` of theirs, so small values are rare and the loss
//! is `F(p)`, far below p. F, the long-run distribution of x, is the fixed point of
//!
//! `F(x) = 1 / (1 - rho) * integral of F(y / rho) dy from x - (1 - rho) to x`
//!
//! found by repetition on a grid with linear interpolation (each turn shrinks the error by rho). Two losses in a row have the
//! probability `P11 = integral of min(1, (p - rho y) / (1 - rho)) dF(y) from 0 to p`; the mean run of losses is `F(p) / (F(p) - P11)`.
//!
//! Sources: Linux `net/sched/sch_netem.c` (`get_crandom`, `loss_event`); tc-netem(8) calls the option deprecated "due to the noticed bad
//! behavior".
//!
//! | reference | here | effect |
//! |---|---|---|
//! | 32-bit integers, rounded down | real numbers | below 1e-9 |
//! | the law of runs is that of x | callers use a chain with the same loss and mean run | the second loss of a run is exact, later ones nearly |
//!
//! Random streams: none.

/// Long-run loss (0 to 1) and mean number of packets lost in a row (at least 1), of `loss p rho`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Effect {
    pub loss: f64,
    pub run: f64,
}

/// The strongest correlation that is worked out; above it the distribution is narrower than the grid.
pub(crate) const STRONGEST: f64 = 0.99;

/// Grid of the distribution function on 0..1.
struct Grid {
    values: Vec<f64>,
}

impl Grid {
    fn cells(&self) -> usize {
        self.values.len() - 1
    }
    fn at(&self, x: f64) -> f64 {
        let place = x.clamp(0.0, 1.0) * self.cells() as f64;
        let left = (place as usize).min(self.cells() - 1);
        let share = place - left as f64;
        self.values[left] + (self.values[left + 1] - self.values[left]) * share
    }
    /// Integrals from 0 to each grid point.
    fn integrals(&self) -> Vec<f64> {
        let step = 1.0 / self.cells() as f64;
        let mut sum = 0.0;
        let mut integrals = vec![0.0];
        integrals.extend(self.values.windows(2).map(|pair| {
            sum += 0.5 * step * (pair[0] + pair[1]);
            sum
        }));
        integrals
    }
    /// The next turn of the fixed point, and the largest change.
    fn turn(&self, rho: f64) -> (Self, f64) {
        let integrals = Self { values: self.integrals() };
        let total = integrals.values[self.cells()];
        // Integral of F(y / rho) dy from 0 to z; F is 1 above 1 and 0 below 0.
        let area = |z: f64| {
            let x = z.max(0.0) / rho;
            rho * if x > 1.0 { total + (x - 1.0) } else { integrals.at(x) }
        };
        let step = 1.0 / self.cells() as f64;
        let next = (0..=self.cells()).map(|i| {
            let x = i as f64 * step;
            (area(x) - area(x - (1.0 - rho))) / (1.0 - rho)
        });
        let values: Vec<f64> = next.collect();
        let change = values.iter().zip(&self.values).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        (Self { values }, change)
    }
}

/// `p` and `rho` in 0..1, `rho` at most [`STRONGEST`].
pub(crate) fn effect(p: f64, rho: f64) -> Effect {
    if rho == 0.0 || p <= 0.0 || p >= 1.0 {
        return Effect { loss: p, run: if p < 1.0 { 1.0 / (1.0 - p) } else { f64::INFINITY } };
    }
    let cells = if rho < 0.9 { 20_000 } else { 4_000 };
    let mut grid = Grid { values: (0..=cells).map(|i| i as f64 / cells as f64).collect() };
    loop {
        let (next, change) = grid.turn(rho);
        grid = next;
        if change < 1e-12 {
            break;
        }
    }
    let loss = grid.at(p);
    let again = |y: f64| ((p - rho * y) / (1.0 - rho)).clamp(0.0, 1.0);
    let steps = 4_000;
    let both: f64 = (0..steps)
        .map(|i| {
            let (a, b) = (p * f64::from(i) / f64::from(steps), p * f64::from(i + 1) / f64::from(steps));
            again(0.5 * (a + b)) * (grid.at(b) - grid.at(a))
        })
        .sum();
    Effect { loss, run: if loss > both { loss / (loss - both) } else { f64::INFINITY } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use study_ident::SeedPath;

    #[test]
    fn the_kernels_loss_is_far_below_what_is_written() {
        for (p, rho, percent) in [(0.1, 0.25, 1.75), (0.1, 0.3, 1.15), (0.08, 0.3, 0.54), (0.03, 0.2, 0.07)] {
            let found = 100.0 * effect(p, rho).loss;
            assert!((found - percent).abs() < 0.006, "{p} {rho}: {found}");
        }
        assert_eq!(effect(0.001, 0.0).loss, 0.001);
        assert!((effect(0.5, 0.9).loss - 0.5).abs() < 1e-6, "symmetric about one half");
        assert!(effect(0.1, STRONGEST).loss < 1e-9);
    }

    /// The kernel's integers, number by number: losses, runs, and the deviation of the loss from batches.
    fn drawn(p: f64, rho: f64, n: u64) -> (f64, f64, f64) {
        let mut stream = SeedPath::root(7).stream("kernel");
        let (threshold, rho) = ((p * 4_294_967_295.0) as u64, (rho * 4_294_967_295.0) as u64 + 1);
        let mut last = 0x8000_0000_u64;
        let batch = n / 100;
        let (mut lost, mut runs, mut before, mut batches) = (0_u64, 0_u64, false, vec![0_u64; 100]);
        for k in 0..n {
            let value = (stream.uniform() * 4_294_967_296.0) as u64;
            last = ((u128::from(value) * u128::from((1_u64 << 32) - rho) + u128::from(last) * u128::from(rho)) >> 32)
                as u64;
            let now = threshold >= last;
            lost += u64::from(now);
            runs += u64::from(now && !before);
            batches[(k / batch) as usize % 100] += u64::from(now);
            before = now;
        }
        let mean = lost as f64 / 100.0;
        let variance = batches.iter().map(|b| (*b as f64 - mean) * (*b as f64 - mean)).sum::<f64>() / 99.0;
        (lost as f64 / n as f64, lost as f64 / runs as f64, (variance / 100.0).sqrt() / batch as f64)
    }

    #[test]
    fn the_fixed_point_agrees_with_the_kernels_integers() {
        for (p, rho) in [(0.1, 0.25), (0.08, 0.3), (0.3, 0.5), (0.4, 0.9)] {
            let expected = effect(p, rho);
            let (loss, run, sigma) = drawn(p, rho, 2_000_000);
            assert!((loss - expected.loss).abs() < 3.0 * sigma, "{p} {rho}: {loss} {expected:?} {sigma}");
            assert!((run / expected.run - 1.0).abs() < 0.03, "{p} {rho}: {run} {expected:?}");
        }
    }

    /// The delay's number is taken modulo the size of the table (or the width of the jitter): two in a row are then unrelated.
    #[test]
    fn a_remainder_leaves_nothing_of_the_correlation() {
        for (rho, modulus) in [(0.25, 4096_u64), (0.9, 4096), (0.25, 20_000_000)] {
            let mut stream = SeedPath::root(13).stream("kernel");
            let rho = (rho * 4_294_967_295.0) as u64 + 1;
            let (mut last, mut before, mut products) = (0x8000_0000_u64, 0.5, 0.0);
            let n = 200_000;
            for _ in 0..n {
                let value = (stream.uniform() * 4_294_967_296.0) as u64;
                let sum = u128::from(value) * u128::from((1_u64 << 32) - rho) + u128::from(last) * u128::from(rho);
                last = (sum >> 32) as u64;
                let now = (last % modulus) as f64 / modulus as f64;
                products += 12.0 * (now - 0.5) * (before - 0.5);
                before = now;
            }
            let correlation = products / f64::from(n);
            assert!(correlation.abs() < 3.0 / f64::from(n).sqrt() + 0.005, "{rho} {modulus}: {correlation}");
        }
    }
}
