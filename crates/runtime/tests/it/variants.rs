//! The names of every variant that an old journal may hold, from the types themselves: a variant
//! that is added does not compile here until it is named, and is then missing in the fixtures.

use bowline::core::agent::{Gate, Privacy};
use bowline::core::budget::Limit;
use bowline::core::control::{Decision, Strategy};
use bowline::core::event::{
    Ask, CallTrouble, Confinement, ContextBound, Doubt, Ending, Escalation, Event, FailReason, Finding,
    FromBackup, HaltReason, LandOutcome, MessagePart, Outcome, Promoted, PromotionOutcome, Purpose, Refusal,
    Remedy, RestoreOutcome, Routed, Seen, SentFor, Settlement, StepTrouble, StopReason, Subject,
    SubtaskFailure, UndoOutcome, Verdict, WayOn,
};
use bowline::core::message::{Payload, Stop};
use bowline::core::policy::Concern;
use bowline::core::quality::{CheckHow, CheckOutcome, DiagnosedBy, Severity};
use bowline::core::task::{OnFailure, Planner, Recourse, Repair, Review, Sandbox, WorkspaceMode};
use bowline::core::tool::{Class, Consent, Departure, Repeat, Touch};
use bowline::core::undo::How;
use bowline::core::verify::Opinion;

/// Something with variants that have names.
pub(crate) trait Named {
    /// What it is called, with what it is a variant of.
    fn name(&self) -> (&'static str, &'static str);
}

macro_rules! named {
    ($($type:ident { $($variant:pat => $name:literal,)+ })+) => {
        /// Every name there is.
        pub(crate) const ALL: &[(&str, &[&str])] = &[$((stringify!($type), &[$($name),+]),)+];

        $(impl Named for $type {
            fn name(&self) -> (&'static str, &'static str) {
                (stringify!($type), match self { $($variant => $name,)+ })
            }
        })+
    };
}

/// What no build of any version so far can put into a journal, and why.
pub(crate) const NEVER: &[(&str, &str, &str)] = &[
    ("Limit", "repairs", "a run whose rounds are used up fails, which says so in other words"),
    ("Limit", "context", "a conversation that does not fit is told as that"),
    ("Limit", "tree_steps", "no run has agents below it"),
    ("Limit", "depth", "no run has agents below it"),
    ("Limit", "agents_alive", "no run has agents below it"),
    ("Limit", "agents", "no run has agents below it"),
];

