//! `glob_files`: files whose path fits a pattern, sorted.

use std::ops::ControlFlow;

use async_trait::async_trait;
use bowline_core::tool::ToolSpec;
use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;
use serde_json::{Value, json};

use super::list::SKIPPED;
use super::{given_back, in_words, typed};
use crate::background::{self, StopFlag};
use crate::workspace::{Kind, Walk};
use crate::{CallContext, Tool, ToolOutput, Workspace};

const FOUND_DEFAULT: usize = 1000;
const FOUND_MAX: usize = 5000;
const PATTERN_MAX: usize = 1024;

pub(crate) const DESCRIPTION: &str = "Find files of the workspace by the pattern of their path, sorted, one per line. \
* and ? stay within a name, ** goes through folders, [ab] and {a,b} choose. As in .gitignore, a pattern without / fits \
at any depth (*.rs), one with / counts from the folder (src/**/*.rs, /README.md), and one that ends in / finds folders. \
.git is left out.";

pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "minLength": 1, "maxLength": PATTERN_MAX,
                "description": "The pattern, as in src/**/*.rs."},
            "path": {"type": "string", "minLength": 1, "description": "The folder to look in. Default: the workspace."},
            "max": {"type": "integer", "minimum": 1, "maximum": FOUND_MAX,
                "description": "Most paths to return. Default: 1000."}
        },
        "required": ["pattern"],
        "additionalProperties": false
    })
}

pub(crate) struct GlobFiles {
    spec: ToolSpec,
}

impl GlobFiles {
    pub(crate) fn new(spec: ToolSpec) -> Self {
        Self { spec }
    }
}

#[derive(Deserialize)]
struct Args {
    pattern: String,
    path: Option<String>,
    max: Option<usize>,
}

#[async_trait]
impl Tool for GlobFiles {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, args: Value, ctx: &CallContext) -> ToolOutput {
        let workspace = ctx.workspace.clone();
        let work = move |stop: &StopFlag| find(&workspace, &typed(args)?, stop);
        given_back(background::run(ctx.timeout, work).await, &self.spec, ctx)
    }
}

/// A pattern, read.
struct Pattern {
    matcher: GlobMatcher,
    /// It ends in a slash: folders, and nothing else.
    folders: bool,
}

impl Pattern {
    fn read(raw: &str) -> Result<Self, String> {
        let (body, folders) = raw.strip_suffix('/').map_or((raw, false), |body| (body, true));
        let anchored = match body.strip_prefix('/') {
            Some(rest) => rest.to_owned(),
            None if body.contains('/') => body.to_owned(),
            None => format!("**/{body}"),
        };
        let glob = GlobBuilder::new(&anchored).literal_separator(true).backslash_escape(true).build();
        let glob = glob.map_err(|error| format!("the pattern cannot be used: {}", error.kind()))?;
        Ok(Self { matcher: glob.compile_matcher(), folders })
    }

    fn fits(&self, path: &std::path::Path, kind: &Kind) -> bool {
        (*kind == Kind::Directory) == self.folders && self.matcher.is_match(path)
    }
}

fn find(workspace: &Workspace, args: &Args, stop: &StopFlag) -> Result<String, String> {
    let pattern = Pattern::read(&args.pattern)?;
    let start = workspace.resolve(args.path.as_deref().unwrap_or(".")).map_err(in_words)?;
    let max = args.max.unwrap_or(FOUND_DEFAULT).clamp(1, FOUND_MAX);
    let (mut paths, mut more) = (Vec::new(), false);
    let walk = Walk { depth: usize::MAX, skip: SKIPPED, stop };
    let visited = walk.visit(workspace, &start, |found| {
        if !pattern.fits(found.path, &found.kind) {
            return ControlFlow::Continue(());
        }
        if paths.len() == max {
            more = true;
            return ControlFlow::Break(());
        }
        let slash = if pattern.folders { "/" } else { "" };
        paths.push(match start.as_str() {
            "." => format!("{}{slash}", found.path.display()),
            folder => format!("{folder}/{}{slash}", found.path.display()),
        });
        ControlFlow::Continue(())
    });
    visited.map_err(in_words)?;
    paths.sort_unstable();
    if paths.is_empty() {
        paths.push("[no path fits]".to_owned());
    }
    if more {
        paths.push(format!(
            "[there is more: only the first {max} are shown; narrow the pattern or the folder]"
        ));
    }
    Ok(paths.join("\n"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn fits(pattern: &str, path: &str) -> bool {
        Pattern::read(pattern).unwrap().fits(Path::new(path), &Kind::File)
    }

    #[test]
    fn patterns_mean_what_they_mean_in_gitignore() {
        for (pattern, path) in [
            ("*.rs", "main.rs"),
            ("*.rs", "a/b/main.rs"),
            ("/*.rs", "main.rs"),
            ("a/*.rs", "a/main.rs"),
            ("a/**/*.rs", "a/main.rs"),
            ("a/**/*.rs", "a/b/c/main.rs"),
            ("**/b/*", "a/b/c"),
            ("a/**", "a/b/c"),
            ("[mn]ain.{rs,py}", "x/nain.py"),
            ("\\*", "*"),
        ] {
            assert!(fits(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("/*.rs", "a/main.rs"),
            ("a/*.rs", "b/a/main.rs"),
            ("a/*.rs", "a/b/main.rs"),
            ("?", "ab"),
            ("*.rs/", "main.rs"),
            ("\\*", "x"),
        ] {
            assert!(!fits(pattern, path), "{pattern} {path}");
        }
        assert!(Pattern::read("a/").unwrap().fits(Path::new("x/a"), &Kind::Directory));
        assert!(Pattern::read("[").is_err_and(|said| said.contains("cannot be used")));
    }

    #[test]
    fn a_pattern_of_hostile_size_is_refused_or_matched_in_time_and_never_ends_the_program() {
        let deep = format!("{}{}", "{,".repeat(300), "}".repeat(300));
        let wide = "{a,b}".repeat(200);
        let stars = "**/".repeat(340);
        let many = "*a".repeat(500);
        let path = format!("{}x", "a".repeat(200) + &"/a".repeat(1000));
        for pattern in [deep, wide, stars, many, "[".repeat(1000), "{".repeat(1000), "?".repeat(1000)] {
            if let Ok(pattern) = Pattern::read(&pattern) {
                let _ = pattern.fits(Path::new(&path), &Kind::File);
            }
        }
    }
}
