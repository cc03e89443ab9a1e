//! A plan and what was found out about it, for people and for programs that draw.
//!
//! Text, JSON, and the languages of two drawing programs. Names and goals are the
//! user's own; they are quoted for the language they go into, and whoever prints text
//! on a terminal escapes it there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Serialize;

use super::feasible::{Feasibility, Stands, Verdict, count};
use super::links::{Link, Ordering, Why};
use super::measure::{Measure, Measured};
use super::prune::{Pruned, Short};
use super::{Choice, Node, Plan, Rule, Subtask, Test};
use crate::id::SubtaskId;

/// Most characters of a goal in a drawing.
const GOAL_SHOWN: usize = 60;

/// What is drawn.
pub struct Picture<'a> {
    /// What was found out; its plan is the one that is drawn.
    pub feasibility: &'a Feasibility,
    /// That plan, measured.
    pub measure: &'a Measure,
}

/// A plan, what was found out about it, and its measures.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Drawn<'a> {
    /// Every check holds.
    pub valid: bool,
    /// The plan: with the order links ask for, without what was pruned.
    pub plan: &'a Plan,
    /// Its measures.
    pub measure: &'a Measure,
    /// Who makes what for whom.
    pub links: &'a [Link],
    /// The order that links ask for.
    pub orderings: &'a [Ordering],
    /// What was left out to fit the budget.
    pub pruned: &'a [Pruned],
    /// One for every check.
    pub verdicts: &'a [Verdict],
}

impl Picture<'_> {
    fn plan(&self) -> &Plan {
        &self.feasibility.plan
    }

    /// Everything, for machines.
    #[must_use]
    pub fn drawn(&self) -> Drawn<'_> {
        let found = self.feasibility;
        Drawn {
            valid: found.is_valid(),
            plan: self.plan(),
            measure: self.measure,
            links: &found.links.links,
            orderings: &found.links.orderings,
            pruned: &found.pruned,
            verdicts: &found.verdicts,
        }
    }

    /// Lines for people.
    #[must_use]
    pub fn text(&self) -> Vec<String> {
        let subtasks = self.plan().subtasks().len();
        let choices = self.plan().size() - subtasks;
        let mut lines =
            vec![format!("plan of {}, {}", count(subtasks, "sub-task"), count(choices, "choice"))];
        let rows: BTreeMap<&SubtaskId, &Measured> =
            self.measure.subtasks.iter().map(|row| (&row.id, row)).collect();
        list(self.plan().nodes(), 1, &rows, &mut lines);
        lines.extend(self.figures());
        lines.extend(self.connections());
        for verdict in &self.feasibility.verdicts {
            lines.push(format!(
                "{:<8} {:<14} {}",
                stands(verdict.stands),
                verdict.check.word(),
                verdict.note
            ));
            lines.extend(verdict.findings.iter().map(|finding| format!("           {finding}")));
        }
        lines.push(if self.feasibility.is_valid() {
            "valid".into()
        } else if self.feasibility.is_blocked() {
            "not valid: it waits for a person".into()
        } else {
            "not valid".into()
        });
        lines
    }

    fn figures(&self) -> Vec<String> {
        let measure = self.measure;
        let path: Vec<&str> = measure.critical_path.iter().map(SubtaskId::as_str).collect();
        let orders = match measure.flexibility.orders {
            Some(orders) if measure.flexibility.is_exact() => orders.to_string(),
            Some(_) | None if measure.flexibility.is_exact() => {
                format!("10^{:.1}", measure.flexibility.log10)
            }
            Some(_) | None => {
                format!("about 10^{:.1} (± {:.2})", measure.flexibility.log10, measure.flexibility.error)
            }
        };
        vec![
            format!("critical path {} s: {}", measure.critical_seconds, path.join(" > ")),
            format!("orders        {orders}"),
        ]
    }

    fn connections(&self) -> Vec<String> {
        let found = self.feasibility;
        let link = |link: &super::links::Link| {
            let from = link.from.as_ref().map_or("the beginning", SubtaskId::as_str);
            format!("link          {} needs {:?} from {from}", link.to, link.fact.as_str())
        };
        let ordering = |it: &super::links::Ordering| {
            let why = match &it.why {
                Why::Supplies { fact } => format!("makes {:?} for it", fact.as_str()),
                Why::Protects(link) => format!("{} needs {:?} whole", link.to, link.fact.as_str()),
            };
            format!("order added   {} before {}: {why}", it.first, it.then)
        };
        let pruned = |it: &super::prune::Pruned| {
            let (short, saved) = match it.short_of {
                Short::Tokens => ("tokens", count(usize::try_from(it.tokens).unwrap_or(usize::MAX), "token")),
                Short::Time => ("time", format!("{} s", it.seconds)),
            };
            format!("left out      {}: short of {short}, saves {saved}", it.id)
        };
        let links = found.links.links.iter().map(link);
        links
            .chain(found.links.orderings.iter().map(ordering))
            .chain(found.pruned.iter().map(pruned))
            .collect()
    }

    /// A flow chart for Mermaid.
    #[must_use]
    pub fn mermaid(&self) -> String {
        let mut pen = Pen::new(self, Language::Mermaid);
        pen.out.push_str("flowchart TD\n");
        pen.list(self.plan().nodes(), 1);
        pen.edges(self.plan().nodes());
        let critical: Vec<String> = self.measure.critical_path.iter().map(|id| pen.name(id)).collect();
        pen.out.push_str("  classDef critical stroke-width:3px\n");
        if !critical.is_empty() {
            let _ = writeln!(pen.out, "  class {} critical", critical.join(","));
        }
        pen.out
    }

    /// A graph for Graphviz.
    #[must_use]
    pub fn dot(&self) -> String {
        let mut pen = Pen::new(self, Language::Dot);
        pen.out.push_str("digraph plan {\n  compound=true;\n  node [shape=box];\n");
        pen.list(self.plan().nodes(), 1);
        pen.edges(self.plan().nodes());
        pen.out.push_str("}\n");
        pen.out
    }
}

