//! What a call does to the world: declared by its tool, or guessed from its
//! name and arguments.
//!
//! A guess is never [`Effect::Read`] for something that may write: when unsure
//! it is [`Effect::Exec`].

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::shell;
use crate::provenance::Digest;

/// What a call does to the world, as far as repeating it is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Looks only: in the same world it gives the same answer.
    Read,
    /// Changes the world in a way its arguments describe.
    Write,
    /// Runs code; may change the world.
    Exec,
    /// Moves something that remembers where it is: the same call means another
    /// thing each time (next page, scroll, undo).
    Cursor,
    /// Waits for the world to change by itself; repeating it is its purpose.
    Poll,
}

/// Whether a call changes the world when it succeeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It cannot.
    Never,
    /// Nobody knows.
    Perhaps,
    /// That is what it is for.
    Surely,
}

/// Whether a tool does one thing, or whatever its arguments say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Breadth {
    /// One thing: finding nothing again and again says something about it.
    Narrow,
    /// Anything: a shell, a notebook, an editor.
    General,
}

impl Effect {
    /// The change to expect from a tool that declares this effect.
    #[must_use]
    pub fn change(self) -> Change {
        match self {
            Self::Read | Self::Poll => Change::Never,
            Self::Exec | Self::Cursor => Change::Perhaps,
            Self::Write => Change::Surely,
        }
    }
}

/// What a call probably does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guess {
    /// What it does to the world.
    pub effect: Effect,
    /// Whether it changes the world when it succeeds.
    pub change: Change,
    /// Whether its tool does one thing, or anything.
    pub breadth: Breadth,
    /// The one thing it touches, where known.
    pub target: Option<Digest>,
}

impl Guess {
    fn plain(effect: Effect) -> Self {
        Self { effect, change: effect.change(), breadth: Breadth::Narrow, target: None }
    }
}

/// What a word in a tool's name says about it.
fn meaning(word: &str) -> Option<Effect> {
    let effect = match word {
        "bash" | "shell" | "sh" | "zsh" | "terminal" | "exec" | "execute" | "run" | "command" | "cmd"
        | "python" | "ipython" | "notebook" | "jupyter" | "eval" | "compile" | "build" | "test"
        | "powershell" | "repl" | "interpreter" => Effect::Exec,
        "scroll" | "next" | "prev" | "previous" | "goto" | "open" | "back" | "forward" | "click" | "type"
        | "press" | "navigate" | "hover" | "drag" | "undo" | "redo" | "pop" | "dequeue" => Effect::Cursor,
        "poll" | "wait" | "watch" | "sleep" | "await" | "status" | "progress" | "tail" => Effect::Poll,
        "get" | "list" | "search" | "read" | "view" | "find" | "fetch" | "query" | "look" | "lookup"
        | "show" | "describe" | "count" | "check" | "inspect" | "calculate" | "compute" | "think"
        | "grep" | "glob" | "ls" | "cat" | "browse" | "retrieve" | "load" | "info" | "stat" | "diff"
        | "head" | "recall" | "select" | "peek" | "analyze" | "analyse" | "summarize" | "verify"
        | "validate" | "compare" => Effect::Read,
        "book" | "send" | "create" | "update" | "delete" | "write" | "edit" | "insert" | "append" | "add"
        | "remove" | "set" | "put" | "post" | "patch" | "cancel" | "move" | "rename" | "copy" | "upload"
        | "invite" | "share" | "schedule" | "reserve" | "pay" | "transfer" | "submit" | "reply" | "save"
        | "replace" | "apply" | "modify" | "make" | "mkdir" | "rm" | "cp" | "mv" | "install"
        | "uninstall" | "deploy" | "publish" | "commit" | "push" | "merge" | "reschedule" | "finish"
        | "store" | "register" | "grant" | "revoke" | "enable" | "disable" | "start" | "stop" | "kill" => {
            Effect::Write
        }
        _ => return None,
    };
    Some(effect)
}

