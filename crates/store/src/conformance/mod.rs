//! What every store must do, as a library: the same cases run on each of them.
//!
//! [`run_all`] gives each case a fresh, empty store. A case never panics: what
//! it finds wrong comes back as a [`Violation`] that names the case. Nothing
//! here knows which store it is talking to.

mod claims;
mod content;
mod journals;
mod mailboxes;
mod material;
mod submissions;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::{AppendError, RunStore, StoreError};

/// A store that broke a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{case}: {message}")]
pub struct Violation {
    /// The rule, as a sentence.
    pub case: &'static str,
    /// What happened instead.
    pub message: String,
}

/// What went wrong in a case.
#[derive(Debug)]
struct Broken(String);

impl From<StoreError> for Broken {
    fn from(error: StoreError) -> Self {
        Self(format!("unexpected {error:?}"))
    }
}

impl From<AppendError> for Broken {
    fn from(error: AppendError) -> Self {
        Self(format!("unexpected {error:?}"))
    }
}

impl From<bowline_core::id::BadName> for Broken {
    fn from(error: bowline_core::id::BadName) -> Self {
        Self(error.to_string())
    }
}

impl From<tokio::task::JoinError> for Broken {
    fn from(error: tokio::task::JoinError) -> Self {
        Self(error.to_string())
    }
}

type Outcome = Result<(), Broken>;
type Store = Arc<dyn RunStore>;
type Running = Pin<Box<dyn Future<Output = Outcome> + Send>>;

struct Case {
    name: &'static str,
    run: fn(Store) -> Running,
}

/// Leaves the case unless the condition holds.
macro_rules! ensure {
    ($holds:expr, $($message:tt)+) => {
        if !$holds {
            return Err(crate::conformance::Broken(format!($($message)+)));
        }
    };
}
use ensure;

macro_rules! cases {
    ($($module:ident::$case:ident),+ $(,)?) => {
        &[$(Case { name: stringify!($case), run: |store| Box::pin($module::$case(store)) }),+]
    };
}

const CASES: &[Case] = cases![
    submissions::a_submitted_run_is_there_with_its_first_record,
    submissions::the_same_key_and_request_give_the_existing_run,
    submissions::the_same_key_for_another_request_is_refused,
    submissions::an_id_that_exists_is_refused,
    submissions::a_race_of_submissions_with_one_key_makes_one_run,
    submissions::what_is_not_there_is_said_not_to_be_there,
    submissions::listings_are_newest_first_and_filtered,
    submissions::listing_goes_on_while_others_write,
    submissions::a_fresh_store_has_had_every_migration,
    submissions::runs_of_a_class_are_found_by_it,
    claims::a_live_run_is_not_claimed_twice,
    claims::every_claim_raises_the_epoch_and_fences_the_one_before,
    claims::a_stale_fence_writes_nothing,
    claims::a_released_run_can_be_claimed_at_once,
    claims::an_expired_lease_lets_another_claim,
    claims::a_renewed_lease_lasts_longer,
    claims::ready_runs_are_unfinished_unowned_and_not_waiting,
    claims::an_ended_run_is_ready_as_long_as_something_is_owed,
    claims::a_waiting_run_is_ready_when_its_time_has_come,
    claims::ready_runs_come_oldest_first_and_no_more_than_asked_for,
    claims::a_race_for_ready_runs_gives_each_run_once,
    journals::appends_come_back_in_order_and_chained,
    journals::another_record_in_the_same_place_is_a_conflict,
    journals::a_repeated_append_is_accepted_and_not_doubled,
    journals::a_batch_without_events_is_refused,
    journals::ten_thousand_events_load,
    journals::records_start_at_the_one_that_holds_the_event,
    journals::a_checkpoint_comes_back_with_the_tail_behind_it,
    journals::checkpoints_are_told_and_thrown_away,
    journals::a_later_checkpoint_replaces_the_one_before,
    journals::appends_of_many_runs_at_once_do_not_mix,
    mailboxes::mail_left_before_a_claim_is_there_after_it,
    mailboxes::the_same_key_is_the_same_message,
    mailboxes::consumed_mail_is_gone_with_the_append_and_not_before,
    mailboxes::a_refused_append_consumes_no_mail,
    mailboxes::runs_with_mail_are_named,
    mailboxes::a_signal_wakes_whoever_waits_for_changes,
    content::content_is_stored_once_and_comes_back_whole,
    content::content_under_a_wrong_name_is_refused,
    content::an_open_run_is_not_removed,
    content::a_removed_run_leaves_nothing_but_shared_content,
    content::content_named_twice_by_one_run_goes_with_it,
    content::what_is_left_of_a_removed_run_names_it_and_who_removed_it,
];

/// Runs every case on a store of its own and returns what was violated.
pub async fn run_all<F, Made>(make: F) -> Vec<Violation>
where
    F: Fn() -> Made,
    Made: Future<Output = Arc<dyn RunStore>>,
{
    let mut violations = Vec::new();
    for case in CASES {
        if let Err(Broken(message)) = (case.run)(make().await).await {
            violations.push(Violation { case: case.name, message });
        }
    }
    violations
}
