//! Scenarios: what the machine is given, and how much of everything there is.
//!
//! One state space with everything in it is out of reach; each scenario has the
//! parts whose meeting it is about, and all of its space is explored.

use bowline_core::task::Review;

use crate::menu::{Amend, Fate, Say, Test};
use crate::promise::Landmark;

/// How far to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bounds {
    /// Within seconds, for every change.
    Small,
    /// Minutes.
    Full,
}

impl Bounds {
    /// The bounds of this name.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "small" => Some(Self::Small),
            "full" => Some(Self::Full),
            _ => None,
        }
    }
}

/// One bounded world.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// What people call it.
    pub name: &'static str,
    /// Sub-tasks, all at once.
    pub subtasks: &'static [&'static str],
    /// Instead of these: two ways to one end, and a condition.
    pub ways: bool,
    /// Model calls.
    pub steps: u32,
    /// Tool calls.
    pub calls: u32,
    /// Rounds of repair.
    pub repairs: u32,
    /// Money, in micro-dollars; asking a model sets about 275 aside, and takes 15.
    pub micros: u64,
    /// What each `put`, `pay` and `write` costs.
    pub cost: u64,
    /// Working time; waiting for a back-off counts.
    pub active_ms: Option<u64>,
    /// What a model does.
    pub says: &'static [Say],
    /// What becomes of a tool call.
    pub fates: &'static [Fate],
    /// What a check finds; none: there is no check.
    pub tests: &'static [Test],
    /// Who agrees to the output.
    pub review: Review,
    /// Deaths and stops of a worker.
    pub crashes: u8,
    /// Requests on their way at a crash may arrive after it.
    pub late: bool,
    /// Times a person cancels, pauses or answers wrongly without being asked.
    pub meddles: u8,
    /// Times a person says that a call did not happen.
    pub did_nots: u8,
    /// Times a halted run is opened again.
    pub reopenings: u8,
    /// What becomes of the undo of a call.
    pub amends: &'static [Amend],
    /// Times a person has a run undone that has ended.
    pub undos: u8,
    /// What must be reached, or the scenario is not about what it says.
    pub landmarks: &'static [Landmark],
}

const LOOK: Say = Say::Call(&["look"]);
const PUT: Say = Say::Call(&["put"]);
const PAY: Say = Say::Call(&["pay"]);
const SEND: Say = Say::Call(&["send"]);
const WIPE: Say = Say::Call(&["wipe"]);
const WRITE: Say = Say::Call(&["write"]);
const BOOK: Say = Say::Call(&["book"]);

/// What the others are made from.
const PLAIN: Scenario = Scenario {
    name: "",
    subtasks: &[],
    ways: false,
    steps: 2,
    calls: 2,
    repairs: 1,
    micros: 1_000_000,
    cost: 1,
    active_ms: None,
    says: &[],
    fates: Fate::ALL,
    tests: &[],
    review: Review::Never,
    crashes: 1,
    late: true,
    meddles: 0,
    did_nots: 1,
    reopenings: 0,
    amends: &[Amend::Done, Amend::Failed],
    undos: 0,
    landmarks: &[],
};

/// A row for each bound.
pub const SCENARIOS: &[(Bounds, Scenario)] = &[
    (Bounds::Small, EFFECTS),
    (Bounds::Small, Scenario { crashes: 1, ..PROBES }),
    (Bounds::Small, Scenario { steps: 2, ..CONSENT }),
    (Bounds::Small, Scenario { steps: 4, fates: &[Fate::Done, Fate::LostAfter], ..REPAIRS }),
    (Bounds::Small, Scenario { steps: 2, says: &[Say::Answer, PAY], ..PARALLEL }),
    (Bounds::Small, Scenario { steps: 2, meddles: 1, ..PEOPLE }),
    (Bounds::Small, MONEY),
    (Bounds::Small, TIME),
    (Bounds::Small, Scenario { steps: 4, calls: 1, fates: &[Fate::Done, Fate::LostAfter], ..WAYS }),
    (Bounds::Small, Scenario { fates: &[Fate::Done, Fate::Trouble], says: &[Say::Answer, BOOK], ..SAGA }),
    (Bounds::Full, Scenario { crashes: 2, did_nots: 2, ..EFFECTS }),
    (Bounds::Full, PROBES),
    (Bounds::Full, CONSENT),
    (Bounds::Full, REPAIRS),
    (Bounds::Full, PARALLEL),
    (Bounds::Full, PEOPLE),
    (Bounds::Full, Scenario { steps: 4, calls: 3, crashes: 2, ..MONEY }),
    (Bounds::Full, Scenario { steps: 4, crashes: 2, ..TIME }),
    (Bounds::Full, WAYS),
    (Bounds::Full, Scenario { crashes: 2, ..SAGA }),
];

