//! What is said to those who plan, and to those who carry out a part of a plan.

use super::{Briefing, standing};
use crate::event::SubtaskOutput;
use crate::id::SubtaskId;
use crate::message::{Message, Payload};
use crate::plan::{Choice, Plan, Rule};
use crate::run::state::{Phase, Run};
use crate::run::{acting, falling_back};

/// Most sub-tasks whose outputs one sub-task is given.
const INPUTS_MAX: usize = 256;

const PLANNER: &str = "You plan work that others carry out. Break the task into sub-tasks that can each be done \
    and checked on their own, as few as will do; say what each must wait for; let what is independent run side \
    by side. Where one way may fail, give a choice of branches, tried in order. Answer with one JSON object \
    that holds the plan, and nothing else.";
const AGAIN: &str = "\n\nThis was done before, and what came out does not hold, also after repairs. Break the task down \
    otherwise, into smaller sub-tasks, so that each can be got right.";
const MEND: &str = "That plan cannot be carried out. Mend just this, keep the rest, and answer with the whole \
    JSON object again:";

/// How the conversation opens in which a plan is made, or made anew for what failed.
pub(in crate::run) fn planner(run: &Run, id: &SubtaskId) -> Vec<Message> {
    let mut body = Briefing::new(run, id.as_str());
    body.words("The task:\n");
    body.words(&run.task.goal);
    let tools: Vec<String> = run.tools.iter().map(|spec| spec.name.to_string()).collect();
    if !tools.is_empty() {
        body.words(&format!("\n\nTools that sub-tasks may use: {}.", tools.join(", ")));
    }
    if !run.task.evidence.is_empty() {
        body.words(&format!("\n\nFiles every sub-task is given: {}.", run.task.evidence.join(", ")));
    }
    if run.phase == Phase::Planning && run.recourse.redecomposed {
        body.words(AGAIN);
        body.failures();
        body.diagnosis();
    }
    if let (Some(plan), Some(failed)) = (&run.plan, run.replanning.first()) {
        body.failed(plan, failed);
    }
    vec![Message::System(standing(run, PLANNER)), body.done()]
}

/// What a planner is told of a plan that cannot be carried out.
pub(in crate::run) fn not_a_plan(problems: &[String]) -> String {
    let lines: Vec<String> = problems.iter().map(|problem| format!("\n- {problem}")).collect();
    format!("{MEND}{}", lines.concat())
}

/// What a sub-task is given: the outputs of all it waits for, those of the choices it is in
/// included, each once.
pub(super) fn inputs(run: &Run, id: &SubtaskId) -> Vec<SubtaskOutput> {
    let Some(plan) = &run.plan else { return Vec::new() };
    let own = plan.node(id).map(|node| node.after().to_vec()).unwrap_or_default();
    let around = choices(plan, id).flat_map(|choice| {
        let condition = match &choice.rule {
            Rule::When(condition) => Some(condition.of.clone()),
            Rule::FirstThatWorks => None,
        };
        choice.after.iter().cloned().chain(condition)
    });
    let mut given: Vec<SubtaskOutput> = Vec::new();
    for before in own.into_iter().chain(around) {
        for part in acting::outputs_of(run, plan, &before) {
            if !given.contains(&part) && given.len() < INPUTS_MAX {
                given.push(part);
            }
        }
    }
    given
}

/// The choices a node is in, the innermost first.
fn choices<'p>(plan: &'p Plan, id: &SubtaskId) -> impl Iterator<Item = &'p Choice> {
    let first = plan.parent(id).map(|(choice, _)| choice);
    std::iter::successors(first, |choice| plan.parent(&choice.id).map(|(outer, _)| outer))
}

impl Briefing<'_> {
    /// What other ways came to, and how to say that this one is none either.
    pub(super) fn lessons(&mut self, id: &SubtaskId) {
        let run = self.run;
        let Some(plan) = &run.plan else { return };
        let known = choices(plan, id).find_map(|choice| run.lessons.get(&choice.id));
        if let Some(lesson) = known {
            self.words("\n\nAnother way was tried before and failed:\n");
            self.made("a sub-task that failed", Payload::inline(lesson));
        }
        if falling_back::way_on(run, id).is_some() {
            let how = falling_back::CANNOT;
            self.words(&format!(
                "\n\nIf it cannot be done this way, reply with a line that begins with {how} and says why; \
                 another way is tried then."
            ));
        }
    }

    fn failed(&mut self, plan: &Plan, failed: &SubtaskId) {
        let done =
            plan.subtasks().into_iter().filter(|subtask| acting::output_of(self.run, &subtask.id).is_some());
        let done: Vec<&str> = done.map(|subtask| subtask.id.as_str()).collect();
        let json = serde_json::to_string(plan).unwrap_or_default();
        self.words("\n\nThe plan so far:\n");
        self.made("the plan", Payload::inline(&json));
        self.words(&format!(
            "\n\nDone, and kept: {}.",
            if done.is_empty() { "nothing".into() } else { done.join(", ") }
        ));
        self.words(&format!("\n\nWhat failed is {failed}:\n"));
        let why = self.run.lessons.get(failed).cloned().unwrap_or_default();
        self.made("a sub-task that failed", Payload::inline(&why));
        self.words(&format!(
            "\n\nPlan another way to reach what {failed} was for. Answer with the sub-tasks that take its place, \
             and only those, under new ids. They begin when what {failed} waited for is done, and what waits for \
             {failed} waits for them."
        ));
    }
}
