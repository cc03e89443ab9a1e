//! Bounds: what may still be started, and when the model is warned.
//!
//! A step fits, has to wait until something in flight settles, or never fits.
//! The run's own limits and those above it (the allowance) are rows of the same
//! kind, so the smaller one always decides.

use super::decide::Draft;
use super::ending;
use super::state::{Phase, Run};
use crate::budget::{Allowance, Cost, Gauge, Limit, Price, Share, UNLIMITED};
use crate::event::{Event, Exhausted, HaltReason, StopReason};
use crate::id::{Millis, RunId, ToolName};

/// Bytes of English text a token stands for, cautiously.
const BYTES_A_TOKEN: u64 = 3;
/// Tokens a request costs besides its texts.
const TOKENS_A_REQUEST: u64 = 64;

/// What model calls would take.
#[derive(Clone, Copy)]
pub(super) struct Need {
    pub(super) steps: u32,
    pub(super) cost: Cost,
}

/// What a tool call would take.
#[derive(Clone, Copy)]
pub(super) struct CallNeed {
    pub(super) calls: u64,
    pub(super) micros: u64,
}

/// Whether a model call may be started.
pub(super) enum Fit {
    /// Now.
    Now,
    /// Not while so much is set aside for calls in flight.
    Later(Exhausted),
    /// Not under these limits.
    Never(Exhausted),
}

/// One bound, and what would be taken of it.
struct Row {
    limit: Limit,
    of: Option<RunId>,
    used: u64,
    held: u64,
    need: u64,
    allowed: u64,
}

impl Row {
    fn own(limit: Limit, (used, held, need): (u64, u64, u64), allowed: u64) -> Self {
        Self { limit, of: None, used, held, need, allowed }
    }

    fn shared(run: &Run, share: &Share, need: u64) -> Self {
        Self {
            limit: share.limit.clone(),
            of: (share.of != run.id).then(|| share.of.clone()),
            used: share.used,
            held: share.held,
            need,
            allowed: share.allowed,
        }
    }

    fn wanted(&self) -> u64 {
        self.used.saturating_add(self.held).saturating_add(self.need)
    }

    fn fits(&self) -> bool {
        self.wanted() <= self.allowed
    }

    /// It would, once everything in flight cost nothing.
    fn may_fit(&self) -> bool {
        self.used.saturating_add(self.need) <= self.allowed
    }

    fn exhausted(&self) -> Exhausted {
        Exhausted {
            limit: self.limit.clone(),
            wanted: self.wanted(),
            allowed: self.allowed,
            of: self.of.clone(),
        }
    }
}

/// Tokens of a request with so many bytes of text, as they are estimated.
pub(super) fn tokens(bytes: u64) -> u64 {
    bytes / BYTES_A_TOKEN + TOKENS_A_REQUEST
}

/// What a call of a model of this price, on a conversation of so many bytes, must set aside.
pub(super) fn reservation(price: Price, bytes: u64, output_tokens: u64) -> Cost {
    let input = tokens(bytes);
    Cost { tokens: input.saturating_add(output_tokens), micros: price.at_most(input, output_tokens) }
}

/// Whether a step with this need may be started.
pub(super) fn fit(run: &Run, allowance: Option<&Allowance>, need: Need) -> Fit {
    let rows = step_rows(run, allowance, need);
    if let Some(row) = rows.iter().find(|row| !row.may_fit()) {
        return Fit::Never(row.exhausted());
    }
    match rows.iter().find(|row| !row.fits()) {
        Some(row) => Fit::Later(row.exhausted()),
        None => Fit::Now,
    }
}

/// The first bound that is too small for this, were nothing in flight.
pub(super) fn too_small(run: &Run, allowance: Option<&Allowance>, need: Need) -> Option<Exhausted> {
    step_rows(run, allowance, need).iter().find(|row| !row.may_fit()).map(Row::exhausted)
}

