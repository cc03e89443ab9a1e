//! Taking in what happened.

use super::observe::Sighting;
use super::window::Turned;
use super::world::Step;
use super::{Detector, Evidence, Known, Reason, SAID_MAX};
use crate::guard::{CallTrace, Effect, Origin, Outcome, OutputTrace, ReplyTrace};
use crate::provenance::Digest;

/// Failures in a row that begin to count.
const FAILURES_FROM: u32 = 3;
/// Calls of one tool without anything new that begin to count.
const NAME_STREAK_FROM: u32 = 5;
/// Calls without anything new that begin to count.
const STALE_FROM: u32 = 6;
/// Replies without a call that begin to count.
const REPLIES_FROM: u32 = 2;
/// Words less similar than this, in percent, do not count.
const SIMILAR_FROM: u32 = 30;

impl Detector {
    /// An allowed call came home. `world` is the workspace's fingerprint after it,
    /// where the caller has one.
    pub fn record_call(&mut self, call: &CallTrace, output: &OutputTrace, world: Option<Digest>) {
        self.counters.calls += 1;
        self.counters.failures += u64::from(output.outcome == Outcome::Failed);
        self.streaks.replies_without_call = 0;
        let sighting = self.sight(call, output);
        let before = self.world.now();
        let step = self.world.advance(call, output, &sighting, world);
        self.counters.progress += u64::from(step == Step::Progress);
        if let Some((reason, points)) = self.about_repeating(call, output, &sighting, step) {
            self.add(reason, points);
        }
        self.window.push(Turned { key: call.key, digest: output.digest, progress: step == Step::Progress });
        self.count_streaks(call, output, &sighting, step);
        self.count_error(output);
        if call.effect != Effect::Poll && self.window.cycle().is_some() {
            self.add(Reason::Cycle, self.settings.weights.cycle);
        }
        let proved = world.is_some() && matches!(step, Step::Progress | Step::Returned | Step::Oscillation);
        // A call that is proved to have changed the world met another one than it left.
        self.remember(call, output, &sighting, if proved { before } else { self.world.now() });
        self.ladder.climb(&self.settings);
    }

    fn add(&mut self, reason: Reason, points: i32) {
        self.ladder.add(Evidence { reason, points, call: self.counters.calls });
    }

    fn count_streaks(&mut self, call: &CallTrace, output: &OutputTrace, sighting: &Sighting, step: Step) {
        let weights = self.settings.weights.clone();
        let failed = output.outcome == Outcome::Failed;
        let is_novel = step == Step::Progress
            || sighting.has_changed
            || (!sighting.is_known_call && !sighting.is_seen_elsewhere && !output.empty && !failed);
        let streaks = &mut self.streaks;
        let same_tool = streaks.tool == Some(call.tool);
        let next = |count: u32, goes_on: bool| if goes_on { count.saturating_add(1) } else { 0 };
        streaks.same = next(streaks.same, sighting.is_same_as_last);
        streaks.failures = next(streaks.failures, failed);
        // Waiting brings nothing new by its nature, so a poll counts for nothing here.
        if call.effect != Effect::Poll {
            streaks.stale = next(streaks.stale, !is_novel);
            streaks.tool_stale = next(if same_tool { streaks.tool_stale } else { 0 }, !is_novel);
        }
        let found_nothing = output.empty && call.effect == Effect::Read;
        streaks.empty = next(if same_tool { streaks.empty } else { 0 }, found_nothing);
        streaks.tool = Some(call.tool);
        let streaks = *streaks;
        if is_novel {
            self.ladder.forgive_blocks();
        }
        if streaks.failures >= FAILURES_FROM {
            self.add(Reason::FailuresInARow, weights.failures_in_a_row);
        }
        if streaks.tool_stale >= NAME_STREAK_FROM {
            self.add(Reason::NameStreak, weights.name_streak);
        }
        if streaks.stale >= STALE_FROM {
            self.add(Reason::Stagnation, weights.stagnation);
        }
        if streaks.empty >= self.settings.empty_at {
            self.add(Reason::EmptyInARow, weights.empty_in_a_row);
        }
    }

    fn count_error(&mut self, output: &OutputTrace) {
        let Some(signature) = output.signature.filter(|_| output.outcome == Outcome::Failed) else { return };
        let before = count_up(self.errors.touch(&signature, || 0));
        let weights = &self.settings.weights;
        let points = i32::try_from(before).unwrap_or(i32::MAX).saturating_mul(weights.same_error);
        let points = points.min(weights.same_error_max);
        self.add(Reason::SameError, points);
    }

