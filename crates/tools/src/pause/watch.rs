//! `wait_for`: looks again and again until a file or a page is as wanted.

use std::time::Duration;

use async_trait::async_trait;
use bowline_core::provenance::Digest;
use bowline_core::tool::ToolSpec;
use bowline_net::{FetchError, FetchLimits, GateError, Request};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{SECONDS_MAX, allowed};
use crate::files::{in_words, typed};
use crate::web::{chain, text_of};
use crate::workspace::{FILE_BYTES_MAX, PathError};
use crate::{CallContext, Tool, ToolOutput, background};

const EVERY_DEFAULT: f64 = 2.0;
const EVERY_MIN: f64 = 0.5;
const EVERY_MAX: f64 = 60.0;
const SECONDS_DEFAULT: f64 = 60.0;
const URL_MAX: usize = 8192;
const CONTAINS_MAX: usize = 4096;

/// Longest time and most bytes of one look at a page.
const LOOK_MAX: Duration = Duration::from_secs(10);
const LOOK_BYTES_MAX: usize = 1024 * 1024;

/// `wait_for`.
pub(crate) struct WaitFor {
    spec: ToolSpec,
}

#[derive(Deserialize)]
struct Args {
    file: Option<String>,
    until: Option<Until>,
    url: Option<String>,
    status: Option<u16>,
    contains: Option<String>,
    every_seconds: Option<f64>,
    max_seconds: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Until {
    Exists,
    Changes,
    Gone,
}

impl WaitFor {
    pub(crate) const DESCRIPTION: &str = "Wait until a file of the workspace exists, changes or is gone, or until a URL \
of an allowed host answers (with a certain status, or a text in it). Give `file` or `url`. Looks every few seconds, for \
at most 300 seconds.";

    pub(crate) fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "file": {"type": "string", "minLength": 1, "description": "Path of the file, from the workspace down."},
                "until": {"enum": ["exists", "changes", "gone"],
                    "description": "What the file must do. Default: exists."},
                "url": {"type": "string", "minLength": 1, "maxLength": URL_MAX, "description": "The URL to GET."},
                "status": {"type": "integer", "minimum": 100, "maximum": 599,
                    "description": "The status the URL must answer with. Default: any from 200 to 299."},
                "contains": {"type": "string", "minLength": 1, "maxLength": CONTAINS_MAX,
                    "description": "A text the file or the answer must contain."},
                "every_seconds": {"type": "number", "minimum": EVERY_MIN, "maximum": EVERY_MAX,
                    "description": "Seconds between two looks. Default: 2."},
                "max_seconds": {"type": "number", "exclusiveMinimum": 0, "maximum": SECONDS_MAX,
                    "description": "How long to wait at most. Default: 60."}
            },
            "oneOf": [{"required": ["file"], "not": {"required": ["url"]}}, {"required": ["url"], "not": {"required": ["file"]}}],
            "additionalProperties": false
        })
    }

    pub(crate) fn new(spec: ToolSpec) -> Self {
        Self { spec }
    }
}

#[async_trait]
impl Tool for WaitFor {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, args: Value, ctx: &CallContext) -> ToolOutput {
        let goal = typed::<Args>(args).and_then(|args| Ok((Goal::of(&args)?, Pace::of(&args, ctx)?)));
        let (mut goal, pace) = match goal {
            Ok(goal) => goal,
            Err(problem) => return ToolOutput::error(problem),
        };
        let started = Instant::now();
        let until = started + pace.most;
        let mut looks = 0_u32;
        loop {
            looks = looks.saturating_add(1);
            let left = until.saturating_duration_since(Instant::now());
            let seen = match goal.look(ctx, left).await {
                Look::Done(what) => {
                    let took = started.elapsed().as_secs_f64();
                    return ToolOutput::ok(format!("{what}, after {took:.1} s and {looks} looks"));
                }
                Look::Never(why) => return ToolOutput::error(why),
                Look::NotYet(seen) => seen,
            };
            let next = Instant::now() + pace.every;
            if next >= until {
                tokio::time::sleep_until(until).await;
                let most = pace.most.as_secs_f64();
                return ToolOutput::error(format!(
                    "not within {most} s and {looks} looks; at the last one: {seen}"
                ));
            }
            tokio::time::sleep_until(next).await;
        }
    }
}

/// How often and how long.
struct Pace {
    every: Duration,
    most: Duration,
}

impl Pace {
    fn of(args: &Args, ctx: &CallContext) -> Result<Self, String> {
        let seconds = |given: Option<f64>, otherwise: f64| {
            let seconds = given.unwrap_or(otherwise);
            Duration::try_from_secs_f64(seconds).map_err(|_| format!("{seconds} is no number of seconds"))
        };
        let every = seconds(args.every_seconds, EVERY_DEFAULT)?.max(Duration::from_secs_f64(EVERY_MIN));
        let most = seconds(args.max_seconds, SECONDS_DEFAULT)?.min(allowed(ctx));
        Ok(Self { every, most })
    }
}

/// What one look came to.
enum Look {
    Done(String),
    NotYet(String),
    /// Waiting will not help.
    Never(String),
}

