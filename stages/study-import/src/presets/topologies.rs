//! Topologies of the Go simulator: what its scripts state, and what they do.
//!
//! Purpose: two deployments in Asia, hop by hop. The simulator's scripts shape what one end of each hop sends and write losses with netem's
//! correlation, so the round trip is half of what its documents print and the loss a fraction of what the script states. `asia_deployment`
//! and `harsh_asia` are what is stated, in both directions and with the stated loss as the real long-run loss; `..._as_run` are what
//! the scripts do.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | one direction of each hop is shaped | both are, except `..._as_run` | round trips as printed |
//! | `loss 8% 30%` loses 0.54 % | bursts in which a loss follows a loss with 30 %, 8 % in all | the stated loss |
//! | each packet draws its jitter and may overtake | wanders, in order | no false loss signals |
//!
//! Source: the names, delays, losses and rates of `scripts/netem/apply_topology.sh` of the Go simulator.

use crate::netem::{self, Settings, Shaped};
use crate::profile::LinkProfile;
use study_link::{GilbertElliott, LinkParams, Loss, LossClock, Queue, QueueLimit};
use study_tree::Diagnostics;
use study_units::{Bytes, Probability};

pub(super) const NAMES: [&str; 4] = ["asia_deployment", "asia_deployment_as_run", "harsh_asia", "harsh_asia_as_run"];
pub(super) const SOURCE: &str = "the Go simulator, scripts/netem/apply_topology.sh";
pub(super) const LICENCE: &str = "no licence stated; numbers only";

/// A hop: who sends, to whom, what netem is told.
struct Hop {
    link: &'static str,
    /// Whether the shaped end sends towards the viewer.
    down: bool,
    /// Delay and jitter in ms, loss and correlation in percent, rate in Mbit/s.
    numbers: [u32; 2],
    loss: (f64, f64),
    mbit: u32,
}

const fn hop(link: &'static str, down: bool, delay: u32, jitter: u32, loss: (f64, f64), mbit: u32) -> Hop {
    Hop { link, down, numbers: [delay, jitter], loss, mbit }
}

const ASIA_DEPLOYMENT: [Hop; 5] = [
    hop("singapore_client", true, 12, 2, (0.5, 0.0), 200),
    hop("mumbai_client", true, 20, 4, (2.0, 0.0), 100),
    hop("singapore_shield", false, 30, 3, (0.5, 0.0), 500),
    hop("mumbai_shield", false, 40, 4, (0.5, 0.0), 500),
    hop("shield_origin", false, 90, 5, (0.1, 0.0), 1_000),
];

const HARSH_ASIA: [Hop; 5] = [
    hop("singapore_client", true, 40, 8, (8.0, 30.0), 50),
    hop("mumbai_client", true, 50, 10, (10.0, 30.0), 30),
    hop("singapore_shield", false, 50, 6, (3.0, 20.0), 200),
    hop("mumbai_shield", false, 70, 8, (3.0, 20.0), 200),
    hop("shield_origin", false, 110, 10, (5.0, 25.0), 500),
];

/// The links of a topology.
pub(super) fn find(name: &str) -> Option<Vec<LinkProfile>> {
    let (hops, as_run) = match name {
        "asia_deployment" => (&ASIA_DEPLOYMENT, false),
        "asia_deployment_as_run" => (&ASIA_DEPLOYMENT, true),
        "harsh_asia" => (&HARSH_ASIA, false),
        "harsh_asia_as_run" => (&HARSH_ASIA, true),
        _ => return None,
    };
    hops.iter().map(|hop| if as_run { hop.as_run() } else { hop.as_stated() }).collect()
}