    fn remember(&mut self, call: &CallTrace, output: &OutputTrace, sighting: &Sighting, at: u64) {
        let (same, times) = match sighting.known {
            Some(known) if sighting.has_changed => (0, known.times),
            Some(known) => (known.same, known.times),
            None => (0, 0),
        };
        let known = Known {
            at,
            digest: output.digest,
            outcome: output.outcome,
            empty: output.empty,
            same: same.saturating_add(1),
            times: times.saturating_add(1),
        };
        if let Some(entry) = self.calls.touch(&call.key, || known) {
            *entry = known;
        }
        if !output.empty {
            self.outputs.touch(&output.digest, || call.key);
        }
    }

    /// A call was blocked: it did not run.
    pub fn record_blocked(&mut self, _call: &CallTrace) {
        self.counters.blocked += 1;
        self.ladder.add_block();
        self.add(Reason::Blocked, self.settings.weights.blocked);
        self.ladder.climb(&self.settings);
    }

    /// Policy or a person refused a call: it did not run.
    pub fn record_denied(&mut self, call: &CallTrace) {
        self.counters.denied += 1;
        self.refuse(&call.key, Reason::Denied, self.settings.weights.denied);
    }

    /// The model named a tool that does not exist.
    pub fn record_unknown_tool(&mut self, call: &CallTrace) {
        self.counters.unknown += 1;
        self.refuse(&call.tool, Reason::UnknownTool, self.settings.weights.unknown_tool);
    }

    fn refuse(&mut self, name: &Digest, reason: Reason, points: i32) {
        count_up(self.refusals.touch(name, || 0));
        self.add(reason, points);
        self.ladder.climb(&self.settings);
    }

    /// An attempt at a call failed for reasons of infrastructure and will be made
    /// again. That is no loop.
    pub fn record_retry(&mut self) {
        self.counters.retries += 1;
    }

    /// The model was told to change its strategy.
    pub fn record_switch(&mut self) {
        self.ladder.told();
    }

    /// The model replied.
    pub fn record_reply(&mut self, reply: &ReplyTrace) {
        self.counters.replies += 1;
        self.counters.truncated += u64::from(reply.truncated);
        self.streaks.truncated = if reply.truncated { self.streaks.truncated.saturating_add(1) } else { 0 };
        self.compare_words(reply);
        self.compare_opening(reply);
        if reply.calls == 0 {
            self.streaks.replies_without_call = self.streaks.replies_without_call.saturating_add(1);
            if self.streaks.replies_without_call >= REPLIES_FROM {
                self.add(Reason::RepliesWithoutCall, self.settings.weights.replies_without_call);
            }
        }
        self.ladder.climb(&self.settings);
        if self.streaks.truncated >= self.settings.truncated_at {
            self.ladder.break_for(Reason::Truncated);
        }
    }

    /// Words count only while nothing new comes in: an agent that gets on may say
    /// the same at every step.
    fn compare_words(&mut self, reply: &ReplyTrace) {
        let Some(words) = &reply.words else { return };
        let most = self.said.iter().map(|earlier| earlier.similar_percent(words)).max().unwrap_or(0);
        let over = i32::try_from(most.saturating_sub(SIMILAR_FROM)).unwrap_or(0);
        let span = i32::try_from(100 - SIMILAR_FROM).unwrap_or(1);
        if self.streaks.stale > 0 {
            self.add(Reason::SimilarText, self.settings.weights.similar_text.saturating_mul(over) / span);
        }
        if self.said.len() == SAID_MAX {
            self.said.pop_front();
        }
        self.said.push_back(words.clone());
    }

    fn compare_opening(&mut self, reply: &ReplyTrace) {
        let Some(opening) = &reply.opening else { return };
        let before = count_up(self.openings.touch(&Digest::of(opening.as_bytes()), || 0));
        if before > 0 && self.streaks.stale > 0 {
            self.add(Reason::SameOpening, self.settings.weights.same_opening);
        }
    }

    /// A user message. A person begins a new turn: what was seen may be outdated,
    /// and everything is forgiven.
    pub fn record_user(&mut self, from: Origin) {
        match from {
            Origin::Harness => {}
            Origin::Person => {
                self.counters.turns += 1;
                self.world.touch_everything();
                self.window.clear();
                self.errors.clear();
                self.openings.clear();
                self.said.clear();
                self.refusals.clear();
                self.streaks = super::Streaks::default();
                self.ladder.reset();
            }
        }
    }

    /// Somebody else changed the world: what was seen may be outdated.
    pub fn record_elsewhere(&mut self) {
        self.world.touch_everything();
    }
}

/// Counts one more; says how many there were before.
fn count_up(count: Option<&mut u32>) -> u32 {
    count.map_or(0, |count| {
        let before = *count;
        *count = before.saturating_add(1);
        before
    })
}
