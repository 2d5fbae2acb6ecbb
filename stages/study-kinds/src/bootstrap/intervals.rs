//! The intervals of one mean over runs, row by row.

use super::params::{BootstrapParams, Method};
use study_ident::SeedPath;
use study_stats::{Interval, MeanBootstrap, NotEstimable, Studentised, t_interval};

/// An interval and how it came about.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// `None` when there is none; the method then says why.
    pub(super) interval: Option<Interval>,
    /// The column `method`.
    pub(super) method: String,
}

impl Row {
    /// No interval, with the reason.
    pub(super) fn refused(why: NotEstimable) -> Self {
        Self { interval: None, method: format!("not estimable: {}", why.reason("run")) }
    }
}

/// One row per method, the default first; a single row when there is no interval at all.
pub(super) fn rows(params: &BootstrapParams, seed: &SeedPath, values: &[f64]) -> Vec<Row> {
    let boot = match MeanBootstrap::new(values, params.resamples as usize, &mut seed.stream("resamples")) {
        Ok(boot) => boot,
        Err(why) => return vec![Row::refused(why)],
    };
    let level = params.level.get();
    let one = |method: &Method| {
        let plain = |interval| (interval, method.name().to_owned());
        let result = match method {
            Method::BootstrapT => {
                boot.studentised(level).map(|(interval, how)| (interval, studentised(how, values.len())))
            }
            Method::Percentile => Ok(plain(boot.percentile(level))),
            Method::Basic => Ok(plain(boot.basic(level))),
            Method::Bca => boot.bca(level).map(plain),
            Method::T => t_interval(values, level).map(plain),
        };
        match result {
            Ok((interval, method)) => Row { interval: Some(interval), method },
            Err(why) => {
                Row { interval: None, method: format!("{} (not estimable: {})", method.name(), why.reason("run")) }
            }
        }
    };
    params.methods.get().iter().map(one).collect()
}

/// The method's name where bootstrap-t was asked for.
fn studentised(how: Studentised, runs: usize) -> String {
    match how {
        Studentised::BootstrapT => Method::BootstrapT.name().to_owned(),
        Studentised::FewClusters => format!("t (bootstrap-t needs {} runs, not {runs})", MeanBootstrap::FEWEST),
        Studentised::ZeroSpread => "t (bootstrap-t: too many resamples without spread)".to_owned(),
    }
}
