//! Packets on their way in one direction, in order of arrival.

use std::collections::VecDeque;
use study_units::SimTime;

/// A queue of (arrival, packet). A link that keeps order only ever appends; one that reorders inserts near the end.
#[derive(Debug)]
pub struct Lane<T> {
    queue: VecDeque<(SimTime, T)>,
}

impl<T> Lane<T> {
    pub fn new() -> Self {
        Self { queue: VecDeque::new() }
    }
    /// When the next packet arrives.
    #[inline]
    pub fn next(&self) -> SimTime {
        self.queue.front().map_or(SimTime::NEVER, |(at, _)| *at)
    }
    /// Puts a packet behind all that arrive no later.
    #[inline]
    pub fn push(&mut self, at: SimTime, packet: T) {
        if self.queue.back().is_none_or(|(last, _)| *last <= at) {
            self.queue.push_back((at, packet));
        } else {
            let position = self.queue.partition_point(|(arrival, _)| *arrival <= at);
            self.queue.insert(position, (at, packet));
        }
    }
    #[inline]
    pub fn pop(&mut self) -> Option<(SimTime, T)> {
        self.queue.pop_front()
    }
}
