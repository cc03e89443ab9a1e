//! `apply`: folds one event into the state. The only code that changes a run,
//! live and in recovery alike. It decides nothing and refuses nothing.

use super::state::{
    AlertState, Approval, ApprovalState, Batch, BatchCall, CallState, OpenStep, Phase, Run, Summary, Thread,
    ThreadState, Verification, Warned,
};
use super::{aside, call, critiquing, judging, planning, prompt, routing, thread};
use crate::budget::{Cost, Limit};
use crate::control::Ppm;
use crate::event::{
    Ask, CallTrouble, Doubt, Ending, Event, Known, Outcome, Purpose, Refusal, Settlement, StepTrouble,
    Subject, SubtaskOutput, Verdict,
};
use crate::guard::loops;
use crate::id::{ActionId, Millis, RunId, SubtaskId, ToolName};
use crate::message::{Call, Content, Message, Payload, Stop};
use crate::tool::{Class, Consent, FileImage};
use crate::untrusted::Mark;
use crate::untrusted::suspicion::Family;

impl Run {
    /// Folds one event, which happened at `at`.
    #[expect(clippy::too_many_lines, reason = "an exhaustive match that only dispatches")]
    pub fn apply(&mut self, event: &Event, at: Millis) {
        self.pass_time(event, at);
        self.seq += 1;
        match event {
            Event::Submitted(_) | Event::SignalRefused { .. } => {}
            Event::RoundRepeated { back, .. } => self.round_repeated(*back),
            Event::Controlled(said) => self.controlled(said),
            Event::Remedied(tried) => self.remedied(tried),
            Event::Escalated(what) => self.escalated(what),
            Event::Claimed { epoch, .. } => {
                self.epoch = *epoch;
                self.owned = true;
                self.unable = None;
            }
            Event::NotTakenUp { why, .. } => self.unable = Some(why.as_str().into()),
            Event::Planned { .. }
            | Event::Replanned { .. }
            | Event::SubtaskStarted { .. }
            | Event::SubtaskFinished { .. }
            | Event::BranchChosen { .. }
            | Event::SubtaskFailed { .. }
            | Event::SubtaskDropped { .. } => self.plan_moved(event),
            Event::Decomposed { .. } => self.phase = Phase::Retrieving,
            Event::Retrieved { evidence, .. } if self.mending.rereading => self.reread(evidence),
            Event::Retrieved { evidence, .. } => {
                self.evidence = evidence.clone().into();
                self.phase = Phase::Acting;
            }
            Event::StepStarted { .. } => self.step_started(event),
            Event::StepFinished { .. } => self.step_finished(event),
            Event::StepFailed { step, why, retry_at, given_up } => {
                self.step_failed(*step, why.kind, *retry_at, *given_up);
            }
            Event::Routed(what) => self.routed(what),
            Event::Elided(what) => self.elided(what),
            Event::Noticed { subtask, text } => self.noticed(subtask, text),
            Event::CallRefused { action, why, message } => self.call_refused(*action, *why, message),
            Event::CallBlocked { action, why, known } => self.call_blocked(*action, why, known.as_ref()),
            Event::StrategySwitched { subtask, why } => self.switched(subtask, why),
            Event::ApprovalRequested { subject, binds, expires_at, why, .. } => {
                let (binds, expires_at, why) = (*binds, *expires_at, why.clone());
                self.approvals.insert(*subject, Approval::open(binds, expires_at, why));
                self.set_call(*subject, CallState::AwaitingConsent);
            }
            Event::ApprovalSettled { subject, verdict, .. } => self.approval_settled(*subject, verdict),
            Event::CallStarted { .. } => self.call_started(event),
            Event::CallTroubled { .. } => self.call_troubled(event),
            Event::BreakerOpened { tool, until, .. } => self.breaker_opened(tool, *until),
            Event::BreakerClosed { tool } => drop(self.breakers.remove(tool)),
            Event::CallFinished { action, outcome, output, full, trace, suspicions, spent, .. } => {
                let known = (*outcome == Outcome::Ok).then(|| full.as_ref().unwrap_or(output));
                self.deed_done(*action, known);
                self.settle_aside(*action, |reserved| spent.unwrap_or(reserved));
                self.watch_result(*action, (*outcome, output), trace.as_deref());
                self.call_finished(*action, *outcome, output, suspicions);
            }
            Event::CallInDoubt { action, why, ask } => self.call_in_doubt(*action, *why, *ask),
            Event::CallSettled { action, settlement, .. } => self.call_settled(*action, settlement),
            Event::Acted { outputs, .. } => self.acted(outputs),
            Event::Checked { .. }
            | Event::Judged { .. }
            | Event::Verified { .. }
            | Event::Diagnosed { .. } => self.quality_known(event),
            Event::RepairStarted { strategy, window, .. } => self.repair_started(*strategy, window.as_ref()),
            Event::Repaired { round, output, .. } => self.repaired(*round, output),
            Event::LimitNear { limit, of, allowed, .. } => self.warn(limit, of.as_ref(), *allowed),
            Event::Stopping { why } => self.stopping = Some(why.clone()),
            Event::RollbackStarted { why, .. } => self.rollback_started(why),
            Event::Restored { action, outcome } => self.file_restored(*action, outcome),
            Event::CompensationStarted { attempt, .. } => self.compensation_started(*attempt),
            Event::CompensationTroubled { retry_at, .. } => self.compensation_troubled(*retry_at),
            Event::Compensated { action, outcome } => self.call_compensated(*action, outcome),
            Event::AlertRaised { .. } => self.alerted(AlertState::Raised),
            Event::AlertTold { .. } => self.alerted(AlertState::Told),
            Event::UndoStarted { by, to, .. } => self.undo_started(by, *to),
            Event::UndoFinished { .. } => self.undo_finished(),
            Event::LandingStarted { .. } => self.landing_started(),
            Event::ChangesFound(changes) => self.landing.changes = Some(changes.clone()),
            Event::Landed { outcome } => self.landed(outcome),
            Event::Promoted(how) => self.promoted(how),
            Event::FromBackup(what) => self.brought_back(what),
            Event::Paused { .. } => self.paused = true,
            Event::Resumed { raised, without, .. } => self.resumed(raised, without),
            Event::Ended { ending, .. } => self.ended(ending),
        }
    }

