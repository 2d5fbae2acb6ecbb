//! The registry of checks: one row each, with the words that `study explain` prints.
//!
//! What of the catalogue does not apply to a trial that has run is in [`ELSEWHERE`], with where it is enforced.

use super::finding::Finding;
use super::{Evidence, conduct, control, host, link, loss, session, timing, windows, wire};

/// What looks at one arm.
type Each = fn(&Evidence) -> Vec<Finding>;
/// What compares the arms of a block.
type Across = fn(&[Evidence]) -> Vec<Finding>;

/// A row of the registry.
#[derive(Debug, Clone, Copy)]
pub struct CheckRow {
    /// Its identifier, stable: `E4`.
    pub id: &'static str,
    /// In a few words.
    pub title: &'static str,
    /// What is compared with what, with the thresholds.
    pub what: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// What to do when it does not pass.
    pub cure: &'static str,
    pub(super) each: Option<Each>,
    pub(super) across: Option<Across>,
}

impl CheckRow {
    /// All words of the row as one paragraph.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}: {} {} {}", self.title, self.what, self.why, self.cure)
    }
    /// Whether it looks at single arms.
    #[must_use]
    pub const fn looks_at_arms(&self) -> bool {
        self.each.is_some()
    }
    /// Whether it compares arms.
    #[must_use]
    pub const fn compares_arms(&self) -> bool {
        self.across.is_some()
    }
}

macro_rules! checks {
    ($( $id:literal, $title:literal, $(each: $each:path,)? $(across: $across:path,)?
        what: $what:literal, why: $why:literal, cure: $cure:literal; )*) => {
        /// All checks, in the order of a record.
        pub const CHECKS: &[CheckRow] = &[$( CheckRow {
            id: $id, title: $title, what: $what, why: $why, cure: $cure,
            each: checks!(@ Each $($each)?), across: checks!(@ Across $($across)?),
        } ),*];
    };
    (@ $kind:ident) => { None };
    (@ $kind:ident $path:path) => { Some($path as $kind) };
}

