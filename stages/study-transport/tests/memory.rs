//! What a connection keeps: counted by an allocator that counts.
#![allow(clippy::unwrap_used, missing_docs)]
#![allow(unsafe_code, reason = "an allocator is unsafe by its trait")]

#[allow(dead_code, reason = "a part of what the tests share")]
#[path = "transport/support.rs"]
mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use study_transport::{
    AppEvent, Availability, CongestionControl, Connection, ConnectionConfig, Fate, Path, Protocol, Scheduler,
    SessionState,
};
use study_units::{SimDuration, SimTime};

struct Counting;

thread_local! {
    /// Bytes in use and their highest value so far, of this thread.
    static IN_USE: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn count(bytes: isize) {
    let _ = IN_USE.try_with(|cell| {
        let (now, peak) = cell.get();
        cell.set((now + bytes, peak.max(now + bytes)));
    });
}

// SAFETY: every call is passed on to the system's allocator with its arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as the caller's.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as the caller's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn in_use() -> isize {
    IN_USE.get().0
}
/// Highest use since the last call, above what is in use now at the start.
fn reset_peak() {
    IN_USE.set((in_use(), in_use()));
}

struct Plain(SimTime);

impl Path for Plain {
    fn send_down(&mut self, now: SimTime, _: u32) -> Fate {
        self.0 = self.0.max(now) + SimDuration::from_micros(1);
        Fate::Arrives(self.0 + SimDuration::from_millis(1))
    }
    fn send_up(&mut self, now: SimTime, _: u32) -> Fate {
        Fate::Arrives(now + SimDuration::from_millis(1))
    }
}

fn config(protocol: Protocol) -> ConnectionConfig {
    let mut p = support::params();
    p.fixed_window = 4_000;
    ConnectionConfig::new(protocol, CongestionControl::Fixed, Scheduler::Sequential, SessionState::Cold, &p)
}

fn fetch(connection: &mut Connection<Plain>, bytes: u64) {
    connection.request();
    while let Some(event) = connection.advance(SimTime::from_nanos(3_600_000_000_000)) {
        match event {
            AppEvent::RequestArrived(stream) => connection.respond(stream, bytes, Availability::Full),
            AppEvent::Completed(_) => return,
        }
    }
    panic!("not complete in an hour");
}

#[test]
fn a_live_idle_connection_is_below_16_kib() {
    for protocol in [Protocol::H2, Protocol::H3] {
        let mut cubic = config(protocol);
        cubic.congestion_control = CongestionControl::Cubic;
        let before = in_use();
        let mut connections: Vec<_> =
            (0..100).map(|_| Connection::open(cubic.clone(), Plain(SimTime::ZERO), SimTime::ZERO)).collect();
        // Thirty small responses each: a session's worth of requests without a window's worth of packets.
        for connection in &mut connections {
            (0..30).for_each(|_| fetch(connection, 5_000));
        }
        let each = (in_use() - before) / 100;
        println!(
            "{protocol:?}: {each} bytes for each idle connection, {} of them its own",
            size_of::<Connection<Plain>>()
        );
        assert!(each < 16 * 1_024, "{protocol:?}: {each} bytes");
    }
}

#[test]
fn ten_gigabytes_need_the_memory_of_their_window() {
    let peak = |bytes: u64| {
        let mut connection = Connection::open(config(Protocol::H3), Plain(SimTime::ZERO), SimTime::ZERO);
        reset_peak();
        let before = in_use();
        fetch(&mut connection, bytes);
        assert!(connection.stats().packets_sent > bytes / 1_500);
        IN_USE.get().1 - before
    };
    let (small, large) = (peak(100_000_000), peak(10_000_000_000));
    println!("100 MB: {small} bytes, 10 GB: {large} bytes");
    assert!(large <= small + 4_096, "{small} and {large}");
}
