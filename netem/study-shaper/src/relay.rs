//! The relay: takes each packet from one side of a link, asks the link model, hands it to the other side when it is due.
//!
//! Purpose: the only thing that real packets add to [`study_link`] is this: a clock that is read when a packet comes, and a
//! thread that wakes when one is due. Rate and queue live in the model's virtual time, so a late wake-up makes packets
//! late (which is recorded) and changes neither.
//!
//! One thread serves one link or several. It sleeps in `ppoll` until a packet comes or the next one is due, with a timer
//! slack of 1 ns, and never spins.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | a packet comes when it comes | when the relay reads it | the wait for the relay's thread adds to the delay; it shows as run-queue wait and in the calibration |
//! | the model's `now` is exact | two packets read in one wake-up are some microseconds apart, in the order in which they came | none on rate and queue |
//!
//! Random streams: `up` and `down` under the link's seed path, as in the simulator.

mod way;

use crate::clock;
use crate::error::{At, Step, StepError};
use crate::port::Port;
use crate::schedstat::ThreadWatch;
use crate::topology::LinkSpec;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use study_link::Way;
pub(crate) use way::WayState;

/// Packets that one side may hand over before the other is looked at.
const TURN: usize = 16;
/// Turns that a link may have before the thread looks at others and lets go of the lock.
const TURNS: usize = 8;
/// Largest packet that a port can hand over: an IP packet of any length and what may stand before it.
const LARGEST: usize = 65_535 + crate::sys::OFFLOAD_HEADER + crate::sys::ETHERNET_HEADER;

/// What happens to the packets that come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// They vanish, uncounted.
    Closed,
    /// They are handed over at once, uncounted, without the model.
    PassThrough,
    /// The model decides.
    Shaped,
}

/// A link as its relay thread and its owner share it.
#[derive(Debug)]
pub(crate) struct Relayed {
    /// The port of the near node.
    pub(crate) near: Port,
    /// The port of the far node.
    pub(crate) far: Port,
    pub(crate) spec: LinkSpec,
    pub(crate) mtu: u32,
    state: Mutex<State>,
}

#[derive(Debug)]
pub(crate) struct State {
    mode: Mode,
    /// When index 0 could come, ns of the monotonic clock: the model's time 0.
    pub(crate) epoch: u64,
    pub(crate) down: WayState,
    pub(crate) up: WayState,
    pub(crate) socket_drops: u64,
    pub(crate) broken: bool,
}

impl Relayed {
    pub(crate) fn new(spec: LinkSpec, near: Port, far: Port, mtu: u32) -> Self {
        let state = State {
            mode: Mode::Closed,
            epoch: clock::now(),
            down: WayState::new(&spec, Way::Down, mtu),
            up: WayState::new(&spec, Way::Up, mtu),
            socket_drops: 0,
            broken: false,
        };
        Self { near, far, spec, mtu, state: Mutex::new(state) }
    }
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Forgets everything on the way and begins anew with index 0 at time 0.
    pub(crate) fn reset(&self, mode: Mode) {
        let mut scratch = vec![0; LARGEST];
        let mut state = self.lock();
        for port in [&self.near, &self.far] {
            while let Ok(Some(_)) = port.receive(&mut scratch) {}
            port.drops();
        }
        let broken = state.broken;
        *state = State {
            mode,
            epoch: clock::now(),
            down: WayState::new(&self.spec, Way::Down, self.mtu),
            up: WayState::new(&self.spec, Way::Up, self.mtu),
            socket_drops: 0,
            broken,
        };
    }
    /// Reads a side's packets, at most a turn of them. Returns whether there may be more.
    fn take(&self, state: &mut State, way: Way, scratch: &mut [u8]) -> bool {
        let (from, to) = match way {
            Way::Up => (&self.near, &self.far),
            Way::Down => (&self.far, &self.near),
        };
        for _ in 0..TURN {
            match from.receive(scratch) {
                Ok(Some(length)) => {
                    let now = clock::now();
                    match state.mode {
                        Mode::Closed => {}
                        Mode::PassThrough => to.send(&scratch[..length]).unwrap_or_default(),
                        Mode::Shaped => {
                            let now = now - state.epoch;
                            state.way(way).accept(now, &scratch[..length], from.header());
                            self.hand_over(state, now);
                        }
                    }
                }
                Ok(None) => return false,
                Err(_) => {
                    state.broken = true;
                    return false;
                }
            }
        }
        true
    }
    /// Hands over what is due at `now` (model time).
    fn hand_over(&self, state: &mut State, now: u64) {
        state.up.release(now, state.epoch, &self.far);
        state.down.release(now, state.epoch, &self.near);
    }
    /// Serves both sides for some turns; returns when the next packet is due (ns, monotonic clock).
    fn serve(&self, readable: [bool; 2], scratch: &mut [u8]) -> u64 {
        let mut state = self.lock();
        let [mut near, mut far] = readable;
        for _ in 0..TURNS {
            if !near && !far {
                break;
            }
            near = near && self.take(&mut state, Way::Up, scratch);
            far = far && self.take(&mut state, Way::Down, scratch);
        }
        let now = clock::now() - state.epoch;
        self.hand_over(&mut state, now);
        let next = state.up.next_event().min(state.down.next_event());
        next.saturating_add(state.epoch)
    }
}