    /// Working time counts; down-time and waiting for people do not.
    fn pass_time(&mut self, event: &Event, at: Millis) {
        let is_idle = matches!(event, Event::Claimed { .. } | Event::NotTakenUp { .. });
        if self.has_work() && !is_idle {
            let passed = at.since(self.now);
            self.spend.active_ms = self.spend.active_ms.saturating_add(passed);
            if self.is_mending() {
                self.repair_spend.active_ms = self.repair_spend.active_ms.saturating_add(passed);
            }
        }
        self.now = self.now.max(at);
    }

    fn step_started(&mut self, event: &Event) {
        let Event::StepStarted { step, purpose, reserved, notice, last, sent, .. } = event else { return };
        let model = sent.as_ref().map(|sent| sent.model.as_str().into());
        let open = OpenStep { step: *step, reserved: *reserved, last: last.clone(), model };
        let notice = notice.as_deref();
        self.spend.steps = open.step;
        self.reserved = self.reserved.plus(open.reserved);
        let id = match purpose {
            Purpose::Act(id) => Some(id.clone()),
            Purpose::Critique(round) => critiquing::thread_id(self, *round),
            Purpose::Plan(_) => planning::thread_id(self),
            Purpose::Judge(judgement) => judging::thread_id(self, *judgement),
        };
        let told = self.warnings();
        if let Some(thread) = id.and_then(|id| self.threads.get_mut(&id)) {
            notice.into_iter().for_each(|text| thread.say(Message::User(vec![Payload::inline(text)])));
            thread.told = told;
            thread.closing = open.last.is_some();
            thread.state = ThreadState::Thinking(open);
        }
    }

    /// Releases what a step had set aside, and books what it used.
    fn settle(&mut self, step: u32, used: Cost) {
        let reserved = self.open_step(step).map_or(Cost::default(), |open| open.reserved);
        self.reserved = self.reserved.minus(reserved);
        self.book(used);
    }

    /// Books what was used for good.
    fn book(&mut self, used: Cost) {
        self.spend.settled = self.spend.settled.plus(used);
        if self.is_mending() {
            self.repair_spend.settled = self.repair_spend.settled.plus(used);
        }
    }