/// What is waited for.
enum Goal {
    File { path: String, until: Until, contains: Option<String>, first: Option<State> },
    Page { url: String, status: Option<u16>, contains: Option<String> },
}

/// A file as it was found; `None` when there is none.
type State = Option<Digest>;

impl Goal {
    fn of(args: &Args) -> Result<Self, String> {
        match (&args.file, &args.url) {
            (Some(path), None) if args.status.is_none() => Ok(Self::File {
                path: path.clone(),
                until: args.until.unwrap_or(Until::Exists),
                contains: args.contains.clone(),
                first: None,
            }),
            (None, Some(url)) if args.until.is_none() => {
                Ok(Self::Page { url: url.clone(), status: args.status, contains: args.contains.clone() })
            }
            (Some(_), None) => Err("`status` is for a `url`".to_owned()),
            (None, Some(_)) => Err("`until` is for a `file`".to_owned()),
            (Some(_), Some(_)) | (None, None) => Err("give either `file` or `url`".to_owned()),
        }
    }

    async fn look(&mut self, ctx: &CallContext, left: Duration) -> Look {
        match self {
            Self::File { path, until, contains, first } => {
                let bytes = match read(ctx, path).await {
                    Ok(bytes) => bytes,
                    Err(why) => return Look::Never(why),
                };
                let now = bytes.as_deref().map(Digest::of);
                let has = |wanted: &String| {
                    let bytes = bytes.as_deref().unwrap_or_default();
                    bytes.windows(wanted.len()).any(|window| window == wanted.as_bytes())
                };
                let before = *first.get_or_insert(now);
                let is_so = match until {
                    Until::Exists => now.is_some(),
                    Until::Changes => now != before,
                    Until::Gone => now.is_none(),
                };
                match (is_so, contains.as_ref().is_none_or(has)) {
                    (true, true) => Look::Done(format!("{path} {}", until.done())),
                    (true, false) => Look::NotYet(format!("{path} does not contain the text")),
                    (false, _) => Look::NotYet(format!("{path} {}", until.missing())),
                }
            }
            Self::Page { url, status, contains } => page(ctx, url, *status, contains.as_deref(), left).await,
        }
    }
}

impl Until {
    fn done(self) -> &'static str {
        match self {
            Self::Exists => "exists",
            Self::Changes => "has changed",
            Self::Gone => "is gone",
        }
    }

    fn missing(self) -> &'static str {
        match self {
            Self::Exists => "is not there",
            Self::Changes => "has not changed",
            Self::Gone => "is still there",
        }
    }
}

async fn read(ctx: &CallContext, path: &str) -> Result<Option<Vec<u8>>, String> {
    let (workspace, path) = (ctx.workspace.clone(), path.to_owned());
    let work = move |_: &background::StopFlag| match workspace.resolve(&path) {
        Ok(inside) => match workspace.read(&inside, FILE_BYTES_MAX) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(PathError::Missing { .. }) => Ok(None),
            Err(error) => Err(in_words(error)),
        },
        Err(PathError::Missing { .. }) => Ok(None),
        Err(error) => Err(in_words(error)),
    };
    background::run(ctx.timeout, work).await.map_err(|not_done| not_done.message(ctx.timeout))?
}

async fn page(
    ctx: &CallContext,
    url: &str,
    status: Option<u16>,
    contains: Option<&str>,
    left: Duration,
) -> Look {
    let limits = FetchLimits { bytes_max: LOOK_BYTES_MAX, ..crate::web::limits(LOOK_MAX.min(left)) };
    let fetched = match ctx.reach.send(Request::get(url), limits).await {
        Ok(response) => response.read().await,
        Err(error) => Err(error),
    };
    let fetched = match fetched {
        Ok(fetched) => fetched,
        Err(error) => {
            let text = format!("{}; {}", chain(&error), error.remedy());
            return if is_refusal(&error) { Look::Never(text) } else { Look::NotYet(chain(&error)) };
        }
    };
    let found = fetched.status;
    if !status.map_or_else(|| found.is_success(), |status| found.as_u16() == status) {
        return Look::NotYet(format!("{url} answered {found}"));
    }
    match contains {
        Some(wanted) if !text_of(&fetched).unwrap_or_default().contains(wanted) => {
            Look::NotYet(format!("{url} answered {found} without the text"))
        }
        Some(_) | None => Look::Done(format!("{url} answered {found}")),
    }
}

/// Whether asking again would be refused again.
fn is_refusal(error: &FetchError) -> bool {
    match error {
        FetchError::Request(_)
        | FetchError::Gate(GateError::Refused(_))
        | FetchError::Redirect { source: GateError::Refused(_), .. } => true,
        FetchError::Gate(_)
        | FetchError::Redirect { .. }
        | FetchError::RedirectLimit { .. }
        | FetchError::Location { .. }
        | FetchError::RedirectBody { .. }
        | FetchError::Tls { .. }
        | FetchError::Exchange { .. }
        | FetchError::Encoding { .. }
        | FetchError::Deadline { .. } => false,
    }
}
