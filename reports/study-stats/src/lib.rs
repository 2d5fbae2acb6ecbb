//! Statistics on slices: quantiles, bootstrap intervals, tests, effect sizes.
//!
//! Every function is pure: data and a named random stream come in, a number or the reason why there is none goes out.
//! Sums run in a fixed order, transcendental functions come from `libm`, and what `statrs` computes is rounded to 12
//! significant digits, so that results have equal bits on every machine and for any number of threads of the caller.
//!
//! One file per statistic; this is the index.
//!
//! | file | gives | assumes |
//! |---|---|---|
//! | `moments` | [`sum`], [`mean`], [`variance`], [`standard_deviation`] | finite values |
//! | `quantile` | [`quantile`] (type 7), [`harrell_davis`] | sorted values; +infinity for censored ones |
//! | `sample` | [`Sample`]: one sorted sample with its quantiles, mean and curve | |
//! | `ecdf` | [`ecdf`]: the empirical distribution as a curve of few points | |
//! | `log_scale` | [`log_ratios`], [`geometric_mean`]: run-level statistics combined on the log scale | positive values |
//! | `bootstrap` | [`MeanBootstrap`] (bootstrap-t, percentile, basic, BCa), [`Replicates`] of any statistic | independent clusters |
//! | `t_interval` | [`t_interval`], [`welch_interval`] | independent clusters, roughly normal means |
//! | `sign_flip` | [`sign_flip`]: paired permutation test over clusters | differences symmetric about 0 under the null |
//! | `variance_ratio` | [`variance_ratio`]: whether pairing helped | pairs |
//! | `mann_whitney` | [`mann_whitney`]: exact with ties, or asymptotic | independent observations |
//! | `cliffs_delta` | [`cliffs_delta`], [`probability_of_superiority`] | independent observations |
//! | `cohens_d` | [`cohens_d`], [`hedges_g`], [`cohens_d_paired`] | independent observations, finite |
//! | `hodges_lehmann` | [`hodges_lehmann`] shift | independent observations, finite |
//! | `multiplicity` | [`holm`], [`benjamini_hochberg`] | one declared family |
//! | `icc` | [`icc`]: intraclass correlation, design effect, effective n | observations in clusters |
//! | `distribution` | [`normal_cdf`], [`normal_quantile`], [`student_t_cdf`], [`student_t_quantile`] | |
//! | `rounding` | [`round12`] | |

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod bootstrap;
mod cliffs_delta;
mod cohens_d;
mod distribution;
mod ecdf;
mod hodges_lehmann;
mod icc;
mod log_scale;
mod mann_whitney;
mod moments;
mod multiplicity;
mod not_estimable;
mod quantile;
mod rounding;
mod sample;
mod sign_flip;
mod t_interval;
mod variance_ratio;

pub use bootstrap::{Interval, MeanBootstrap, Replicates, Studentised, jackknife_acceleration};
pub use cliffs_delta::{cliffs_delta, probability_of_superiority};
pub use cohens_d::{cohens_d, cohens_d_paired, hedges_g};
pub use distribution::{normal_cdf, normal_quantile, student_t_cdf, student_t_quantile};
pub use ecdf::{CurvePoint, ecdf};
pub use hodges_lehmann::hodges_lehmann;
pub use icc::{Icc, icc};
pub use log_scale::{geometric_mean, log_ratios, logs};
pub use mann_whitney::{Alternative, MannWhitney, MannWhitneyMethod, mann_whitney};
pub use moments::{mean, standard_deviation, sum, variance};
pub use multiplicity::{benjamini_hochberg, holm};
pub use not_estimable::NotEstimable;
pub use quantile::{harrell_davis, quantile};
pub use rounding::round12;
pub use sample::Sample;
pub use sign_flip::{SignFlip, SignFlipMethod, SignFlipper, sign_flip};
pub use t_interval::{t_interval, welch_interval};
pub use variance_ratio::variance_ratio;