    pub(super) fn open_step(&self, step: u32) -> Option<&OpenStep> {
        match &thread::of_step(self, step)?.1.state {
            ThreadState::Thinking(open) => Some(open),
            ThreadState::Ready
            | ThreadState::BackingOff { .. }
            | ThreadState::Calling(_)
            | ThreadState::Answered(_)
            | ThreadState::Done(_) => None,
        }
    }

    fn thread_of_step(&mut self, step: u32) -> Option<&mut Thread> {
        let id = thread::of_step(self, step)?.0.clone();
        self.threads.get_mut(&id)
    }

    fn step_finished(&mut self, event: &Event) {
        let Event::StepFinished { step, stop, usage, micros, text, calls, heard, likelihood, .. } = event
        else {
            return;
        };
        self.settle(*step, Cost { tokens: usage.total(), micros: *micros });
        self.watch_reply(*step, (text, calls.len(), *stop), heard.as_deref());
        self.thread_of_step(*step).into_iter().for_each(|thread| thread.likelihood = *likelihood);
        self.replied(*step, *stop, text, calls);
    }

    fn replied(&mut self, step: u32, stop: Stop, text: &Payload, calls: &[Call]) {
        let has_no_tools = thread::of_step(self, step).is_some_and(|(id, _)| thread::has_no_tools(self, id));
        let last = self.open_step(step).is_some_and(|open| open.last.is_some());
        if let Some(model) = self.asked(step) {
            self.model_answered(&model);
        }
        self.mending.cut_off += u32::from(stop == Stop::Truncated && !has_no_tools);
        let Some(thread) = self.thread_of_step(step) else { return };
        thread.given_up.clear();
        if last {
            thread.summary = Some(Summary { step, text: text.clone() });
        }
        thread.attempts = 0;
        // Who has no tools and calls them has not answered.
        thread.unusable += u32::from(has_no_tools && stop != Stop::Truncated && !calls.is_empty());
        thread.truncations = if stop == Stop::Truncated { thread.truncations + 1 } else { 0 };
        thread.say(Message::Assistant { text: text.clone(), calls: calls.to_vec() });
        thread.state = if calls.is_empty() {
            match stop {
                // A summary is no answer: the conversation goes on when it may.
                Stop::End | Stop::ToolUse if last => ThreadState::Ready,
                Stop::End | Stop::ToolUse => thread::answer(text),
                Stop::Truncated | Stop::Refused | Stop::Filtered => ThreadState::Ready,
            }
        } else {
            let waiting = |call: &Call| BatchCall { call: call.clone(), state: CallState::Waiting };
            ThreadState::Calling(Batch { step, calls: calls.iter().map(waiting).collect() })
        };
    }

    /// Whom a step that is out was sent to.
    fn asked(&self, step: u32) -> Option<Box<str>> {
        let (id, _) = thread::of_step(self, step)?;
        Some(routing::asked(self, id, self.open_step(step)?).into())
    }

    fn step_failed(&mut self, step: u32, kind: StepTrouble, retry_at: Option<Millis>, given_up: bool) {
        let asked = self.asked(step);
        if let Some(model) = &asked {
            self.model_failed(model, kind);
        }
        let reserved = self.open_step(step).map_or(Cost::default(), |open| open.reserved);
        self.settle(step, kind.paid(reserved));
        if let Some(thread) = self.thread_of_step(step) {
            // A process that died says nothing about the model.
            thread.attempts += u32::from(kind != StepTrouble::Lost);
            if given_up {
                thread.attempts = 0;
                thread.given_up.extend(asked);
            }
            thread.state = match retry_at {
                Some(until) => ThreadState::BackingOff { until },
                None => ThreadState::Ready,
            };
        }
    }

    fn call_started(&mut self, event: &Event) {
        let Event::CallStarted { action, tool, key, attempt, image, micros, reserved, .. } = event else {
            return;
        };
        if *attempt == 1 {
            self.count_call(tool);
            self.unasked |= self.is_unasked(tool, *action);
            self.deed_begun(event);
            image.iter().for_each(|image| self.images.push((*action, FileImage::clone(image))));
        }
        self.book(Cost { tokens: 0, micros: *micros });
        if let Some(reserved) = reserved {
            self.spend.steps += 1;
            self.reserved = self.reserved.plus(*reserved);
        }
        let (tool, key, attempt, image) = (tool.clone(), *key, *attempt, image.clone());
        let running = CallState::Running { tool, key, attempt, image, reserved: *reserved };
        self.set_call(Subject::Action(*action), running);
    }