fn list(nodes: &[Node], depth: usize, rows: &BTreeMap<&SubtaskId, &Measured>, lines: &mut Vec<String>) {
    let indent = "  ".repeat(depth);
    for node in nodes {
        let after: Vec<&str> = node.after().iter().map(SubtaskId::as_str).collect();
        let after = if after.is_empty() { String::new() } else { format!("  after {}", after.join(", ")) };
        match node {
            Node::Subtask(subtask) => {
                let row = rows.get(&subtask.id);
                let (seconds, slack) = row.map_or((0, 0), |row| (row.seconds, row.slack));
                let optional = if subtask.optional { "  optional" } else { "" };
                lines.push(format!("{indent}{}  {seconds} s  slack {slack} s{optional}{after}", subtask.id));
            }
            Node::Choice(choice) => {
                lines.push(format!("{indent}{}  {}{after}", choice.id, rule(choice)));
                for (place, branch) in choice.branches.iter().enumerate() {
                    let name =
                        if branch.name.is_empty() { (place + 1).to_string() } else { branch.name.clone() };
                    lines.push(format!("{indent}  branch {name}"));
                    list(&branch.nodes, depth + 2, rows, lines);
                }
            }
        }
    }
}

/// How a choice chooses, in words.
fn rule(choice: &Choice) -> String {
    match &choice.rule {
        Rule::FirstThatWorks => "the first that works".into(),
        Rule::When(condition) => {
            let test = match &condition.test {
                Test::Is(text) => format!("is {text:?}"),
                Test::Contains(text) => format!("contains {text:?}"),
                Test::Json { at, is } => format!("has {is} at {at:?}"),
            };
            format!("when {} {test}", condition.of)
        }
    }
}

fn stands(stands: Stands) -> &'static str {
    match stands {
        Stands::Holds => "holds",
        Stands::Fails => "FAILS",
        Stands::Blocked => "BLOCKED",
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    Mermaid,
    Dot,
}

