//! Threads in step: every one does its share, shows it, and sees the others' shares.
//!
//! A team lives for one pass through the network. All its members run the same code on
//! their own share of rows and meet at [`Seat::exchange`], some six times a layer. That
//! a meeting costs less than a microsecond is what makes two cores worth having for
//! vectors this small; that nothing outlives the pass is what makes it safe code.
//!
//! Invariants
//! - What is shown at one meeting is not overwritten before everyone has seen it: there
//!   are two sets of slots, used in turn.
//! - A member that panics breaks the team; nobody waits for it for ever.

use std::ops::Range;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Turns of waiting before the processor is given to somebody else.
const SPINS_MAX: u32 = 4_000;

/// A member is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a thread of the model stopped")]
pub(crate) struct Broken;

/// The meeting place of a pass.
pub(crate) struct Team {
    members: usize,
    arrived: AtomicUsize,
    turn: AtomicUsize,
    is_broken: AtomicBool,
    slots: [Vec<RwLock<Vec<f32>>>; 2],
}

/// One member's place in a team.
pub(crate) struct Seat<'a> {
    team: &'a Team,
    index: usize,
    meeting: usize,
}

/// Runs `work` on so many threads, this one included, and gives what this one's came to.
pub(crate) fn together<T>(
    members: usize,
    work: impl Fn(Seat<'_>) -> Result<T, Broken> + Sync,
) -> Result<T, Broken>
where
    T: Send,
{
    let slots = || (0..members).map(|_| RwLock::default()).collect();
    let team = Team {
        members,
        arrived: AtomicUsize::new(0),
        turn: AtomicUsize::new(0),
        is_broken: AtomicBool::new(false),
        slots: [slots(), slots()],
    };
    let sit = |index| {
        let guard = Guard(&team.is_broken);
        let result = work(Seat { team: &team, index, meeting: 0 });
        if result.is_ok() {
            std::mem::forget(guard);
        }
        result
    };
    thread::scope(|scope| {
        for index in 1..members {
            let started = thread::Builder::new().name("bowline-local".into()).spawn_scoped(scope, {
                let sit = &sit;
                move || sit(index).is_ok()
            });
            if started.is_err() {
                team.is_broken.store(true, Ordering::Release);
            }
        }
        sit(0)
    })
}

/// Breaks the team when its member leaves by error or panic.
struct Guard<'a>(&'a AtomicBool);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Seat<'_> {
    /// This member's share of so many rows, in steps of `step`.
    pub(crate) fn share(&self, rows: usize, step: usize) -> Range<usize> {
        share_of(self.index, self.team.members, rows, step)
    }

    /// Another member's share.
    pub(crate) fn share_of(&self, member: usize, rows: usize, step: usize) -> Range<usize> {
        share_of(member, self.team.members, rows, step)
    }

    /// Which member this is.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// How many there are.
    pub(crate) fn members(&self) -> usize {
        self.team.members
    }

    /// Shows `mine`, waits for everybody, and sees everyone's, in order of the members.
    pub(crate) fn exchange(
        &mut self,
        mine: &mut Vec<f32>,
        mut see: impl FnMut(usize, &[f32]),
    ) -> Result<(), Broken> {
        let team = self.team;
        let slots = team.slots.get(self.meeting % 2).ok_or(Broken)?;
        self.meeting += 1;
        let slot = slots.get(self.index).ok_or(Broken)?;
        std::mem::swap(&mut *slot.write().map_err(|_| Broken)?, mine);
        team.wait()?;
        for (member, slot) in slots.iter().enumerate() {
            see(member, &slot.read().map_err(|_| Broken)?);
        }
        Ok(())
    }

    /// Waits for everybody.
    pub(crate) fn meet(&mut self) -> Result<(), Broken> {
        self.team.wait()
    }
}

impl Team {
    fn wait(&self) -> Result<(), Broken> {
        let turn = self.turn.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.members {
            self.arrived.store(0, Ordering::Relaxed);
            self.turn.store(turn + 1, Ordering::Release);
            return Ok(());
        }
        let mut spins = 0;
        while self.turn.load(Ordering::Acquire) == turn {
            if self.is_broken.load(Ordering::Acquire) {
                return Err(Broken);
            }
            if spins < SPINS_MAX {
                spins += 1;
                std::hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
        Ok(())
    }
}

fn share_of(member: usize, members: usize, rows: usize, step: usize) -> Range<usize> {
    let steps = rows.div_ceil(step);
    let edge = |member: usize| (steps * member / members * step).min(rows);
    edge(member)..edge(member + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_sees_every_share_at_every_meeting() {
        let seen = together(3, |mut seat| {
            let mut seen = Vec::new();
            for round in 0..200_u16 {
                let mut mine = vec![f32::from(round) * 10.0 + seat.index() as f32];
                let mut all = Vec::new();
                seat.exchange(&mut mine, |_, share| all.extend_from_slice(share))?;
                seen.push(all);
            }
            Ok(seen)
        });
        for (round, all) in seen.unwrap().into_iter().enumerate() {
            let base = round as f32 * 10.0;
            assert_eq!(all, [base, base + 1.0, base + 2.0]);
        }
    }

    #[test]
    fn a_member_that_gives_up_leaves_nobody_waiting() {
        let result = together(2, |mut seat| {
            if seat.index() == 1 {
                return Err(Broken);
            }
            seat.meet()
        });
        assert_eq!(result, Err(Broken));
    }

    #[test]
    fn shares_cover_all_rows_once() {
        for members in 1..5 {
            for rows in [0, 1, 7, 64, 577] {
                let all: Vec<usize> = (0..members).flat_map(|m| share_of(m, members, rows, 4)).collect();
                assert_eq!(all, (0..rows).collect::<Vec<_>>());
            }
        }
    }
}