    /// It cannot be undone, and neither a person nor the task said that it may be done.
    fn is_unasked(&self, tool: &ToolName, action: ActionId) -> bool {
        let is_final = self.tool(tool.as_str()).is_some_and(|spec| spec.class() == Class::Irreversible);
        let approval = self.approvals.get(&Subject::Action(action)).map(|approval| &approval.state);
        let is_agreed = matches!(approval, Some(ApprovalState::Settled(Verdict::Approved { .. })));
        let choice = self.task.tools.iter().find(|choice| choice.name == tool.as_str());
        let is_waived = choice.is_some_and(|choice| choice.consent == Some(Consent::NotNeeded));
        is_final && !is_agreed && !is_waived
    }

    /// Releases what a call that is out had set aside for a model, and books what it used.
    fn settle_aside(&mut self, action: ActionId, used: impl FnOnce(Cost) -> Cost) {
        if let Some(reserved) = aside::reserved(self, action) {
            self.reserved = self.reserved.minus(reserved);
            self.book(used(reserved));
        }
    }

    fn call_troubled(&mut self, event: &Event) {
        let Event::CallTroubled { action, tool, attempt, why, retry_at, .. } = event else { return };
        match why {
            CallTrouble::Unavailable | CallTrouble::TimedOut => self.tool_failed(*action),
            // A process that died says nothing about the tool.
            CallTrouble::Lost => {}
        }
        self.settle_aside(*action, |reserved| why.paid(reserved));
        self.count_call(tool);
        let covered = *why == CallTrouble::Unavailable;
        let state = CallState::BackingOff { attempt: *attempt, until: *retry_at, covered };
        self.set_call(Subject::Action(*action), state);
    }

    /// A call that is made, or one that will be made again.
    fn count_call(&mut self, tool: &ToolName) {
        self.spend.tool_calls += 1;
        *self.tool_uses.entry(tool.clone()).or_default() += 1;
    }

    fn warn(&mut self, limit: &Limit, of: Option<&RunId>, allowed: u64) {
        let serial = self.warnings() + 1;
        self.warned.retain(|warned| warned.limit != *limit || warned.of.as_ref() != of);
        self.warned.push(Warned { limit: limit.clone(), of: of.cloned(), allowed, serial });
    }

    /// Warnings so far.
    fn warnings(&self) -> u32 {
        self.warned.iter().map(|warned| warned.serial).max().unwrap_or(0)
    }

    fn noticed(&mut self, subtask: &SubtaskId, text: &str) {
        let Some(thread) = self.threads.get_mut(subtask) else { return };
        thread.say(Message::User(vec![Payload::inline(text)]));
        if let ThreadState::Answered(_) = thread.state {
            thread.unusable += 1;
            thread.state = ThreadState::Ready;
        }
    }

    fn approval_settled(&mut self, subject: Subject, verdict: &Verdict) {
        if let Some(approval) = self.approvals.get_mut(&subject) {
            approval.state = ApprovalState::Settled(verdict.clone());
            if let Verdict::Denied { .. } = verdict {
                self.denied.insert(approval.binds);
            }
        }
        match verdict {
            Verdict::Approved { .. } => self.set_call(subject, CallState::Waiting),
            Verdict::Denied { .. } | Verdict::SentBack { .. } | Verdict::Expired => {}
        }
    }

    fn call_settled(&mut self, action: ActionId, settlement: &Settlement) {
        self.settled_since(action);
        match settlement {
            Settlement::Happened { output } => {
                self.deed_done(action, Some(output));
                self.watch_result(action, (Outcome::Ok, output), None);
                self.answer(action, Answer::outside(output.clone(), false, None));
            }
            Settlement::GivenUp { message } => {
                self.deed_done(action, None);
                self.answer(action, Answer::ours(message));
            }
            Settlement::DidNotHappen => self.update_call(action, |state| match state {
                CallState::InDoubt { attempt, .. } => Some(CallState::Again { attempt }),
                CallState::Waiting
                | CallState::AwaitingConsent
                | CallState::Running { .. }
                | CallState::Again { .. }
                | CallState::BackingOff { .. }
                | CallState::Answered { .. } => None,
            }),
        }
    }