/// Writes nodes and edges in one language.
struct Pen<'a> {
    language: Language,
    /// Nodes are named by number, since their own names may be words of the language.
    numbers: BTreeMap<&'a SubtaskId, usize>,
    /// Order that was added, which is drawn dashed.
    added: BTreeSet<(&'a SubtaskId, &'a SubtaskId)>,
    critical: BTreeSet<&'a SubtaskId>,
    out: String,
}

impl<'a> Pen<'a> {
    fn new(picture: &'a Picture<'_>, language: Language) -> Self {
        let mut numbers = BTreeMap::new();
        number(picture.feasibility.plan.nodes(), &mut numbers);
        let added = picture.feasibility.links.orderings.iter().map(|it| (&it.first, &it.then)).collect();
        let critical = picture.measure.critical_path.iter().collect();
        Self { language, numbers, added, critical, out: String::new() }
    }

    fn name(&self, id: &SubtaskId) -> String {
        format!("n{}", self.numbers.get(id).copied().unwrap_or_default())
    }

    fn list(&mut self, nodes: &[Node], depth: usize) {
        let indent = "  ".repeat(depth);
        for node in nodes {
            let name = self.name(node.id());
            match node {
                Node::Subtask(subtask) => {
                    let label = self.label(subtask);
                    let bold = if self.critical.contains(&subtask.id) { ", penwidth=3" } else { "" };
                    let _ = match self.language {
                        Language::Mermaid => writeln!(self.out, "{indent}{name}[\"{label}\"]"),
                        Language::Dot => writeln!(self.out, "{indent}{name} [label=\"{label}\"{bold}];"),
                    };
                }
                Node::Choice(choice) => {
                    let label = self.quoted(&format!("{}: {}", choice.id, rule(choice)));
                    let _ = match self.language {
                        Language::Mermaid => writeln!(self.out, "{indent}{name}{{\"{label}\"}}"),
                        Language::Dot => {
                            writeln!(self.out, "{indent}{name} [label=\"{label}\", shape=diamond];")
                        }
                    };
                    for (place, branch) in choice.branches.iter().enumerate() {
                        self.branch(&format!("{name}_{place}"), &branch.name, &indent);
                        self.list(&branch.nodes, depth + 1);
                        let end = if self.language == Language::Mermaid { "end" } else { "}" };
                        let _ = writeln!(self.out, "{indent}{end}");
                    }
                }
            }
        }
    }

    fn branch(&mut self, name: &str, label: &str, indent: &str) {
        let label = self.quoted(if label.is_empty() { "branch" } else { label });
        let _ = match self.language {
            Language::Mermaid => writeln!(self.out, "{indent}subgraph {name}[\"{label}\"]"),
            Language::Dot => writeln!(self.out, "{indent}subgraph cluster_{name} {{ label=\"{label}\";"),
        };
    }

    fn edges(&mut self, nodes: &[Node]) {
        for node in nodes {
            for first in node.waits() {
                let dashed = self.added.contains(&(first, node.id()));
                self.edge(&self.name(first), &self.name(node.id()), dashed);
            }
            for branch in node.branches() {
                // Those that wait for nothing beside them are what the choice leads to.
                let beside: BTreeSet<&SubtaskId> = branch.nodes.iter().map(Node::id).collect();
                for inner in &branch.nodes {
                    if !inner.waits().any(|id| beside.contains(id)) {
                        self.edge(&self.name(node.id()), &self.name(inner.id()), false);
                    }
                }
                self.edges(&branch.nodes);
            }
        }
    }

    fn edge(&mut self, from: &str, to: &str, dashed: bool) {
        let _ = match (self.language, dashed) {
            (Language::Mermaid, false) => writeln!(self.out, "  {from} --> {to}"),
            (Language::Mermaid, true) => writeln!(self.out, "  {from} -.-> {to}"),
            (Language::Dot, false) => writeln!(self.out, "  {from} -> {to};"),
            (Language::Dot, true) => writeln!(self.out, "  {from} -> {to} [style=dashed];"),
        };
    }