checks! {
    "E1", "a real link, not the loopback interface", each: wire::real_link,
    what: "No connection runs over `lo`, the MTU is at most 1,500 bytes, and full packets of the stacks fit into it.",
    why: "Over `lo` a TCP segment has 32 KB, so that one loss hits what QUIC sends in 27 packets, and the first window is 320 KB instead of 14.",
    cure: "Run the trial in namespaces joined by a link, with an MTU of 1,500 bytes.";

    "E2", "the round trip is as defined", each: link::round_trip,
    what: "Before the trial at least 20 probes from each end measured the round trip: its median is off by at most 1 ms or 2 %, and a measured rate by at most 1 %.",
    why: "A delay that is applied twice, or to one direction only, looks like a result.",
    cure: "Calibrate each link before each trial; when it is off on a quiet machine, check which delay the definition means, one-way or round trip.";

    "E4", "no super-packets", each: wire::no_super_packets,
    what: "The largest IP packet that the link has seen is not larger than its MTU.",
    why: "With segmentation offload up to 43 segments cross the link as one, and one loss takes all of them.",
    cure: "Turn offload off on the interfaces of both ends (`offload: off`).";

    "E5", "room of the queue", each: link::queue_room,
    what: "The queue at a limited rate holds between 0.5 and 4 bandwidth-delay products; its drops are counted apart from random losses.",
    why: "A short queue caps the rate below the link's, a long one replaces losses by seconds of delay.",
    cure: "Give the queue as a multiple of the product, `1 x BDP`.";

    "E6", "no accidental reordering", each: link::order_kept,
    what: "No packet was overtaken unless `jitter.reorder: true` or a queue per flow was asked for.",
    why: "Three later packets before an earlier one count as a loss in both stacks: jitter that reorders is a loss process nobody asked for.",
    cure: "Report this: the relay keeps order by itself.";

    "E12", "every loss has a label", each: loss::labelled,
    what: "Losses are random, by the queue, by a policer or by an outage; none happened at an interface, in a socket or by a refused write, and none at random where the link has no random loss.",
    why: "Losses outside of the model hit whoever sends more bursts, and are read as loss of the link.",
    cure: "Lower the rate, lengthen the interfaces' queues, or raise `net.core.rmem_max` for packet sockets.";

    "E14", "one realisation for all arms", across: loss::one_realisation,
    what: "All arms ran on one backend and kernel, over the same links with the same seeds; where a packet's index alone decides, the same indices were lost.",
    why: "Different links, kernels or random numbers are a second difference besides the stack.",
    cure: "Run all arms of a block on one machine in one go.";

    "E15", "realised exposure to loss", each: loss::exposure,
    what: "The random losses that each arm met per packet, per megabyte and per millisecond, for each direction.",
    why: "The same process is not the same exposure: arms send different numbers of packets at different times. With 15 kB at 3 % the losses of two arms are nearly independent.",
    cure: "Nothing; when the sign of a result depends on the loss clock, say so.";

    "E16", "the relay was on time", each: timing::relay_on_time,
    what: "Packets left when they were due: lateness p99 above 1 ms warns and above 2 ms or 5 % of the one-way delay taints, the latest packet above 10 ms or half of the one-way delay; a relay thread busy for 60 % warns, for 85 % taints.",
    why: "Late packets are delay that the link does not have.",
    cure: "Run less beside it: fewer links at once, lower rates, a quiet machine. The block is run again by itself.";

    "E17", "the machine was on time", each: timing::machine_on_time,
    what: "A canary oversleeps by less than 1 ms at its p99 (3 ms taint), threads wait for a processor for less than 2 % of the time (5 %), and the hypervisor takes less than 1 % (3 %).",
    why: "The relay may be on time while the endpoints wait for a processor: the error is the same.",
    cure: "Stop other work on the machine. The block is run again by itself.";

    "E20", "no congestion marks", each: loss::no_marks, across: loss::equal_ecn,
    what: "No packet was marked (ECN), and arms over TCP agree on its use.",
    why: "The link's queues drop and never mark: a mark comes from somewhere else on the path.",
    cure: "Look for a queueing discipline of the host on the path; set `net.ipv4.tcp_ecn` alike.";

    "H1", "congestion controller", each: control::controller, across: control::equal_controllers,
    what: "Each end runs the controller that the study names, read back from the kernel or the stack before the first byte; arms have the same.",
    why: "Hosts differ in their default: a naive run compares BBR with CUBIC and calls it TCP against QUIC.",
    cure: "Name the controller per arm, and load its module; `compare: as_deployed` allows different ones.";

    "H2", "one name, one algorithm", each: control::implementation, across: control::one_algorithm,
    what: "Which implementation stands behind the controller's name, and that a single flow of each arm reached 90 % of a clean link's rate.",
    why: "BBR of the kernel and BBR of a QUIC library share a name only; constants and start differ.",
    cure: "Prefer CUBIC or NewReno for comparisons, or read the result as one of implementations.";

    "H3", "no memory of earlier connections", each: host::no_memory,
    what: "Namespaces are fresh, TCP saves no metrics, and each connection began without a slow-start threshold.",
    why: "A cached threshold of 8 packets makes the second transfer slow for what the first met.",
    cure: "Make namespaces per trial, with `tcp_no_metrics_save` and `tcp_no_ssthresh_metrics_save` at 1.";

    "H4", "the window after a pause", each: control::idle_restart, across: control::equal_idle_restart,
    what: "Whether a sender begins anew after a pause; a difference between arms warns.",
    why: "A player pauses between segments: Linux then returns to the first window, quinn keeps its own.",
    cure: "Set `net.ipv4.tcp_slow_start_after_idle` to 0 in the nodes, or make it a factor.";

    "H5", "initial window", each: control::initial_window, across: control::equal_initial_windows,
    what: "The first window of each server is the one asked for, and arms have the same in packets and, within 3 %, in bytes. A kernel that had to repeat a handshake twice begins with one packet; such connections are left out.",
    why: "A larger first window saves a whole round trip for a small object.",
    cure: "Set `initial_window`; for TCP it is an attribute of the route (`initcwnd`).";

    "H6", "receive buffer of UDP", each: windows::udp_buffers,
    what: "Buffers read back hold what was asked for and at least two bandwidth-delay products, and no datagram found one full.",
    why: "The usual default holds 92 datagrams; what comes on top is lost without a trace on the link.",
    cure: "Raise `net.core.rmem_max` on the host.";

    "H7", "send and receive buffers", each: windows::buffers, across: windows::equal_sender_settings,
    what: "Ceilings of the kernel's and the stack's buffers hold a bandwidth-delay product, unsent bytes are limited only where asked, and arms over TCP have the same sender settings.",
    why: "The kernel tunes TCP's buffers up to a ceiling, UDP's are fixed: either may be what limits the rate.",
    cure: "Raise `tcp_rmem` and `tcp_wmem` in the nodes, or the send window of the stack.";

    "H8", "flow-control windows", each: windows::flow_control, across: windows::equal_windows,
    what: "Windows of streams and connections are as asked for, equal in all arms, at least four bandwidth-delay products under `compare: equal`, and never filled to 80 % by one.",
    why: "Stacks ship windows from 64 KB to 10 MB: the smaller one loses for a reason that is a number in a file.",
    cure: "Leave the windows to `compare: equal`, or set them alike in all arms.";

    "H9", "packet size", each: wire::datagram_size, across: wire::equal_packets,
    what: "The final size is the one asked for, it never fell back, and full packets of all arms are within 5 %.",
    why: "Losses and costs are per packet: 1,200 bytes against 1,500 is a quarter more of them.",
    cure: "Fix the datagram at 1,452 bytes.";

    "H10", "offload", each: wire::offload, across: wire::equal_offload,
    what: "Segmentation offload is what was asked for, off, and the same in all arms.",
    why: "Offload makes one arm cheaper for the processor and burstier on the link.",
    cure: "Leave `offload: off`; this mode makes no statement about processor cost.";

    "H11", "certificate chain", each: session::chain, across: session::equal_chains,
    what: "Handshakes carried the chain that was made for the trial, and all arms share its length.",
    why: "A chain above 3 KB costs a QUIC server a round trip, since it may send three times what it got before it knows the client.",
    cure: "Use the trial's credentials for all arms.";

    "H12", "session state", each: session::state, across: session::equal_states,
    what: "Each connection was cold, resumed or had early data as asked for, by the handshake itself; arms have the same shares of each.",
    why: "Tickets that leak from one trial to the next save a round trip in one arm only.",
    cure: "Make clients per trial; set the session state for the study, not for an arm.";

    "H13", "not bound by a processor", each: timing::not_cpu_bound,
    what: "No endpoint's thread is busy for more than 85 % of the time.",
    why: "Then the cryptography or the client sets the pace, not the link.",
    cure: "Lower the rate, or use fewer viewers per thread.";

    "H14", "one driver", across: conduct::one_driver,
    what: "All arms were driven by the same program with the same scheduler of responses, timeouts and `TCP_NODELAY`.",
    why: "Two clients differ in more than the protocol.",
    cure: "Use stacks of the registry; foreign clients make a study of their own.";

    "H15", "within the machine's ceiling", each: timing::within_ceiling,
    what: "Each direction has a rate of at most 100 Mbit/s (400 fails, and so does none), and all links together stay below 12,000 packets per second and 10 links per processor.",
    why: "Client, server and relay share the processors; beyond that packets are late, and it is the machine that is measured.",
    cure: "Lower rates, run fewer links at once, or use a larger machine and measure its ceiling.";

    "H16", "random order", each: conduct::drawn, across: conduct::interleaved,
    what: "The order of the arms in the block was drawn at random, each ran once, after equally many declared warm-ups.",
    why: "The first trial of a block meets cold caches and another load of the machine than the last.",
    cure: "Let the tool draw the order.";

    "H17", "pacing", each: control::pacing_mechanism, across: control::equal_pacing,
    what: "Which arms spread their packets over time and by what; a difference warns.",
    why: "Linux sends CUBIC's window in bursts, quinn paces every controller: short queues drop the bursts.",
    cure: "Pace TCP as well (`SO_MAX_PACING_RATE`), or make pacing a factor.";

    "H18", "requests under way", each: conduct::concurrency, across: conduct::equal_concurrency,
    what: "Servers allow as many streams as clients want to have under way, and arms agree on both.",
    why: "A limit of one arm hides its waiting: requests queue in the client instead of on the wire.",
    cure: "Set `streams` and `depth` alike.";

    "H20", "one clock", each: conduct::one_clock,
    what: "All instants are nanoseconds of the monotonic clock, and order between client and server holds.",
    why: "Times of different clocks cannot be subtracted.",
    cure: "Report this: all roles of a trial run on one machine.";

    "H21", "failures are rows", each: conduct::failures_recorded,
    what: "Each transfer that was asked for has a row; failed ones are counted and warn.",
    why: "A mean over what succeeded rewards the arm that gives up.",
    cure: "Read the success share first; raise the timeout when most failures are out of time.";

    "H22", "kernel settings", each: host::settings, across: host::equal_settings,
    what: "Each node has the kernel settings that were asked for, and nodes of the same name have the same in all arms.",
    why: "A new namespace inherits some values of the host and not others.",
    cure: "Set what matters explicitly; the dump is in the record.";

    "taint-rate", "taints are spread evenly",
    what: "The shares of tainted runs of two arms differ by at most 2 percentage points over all blocks; above that it warns, and fails when chance alone does it in less than 5 % of studies (sign test).",
    why: "When one arm is repeated more often, what is kept of it is a selection.",
    cure: "Use a quieter machine, or compare with the analysis that keeps all trials.";
}