named! {
    Event {
        Event::Submitted(_) => "submitted",
        Event::Claimed { .. } => "claimed",
        Event::NotTakenUp { .. } => "not_taken_up",
        Event::Planned { .. } => "planned",
        Event::Decomposed { .. } => "decomposed",
        Event::Retrieved { .. } => "retrieved",
        Event::SubtaskStarted { .. } => "subtask_started",
        Event::StepStarted { .. } => "step_started",
        Event::StepFinished { .. } => "step_finished",
        Event::StepFailed { .. } => "step_failed",
        Event::Routed(_) => "routed",
        Event::Elided(_) => "elided",
        Event::CallRefused { .. } => "call_refused",
        Event::ApprovalRequested { .. } => "approval_requested",
        Event::ApprovalSettled { .. } => "approval_settled",
        Event::CallStarted { .. } => "call_started",
        Event::CallTroubled { .. } => "call_troubled",
        Event::BreakerOpened { .. } => "breaker_opened",
        Event::BreakerClosed { .. } => "breaker_closed",
        Event::CallFinished { .. } => "call_finished",
        Event::CallBlocked { .. } => "call_blocked",
        Event::StrategySwitched { .. } => "strategy_switched",
        Event::RoundRepeated { .. } => "round_repeated",
        Event::CallInDoubt { .. } => "call_in_doubt",
        Event::CallSettled { .. } => "call_settled",
        Event::Noticed { .. } => "noticed",
        Event::SubtaskFinished { .. } => "subtask_finished",
        Event::BranchChosen { .. } => "branch_chosen",
        Event::SubtaskFailed { .. } => "subtask_failed",
        Event::SubtaskDropped { .. } => "subtask_dropped",
        Event::Replanned { .. } => "replanned",
        Event::Acted { .. } => "acted",
        Event::Checked { .. } => "checked",
        Event::Judged { .. } => "judged",
        Event::Verified { .. } => "verified",
        Event::Controlled(_) => "controlled",
        Event::Remedied(_) => "remedied",
        Event::Escalated(_) => "escalated",
        Event::Diagnosed { .. } => "diagnosed",
        Event::RepairStarted { .. } => "repair_started",
        Event::Repaired { .. } => "repaired",
        Event::LimitNear { .. } => "limit_near",
        Event::Stopping { .. } => "stopping",
        Event::RollbackStarted { .. } => "rollback_started",
        Event::Restored { .. } => "restored",
        Event::CompensationStarted { .. } => "compensation_started",
        Event::CompensationTroubled { .. } => "compensation_troubled",
        Event::Compensated { .. } => "compensated",
        Event::AlertRaised { .. } => "alert_raised",
        Event::AlertTold { .. } => "alert_told",
        Event::UndoStarted { .. } => "undo_started",
        Event::UndoFinished { .. } => "undo_finished",
        Event::LandingStarted { .. } => "landing_started",
        Event::ChangesFound(_) => "changes_found",
        Event::Landed { .. } => "landed",
        Event::Promoted(_) => "promoted",
        Event::FromBackup(_) => "from_backup",
        Event::Paused { .. } => "paused",
        Event::Resumed { .. } => "resumed",
        Event::SignalRefused { .. } => "signal_refused",
        Event::Ended { .. } => "ended",
    }
    Refusal {
        Refusal::UnknownTool => "unknown_tool",
        Refusal::BadArguments => "bad_arguments",
        Refusal::Truncated => "truncated",
        Refusal::Unprepared => "unprepared",
        Refusal::Denied => "denied",
        Refusal::Cancelled => "cancelled",
        Refusal::NotOffered => "not_offered",
        Refusal::NotAllowed => "not_allowed",
        Refusal::Unavailable => "unavailable",
    }
    Subject {
        Subject::Action(_) => "action",
        Subject::Output => "output",
    }
    Verdict {
        Verdict::Approved { .. } => "approved",
        Verdict::Denied { .. } => "denied",
        Verdict::SentBack { .. } => "sent_back",
        Verdict::Expired => "expired",
    }
    Outcome {
        Outcome::Ok => "ok",
        Outcome::Error => "error",
        Outcome::TimedOut => "timed_out",
        Outcome::Cancelled => "cancelled",
        Outcome::Unavailable => "unavailable",
    }
    CallTrouble {
        CallTrouble::Unavailable => "unavailable",
        CallTrouble::TimedOut => "timed_out",
        CallTrouble::Lost => "lost",
    }
    Doubt {
        Doubt::Crash => "crash",
        Doubt::Cancelled => "cancelled",
        Doubt::LostReply => "lost_reply",
        Doubt::Restored => "restored",
    }
    Ask {
        Ask::Probe => "probe",
        Ask::Person => "person",
    }
    Settlement {
        Settlement::Happened { .. } => "happened",
        Settlement::DidNotHappen => "did_not_happen",
        Settlement::GivenUp { .. } => "given_up",
    }
    Purpose {
        Purpose::Act(_) => "act",
        Purpose::Critique(_) => "critique",
        Purpose::Plan(_) => "plan",
        Purpose::Judge(_) => "judge",
    }
    StepTrouble {
        StepTrouble::Transient => "transient",
        StepTrouble::RateLimited => "rate_limited",
        StepTrouble::TimedOut => "timed_out",
        StepTrouble::Permanent => "permanent",
        StepTrouble::Lost => "lost",
    }
    SentFor {
        SentFor::Trouble { .. } => "trouble",
        SentFor::Resting { .. } => "resting",
        SentFor::TooLong { .. } => "too_long",
        SentFor::Stronger { .. } => "stronger",
    }
    Routed {
        Routed::Rests { .. } => "rests",
        Routed::Back { .. } => "back",
    }
    WayOn {
        WayOn::FallsBack { .. } => "falls_back",
        WayOn::PlansAnew => "plans_anew",
    }
    SubtaskFailure {
        SubtaskFailure::GaveUp { .. } => "gave_up",
        SubtaskFailure::ModelRefused { .. } => "model_refused",
        SubtaskFailure::Truncated { .. } => "truncated",
        SubtaskFailure::Looping(_) => "looping",
    }
    Confinement {
        Confinement::Caged => "caged",
        Confinement::Uncaged => "uncaged",
    }
    Finding {
        Finding::Passed => "passed",
        Finding::NothingToCheck => "nothing_to_check",
        Finding::SchemaFailed => "schema_failed",
        Finding::ChecksFailed => "checks_failed",
        Finding::NotSure => "not_sure",
    }
    CheckOutcome {
        CheckOutcome::Passed => "passed",
        CheckOutcome::Failed(_) => "failed",
        CheckOutcome::CouldNotRun(_) => "could_not_run",
        CheckOutcome::NotApplicable(_) => "not_applicable",
    }
    Remedy {
        Remedy::SwitchStrategy { .. } => "switch_strategy",
        Remedy::Perturb { .. } => "perturb",
        Remedy::FreshEvidence => "fresh_evidence",
        Remedy::Person => "person",
    }
    Decision {
        Decision::Repair { .. } => "repair",
        Decision::Escalate { .. } => "escalate",
        Decision::Stop { .. } => "stop",
    }
    Strategy {
        Strategy::MinimalEdit => "minimal_edit",
        Strategy::SectionRewrite => "section_rewrite",
        Strategy::FullRegeneration => "full_regeneration",
    }
    Escalation {
        Escalation::BiggerModel { .. } => "bigger_model",
        Escalation::ReDecompose => "re_decompose",
        Escalation::Partial { .. } => "partial",
        Escalation::Person { .. } => "person",
    }
    Ending {
        Ending::Committed { .. } => "committed",
        Ending::Failed { .. } => "failed",
        Ending::Halted { .. } => "halted",
    }
    StopReason {
        StopReason::Fail(_) => "fail",
        StopReason::Halt(_) => "halt",
    }
    FailReason {
        FailReason::EvidenceMissing { .. } => "evidence_missing",
        FailReason::RepairsExhausted { .. } => "repairs_exhausted",
        FailReason::Undecided => "undecided",
        FailReason::Truncated { .. } => "truncated",
        FailReason::ModelRefused { .. } => "model_refused",
        FailReason::NoPlan { .. } => "no_plan",
        FailReason::OutputDenied { .. } => "output_denied",
        FailReason::ApprovalExpired => "approval_expired",
    }
    HaltReason {
        HaltReason::Cancelled { .. } => "cancelled",
        HaltReason::LimitReached(_) => "limit_reached",
        HaltReason::Looping(_) => "looping",
        HaltReason::ModelUnavailable { .. } => "model_unavailable",
        HaltReason::ContextFull(_) => "context_full",
        HaltReason::RepairStuck { .. } => "repair_stuck",
    }
    ContextBound {
        ContextBound::Task => "task",
        ContextBound::Model => "model",
        ContextBound::Nobody => "nobody",
    }
    MessagePart {
        MessagePart::Output => "output",
        MessagePart::Words => "words",
        MessagePart::Args(_) => "args",
    }
    RestoreOutcome {
        RestoreOutcome::Restored => "restored",
        RestoreOutcome::AlreadyAsBefore => "already_as_before",
        RestoreOutcome::ChangedSince => "changed_since",
        RestoreOutcome::Failed(_) => "failed",
    }
    UndoOutcome {
        UndoOutcome::Compensated => "compensated",
        UndoOutcome::WasAsBefore => "was_as_before",
        UndoOutcome::CannotBeUndone(_) => "cannot_be_undone",
        UndoOutcome::Failed(_) => "failed",
    }
    LandOutcome {
        LandOutcome::Landed => "landed",
        LandOutcome::MovedOn(_) => "moved_on",
        LandOutcome::Not(_) => "not",
        LandOutcome::Torn(_) => "torn",
    }
    FromBackup {
        FromBackup::Restored { .. } => "restored",
        FromBackup::TakenUp { .. } => "taken_up",
    }
    Promoted {
        Promoted::Begun { .. } => "begun",
        Promoted::Tried { .. } => "tried",
        Promoted::Troubled { .. } => "troubled",
        Promoted::Settled(_) => "settled",
    }
    PromotionOutcome {
        PromotionOutcome::Taken => "taken",
        PromotionOutcome::NotTaken(_) => "not_taken",
        PromotionOutcome::Withdrawn => "withdrawn",
    }
    Concern {
        Concern::Tainted(_) => "tainted",
        Concern::Secret { .. } => "secret",
        Concern::OutOfPolicy { .. } => "out_of_policy",
    }
    Stop {
        Stop::End => "end",
        Stop::ToolUse => "tool_use",
        Stop::Truncated => "truncated",
        Stop::Refused => "refused",
        Stop::Filtered => "filtered",
    }
    Touch {
        Touch::Read => "read",
        Touch::Write => "write",
        Touch::Exec => "exec",
    }
    Repeat {
        Repeat::Freely => "freely",
        Repeat::WithSameKey => "with_same_key",
        Repeat::Never => "never",
    }
    Limit {
        Limit::Steps => "steps",
        Limit::ToolCalls => "tool_calls",
        Limit::Tokens => "tokens",
        Limit::Money => "money",
        Limit::ActiveTime => "active_time",
        Limit::Repairs => "repairs",
        Limit::RepairShare => "repair_share",
        Limit::RepairTime => "repair_time",
        Limit::Context => "context",
        Limit::TreeSteps => "tree_steps",
        Limit::Depth => "depth",
        Limit::AgentsAlive => "agents_alive",
        Limit::Agents => "agents",
        Limit::Tool(_) => "tool",
    }
    Seen {
        Seen::Nothing => "nothing",
        Seen::File { .. } => "file",
        Seen::Link { .. } => "link",
        Seen::SomethingElse => "something_else",
    }
    How {
        How::Command { .. } => "command",
        How::Tool { .. } => "tool",
        How::Own => "own",
    }
    Departure {
        Departure::Deleted { .. } => "deleted",
        Departure::Moved { .. } => "moved",
    }
    Class {
        Class::Pure => "pure",
        Class::Reversible => "reversible",
        Class::Compensable => "compensable",
        Class::Irreversible => "irreversible",
    }
    Consent {
        Consent::Ask => "ask",
        Consent::NotNeeded => "not_needed",
    }
    Payload {
        Payload::Inline(_) => "inline",
        Payload::Stored { .. } => "stored",
    }
    Opinion {
        Opinion::Rubric(_) => "rubric",
        Opinion::Claims(_) => "claims",
        Opinion::Cases(_) => "cases",
        Opinion::Sample(_) => "sample",
        Opinion::Unusable(_) => "unusable",
    }
    Severity {
        Severity::Minor => "minor",
        Severity::Major => "major",
        Severity::Critical => "critical",
    }
    DiagnosedBy {
        DiagnosedBy::Critic => "critic",
        DiagnosedBy::Verifier => "verifier",
        DiagnosedBy::Person => "person",
    }
    CheckHow {
        CheckHow::Schema(_) => "schema",
        CheckHow::Command { .. } => "command",
        CheckHow::Tests(_) => "tests",
        CheckHow::Assert(_) => "assert",
        CheckHow::Rubric(_) => "rubric",
        CheckHow::Claims(_) => "claims",
        CheckHow::EdgeCases(_) => "edge_cases",
        CheckHow::Consistent(_) => "consistent",
    }
    Sandbox {
        Sandbox::Cage { .. } => "cage",
        Sandbox::IfAvailable => "if_available",
        Sandbox::None => "none",
    }
    Review {
        Review::WhenUnsure => "when_unsure",
        Review::WhenUnchecked => "when_unchecked",
        Review::Always => "always",
        Review::Never => "never",
    }
    Repair {
        Repair::Mend => "mend",
        Repair::Afresh => "afresh",
    }
    OnFailure {
        OnFailure::Rollback => "rollback",
        OnFailure::Keep => "keep",
    }
    WorkspaceMode {
        WorkspaceMode::InPlace => "in_place",
        WorkspaceMode::Copy => "copy",
        WorkspaceMode::Isolated => "isolated",
    }
    Planner {
        Planner::Task => "task",
        Planner::Model => "model",
    }
    Recourse {
        Recourse::BiggerModel => "bigger_model",
        Recourse::ReDecompose => "re_decompose",
        Recourse::Partial => "partial",
        Recourse::Person => "person",
    }
    Privacy {
        Privacy::Standard => "standard",
        Privacy::Private => "private",
        Privacy::Sovereign => "sovereign",
    }
    Gate {
        Gate::Ask => "ask",
        Gate::Refuse => "refuse",
        Gate::Allow => "allow",
    }
}
