//! `search_files`: lines that match a regular expression.

use std::ffi::OsStr;
use std::fs::File;
use std::ops::ControlFlow;

use async_trait::async_trait;
use bowline_core::tool::ToolSpec;
use regex::{Regex, RegexBuilder};
use rustix::fs::{Mode, OFlags};
use serde::Deserialize;
use serde_json::{Value, json};

use super::list::SKIPPED;
use super::{given_back, in_words, is_binary, typed};
use crate::background::{self, StopFlag};
use crate::workspace::{FILE_BYTES_MAX, Found, InsidePath, Kind, PathError, Walk, is_private, read_regular};
use crate::{CallContext, Tool, ToolOutput, Workspace};

const MATCHES_DEFAULT: usize = 100;
const MATCHES_MAX: usize = 1000;
const LINE_SHOWN_MAX: usize = 400;
const PATTERN_BYTES_MAX: usize = 4 * 1024 * 1024;

pub(crate) const DESCRIPTION: &str = "Search the text files of the workspace for lines that match a regular \
expression (Rust syntax: no look-around, no back references; (?i) ignores case). Returns `path:line: text`, sorted by \
path. .git, .env and binary files are left out.";

pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "minLength": 1, "description": "The regular expression, matched line by line."},
            "path": {"type": "string", "minLength": 1,
                "description": "The folder or file to search. Default: the workspace."},
            "max": {"type": "integer", "minimum": 1, "maximum": MATCHES_MAX,
                "description": "Most matching lines to return. Default: 100."}
        },
        "required": ["pattern"],
        "additionalProperties": false
    })
}

pub(crate) struct SearchFiles {
    spec: ToolSpec,
}

impl SearchFiles {
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
impl Tool for SearchFiles {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, args: Value, ctx: &CallContext) -> ToolOutput {
        let workspace = ctx.workspace.clone();
        let work = move |stop: &StopFlag| search(&workspace, &typed(args)?, stop);
        given_back(background::run(ctx.timeout, work).await, &self.spec, ctx)
    }
}

fn search(workspace: &Workspace, args: &Args, stop: &StopFlag) -> Result<String, String> {
    let pattern = RegexBuilder::new(&args.pattern)
        .size_limit(PATTERN_BYTES_MAX)
        .build()
        .map_err(|error| format!("the pattern cannot be used: {error}"))?;
    let start = workspace.resolve(args.path.as_deref().unwrap_or(".")).map_err(in_words)?;
    let max = args.max.unwrap_or(MATCHES_DEFAULT).clamp(1, MATCHES_MAX);
    let mut matches = Matches { pattern, max, lines: Vec::new(), more: false, too_large: 0 };
    let walk = Walk { depth: usize::MAX, skip: SKIPPED, stop };
    match walk.visit(workspace, &start, |found| matches.visit(found, &start)) {
        Ok(()) => {}
        Err(PathError::NotAFolder { .. }) => {
            let bytes = workspace.read(&start, FILE_BYTES_MAX).map_err(in_words)?;
            if is_binary(&bytes) {
                return Err(format!("{} is a binary file", start.as_str()));
            }
            matches.add(start.as_str(), &bytes);
        }
        Err(error) => return Err(in_words(error)),
    }
    Ok(matches.told())
}

struct Matches {
    pattern: Regex,
    max: usize,
    lines: Vec<String>,
    more: bool,
    too_large: usize,
}

impl Matches {
    fn visit(&mut self, found: &Found<'_>, start: &InsidePath) -> ControlFlow<()> {
        if found.kind != Kind::File || found.path.file_name().and_then(OsStr::to_str).is_some_and(is_private)
        {
            return ControlFlow::Continue(());
        }
        let path = match start.as_str() {
            "." => found.path.display().to_string(),
            folder => format!("{folder}/{}", found.path.display()),
        };
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
        // A file that cannot be read (any more) is no match; the search goes on.
        let Ok(opened) = rustix::fs::openat(found.parent, found.name, flags, Mode::empty()) else {
            return ControlFlow::Continue(());
        };
        match read_regular(File::from(opened), &path, FILE_BYTES_MAX) {
            Ok((bytes, _)) if !is_binary(&bytes) => self.add(&path, &bytes),
            Err(PathError::TooLarge { .. }) => self.too_large += 1,
            Ok(_) | Err(_) => {}
        }
        if self.more { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn add(&mut self, path: &str, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        for (index, line) in text.lines().enumerate() {
            if !self.pattern.is_match(line) {
                continue;
            }
            if self.lines.len() == self.max {
                self.more = true;
                return;
            }
            let shown = line.get(..line.floor_char_boundary(LINE_SHOWN_MAX)).unwrap_or(line);
            let cut = if shown.len() < line.len() { "..." } else { "" };
            self.lines.push(format!("{path}:{}: {shown}{cut}", index + 1));
        }
    }

    fn told(mut self) -> String {
        if self.lines.is_empty() {
            self.lines.push("[no line matches]".to_owned());
        }
        if self.more {
            self.lines.push(format!("[there is more: only the first {} matches are shown]", self.max));
        }
        if self.too_large > 0 {
            self.lines.push(format!(
                "[{} files of more than {FILE_BYTES_MAX} bytes were not searched]",
                self.too_large
            ));
        }
        self.lines.join("\n")
    }
}
