//! Who is answered next: runs take turns, calls of one run keep their order.
//!
//! Invariants
//! - At most so many calls wait; one more is refused, not kept.
//! - A run that asks a hundred times waits behind a run that asks once.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Why something cannot wait here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Too many wait already.
    Full,
    /// Nobody will answer any more.
    Closed,
}

/// Waiting jobs, a lane for each run.
#[derive(Debug)]
pub(crate) struct Queue<K, T> {
    state: Mutex<State<K, T>>,
    changed: Condvar,
    most: usize,
}

#[derive(Debug)]
struct State<K, T> {
    lanes: VecDeque<(K, VecDeque<T>)>,
    waiting: usize,
    is_closed: bool,
}

impl<K: PartialEq, T> Queue<K, T> {
    /// A queue for at most so many.
    pub(crate) fn new(most: usize) -> Self {
        let state = State { lanes: VecDeque::new(), waiting: 0, is_closed: false };
        Self { state: Mutex::new(state), changed: Condvar::new(), most }
    }

    /// Joins the lane of its run.
    pub(crate) fn push(&self, run: K, job: T) -> Result<(), Refused> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(Refused::Closed);
        }
        if state.waiting >= self.most {
            return Err(Refused::Full);
        }
        state.waiting += 1;
        match state.lanes.iter_mut().find(|(owner, _)| *owner == run) {
            Some((_, lane)) => lane.push_back(job),
            None => state.lanes.push_back((run, VecDeque::from([job]))),
        }
        self.changed.notify_one();
        Ok(())
    }

    /// Waits for the next job; `None` once the queue is closed.
    pub(crate) fn pop(&self) -> Option<T> {
        let mut state = self.lock();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some((run, mut lane)) = state.lanes.pop_front() {
                let job = lane.pop_front();
                if !lane.is_empty() {
                    state.lanes.push_back((run, lane));
                }
                if job.is_some() {
                    state.waiting = state.waiting.saturating_sub(1);
                    return job;
                }
                continue;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Refuses everything from now on and drops what waits.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.lanes.clear();
        state.waiting = 0;
        self.changed.notify_all();
    }

    /// How many wait.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().waiting
    }

    fn lock(&self) -> MutexGuard<'_, State<K, T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_take_turns_and_keep_their_own_order() {
        let queue = Queue::new(10);
        for (run, job) in [("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1"), ("c", "c1"), ("b", "b2")] {
            queue.push(run, job).unwrap();
        }
        let order: Vec<_> = (0..6).filter_map(|_| queue.pop()).collect();
        assert_eq!(order, ["a1", "b1", "c1", "a2", "b2", "a3"]);
    }

    #[test]
    fn one_too_many_is_refused_and_a_closed_queue_gives_nothing() {
        let queue = Queue::new(2);
        queue.push(1, "x").unwrap();
        queue.push(1, "y").unwrap();
        assert_eq!(queue.push(2, "z"), Err(Refused::Full));
        queue.close();
        assert_eq!(queue.push(2, "z"), Err(Refused::Closed));
        assert_eq!(queue.pop(), None);
        assert_eq!(queue.waiting(), 0);
    }
}