    fn set_call(&mut self, subject: Subject, state: CallState) {
        match subject {
            Subject::Action(action) => self.update_call(action, |_| Some(state)),
            Subject::Output => {}
        }
    }

    fn update_call(&mut self, action: ActionId, change: impl FnOnce(CallState) -> Option<CallState>) {
        let Some((_, call)) = self.batch_call(action) else { return };
        if let Some(state) = change(call.state.clone()) {
            call.state = state;
        }
    }

    fn batch_call(&mut self, action: ActionId) -> Option<(SubtaskId, &mut BatchCall)> {
        self.threads.iter_mut().find_map(|(id, thread)| match &mut thread.state {
            ThreadState::Calling(batch) if batch.step == action.step => {
                batch.calls.get_mut(usize::from(action.index)).map(|call| (id.clone(), call))
            }
            ThreadState::Calling(_)
            | ThreadState::Ready
            | ThreadState::Thinking(_)
            | ThreadState::BackingOff { .. }
            | ThreadState::Answered(_)
            | ThreadState::Done(_) => None,
        })
    }

    /// Gives a call its one answer. With the last one, all answers of the reply
    /// enter the conversation, in the order they were asked.
    fn answer(&mut self, action: ActionId, answer: Answer) {
        let Answer { output, is_outside, is_error, notice } = answer;
        let given =
            is_outside && call::find(self, action).is_some_and(|(_, spec)| prompt::is_given(self, spec));
        let is_fenced = is_outside && !output.is_empty();
        let mark = is_fenced.then(|| Mark::of(&self.seed, &action.to_string()));
        let Some((id, call)) = self.batch_call(action) else { return };
        call.state = CallState::Answered { output, mark, given, is_error, notice };
        let Some(thread) = self.threads.get_mut(&id) else { return };
        let answers: Option<Vec<Message>> = thread.calls().map(|(_, call)| answer_of(call)).collect();
        if let Some(answers) = answers {
            answers.into_iter().for_each(|answer| thread.say(answer));
            thread.state = ThreadState::Ready;
        }
    }

    fn call_finished(&mut self, action: ActionId, outcome: Outcome, output: &Payload, signs: &[Family]) {
        match outcome {
            Outcome::Ok | Outcome::Error => self.tool_answered(action),
            Outcome::TimedOut | Outcome::Unavailable => self.tool_failed(action),
            Outcome::Cancelled => {}
        }
        let spec = call::find(self, action).map(|(_, spec)| spec);
        let notices = [
            prompt::given_up(outcome, call::attempt_of(self, action)),
            spec.and_then(|spec| prompt::instead(self, spec, outcome)),
            prompt::suspicious(signs),
        ];
        let notice = notices.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let notice = (!notice.is_empty()).then(|| notice.into());
        self.answer(action, Answer::outside(output.clone(), outcome != Outcome::Ok, notice));
    }

    fn call_refused(&mut self, action: ActionId, why: Refusal, message: &str) {
        self.deed_dropped(action);
        self.watch_refused(action, why, message);
        self.approvals.remove(&Subject::Action(action));
        let answer = match why {
            // What is wrong with a file quotes the file.
            Refusal::Unprepared => Answer::outside(Payload::inline(message), true, None),
            Refusal::UnknownTool
            | Refusal::BadArguments
            | Refusal::Truncated
            | Refusal::Denied
            | Refusal::Cancelled
            | Refusal::NotOffered
            | Refusal::NotAllowed
            | Refusal::Unavailable => Answer::ours(message),
        };
        self.answer(action, answer);
    }

    fn call_blocked(&mut self, action: ActionId, why: &loops::Finding, known: Option<&Known>) {
        self.watch_blocked(action, why);
        let unknown = || Known { output: Payload::inline(""), is_error: true };
        let Known { output, is_error } = known.cloned().unwrap_or_else(unknown);
        self.answer(action, Answer::outside(output, is_error, Some(why.notice.as_str().into())));
    }

