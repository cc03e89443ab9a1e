//! What speaks against a call: gathers what the rules of the core need to know.
//!
//! Everything a conversation holds is remembered by where it came from, so that a
//! value which only untrusted text has named is recognised in a later call. The
//! memory is made anew from the journal's texts when a run is taken up again.
//! Nothing is decided here.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bowline_core::append_list::AppendList;
use bowline_core::event::{Judgement, Purpose};
use bowline_core::input::CallProblem;
use bowline_core::message::{Call, Message, Part};
use bowline_core::policy::{self, Concern, Objection};
use bowline_core::task::Task;
use bowline_core::tool::{ToolSpec, Touch};
use bowline_core::untrusted::outgoing::{Form, chosen_keys, leaks};
use bowline_core::untrusted::taint::{Index, Trust};
use bowline_store::StoreError;
use bowline_tools::{Registry, Secrets};
use serde_json::Value;

use crate::texts::Texts;

/// Messages a conversation opens with: standing instructions and what is wanted.
const OPENING: usize = 2;

/// Judges the calls of one run.
pub(crate) struct Judge {
    task: Arc<Task>,
    secrets: Secrets,
    origins: Mutex<Origins>,
}

/// Where the words of a run came from.
#[derive(Default)]
struct Origins {
    index: Index,
    /// Messages of each conversation that were taken in.
    heard: BTreeMap<String, usize>,
}

/// A text of a conversation, and who vouches for it.
struct Heard {
    source: String,
    trust: Trust,
    text: String,
}

impl Judge {
    pub(crate) fn new(task: Arc<Task>, secrets: Secrets) -> Self {
        Self { task, secrets, origins: Mutex::default() }
    }

    /// Takes in what a conversation has said since the last time, what its model reads no
    /// more included: where a value came from does not change when the text is left out.
    pub(crate) async fn hear(
        &self,
        texts: &Texts,
        who: &Purpose,
        (messages, left_out): (&AppendList<Message>, &BTreeMap<u32, Message>),
    ) -> Result<(), StoreError> {
        let who = match who {
            Purpose::Act(id) => id.to_string(),
            Purpose::Critique(round) => format!("critique of round {round}"),
            Purpose::Plan(round) => format!("plan {round}"),
            Purpose::Judge(Judgement { round, index, ask }) => format!("judge {round}.{index}.{ask}"),
        };
        let known = self.origins().heard.get(&who).copied().unwrap_or(0);
        let mut news = Vec::new();
        let mut calls: &[Call] = &[];
        for (index, message) in messages.iter().enumerate() {
            let whole = u32::try_from(index).ok().and_then(|index| left_out.get(&index));
            let message = whole.unwrap_or(message);
            if let Message::Assistant { calls: asked, .. } = message {
                calls = asked;
            }
            if index < known {
                continue;
            }
            match message {
                // Openings of older journals hold material beside the goal; later notices
                // quote what a model or a tool said.
                Message::User(content) if index < OPENING => {
                    news.extend(self.own_words());
                    let text = texts.join(content).await?;
                    news.push(Heard { source: "the opening".into(), trust: Trust::Untrusted, text });
                }
                Message::User(_) => {}
                Message::System(_)
                | Message::Briefing(_)
                | Message::Assistant { .. }
                | Message::ToolResult { .. } => said(texts, message, calls, &mut news).await?,
            }
        }
        let mut origins = self.origins();
        for heard in &news {
            origins.index.saw(&heard.source, heard.trust, &heard.text);
        }
        origins.heard.insert(who, messages.iter().count());
        Ok(())
    }

    /// What whoever wrote the task says in it.
    fn own_words(&self) -> Vec<Heard> {
        let words = std::iter::once(&self.task.goal).chain(&self.task.instructions);
        words.map(|text| Heard { source: String::new(), trust: Trust::Trusted, text: text.clone() }).collect()
    }

    fn origins(&self) -> std::sync::MutexGuard<'_, Origins> {
        self.origins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Secrets in the arguments as the model sent them.
    pub(crate) fn leaks(&self, args: &str) -> Vec<Concern> {
        let found = leaks(args, &self.secrets.all());
        found.into_iter().map(|leak| Concern::Secret { name: leak.name }).collect()
    }

    /// Whether no secret can be read from the arguments, its name aside.
    pub(crate) fn is_free_of_secrets(&self, args: &str) -> bool {
        leaks(args, &self.secrets.all()).iter().all(|leak| leak.form == Form::Named)
    }

    /// Whether a call with these masked arguments can run, and what speaks for asking a person first.
    pub(crate) fn examine(
        &self,
        registry: &Registry,
        tool: &str,
        args: &str,
    ) -> Result<Vec<Concern>, CallProblem> {
        let (found, value) = registry.examine(tool, args)?;
        let spec = found.spec();
        if let Some(pointer) = chosen_keys(args).first() {
            let message = format!("{pointer} is the runtime's to choose; leave it out");
            return Err(CallProblem::BadArguments(message));
        }
        let mut concerns = self.beyond(spec, &value)?;
        let matters = |pointer: &str| policy::matters(spec.touch, pointer);
        let tainted = self.origins().index.judge_where(args, matters);
        concerns.extend(policy::telling(&tainted).into_iter().map(Concern::Tainted));
        Ok(concerns)
    }

    fn beyond(&self, spec: &ToolSpec, args: &Value) -> Result<Vec<Concern>, CallProblem> {
        let Some(agent) = &self.task.agent else { return Ok(Vec::new()) };
        match policy::objection(agent, spec, args) {
            None => Ok(Vec::new()),
            Some(Objection::Lacks(message)) => Err(CallProblem::NotAllowed(message)),
            Some(Objection::Beyond(message)) => Ok(vec![Concern::OutOfPolicy { message }]),
        }
    }
}

/// True for calls whose arguments are looked at closely.
pub(crate) fn is_watched(registry: &Registry, tool: &str) -> bool {
    registry.get(tool).is_some_and(|tool| match tool.spec().touch {
        Touch::Read => false,
        Touch::Write | Touch::Exec => true,
    })
}

/// The arguments with every escape of their strings undone that JSON does not need,
/// so that a mask finds what is in them.
pub(crate) fn undisguised(args: &str) -> String {
    serde_json::from_str::<Value>(args).map_or_else(|_| args.to_owned(), |value| value.to_string())
}

/// The texts of a message. What the model said itself is neither trusted nor not.
async fn said(
    texts: &Texts,
    message: &Message,
    calls: &[Call],
    news: &mut Vec<Heard>,
) -> Result<(), StoreError> {
    let ours = |text: String| Heard { source: String::new(), trust: Trust::Trusted, text };
    let outside = |source: &str, text: String| Heard { source: source.into(), trust: Trust::Untrusted, text };
    match message {
        Message::System(content) => news.push(ours(texts.join(content).await?)),
        Message::User(_) | Message::Assistant { .. } => {}
        Message::Briefing(parts) => {
            for part in parts {
                news.push(match part {
                    Part::Words(words) => ours(texts.text(words).await?),
                    Part::Material { source, text, .. } => outside(source, texts.text(text).await?),
                });
            }
        }
        Message::ToolResult { call, output, mark: Some(_), .. } => {
            let asked = calls.iter().find(|asked| asked.id == *call);
            let source =
                asked.map_or_else(|| call.to_string(), |asked| format!("a result of {}", asked.tool));
            news.push(outside(&source, texts.text(output).await?));
        }
        // Our own words about a call quote the call.
        Message::ToolResult { mark: None, .. } => {}
    }
    Ok(())
}