impl Hop {
    /// What the script says for one device.
    fn command(&self) -> String {
        let [delay, jitter] = self.numbers;
        let (loss, correlation) = self.loss;
        let correlation = if correlation > 0.0 { format!(" {correlation}%") } else { String::new() };
        format!(
            "tc qdisc add dev eth0 root netem delay {delay}ms {jitter}ms distribution normal loss {loss}%{correlation} rate {}mbit",
            self.mbit
        )
    }
    fn imported(&self, text: &str, shaped: Shaped) -> Option<LinkProfile> {
        let mut problems = Diagnostics::default();
        let settings = Settings { shaped, name: Some(self.link.to_owned()), source: 0 };
        netem::import(text, &settings, &mut problems).pop()
    }
    fn as_run(&self) -> Option<LinkProfile> {
        let mut profile = self.imported(&self.command(), if self.down { Shaped::Down } else { Shaped::Up })?;
        profile.source.insert(0, format!("{SOURCE} ({LICENCE})"));
        Some(profile)
    }
    /// Both directions as stated, with the stated loss in the long run.
    fn as_stated(&self) -> Option<LinkProfile> {
        let (loss, correlation) = self.loss;
        let command = self.command();
        let plain = command.replace(&format!("loss {loss}% {correlation}%"), &format!("loss {loss}%"));
        let mut profile = self.imported(&plain, Shaped::Both)?;
        // The script leaves netem's limit at 1,000 packets, which nobody stated.
        profile.notes.clear();
        profile.deviations.clear();
        let rtt = profile.link.mean_rtt();
        for params in [&mut profile.link.down, &mut profile.link.up] {
            params.policer = None;
            let product = params.bdp_bytes(rtt).unwrap_or(0).max(15_000);
            params.queue = Queue::DropTail(QueueLimit::Bytes(Bytes::new(product)));
        }
        profile.deviations.push(
            "the script says nothing of the queue: 1 x BDP here, without netem's limit of 1000 packets".to_owned(),
        );
        profile.deviations.push("order is kept here, and the jitter wanders with `correlation_time`".to_owned());
        if correlation > 0.0 {
            // A loss follows a loss with the stated correlation, and the long-run loss is the stated one.
            let stays = correlation / 100.0;
            let (leave, long_run) = (1.0 - stays, loss / 100.0);
            let round = |x: f64| crate::wording::significant(x, 10).parse::<f64>().ok().and_then(Probability::new);
            let process = Loss::GilbertElliott(GilbertElliott {
                good_to_bad: round(long_run * leave / (1.0 - long_run))?,
                bad_to_good: round(leave)?,
                loss_in_bad: Probability::ONE,
                loss_in_good: Probability::ZERO,
                clock: LossClock::Packet,
                slot: None,
                slot_bytes: None,
                phases: None,
            });
            let LinkParams { down, up } = &mut profile.link;
            (down.loss, up.loss) = (process.clone(), process);
            profile.notes.push(format!(
                "stated as `loss {loss}% {correlation}%`, which netem turns into far less; here {loss} % are lost, and a loss follows \
                 a loss with {correlation} %"
            ));
        }
        profile.source = vec![
            format!("{SOURCE} ({LICENCE})"),
            format!("stated for one direction as `{command}`; here both have it"),
        ];
        Some(profile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stated_loss_is_the_real_loss() {
        for (name, hops) in [("asia_deployment", &ASIA_DEPLOYMENT), ("harsh_asia", &HARSH_ASIA)] {
            let profiles = find(name).unwrap();
            for (hop, profile) in hops.iter().zip(&profiles) {
                for params in [&profile.link.down, &profile.link.up] {
                    let real = 100.0 * params.stationary_loss();
                    assert!((real - hop.loss.0).abs() < 1e-6, "{name} {}: {real}", hop.link);
                    assert!((params.mean_delay().as_millis_f64() - f64::from(hop.numbers[0])).abs() < 0.01, "{name}");
                }
                assert_eq!(profile.link.down, profile.link.up);
            }
        }
    }

    #[test]
    fn as_run_is_what_the_scripts_do() {
        let profiles = find("harsh_asia_as_run").unwrap();
        let singapore = &profiles[0].link;
        let real = 100.0 * singapore.down.stationary_loss();
        assert!((real - 0.54).abs() < 0.006, "8 % with a correlation of 30 %: {real}");
        assert!((singapore.mean_rtt().as_millis_f64() - 40.0).abs() < 0.01, "the printed round trip of 80 ms is 40 ms");
        assert_eq!(singapore.up.stationary_loss(), 0.0);
        // The origin's hop shapes requests, not the video.
        assert!(profiles[4].link.up.mean_rate().is_some() && profiles[4].link.down.mean_rate().is_none());
    }
}
