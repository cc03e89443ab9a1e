//! Names of tools on the wire.
//!
//! Servers take letters, digits, `_` and `-`; ours may hold a dot. The name that is sent
//! is found again in the reply, and no two tools are sent under one name.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bowline_models::Request;

/// Longest name a server takes.
const LEN_MAX: usize = 64;

/// Which tool is sent under which name, for one request.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Ours, by the name that is sent. Only those that differ.
    ours: BTreeMap<String, String>,
    /// The name that is sent, by ours.
    sent: BTreeMap<String, String>,
}

impl Names {
    /// The names of the tools of a request.
    pub(crate) fn of(request: &Request) -> Self {
        let plain: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        let mut names = Self::default();
        for name in plain.iter().filter(|name| clean(name) != **name) {
            let base = clean(name).into_owned();
            let taken = |sent: &str| plain.contains(&sent) || names.ours.contains_key(sent);
            let mut sent = base.clone();
            let mut number = 2_u32;
            while taken(&sent) {
                let kept: String = base.chars().take(LEN_MAX - 11).collect();
                sent = format!("{kept}_{number}");
                number += 1;
            }
            names.ours.insert(sent.clone(), (*name).to_owned());
            names.sent.insert((*name).to_owned(), sent);
        }
        names
    }

    /// The name that is sent. One that a model made up is sent in characters that pass.
    pub(crate) fn sent<'a>(&'a self, ours: &'a str) -> Cow<'a, str> {
        self.sent.get(ours).map_or_else(|| clean(ours), |sent| Cow::Borrowed(sent.as_str()))
    }

    /// The tool a reply means.
    pub(crate) fn ours(&self, sent: String) -> String {
        self.ours.get(&sent).cloned().unwrap_or(sent)
    }
}

fn clean(name: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.len() <= LEN_MAX && name.chars().all(is_plain) {
        return Cow::Borrowed(name);
    }
    let cleaned: String = name.chars().take(LEN_MAX).map(|c| if is_plain(c) { c } else { '_' }).collect();
    Cow::Owned(if cleaned.is_empty() { "_".to_owned() } else { cleaned })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{request, tool};

    #[test]
    fn a_name_with_a_dot_is_found_again_and_two_never_become_one() {
        let mut asked = request();
        asked.tools = [tool("git.log"), tool("git_log"), tool("git.log_2"), tool("read_file")].into();
        let names = Names::of(&asked);
        let sent: Vec<String> =
            asked.tools.iter().map(|tool| names.sent(tool.name.as_str()).into_owned()).collect();
        assert_eq!(sent, ["git_log_2", "git_log", "git_log_2_2", "read_file"]);
        for (tool, sent) in asked.tools.iter().zip(sent) {
            assert_eq!(names.ours(sent), tool.name.as_str());
        }
        assert_eq!(names.sent("no such tool"), "no_such_tool");
        assert_eq!(names.ours("other".into()), "other");
    }
}