/// What a call of a tool that declares nothing probably does.
pub(super) fn guess(tool: &str, args: &str) -> Guess {
    let words: Vec<Option<Effect>> = words_of(tool).iter().map(|word| meaning(word)).collect();
    let says = |effect: Effect| words.contains(&Some(effect));
    let runs = says(Effect::Exec);
    let fields = if runs || args.contains("\"command\"") { fields_of(args) } else { Fields::default() };
    if let Some(guess) = editor(&fields) {
        return guess;
    }
    if fields.is_input {
        return Guess::plain(Effect::Cursor);
    }
    if runs {
        let exec = Guess { breadth: Breadth::General, ..Guess::plain(Effect::Exec) };
        return fields.command.as_deref().map_or(exec, shell::classify);
    }
    let first = words.first().copied().flatten();
    let effect = if says(Effect::Poll) && first != Some(Effect::Write) {
        Effect::Poll
    } else if says(Effect::Write) {
        Effect::Write
    } else if says(Effect::Cursor) && first != Some(Effect::Read) {
        Effect::Cursor
    } else if says(Effect::Read) {
        Effect::Read
    } else {
        Effect::Exec
    };
    Guess::plain(effect)
}

#[derive(Default)]
struct Fields {
    command: Option<String>,
    path: Option<String>,
    is_input: bool,
}

fn fields_of(args: &str) -> Fields {
    let Ok(Value::Object(map)) = serde_json::from_str::<Value>(args) else { return Fields::default() };
    let text = |names: &[&str]| {
        names.iter().find_map(|name| map.get(*name)).and_then(|value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Array(words) => {
                words.iter().map(Value::as_str).collect::<Option<Vec<_>>>().map(|words| as_line(&words))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
        })
    };
    let is_input = map.get("is_input").is_some_and(|flag| flag == &Value::Bool(true) || flag == "true");
    Fields {
        command: text(&["command", "cmd", "argv"]),
        path: text(&["path", "file_path", "file", "filename"]),
        is_input,
    }
}

/// A program and its arguments as one line of a shell, each word still one word.
fn as_line(words: &[&str]) -> String {
    let is_plain = |next: char| next.is_alphanumeric() || "-_./=:,+@%".contains(next);
    let quoted = words.iter().map(|word| {
        if !word.is_empty() && word.chars().all(is_plain) {
            (*word).to_owned()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Tools that are a whole editor, with a verb in `command`.
fn editor(fields: &Fields) -> Option<Guess> {
    let target = fields.path.as_deref().and_then(file_target);
    let effect = match fields.command.as_deref()? {
        "view" => Effect::Read,
        "create" | "str_replace" | "insert" | "delete" | "write" | "append" if fields.path.is_some() => {
            Effect::Write
        }
        "undo_edit" | "undo" | "redo" => {
            return Some(Guess {
                effect: Effect::Cursor,
                change: Change::Surely,
                breadth: Breadth::General,
                target,
            });
        }
        _ => return None,
    };
    Some(Guess { effect, change: effect.change(), breadth: Breadth::General, target })
}

/// `getUserDetails`, `get_user_details`, `server.get-user` in lower-case words.
fn words_of(tool: &str) -> Vec<String> {
    const WORDS_MAX: usize = 16;
    let mut words: Vec<String> = Vec::new();
    let mut fresh = true;
    let mut lower_before = false;
    for next in tool.chars() {
        if !next.is_alphanumeric() {
            fresh = true;
            continue;
        }
        if fresh || (next.is_uppercase() && lower_before) {
            if words.len() == WORDS_MAX {
                break;
            }
            words.push(String::new());
        }
        fresh = false;
        lower_before = next.is_lowercase();
        if let Some(word) = words.last_mut() {
            word.extend(next.to_lowercase());
        }
    }
    words
}

/// Names a file by its path, if the path can name only one: absolute, and not
/// possibly a directory, whose listing changes with the files in it.
pub(super) fn file_target(path: &str) -> Option<Digest> {
    let (_, name) = path.rsplit_once('/')?;
    let (stem, extension) = name.rsplit_once('.')?;
    let plain = !stem.is_empty()
        && !extension.is_empty()
        && !path.contains(['$', '*', '~'])
        && !path.contains("/../");
    (path.starts_with('/') && plain).then(|| Digest::of(path.as_bytes()))
}
