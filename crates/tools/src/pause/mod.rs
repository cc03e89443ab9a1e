//! Tools that let time pass: `wait` for a while, `wait_for` something to happen.
//!
//! Both are declared polls, so repeating them is no loop. A wait ends at its
//! deadline or when its caller is gone; nothing of it goes on then.

mod watch;

use std::time::Duration;

use async_trait::async_trait;
use bowline_core::tool::ToolSpec;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::files::typed;
use crate::{CallContext, Tool, ToolOutput};

pub(crate) use watch::WaitFor;

/// Longest wait, in seconds.
const SECONDS_MAX: u64 = 300;

/// Time limit of a call: the longest wait and a little more.
pub(crate) const PAUSE_MS: u64 = 310_000;

/// What is left of a call's time for saying how it went.
const MARGIN: Duration = Duration::from_millis(500);

/// `wait`.
pub(crate) struct Wait {
    spec: ToolSpec,
}

#[derive(Deserialize)]
struct Args {
    seconds: f64,
}

impl Wait {
    pub(crate) const DESCRIPTION: &str = "Wait for a number of seconds, at most 300, when something needs time and \
there is nothing to look at meanwhile. To wait until a file or a page changes, use wait_for.";

    pub(crate) fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "seconds": {"type": "number", "exclusiveMinimum": 0, "maximum": SECONDS_MAX,
                    "description": "How long."}
            },
            "required": ["seconds"],
            "additionalProperties": false
        })
    }

    pub(crate) fn new(spec: ToolSpec) -> Self {
        Self { spec }
    }
}

#[async_trait]
impl Tool for Wait {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, args: Value, ctx: &CallContext) -> ToolOutput {
        let Args { seconds } = match typed(args) {
            Ok(args) => args,
            Err(problem) => return ToolOutput::error(problem),
        };
        let Ok(asked) = Duration::try_from_secs_f64(seconds) else {
            return ToolOutput::error(format!("{seconds} is no number of seconds"));
        };
        let allowed = allowed(ctx);
        let waited = asked.min(allowed);
        tokio::time::sleep(waited).await;
        let short = if waited < asked { ", which is as long as a call may take here" } else { "" };
        ToolOutput::ok(format!("waited {} s{short}", waited.as_secs_f64()))
    }
}

/// How long a call may wait.
fn allowed(ctx: &CallContext) -> Duration {
    ctx.timeout.saturating_sub(MARGIN).min(Duration::from_secs(SECONDS_MAX))
}
