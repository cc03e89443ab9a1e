//! Which keys a task file knows, and where each belongs.

use super::problem::{Problems, shown_key};
use super::{guard, limits, suggest};

/// A table of the task file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    /// Everything above the first table.
    Top,
    /// `[workspace]`
    Workspace,
    /// `[sandbox]`
    Sandbox,
    /// `[output]`
    Output,
    /// `[[check]]`
    Check,
    /// `[[tool]]`
    Tool,
    /// `[[plan]]`
    Plan,
    /// `[limits]`
    Limits,
    /// `[guard]`
    Guard,
}

impl Section {
    const ALL: [Self; 9] = [
        Self::Top,
        Self::Workspace,
        Self::Sandbox,
        Self::Output,
        Self::Check,
        Self::Tool,
        Self::Plan,
        Self::Limits,
        Self::Guard,
    ];

    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Top => &[
                "goal",
                "model",
                "instructions",
                "evidence",
                "review",
                "on_failure",
                "tools",
                "workspace",
                "sandbox",
                "output",
                "check",
                "tool",
                "plan",
                "limits",
                "guard",
            ],
            Self::Workspace => &["path", "mode"],
            Self::Sandbox => &["read", "write"],
            Self::Output => &["schema"],
            Self::Check => &["name", "command", "timeout_seconds"],
            Self::Tool => &[
                "name",
                "command",
                "description",
                "schema",
                "probe",
                "consent",
                "repeat",
                "timeout_seconds",
                "effect",
                "class",
                "attempts",
                "at_once",
                "cost_usd",
                "output_bytes",
            ],
            Self::Plan => &["id", "goal", "after"],
            Self::Limits => &limits::KEYS,
            Self::Guard => &guard::KEYS,
        }
    }

    /// How it is written in the file.
    pub(super) fn header(self) -> &'static str {
        match self {
            Self::Top => "the top of the file",
            Self::Workspace => "`[workspace]`",
            Self::Sandbox => "`[sandbox]`",
            Self::Output => "`[output]`",
            Self::Check => "`[[check]]`",
            Self::Tool => "`[[tool]]`",
            Self::Plan => "`[[plan]]`",
            Self::Limits => "`[limits]`",
            Self::Guard => "`[guard]`",
        }
    }

    fn whereabouts(self) -> String {
        format!("{} {}", if self == Self::Top { "at" } else { "in" }, self.header())
    }

    /// Notes a key that does not belong here, with the best guess at what was meant.
    pub(super) fn admit(self, key: &str, place: &str, problems: &Problems) {
        if self.keys().contains(&key) {
            return;
        }
        let elsewhere = || Self::ALL.into_iter().filter(|section| *section != self);
        let homes: Vec<_> =
            elsewhere().filter(|home| home.keys().contains(&key)).map(Self::whereabouts).collect();
        if !homes.is_empty() {
            let key = shown_key(key);
            problems.note(place, format!("`{key}` belongs {}", homes.join(" or ")), "move it there");
            return;
        }
        let remedy = if let Some(near) = suggest::nearest(key, self.keys().iter().copied()) {
            format!("did you mean `{near}`?")
        } else if let Some((near, home)) = elsewhere()
            .find_map(|home| suggest::nearest(key, home.keys().iter().copied()).map(|near| (near, home)))
        {
            format!("did you mean `{near}` {}?", home.whereabouts())
        } else {
            format!("remove it; {} knows {}", self.header(), self.keys().join(", "))
        };
        problems.note(place, format!("`{}` is not known {}", shown_key(key), self.whereabouts()), remedy);
    }
}