/// Every outcome of every kind of tool, with deaths in between.
pub(crate) const EFFECTS: Scenario = Scenario {
    name: "effects",
    landmarks: &[
        Landmark::Committed,
        Landmark::Failed,
        Landmark::Halted,
        Landmark::Doubted,
        Landmark::Repeated,
        Landmark::Late,
    ],
    says: &[
        Say::Answer,
        LOOK,
        PUT,
        PAY,
        Say::Call(&["put", "pay"]),
        Say::Cut,
        Say::Refuse,
        Say::Away,
        Say::Gone,
    ],
    tests: &[Test::Pass, Test::Fail, Test::Broken],
    repairs: 0,
    ..PLAIN
};

/// A call nobody may repeat whose tool can be asked whether it happened.
const PROBES: Scenario = Scenario {
    name: "probes",
    landmarks: &[Landmark::Committed, Landmark::Doubted, Landmark::Repeated, Landmark::Late],
    calls: 1,
    says: &[Say::Answer, SEND],
    crashes: 2,
    did_nots: 2,
    ..PLAIN
};

/// Calls that need a yes, and the output too; a late yes, and one to other bytes.
pub(crate) const CONSENT: Scenario = Scenario {
    name: "consent",
    landmarks: &[Landmark::Committed, Landmark::Failed, Landmark::Halted, Landmark::Doubted],
    steps: 3,
    says: &[Say::Answer, WIPE, Say::Call(&["wipe", "look"])],
    fates: &[Fate::Done, Fate::Failed, Fate::LostAfter],
    review: Review::WhenUnchecked,
    meddles: 1,
    ..PLAIN
};

/// Checks that fail, critics, repairs, and undoing what was written.
pub(crate) const REPAIRS: Scenario = Scenario {
    name: "repairs",
    landmarks: &[
        Landmark::Committed,
        Landmark::Failed,
        Landmark::Repaired,
        Landmark::PutBack,
        Landmark::Repeated,
    ],
    steps: 5,
    says: &[Say::Answer, WRITE, Say::Refuse],
    fates: &[Fate::Done, Fate::Trouble, Fate::LostAfter],
    tests: &[Test::Pass, Test::Fail, Test::Broken],
    review: Review::Always,
    ..PLAIN
};

/// Two sub-tasks at once.
const PARALLEL: Scenario = Scenario {
    name: "parallel",
    landmarks: &[Landmark::Committed, Landmark::Doubted, Landmark::Together],
    subtasks: &["a", "b"],
    steps: 4,
    says: &[Say::Answer, LOOK, PUT, PAY],
    fates: &[Fate::Done, Fate::LostAfter],
    ..PLAIN
};

/// People who cancel, pause, resume and reopen whenever they like.
const PEOPLE: Scenario = Scenario {
    name: "people",
    landmarks: &[Landmark::Committed, Landmark::Halted, Landmark::Paused, Landmark::Reopened],
    steps: 3,
    says: &[Say::Answer, PUT, PAY],
    fates: &[Fate::Done, Fate::LostAfter],
    tests: &[Test::Pass, Test::Fail],
    repairs: 0,
    meddles: 2,
    reopenings: 1,
    ..PLAIN
};

/// Money that is enough for one thing only.
const MONEY: Scenario = Scenario {
    name: "money",
    landmarks: &[Landmark::Committed, Landmark::Broke],
    subtasks: &["a", "b"],
    steps: 3,
    micros: 620,
    cost: 350,
    says: &[Say::Answer, PUT, WRITE],
    fates: &[Fate::Done, Fate::Trouble],
    ..PLAIN
};

/// Working time that runs out during a back-off.
const TIME: Scenario = Scenario {
    name: "time",
    landmarks: &[Landmark::Committed, Landmark::TimeUp, Landmark::Repeated],
    steps: 3,
    active_ms: Some(900),
    says: &[Say::Answer, PUT, Say::Away],
    fates: &[Fate::Done, Fate::Trouble],
    ..PLAIN
};

/// A way that fails while its other half has something out, the next way, a condition.
const WAYS: Scenario = Scenario {
    name: "ways",
    landmarks: &[Landmark::Committed, Landmark::FellBack, Landmark::Chosen, Landmark::Doubted],
    subtasks: &["a", "b", "c", "d"],
    ways: true,
    steps: 5,
    says: &[Say::Answer, Say::GiveUp, PAY],
    fates: &[Fate::Done, Fate::LostAfter],
    ..PLAIN
};

/// Calls that can be undone: before a failed ending, and for a person after any, with
/// deaths in between, undos that do not work, and people who are told.
const SAGA: Scenario = Scenario {
    name: "saga",
    landmarks: &[
        Landmark::Committed,
        Landmark::Failed,
        Landmark::PutBack,
        Landmark::Alarmed,
        Landmark::TakenBack,
        Landmark::AmendedAgain,
    ],
    says: &[Say::Answer, BOOK, Say::Call(&["book", "write"])],
    fates: &[Fate::Done, Fate::Failed, Fate::Trouble, Fate::LostAfter],
    tests: &[Test::Pass, Test::Fail],
    repairs: 0,
    steps: 3,
    amends: Amend::ALL,
    undos: 1,
    ..PLAIN
};