fn step_rows(run: &Run, allowance: Option<&Allowance>, need: Need) -> Vec<Row> {
    let (settled, held, limits) = (run.spend.settled, run.reserved, &run.limits);
    let steps = (u64::from(run.spend.steps), 0, u64::from(need.steps));
    let mut rows = vec![
        Row::own(Limit::Steps, steps, limits.allowed(&Limit::Steps)),
        Row::own(Limit::Tokens, (settled.tokens, held.tokens, need.cost.tokens), limits.tokens),
        Row::own(Limit::Money, (settled.micros, held.micros, need.cost.micros), limits.micros),
    ];
    if run.is_mending() {
        let used = run.mended_for().settled;
        let allowed = limits.allowed(&Limit::RepairShare);
        let tokens = percents([used.tokens, held.tokens, need.cost.tokens], limits.tokens);
        let money = percents([used.micros, held.micros, need.cost.micros], limits.micros);
        rows.extend([tokens, money].map(|amounts| Row::own(Limit::RepairShare, amounts, allowed)));
    }
    let shares = allowance.into_iter().flat_map(|allowance| &allowance.0);
    rows.extend(shares.filter_map(|share| Some(Row::shared(run, share, step_part(&share.limit, need)?))));
    rows
}

/// What steps take of a shared limit; `None` where they take nothing.
fn step_part(limit: &Limit, need: Need) -> Option<u64> {
    match limit {
        Limit::Steps | Limit::TreeSteps => Some(u64::from(need.steps)),
        Limit::Tokens => Some(need.cost.tokens),
        Limit::Money => Some(need.cost.micros),
        Limit::ToolCalls
        | Limit::ActiveTime
        | Limit::Repairs
        | Limit::RepairShare
        | Limit::RepairTime
        | Limit::Context
        | Limit::Depth
        | Limit::AgentsAlive
        | Limit::Agents
        | Limit::Tool(_) => None,
    }
}

/// Used, held and needed as percents of a whole, rounded up as they pile up.
fn percents([used, held, need]: [u64; 3], whole: u64) -> (u64, u64, u64) {
    let used_percent = percent(used, whole);
    let held_percent = percent(used.saturating_add(held), whole);
    let all = percent(used.saturating_add(held).saturating_add(need), whole);
    (used_percent, held_percent - used_percent, all - held_percent)
}

/// A part of a whole in percent, rounded up. Of nothing, and of what has no
/// bound, every part is none: other limits speak there.
fn percent(part: u64, whole: u64) -> u64 {
    if whole == 0 || whole == UNLIMITED {
        return 0;
    }
    u64::try_from((u128::from(part) * 100).div_ceil(u128::from(whole))).unwrap_or(UNLIMITED)
}

/// The reason a call of this tool must not be made, if there is one. Whether it only
/// has to wait for model calls of the same run is asked before ([`must_wait`]).
pub(super) fn over_call(
    run: &Run,
    allowance: Option<&Allowance>,
    tool: &ToolName,
    need: CallNeed,
) -> Option<Exhausted> {
    let calls = (u64::from(run.spend.tool_calls), 0, need.calls);
    let own = Limit::Tool(tool.clone());
    let uses = (run.uses(tool), 0, need.calls);
    let mut rows = money_rows(run, need.micros);
    rows.push(Row::own(Limit::ToolCalls, calls, run.limits.allowed(&Limit::ToolCalls)));
    rows.push(Row::own(own.clone(), uses, run.limits.allowed(&own)));
    let shares = allowance.into_iter().flat_map(|allowance| &allowance.0);
    rows.extend(shares.filter_map(|share| {
        let counts = share.limit == Limit::ToolCalls || share.limit == own;
        let pays = share.limit == Limit::Money;
        (counts || pays).then(|| Row::shared(run, share, if counts { need.calls } else { need.micros }))
    }));
    // What takes nothing is not in the way of a run that has nothing left.
    rows.iter().find(|row| row.need > 0 && !row.fits()).map(Row::exhausted)
}

/// So much money is there, once model calls of this run in flight have settled.
pub(super) fn must_wait(run: &Run, micros: u64) -> bool {
    let rows = money_rows(run, micros);
    rows.iter().all(Row::may_fit) && rows.iter().any(|row| row.need > 0 && !row.fits())
}

/// The run's own bounds of money.
fn money_rows(run: &Run, micros: u64) -> Vec<Row> {
    let (settled, held, limits) = (run.spend.settled.micros, run.reserved.micros, &run.limits);
    let mut rows = vec![Row::own(Limit::Money, (settled, held, micros), limits.micros)];
    if run.is_mending() {
        let amounts = percents([run.mended_for().settled.micros, held, micros], limits.micros);
        rows.push(Row::own(Limit::RepairShare, amounts, limits.allowed(&Limit::RepairShare)));
    }
    rows
}

