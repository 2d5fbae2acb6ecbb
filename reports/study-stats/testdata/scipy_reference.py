"""Writes scipy.csv: random data sets and what scipy says about them. Run with scipy 1.17.1 and numpy 2.4.6."""
import numpy as np
from scipy import stats
from scipy.stats.mstats import hdquantiles

rng = np.random.default_rng(20260409)
text = lambda values: " ".join(f"{v:.17g}" for v in np.atleast_1d(values))
print("set,quantity,values")
for number in range(12):
    m, n = rng.integers(5, 40, 2)
    x, y = rng.lognormal(0.3, 0.7, m), rng.lognormal(0.0, 0.7, n)
    if number % 2:
        x, y = np.round(x, 1), np.round(y, 1)
    row = lambda quantity, values: print(f"{number},{quantity},{text(values)}")
    row("x", x)
    row("y", y)
    row("quantile", [np.quantile(x, p) for p in (0.05, 0.5, 0.95, 0.99)])
    row("harrell_davis", [float(hdquantiles(x, prob=[p])[0]) for p in (0.05, 0.5, 0.95)])
    for alternative in ("two-sided", "greater", "less"):
        for continuity in (True, False):
            test = stats.mannwhitneyu(x, y, alternative=alternative, method="asymptotic", use_continuity=continuity)
            row(f"asymptotic {alternative} {continuity}", [test.statistic, test.pvalue])
        if number % 2 == 0:
            row(f"exact {alternative}", stats.mannwhitneyu(x, y, alternative=alternative, method="exact").pvalue)
    row("t_interval", stats.ttest_1samp(x, 0).confidence_interval(0.95))
    row("welch_interval", stats.ttest_ind(y, x, equal_var=False).confidence_interval(0.95))
    p = rng.uniform(0, 0.3, 9)
    row("p", p)
    row("benjamini_hochberg", stats.false_discovery_control(p))
    d = rng.normal(0.4, 1, 15)
    row("differences", d)
    signs = np.array(np.meshgrid(*[[-1, 1]] * 15)).reshape(15, -1)
    row("sign_flip", np.mean(np.abs(d @ signs) >= abs(d.sum()) * (1 - 1e-12)))
for df in (1, 2, 4, 9, 19, 29, 39, 78.3, 1000):
    for p in (0.001, 0.3, 0.6, 0.9, 0.975, 0.995, 0.9999):
        print(f"0,t_quantile,{text([p, df, stats.t.ppf(p, df)])}")
        print(f"0,t_cdf,{text([3 * (p - 0.5), df, stats.t.cdf(3 * (p - 0.5), df)])}")
for p in (1e-12, 1e-6, 0.001, 0.025, 0.3, 0.5, 0.8, 0.975, 0.999999):
    print(f"0,normal_quantile,{text([p, stats.norm.ppf(p)])}")
    print(f"0,normal_cdf,{text([20 * p - 8, stats.norm.cdf(20 * p - 8)])}")
