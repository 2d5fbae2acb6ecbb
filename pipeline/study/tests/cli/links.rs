//! Losses of a link, each under its label, from the study file to the report.

use crate::sandbox::{SMALL, Sandbox};

#[test]
fn losses_at_a_policer_and_in_outages_are_counted_and_shown_as_such() {
    let sandbox = Sandbox::new();
    let link = "rtt: 40 ms, rate: 10 Mbit/s, policer: { rate: 4 Mbit/s, burst: 32 KiB }, \
                outages: { period: { on: 5 s, off: 200 ms } }";
    let study = SMALL.replace("rtt: 40 ms, rate: 10 Mbit/s, loss: { bernoulli: { rate: 1 % } }", link);
    assert!(study.contains("policer"));
    sandbox.write("small.yaml", study.as_bytes());
    let ran = sandbox.study(&["run", "small.yaml"]);
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
    let shown = sandbox.ok(&["show", "small.yaml", "experience.links", "--format", "csv"]).stdout;
    let mut lines = shown.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let column = |name: &str| head.iter().position(|h| *h == name).unwrap();
    let sum = |name: &str| rows.iter().map(|row| row[column(name)].parse::<u64>().unwrap()).sum::<u64>();
    let (policer, outage) = (sum("lost_policer"), sum("lost_outage"));
    assert!(policer > 100 && outage > 0, "{policer} {outage}");
    assert_eq!(sum("lost_random"), 0);
    // All labels count in the share.
    for row in &rows {
        let count = |name: &str| row[column(name)].parse::<f64>().unwrap();
        let lost = count("lost_random") + count("lost_queue") + count("lost_policer") + count("lost_outage");
        assert!((count("loss_per_packet") - lost / count("packets")).abs() < 1e-9);
    }
    let report = sandbox.read("results/small/report.md");
    assert!(report.contains("dropped by the policer") && report.contains("lost in outages"));
}
