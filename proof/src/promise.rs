//! What must hold whatever happens, and what must be reached for that to mean
//! anything.

use bowline_core::budget::Limit;
use bowline_core::event::{Ending, Exhausted, HaltReason};
use bowline_core::run::{CallState, Thread, Wait};
use stateright::Property;

use crate::world::{Model, World};

/// A promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Promise {
    /// The effect of a call that must not be repeated happens at most once, and once
    /// more for each time a person said that it had not happened.
    AtMostOnce,
    /// All requests of an action carry its one key, and no other action's.
    OneKey,
    /// A request is made only under an intent that is durable and has no outcome.
    IntentFirst,
    /// What the journal says happened did, or a person said so.
    TrueOutcome,
    /// Every call is answered once.
    OneAnswer,
    /// What is committed passed every check of the task, these bytes, last.
    CheckedCommit,
    /// What a person has to agree to is committed only with their yes to these bytes.
    AgreedCommit,
    /// A call that needs consent starts only with a yes to its tool and arguments.
    Consent,
    /// Nothing starts, is requested or recorded after an ending.
    Final,
    /// Nothing is used beyond its limit, and no counter falls.
    Bounded,
    /// The live state is the fold of the journal.
    SameState,
    /// Everything that happens brings the run nearer to its end.
    Progress,
    /// With nothing due, a person is awaited; no wake-up lies in the past.
    Quiet,
    /// A failed run undid its writes, last first, each once; so does an undo for a person.
    Undone,
    /// What undoes a call takes effect at most once, whatever happens.
    UndoneOnce,
    /// Nothing is undone that was not begun, or is known not to have happened.
    OnlyDone,
    /// People are alerted exactly where an undo did not work.
    Alerted,
}

/// A place a scenario must get to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Landmark {
    /// A committed run.
    Committed,
    /// A failed one.
    Failed,
    /// A halted one.
    Halted,
    /// A call that waits for a person to say whether it happened.
    Doubted,
    /// A later attempt at a call.
    Repeated,
    /// A request that arrived after its worker was gone.
    Late,
    /// A write that was put back.
    PutBack,
    /// A committed run that was repaired.
    Repaired,
    /// A pause.
    Paused,
    /// A halted run that was opened again and committed.
    Reopened,
    /// Money that ran out.
    Broke,
    /// Time that ran out.
    TimeUp,
    /// Two calls out at once.
    Together,
    /// A committed run that fell back on another way.
    FellBack,
    /// A condition that was looked at.
    Chosen,
    /// An alert.
    Alarmed,
    /// A committed run that a person had undone.
    TakenBack,
    /// A later attempt at undoing a call.
    AmendedAgain,
}

macro_rules! named {
    ($kind:ident, $make:ident, $test:expr, [$($name:ident),+ $(,)?]) => {
        impl $kind {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// Its name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),+ }
            }

            /// As the checker knows it.
            pub(crate) fn property(self) -> Property<Model> {
                match self {
                    $(Self::$name => Property::$make(stringify!($name), |_, world| $test(Self::$name, world))),+
                }
            }
        }
    };
}

named!(
    Promise,
    always,
    holds,
    [
        AtMostOnce,
        OneKey,
        IntentFirst,
        TrueOutcome,
        OneAnswer,
        CheckedCommit,
        AgreedCommit,
        Consent,
        Final,
        Bounded,
        SameState,
        Progress,
        Quiet,
        Undone,
        UndoneOnce,
        OnlyDone,
        Alerted,
    ]
);
named!(
    Landmark,
    sometimes,
    is_reached,
    [
        Committed,
        Failed,
        Halted,
        Doubted,
        Repeated,
        Late,
        PutBack,
        Repaired,
        Paused,
        Reopened,
        Broke,
        TimeUp,
        Together,
        FellBack,
        Chosen,
        Alarmed,
        TakenBack,
        AmendedAgain,
    ]
);

fn holds(promise: Promise, world: &World) -> bool {
    !world.broken.contains(&promise)
}

fn is_reached(landmark: Landmark, world: &World) -> bool {
    let ending = world.run.ending();
    let is_committed = matches!(ending, Some(Ending::Committed { .. }));
    match landmark {
        Landmark::Committed => is_committed,
        Landmark::Failed => matches!(ending, Some(Ending::Failed { .. })),
        Landmark::Halted => matches!(ending, Some(Ending::Halted { .. })),
        Landmark::Doubted => world.run.waits().iter().any(|wait| matches!(wait, Wait::InDoubt { .. })),
        Landmark::Repeated => out(world).any(|attempt| attempt > 1),
        Landmark::Late => world.outside.landed > 0,
        Landmark::PutBack => !world.outside.back.is_empty(),
        Landmark::Repaired => is_committed && world.run.spend.repairs > 0,
        Landmark::Paused => world.run.paused,
        Landmark::Reopened => is_committed && world.used.reopenings > 0,
        Landmark::Broke => ran_out(ending) == Some(&Limit::Money),
        Landmark::TimeUp => ran_out(ending) == Some(&Limit::ActiveTime),
        Landmark::Together => out(world).count() > 1,
        Landmark::FellBack => is_committed && !world.run.lessons.is_empty(),
        Landmark::Chosen => world.run.weighed > 0,
        Landmark::Alarmed => world.outside.alerted,
        Landmark::TakenBack => is_committed && !world.outside.back.is_empty() && !world.run.is_being_undone(),
        Landmark::AmendedAgain => world.outside.amending.is_some_and(|(_, attempt, _)| attempt > 1),
    }
}

/// The attempts of calls that are out.
fn out(world: &World) -> impl Iterator<Item = u32> {
    let calls = world.run.threads.values().flat_map(Thread::calls);
    calls.filter_map(|(_, call)| match call.state {
        CallState::Running { attempt, .. } => Some(attempt),
        CallState::Waiting
        | CallState::AwaitingConsent
        | CallState::InDoubt { .. }
        | CallState::Again { .. }
        | CallState::BackingOff { .. }
        | CallState::Answered { .. } => None,
    })
}

fn ran_out(ending: Option<&Ending>) -> Option<&Limit> {
    match ending {
        Some(Ending::Halted { why: HaltReason::LimitReached(Exhausted { limit, .. }), .. }) => Some(limit),
        Some(Ending::Halted { .. } | Ending::Committed { .. } | Ending::Failed { .. }) | None => None,
    }
}