    fn call_in_doubt(&mut self, action: ActionId, why: Doubt, ask: Ask) {
        match why {
            Doubt::LostReply => self.tool_failed(action),
            Doubt::Crash | Doubt::Cancelled | Doubt::Restored => {}
        }
        self.settle_aside(action, |reserved| reserved);
        self.update_call(action, |state| match state {
            CallState::Running { tool, key, attempt, .. } | CallState::InDoubt { tool, key, attempt, .. } => {
                Some(CallState::InDoubt { tool, key, attempt, why, ask })
            }
            CallState::Waiting
            | CallState::AwaitingConsent
            | CallState::Again { .. }
            | CallState::BackingOff { .. }
            | CallState::Answered { .. } => None,
        });
    }

    fn acted(&mut self, outputs: &[SubtaskOutput]) {
        self.sketch = self.sketch_of(outputs.iter().map(|output| &output.subtask));
        let likelihood = match outputs {
            [only] => self.threads.get(&only.subtask).and_then(|thread| thread.likelihood),
            _ => None,
        };
        self.verify(joined(outputs), likelihood);
    }

    fn repaired(&mut self, round: u32, output: &Content) {
        let id = critiquing::free_id(self, &format!("repair-{round}"));
        self.sketch = self.sketch_of(id.iter());
        self.mending.remedy = None;
        // Of a part that was put back into its place nobody knows what the whole is like.
        let whole = id.filter(|_| self.mending.window.is_none());
        let likelihood = whole.and_then(|id| self.threads.get(&id)).and_then(|thread| thread.likelihood);
        self.verify(output.clone(), likelihood);
    }

    pub(super) fn verify(&mut self, output: Content, likelihood: Option<Ppm>) {
        self.output = Some(output);
        self.likelihood = likelihood;
        self.verifications += 1;
        self.phase = Phase::Verifying(Verification {
            round: self.verifications,
            results: Vec::new(),
            opinions: Vec::new(),
        });
    }

    fn resumed(&mut self, raised: &[crate::event::Raise], without: &[SubtaskId]) {
        self.paused = false;
        self.limits.raise(raised);
        self.scope_reduced(without);
        if let Some(phase) = self.halted_in.take() {
            self.phase = *phase;
            self.owned = false;
            self.forgive();
            // A model that was away gets all its tries again.
            self.resting.clear();
            for thread in self.threads.values_mut() {
                thread.attempts = 0;
                thread.given_up.clear();
            }
        }
    }

    fn ended(&mut self, ending: &Ending) {
        let before = std::mem::replace(&mut self.phase, Phase::Ended(ending.clone()));
        self.stopping = None;
        match ending {
            Ending::Halted { .. } => self.halted_in = Some(Box::new(before)),
            Ending::Committed { .. } | Ending::Failed { .. } => {}
        }
    }
}

/// What a model reads about its call.
struct Answer {
    output: Payload,
    is_outside: bool,
    is_error: bool,
    notice: Option<Box<str>>,
}

impl Answer {
    /// Nobody vouches for what it says.
    fn outside(output: Payload, is_error: bool, notice: Option<Box<str>>) -> Self {
        Self { output, is_outside: true, is_error, notice }
    }

    /// Our own words: why there is no result.
    fn ours(message: &str) -> Self {
        Self { output: Payload::inline(message), is_outside: false, is_error: true, notice: None }
    }
}

fn answer_of(call: &BatchCall) -> Option<Message> {
    match &call.state {
        CallState::Answered { output, mark, given, is_error, notice } => Some(Message::ToolResult {
            call: call.call.id.clone(),
            output: output.clone(),
            mark: mark.clone(),
            given: *given,
            is_error: *is_error,
            notice: notice.clone(),
        }),
        CallState::Waiting
        | CallState::AwaitingConsent
        | CallState::Running { .. }
        | CallState::InDoubt { .. }
        | CallState::Again { .. }
        | CallState::BackingOff { .. } => None,
    }
}

/// One output as it is; several one after the other, each under its name.
pub(super) fn joined(outputs: &[SubtaskOutput]) -> Content {
    match outputs {
        [only] => vec![only.output.clone()],
        several => several
            .iter()
            .enumerate()
            .flat_map(|(index, part)| {
                let gap = if index == 0 { "" } else { "\n\n" };
                [Payload::inline(&format!("{gap}## {}\n\n", part.subtask)), part.output.clone()]
            })
            .collect(),
    }
}