/// The check with this identifier.
#[must_use]
pub fn find(id: &str) -> Option<&'static CheckRow> {
    CHECKS.iter().find(|check| check.id.eq_ignore_ascii_case(id))
}

/// Pitfalls of the catalogue that a trial which has run cannot have, and what rules them out: (identifier, pitfall, where).
pub const ELSEWHERE: [(&str, &str, &str); 10] = [
    ("E3", "one-sided shaping", "`study-link` refuses a link with a direction missing"),
    (
        "E7",
        "a rate changes what jitter means",
        "`study-link` fixes the order loss, queue and rate, delay, jitter; calibrations record the round trip's quantiles",
    ),
    (
        "E8",
        "correlated loss of netem",
        "`study-import` works out the long-run loss and refuses it unless told otherwise",
    ),
    (
        "E9",
        "four-state loss off its theory",
        "`study-link` defines the chain itself, with its mean loss and burst in closed form",
    ),
    ("E10", "an unclear jitter distribution", "`study-link` has no default: `distribution` must be given"),
    ("E11", "jitter larger than the delay", "jitter of `study-link` is added to the base delay and never negative"),
    ("E13", "a link that is changed by hand while running", "steps over time are part of the link's definition"),
    (
        "E18",
        "burst and limit without units",
        "quantities of `study-units` carry units, and `study-import` refuses the others by token",
    ),
    (
        "E19",
        "left-over disciplines and namespaces",
        "namespaces of `study-shaper` have no names and end with the process",
    ),
    (
        "H19",
        "server times taken for user latency",
        "all instants of transfers are taken by the driver of `study-stacks`, at the client",
    ),
];