/// Stops the run when its working time, or that of its repairs, is used up.
pub(super) fn active_time(draft: &mut Draft) -> bool {
    if draft.run.stopping.is_some() || !is_bounded(&draft.run) {
        return false;
    }
    let run = &draft.run;
    let since = since(run, draft.now);
    let whole = (Limit::ActiveTime, run.spend.active_ms.saturating_add(since));
    let mending = (Limit::RepairTime, run.mended_for().active_ms.saturating_add(since));
    let rows = [Some(whole), run.is_mending().then_some(mending)];
    let over = rows.into_iter().flatten().find_map(|(limit, wanted)| {
        let allowed = run.limits.allowed(&limit);
        (wanted >= allowed).then_some(Exhausted { limit, wanted, allowed, of: None })
    });
    let Some(why) = over else { return false };
    ending::stop(draft, halt(why));
    true
}

/// When working time runs out, if nothing happens before.
pub(super) fn time_is_up(run: &Run) -> Option<Millis> {
    let left = |allowed: u64, used: u64| (allowed != UNLIMITED).then_some(allowed.saturating_sub(used));
    let whole = left(run.limits.active_ms, run.spend.active_ms);
    let mending = left(run.limits.repair_ms, run.mended_for().active_ms).filter(|_| run.is_mending());
    whole.into_iter().chain(mending).min().map(|left| run.now.plus(left))
}

/// Undoing is finite and must not stop half-way: only work is bounded.
pub(super) fn is_bounded(run: &Run) -> bool {
    !matches!(run.phase, Phase::RollingBack(_))
}

/// Working time since the last event.
fn since(run: &Run, now: Millis) -> u64 {
    if run.has_work() { now.since(run.now) } else { 0 }
}

/// How much of each of its own limits a run has used, in flight included.
pub(super) fn gauges(run: &Run, now: Millis) -> Vec<Gauge> {
    let held = run.spend.settled.plus(run.reserved);
    let mending = if run.is_mending() { run.reserved } else { Cost::default() };
    let repairs = run.mended_for().settled.plus(mending);
    let share = percent(repairs.tokens, run.limits.tokens).max(percent(repairs.micros, run.limits.micros));
    let since = since(run, now);
    let repair_ms = run.mended_for().active_ms.saturating_add(if run.is_mending() { since } else { 0 });
    let rows = [
        (Limit::Steps, u64::from(run.spend.steps)),
        (Limit::ToolCalls, u64::from(run.spend.tool_calls)),
        (Limit::Tokens, held.tokens),
        (Limit::Money, held.micros),
        (Limit::ActiveTime, run.spend.active_ms.saturating_add(since)),
        (Limit::Repairs, u64::from(run.repair_rounds())),
        (Limit::RepairShare, share),
        (Limit::RepairTime, repair_ms),
    ];
    let tools = run.limits.tools.keys().map(|name| (Limit::Tool(name.clone()), run.uses(name)));
    let gauge = |(limit, used): (Limit, u64)| {
        let allowed = run.limits.allowed(&limit);
        Gauge { limit, of: None, used, allowed }
    };
    rows.into_iter().chain(tools).map(gauge).collect()
}

/// Those of a run and those above it that are nearly used up.
pub(super) fn near(run: &Run, allowance: Option<&Allowance>, now: Millis) -> Vec<Gauge> {
    let mut all = gauges(run, now);
    for share in allowance.into_iter().flat_map(|allowance| &allowance.0) {
        let gauge = share.gauge(&run.id);
        // With those below it, a run has used more than it knows of itself.
        all.retain(|own| own.of.is_some() || gauge.of.is_some() || own.limit != gauge.limit);
        all.push(gauge);
    }
    all.into_iter().filter(Gauge::is_near).collect()
}

/// Notes a limit that is nearly used up; once, and again after a raise.
pub(super) fn warn(draft: &mut Draft) -> bool {
    let near = near(&draft.run, draft.allowance.as_ref(), draft.now);
    let news = near.into_iter().find(|gauge| match draft.run.warning(&gauge.limit, gauge.of.as_ref()) {
        Some(warned) => warned.allowed < gauge.allowed,
        None => true,
    });
    let Some(Gauge { limit, of, used, allowed }) = news else { return false };
    draft.push(Event::LimitNear { limit, of, used, allowed });
    true
}

/// A limit as a reason to stop.
pub(super) fn halt(why: Exhausted) -> StopReason {
    StopReason::Halt(HaltReason::LimitReached(why))
}
