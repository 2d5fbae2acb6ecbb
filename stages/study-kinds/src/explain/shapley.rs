//! Shapley values: how a difference is shared out among the mechanisms that make it.
//!
//! With `v(S)` the outcome when the mechanisms in `S` are those of the other arm, the contribution of mechanism `f` is
//! the mean over orders of `v(before f, with f) - v(before f)` (Shapley, Contributions to the Theory of Games II, 1953). In each
//! order the steps sum to `v(all) - v(none)`, so their means do too, whether all orders are taken or some.
//!
//! Few mechanisms: all orders at once, by the weights `|S|! (k - |S| - 1)! / k!` over the 2^k subsets. Many: a number of
//! drawn orders, each followed by its reverse (antithetic: what is early in one is late in the other).
//!
//! Random streams: `orders` of the seed that is passed, only when orders are drawn.

use study_ident::SeedPath;

/// Orders of `k` mechanisms: `pairs` of a drawn one and its reverse.
pub(super) fn orders(k: usize, pairs: usize, seed: SeedPath) -> Vec<Vec<usize>> {
    let mut stream = seed.stream("orders");
    let mut orders = Vec::with_capacity(2 * pairs);
    for _ in 0..pairs {
        let mut order: Vec<usize> = (0..k).collect();
        for last in (1..k).rev() {
            let other = (stream.uniform() * (last + 1) as f64) as usize;
            order.swap(last, other.min(last));
        }
        let reverse = order.iter().rev().copied().collect();
        orders.push(order);
        orders.push(reverse);
    }
    orders
}

/// The subsets (bit masks) that the given orders need; all of them without orders.
pub(super) fn subsets(k: usize, orders: Option<&[Vec<usize>]>) -> Vec<u32> {
    let Some(orders) = orders else { return (0..1 << k).collect() };
    let mut needed: Vec<u32> = Vec::new();
    for order in orders {
        let mut set = 0;
        needed.push(set);
        for f in order {
            set |= 1 << f;
            needed.push(set);
        }
    }
    needed.sort_unstable();
    needed.dedup();
    needed
}

/// Contributions of `k` mechanisms; `value` gives the outcome of a subset.
pub(super) fn contributions(k: usize, orders: Option<&[Vec<usize>]>, value: impl Fn(u32) -> f64) -> Vec<f64> {
    let mut shares = vec![0.0; k];
    match orders {
        Some(orders) => {
            for order in orders {
                let mut set = 0;
                for &f in order {
                    shares[f] += value(set | 1 << f) - value(set);
                    set |= 1 << f;
                }
            }
            shares.iter_mut().for_each(|share| *share /= orders.len() as f64);
        }
        None => {
            let weights: Vec<f64> = (0..k).map(|size| weight(k, size)).collect();
            for set in 0..1u32 << k {
                let before = value(set);
                for f in (0..k).filter(|f| set & (1 << f) == 0) {
                    shares[f] += weights[set.count_ones() as usize] * (value(set | 1 << f) - before);
                }
            }
        }
    }
    shares
}

/// `|S|! (k - |S| - 1)! / k!`, which is `1 / (k C(k - 1, |S|))`.
fn weight(k: usize, size: usize) -> f64 {
    let binomial = (0..size).fold(1.0, |b, i| b * (k - 1 - i) as f64 / (i + 1) as f64);
    1.0 / (k as f64 * binomial)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three mechanisms: 0 adds 4, 1 adds 1, and 1 with 2 adds 6 more.
    fn game(set: u32) -> f64 {
        let has = |f: u32| set & (1 << f) != 0;
        f64::from(u8::from(has(0))) * 4.0 + f64::from(u8::from(has(1))) + if has(1) && has(2) { 6.0 } else { 0.0 }
    }

    #[test]
    fn a_joint_effect_is_shared_equally_by_those_who_make_it() {
        let exact = contributions(3, None, game);
        assert!(exact.iter().zip([4.0, 4.0, 3.0]).all(|(a, b)| (a - b).abs() < 1e-12), "{exact:?}");
    }

    #[test]
    fn drawn_orders_sum_to_the_total_and_come_near_the_exact_shares() {
        let orders = orders(3, 200, SeedPath::root(7));
        let drawn = contributions(3, Some(&orders), game);
        assert!((drawn.iter().sum::<f64>() - 11.0).abs() < 1e-12);
        assert!(drawn.iter().zip([4.0, 4.0, 3.0]).all(|(a, b)| (a - b).abs() < 0.5), "{drawn:?}");
        assert_eq!(subsets(3, Some(&orders)), (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn antithetic_orders_share_a_pair_exactly() {
        let orders = orders(2, 1, SeedPath::root(1));
        let exact = contributions(2, None, |set| if set == 3 { 2.0 } else { 0.0 });
        assert_eq!(contributions(2, Some(&orders), |set| if set == 3 { 2.0 } else { 0.0 }), exact);
    }
}