impl State {
    fn way(&mut self, way: Way) -> &mut WayState {
        match way {
            Way::Down => &mut self.down,
            Way::Up => &mut self.up,
        }
    }
}

/// A running relay thread; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Relay {
    shared: Arc<Control>,
    thread: Option<JoinHandle<()>>,
    number: i32,
}

#[derive(Debug)]
struct Control {
    stop: AtomicBool,
    wake: EventFd,
}

impl Relay {
    /// Starts a thread that serves these links.
    pub(crate) fn spawn(links: Vec<Arc<Relayed>>) -> Result<Self, StepError> {
        let wake =
            EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC).at(Step::RelayThread, "eventfd")?;
        let shared = Arc::new(Control { stop: AtomicBool::new(false), wake });
        let control = Arc::clone(&shared);
        let name = format!("relay {}", links.first().map_or("", |link| link.spec.name.as_str()));
        let (tell, number) = mpsc::channel();
        let body = move || {
            // Its starter waits for the number; nobody else listens.
            tell.send(nix::unistd::gettid().as_raw()).ok();
            run(&links, &control);
        };
        let thread = std::thread::Builder::new().name(name).spawn(body).at(Step::RelayThread, "spawn")?;
        let number = number.recv().map_err(|_| StepError::new(Step::RelayThread, 0, "no answer"))?;
        Ok(Self { shared, thread: Some(thread), number })
    }
    /// Begins to watch the thread.
    pub(crate) fn watch(&self) -> ThreadWatch {
        ThreadWatch::of(self.number)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        // A full counter wakes as well.
        self.shared.wake.write(1).ok();
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn run(links: &[Arc<Relayed>], control: &Control) {
    // Without it the kernel may wake the thread 50 us late; with it refused, lateness shows.
    nix::sys::prctl::set_timerslack(1).ok();
    let mut scratch = vec![0; LARGEST];
    while !control.stop.load(Ordering::Acquire) {
        let alive: Vec<&Relayed> = links.iter().map(Arc::as_ref).filter(|link| !link.lock().broken).collect();
        let mut waited = vec![PollFd::new(control.wake.as_fd(), PollFlags::POLLIN)];
        for link in &alive {
            waited.extend([&link.near, &link.far].map(|port| PollFd::new(port.as_fd(), PollFlags::POLLIN)));
        }
        rounds(&alive, &mut waited, control, &mut scratch);
    }
}

/// Serves until the thread shall end or a link breaks.
fn rounds(links: &[&Relayed], waited: &mut [PollFd<'_>], control: &Control, scratch: &mut [u8]) {
    while !control.stop.load(Ordering::Acquire) {
        let mut next = u64::MAX;
        for (link, pair) in links.iter().zip(waited[1..].chunks(2)) {
            let readable = [0, 1].map(|end| pair[end].any().unwrap_or(false));
            next = next.min(link.serve(readable, scratch));
            if readable != [false; 2] && link.lock().broken {
                return;
            }
        }
        let timeout = (next != u64::MAX).then(|| clock::timespec(next.saturating_sub(clock::now())));
        if ppoll(waited, timeout, None).is_err() {
            // Interrupted: nothing is known to be readable; the next round asks again.
            continue;
        }
        if waited[0].any().unwrap_or(false) {
            control.wake.read().ok();
        }
    }
}
