//! Whose turn it is: responses with data, by rank.
//!
//! A rank is urgency, then "not incremental" before "incremental". Within a rank responses that are not incremental go
//! one after the other in the order of the requests, incremental ones a frame each in turn. `round_robin` and `sequential`
//! are the same thing with a single rank.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | RFC 9218 section 10 leaves the order of incremental and other responses of equal urgency open | the others go first | incremental ones wait |

use crate::config::{Priority, Scheduler};
use std::collections::VecDeque;

/// Responses that have data, in scheduling order.
#[derive(Debug)]
pub struct Schedule {
    scheduler: Scheduler,
    /// By rank; grown to the highest rank in use.
    ranks: Vec<VecDeque<u32>>,
    /// Bit r: rank r has a response.
    occupied: u32,
}

/// Rank of incremental responses under `round_robin` (odd ranks are incremental).
const ROUND_ROBIN: usize = 1;

impl Schedule {
    pub const fn new(scheduler: Scheduler) -> Self {
        Self { scheduler, ranks: Vec::new(), occupied: 0 }
    }

    fn rank(&self, priority: Priority) -> usize {
        match self.scheduler {
            Scheduler::RoundRobin => ROUND_ROBIN,
            Scheduler::Sequential => 0,
            Scheduler::Urgency => usize::from(priority.urgency.min(7)) * 2 + usize::from(priority.incremental),
        }
    }

    /// A response has data.
    pub fn insert(&mut self, stream: u32, priority: Priority) {
        let rank = self.rank(priority);
        if self.ranks.len() <= rank {
            self.ranks.resize_with(rank + 1, VecDeque::new);
        }
        let queue = &mut self.ranks[rank];
        if rank % 2 == 1 || queue.back().is_none_or(|last| *last < stream) {
            queue.push_back(stream);
        } else {
            let position = queue.partition_point(|other| *other < stream);
            queue.insert(position, stream);
        }
        self.occupied |= 1 << rank;
    }

    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.occupied == 0
    }

    #[inline]
    const fn first_rank(&self) -> usize {
        self.occupied.trailing_zeros() as usize
    }

    /// The response whose turn it is.
    #[inline]
    pub fn front(&self) -> Option<u32> {
        if self.occupied == 0 { None } else { self.ranks[self.first_rank()].front().copied() }
    }

    /// Whether the response in front shares its rank by turns.
    #[inline]
    pub const fn takes_turns(&self) -> bool {
        self.first_rank() % 2 == 1
    }

    /// The response in front has no more data.
    pub fn pop(&mut self) {
        if self.occupied != 0 {
            let rank = self.first_rank();
            self.ranks[rank].pop_front();
            if self.ranks[rank].is_empty() {
                self.occupied &= !(1 << rank);
            }
        }
    }

    /// The turn of the response in front is over.
    #[inline]
    pub fn rotate(&mut self) {
        let rank = self.first_rank();
        self.ranks[rank].rotate_left(1);
    }
}