    fn label(&self, subtask: &Subtask) -> String {
        let line = subtask.goal.lines().next().unwrap_or_default();
        let goal: String = line.chars().take(GOAL_SHOWN).collect();
        let cut = if goal.len() < subtask.goal.len() { "…" } else { "" };
        self.quoted(&format!("{}: {goal}{cut}", subtask.id))
    }

    /// A text that stands between double quotes.
    fn quoted(&self, text: &str) -> String {
        let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c });
        let mut quoted = String::new();
        for c in plain {
            match (self.language, c) {
                (Language::Mermaid, '"') => quoted.push_str("#quot;"),
                (Language::Mermaid, '#') => quoted.push_str("#35;"),
                (Language::Mermaid, '<') => quoted.push_str("#lt;"),
                (Language::Mermaid, '>') => quoted.push_str("#gt;"),
                (Language::Dot, '"' | '\\') => quoted.extend(['\\', c]),
                (Language::Mermaid | Language::Dot, c) => quoted.push(c),
            }
        }
        quoted
    }
}

fn number<'a>(nodes: &'a [Node], numbers: &mut BTreeMap<&'a SubtaskId, usize>) {
    for node in nodes {
        numbers.insert(node.id(), numbers.len() + 1);
        node.branches().iter().for_each(|branch| number(&branch.nodes, numbers));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::id::ToolName;
    use crate::plan::feasible::{Access, Circumstances, Tools, check};
    use crate::plan::made::{choice, node};
    use crate::plan::measure::{Estimates, measure};
    use crate::plan::prune::Left;

    struct All;

    impl Tools for All {
        fn access(&self, _: &ToolName) -> Access {
            Access::Granted
        }
        fn names(&self) -> Vec<&str> {
            Vec::new()
        }
    }

    fn found() -> Feasibility {
        let mut first = crate::plan::made::subtask("a makes x takes 5");
        first.goal = "say \"hi\" <b>\nmore".into();
        let nodes = vec![
            first.into(),
            choice("c", &[&["b needs x takes 3"], &["d takes 9"]]),
            node("spoil breaks x takes 1"),
        ];
        let none = BTreeSet::new();
        let (left, estimates) = (Left::default(), Estimates::default());
        check(
            Plan::new(nodes).unwrap(),
            &Circumstances { facts: &none, tools: &All, left, slots: 2, estimates },
        )
    }

    #[test]
    fn a_plan_is_told_with_order_path_links_and_verdicts() {
        let found = found();
        let measure = measure(&found.plan, &Estimates::default());
        let text = Picture { feasibility: &found, measure: &measure }.text().join("\n");
        for part in [
            "plan of 4 sub-tasks, 1 choice",
            "  c  the first that works",
            "    branch 1",
            "critical path 10 s: d > spoil",
            "link          b needs \"x\" from a",
            "order added   a before b: makes \"x\" for it",
            "order added   c before spoil: b needs \"x\" whole",
            "holds    tools",
            "valid",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }

    #[test]
    fn drawings_quote_what_they_hold_and_dash_what_was_added() {
        let found = found();
        let measure = measure(&found.plan, &Estimates::default());
        let picture = Picture { feasibility: &found, measure: &measure };
        let mermaid = picture.mermaid();
        assert!(
            mermaid.starts_with("flowchart TD\n  n1[\"a: say #quot;hi#quot; #lt;b#gt;…\"]\n"),
            "{mermaid}"
        );
        assert!(mermaid.contains("n1 -.-> n3") && mermaid.contains("subgraph n2_0[\"branch\"]"), "{mermaid}");
        let dot = picture.dot();
        assert!(dot.contains("n1 [label=\"a: say \\\"hi\\\" <b>…\""), "{dot}");
        assert!(dot.contains("n1 -> n3 [style=dashed];") && dot.ends_with("}\n"), "{dot}");
        let json = serde_json::to_value(picture.drawn()).unwrap();
        assert_eq!(json["valid"], true);
        assert_eq!(json["measure"]["critical_seconds"], 10);
        assert_eq!(json["verdicts"].as_array().unwrap().len(), 7);
    }
}
