//! Proportional rate reduction (RFC 9937, which obsoletes RFC 6937), a switch of [`RecoveryRules`](crate::RecoveryRules).
//!
//! During a recovery that began with `RecoverFS` bytes in flight and is to end at `ssthresh`, each acknowledgement of
//! `DeliveredData` bytes allows `sndcnt` more (RFC 9937 section 6):
//! `pipe > ssthresh`: `ceil(prr_delivered * ssthresh / RecoverFS) - prr_out`; else
//! `min(ssthresh - pipe, max(prr_delivered - prr_out, DeliveredData))`, and one MSS more after an acknowledgement that moves the
//! oldest unacknowledged packet on and brings no new loss (as Linux's `tcp_cwnd_reduction` has it).
//!
//! | reference | here | effect |
//! |---|---|---|
//! | `RecoverFS` leaves out what was selectively acknowledged before the recovery | bytes in flight and just lost, after the delivery that showed the loss | one acknowledgement's data less, so a little more is sent |

/// State of one recovery; all in payload bytes.
#[derive(Debug, Clone, Copy)]
pub struct Prr {
    recover_fs: u64,
    ssthresh: u64,
    delivered: u64,
    out: u64,
    /// What may be in flight until the next acknowledgement.
    pub window: u64,
}

impl Prr {
    pub const fn new(recover_fs: u64, ssthresh: u64) -> Self {
        let recover_fs = if recover_fs == 0 { 1 } else { recover_fs };
        Self { recover_fs, ssthresh, delivered: 0, out: 0, window: 0 }
    }
    pub const fn on_sent(&mut self, bytes: u64) {
        self.out += bytes;
    }
    /// An acknowledgement delivered `bytes` and left `pipe` in flight; `safe` when the oldest packet moved on without a new loss.
    pub fn on_ack(&mut self, bytes: u64, pipe: u64, mss: u64, safe: bool) {
        self.delivered += bytes;
        let owed = self.delivered.saturating_sub(self.out);
        let count = if pipe > self.ssthresh {
            let share = u128::from(self.delivered) * u128::from(self.ssthresh);
            (share.div_ceil(u128::from(self.recover_fs)) as u64).saturating_sub(self.out)
        } else {
            let limit = owed.max(bytes) + if safe { mss } else { 0 };
            limit.min(self.ssthresh - pipe)
        };
        // The fast retransmit leaves in any case (section 6).
        let count = if self.out == 0 { count.max(mss) } else { count };
        self.window = pipe + count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recovery_sends_beta_of_what_is_delivered_and_ends_at_ssthresh() {
        // 100 packets in flight, one lost, ssthresh 70: the other 99 are delivered one by one.
        let mss = 1_000;
        let mut prr = Prr::new(100 * mss, 70 * mss);
        let (mut pipe, mut sent) = (99 * mss, 0);
        for _ in 0..99 {
            pipe -= mss;
            prr.on_ack(mss, pipe, mss, true);
            while pipe + mss <= prr.window {
                pipe += mss;
                sent += 1;
                prr.on_sent(mss);
            }
        }
        assert_eq!(pipe / mss, 70);
        assert_eq!(sent, 70);
    }

    #[test]
    fn heavy_losses_do_not_start_a_burst() {
        // 90 of 100 lost at once: pipe 9 is far below ssthresh 70, yet each acknowledgement allows two packets at most.
        let mss = 1_000;
        let mut prr = Prr::new(100 * mss, 70 * mss);
        prr.on_ack(mss, 9 * mss, mss, false);
        assert_eq!(prr.window, 10 * mss, "conservative: as much as was delivered");
        prr.on_sent(mss);
        prr.on_ack(mss, 9 * mss, mss, true);
        assert_eq!(prr.window, 11 * mss, "with progress: one more");
        // Ahead of what was delivered, an acknowledgement with a new loss still allows what it delivered.
        prr.on_sent(3 * mss);
        prr.on_ack(mss, 9 * mss, mss, false);
        assert_eq!(prr.window, 10 * mss);
    }
}
