//! The report: a table for each subject, the same on the screen and on paper.

use std::fmt::Write;

/// One line of a table.
pub(crate) struct Row {
    what: String,
    result: String,
    target: Option<(String, bool)>,
}

/// One subject.
pub(crate) struct Section {
    title: &'static str,
    note: String,
    rows: Vec<Row>,
}

/// Which way a target points.
pub(crate) enum Target {
    /// The measurement should be this or more.
    AtLeast(f64),
    /// The measurement should be this or less.
    AtMost(f64),
}

impl Section {
    /// An empty table under a title, with what one must know to read it.
    pub(crate) fn new(title: &'static str, note: impl Into<String>) -> Self {
        Self { title, note: note.into(), rows: Vec::new() }
    }

    /// The same with another note.
    pub(crate) fn noting(mut self, note: String) -> Self {
        self.note = note;
        self
    }

    /// Adds a line that is only information.
    pub(crate) fn tell(&mut self, what: impl Into<String>, result: impl Into<String>) {
        self.rows.push(Row { what: what.into(), result: result.into(), target: None });
    }

    /// Adds a line with a target, met or not.
    pub(crate) fn judge(&mut self, what: impl Into<String>, result: impl Into<String>, judged: Judged) {
        let Judged { value, target, unit } = judged;
        let (word, bound, met) = match target {
            Target::AtLeast(bound) => ("≥", bound, value >= bound),
            Target::AtMost(bound) => ("≤", bound, value <= bound),
        };
        let target = Some((format!("{word} {bound} {unit}"), met));
        self.rows.push(Row { what: what.into(), result: result.into(), target });
    }

    /// The section as Markdown.
    pub(crate) fn markdown(&self) -> String {
        let mut page = format!("## {}\n\n", self.title);
        if !self.note.is_empty() {
            // Writing to a text cannot fail.
            let _ = writeln!(page, "{}\n", self.note);
        }
        if self.rows.is_empty() {
            return page;
        }
        page.push_str("| measured | result | target | met |\n|---|---|---|---|\n");
        for row in &self.rows {
            let (target, met) = match &row.target {
                Some((target, true)) => (target.as_str(), "yes"),
                Some((target, false)) => (target.as_str(), "**no**"),
                None => ("", ""),
            };
            let _ = writeln!(page, "| {} | {} | {target} | {met} |", row.what, row.result);
        }
        page.push('\n');
        page
    }

    /// Targets met, and the names of those missed.
    pub(crate) fn verdict(&self) -> (usize, Vec<String>) {
        let judged = self.rows.iter().filter_map(|row| row.target.as_ref().map(|(_, met)| (&row.what, *met)));
        let (met, missed): (Vec<_>, Vec<_>) = judged.partition(|(_, met)| *met);
        (met.len(), missed.into_iter().map(|(what, _)| format!("{}: {what}", self.title)).collect())
    }
}

/// A number and what it should be.
pub(crate) struct Judged {
    /// The number.
    pub(crate) value: f64,
    /// What it should be.
    pub(crate) target: Target,
    /// Its unit.
    pub(crate) unit: &'static str,
}

/// The last words: how many targets were met, and which were not.
pub(crate) fn summary(sections: &[Section]) -> String {
    let verdicts: Vec<_> = sections.iter().map(Section::verdict).collect();
    let met: usize = verdicts.iter().map(|(met, _)| met).sum();
    let missed: Vec<&String> = verdicts.iter().flat_map(|(_, missed)| missed).collect();
    let mut page = format!("## Targets\n\n{met} of {} targets met.\n", met + missed.len());
    for name in missed {
        let _ = write!(page, "\n- missed: {name}");
    }
    page.push('\n');
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_target_is_named_in_the_table_and_in_the_last_words() {
        let mut section = Section::new("Speed", "");
        section.tell("raw", "10/s");
        section.judge("one", "7", Judged { value: 7.0, target: Target::AtLeast(8.0), unit: "×" });
        section.judge("two", "7", Judged { value: 7.0, target: Target::AtMost(8.0), unit: "×" });
        let page = section.markdown();
        assert!(page.contains("| one | 7 | ≥ 8 × | **no** |\n| two | 7 | ≤ 8 × | yes |"), "{page}");
        let last = summary(&[section]);
        assert!(last.contains("1 of 2 targets met") && last.contains("missed: Speed: one"), "{last}");
    }

    #[test]
    fn what_could_not_be_measured_misses_its_target() {
        let mut section = Section::new("Speed", "");
        section.judge("one", "?", Judged { value: f64::NAN, target: Target::AtMost(8.0), unit: "×" });
        assert_eq!(section.verdict().1, ["Speed: one"]);
    }
}
