//! `git_commit`: puts files of the workspace on a branch, as they are now.
//!
//! The commit is made beside the index, from what the branch holds and the files that are
//! named; then the branch moves. The index follows only where that branch is checked
//! out, and only for those files: what somebody else has staged stays staged.
//!
//! Undone, the branch is at the commit before, provided that it is at ours and that
//! nobody else has it. Files stay as they are: those of file tools have images.

use async_trait::async_trait;
use bowline_core::tool::ToolSpec;
use serde::Deserialize;
use serde_json::{Value, json};

use super::find::{self, Found};
use super::repository::{self, Question};
use super::{Made, NotDone, Repository, in_time};
use crate::files::typed;
use crate::workspace::is_guarded;
use crate::{CallContext, Probed, Tool, ToolOutput};

pub(crate) const DESCRIPTION: &str = "Commit files of the workspace as they are now: those in `paths`, or everything \
that changed. The commit goes on the branch that is checked out, or on `branch`, which must be there. Hooks are not run \
and nothing is pushed.";

/// Files named in a result.
const NAMED_MAX: usize = 100;
/// Who commits where nobody says who they are.
const NOBODY: [(&str, &str); 2] = [("user.name", "Bowline"), ("user.email", "bowline@localhost")];

pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "message": {"type": "string", "minLength": 1, "maxLength": 8192, "description": "What changes, and why."},
            "paths": {"type": "array", "minItems": 1, "maxItems": 1000, "items": {"type": "string", "minLength": 1},
                "description": "Files and folders. Default: everything that changed and is not ignored."},
            "branch": {"type": "string", "minLength": 1, "maxLength": 200, "description": "Default: the one that is checked out."}
        },
        "required": ["message"],
        "additionalProperties": false
    })
}

#[derive(Deserialize)]
struct Args {
    message: String,
    #[serde(default)]
    paths: Vec<String>,
    branch: Option<String>,
}

/// A commit that was made, and the reference it was put on.
#[derive(Deserialize)]
struct Put {
    #[serde(rename = "ref")]
    reference: String,
    commit: String,
    before: Option<String>,
}

/// The tool.
pub(crate) struct GitCommit {
    spec: ToolSpec,
}

impl GitCommit {
    pub(crate) fn new(spec: ToolSpec) -> Self {
        Self { spec }
    }
}

#[async_trait]
impl Tool for GitCommit {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, args: Value, ctx: &CallContext) -> ToolOutput {
        match typed::<Args>(args) {
            Ok(args) => in_time(ctx, self.spec.repeat, make(&args, ctx)).await,
            Err(problem) => ToolOutput::error(problem),
        }
    }

    async fn undo(&self, args: Value, ctx: &CallContext) -> ToolOutput {
        match typed::<Made<Args>>(args) {
            Ok(made) => in_time(ctx, self.spec.repeat, take_back(&made, ctx)).await,
            Err(problem) => ToolOutput::error(problem),
        }
    }

    async fn probe(&self, args: Value, ctx: &CallContext) -> Probed {
        let Ok(args) = typed::<Args>(args) else { return Probed::Unknown };
        let looked = async {
            let repository = Repository::open(ctx.workspace.root(), &ctx.sandbox).await?;
            earlier(&repository, &args, &ctx.key.to_string()).await
        };
        match tokio::time::timeout(ctx.timeout, looked).await {
            Ok(Ok(Some((target, found, files)))) => {
                let before = found.before.as_deref();
                Probed::Happened(told(&target.reference, &found.commit, before, &files))
            }
            Ok(Ok(None)) => Probed::DidNotHappen,
            Ok(Err(_)) | Err(_) => Probed::Unknown,
        }
    }
}

/// Where a commit goes: the reference, what it is at, and whether that is checked out.
struct Target {
    reference: String,
    tip: Option<String>,
    is_checked_out: bool,
}

impl Target {
    async fn of(repository: &Repository, branch: Option<&str>) -> Result<Self, NotDone> {
        let checked_out = repository.checked_out().await?;
        let reference = branch.map_or_else(|| checked_out.clone(), |branch| format!("refs/heads/{branch}"));
        let tip = repository.commit_at(&reference).await?;
        let is_checked_out = reference == checked_out;
        if tip.is_none() && !is_checked_out {
            let what = format!("there is no branch {}", branch.unwrap_or_default());
            return Err(NotDone::refused(what, "git_branch makes one"));
        }
        Ok(Self { reference, tip, is_checked_out })
    }
}

async fn make(args: &Args, ctx: &CallContext) -> Result<String, NotDone> {
    let repository = Repository::open(ctx.workspace.root(), &ctx.sandbox).await?;
    let key = ctx.key.to_string();
    if let Some((target, found, files)) = earlier(&repository, args, &key).await? {
        // It may have been killed before the index followed.
        if target.is_checked_out && target.tip.as_ref() == Some(&found.commit) {
            follow(&repository, &files).await?;
        }
        return Ok(told(&target.reference, &found.commit, found.before.as_deref(), &files));
    }
    let target = Target::of(&repository, args.branch.as_deref()).await?;
    let beside = repository.own_file(&format!("bowline-{key}.index")).await?;
    let beside_name = beside.display().to_string();
    let made = staged(&repository, args, &target, &beside_name).await;
    // What was staged beside the index is in the commit, or of no use.
    repository::remove(beside).await;
    let (tree, files) = made?;
    let commit = written(&repository, &target, &tree, &find::signed(&args.message, &key)).await?;
    let from_to = (target.tip.as_deref(), Some(commit.as_str()));
    repository.move_ref(&target.reference, from_to, "bowline: commit").await?;
    if target.is_checked_out {
        follow(&repository, &files).await?;
    }
    Ok(told(&target.reference, &commit, target.tip.as_deref(), &files))
}

fn told(reference: &str, commit: &str, before: Option<&str>, files: &[String]) -> String {
    let named: Vec<&String> = files.iter().take(NAMED_MAX).collect();
    json!({ "ref": reference, "commit": commit, "before": before, "count": files.len(), "files": named })
        .to_string()
}

/// What an earlier attempt of this call made, where it is, and the files in it.
async fn earlier(
    repository: &Repository,
    args: &Args,
    key: &str,
) -> Result<Option<(Target, Found, Vec<String>)>, NotDone> {
    let Some(found) = find::commit(repository, key).await? else { return Ok(None) };
    let target = Target::of(repository, args.branch.as_deref()).await?;
    let files = changed(repository, found.before.as_deref(), &found.commit).await?;
    Ok(Some((target, found, files)))
}

/// Stages beside the index what shall be in the commit: the tree, and the files that
/// differ from what the branch holds.
async fn staged(
    repository: &Repository,
    args: &Args,
    target: &Target,
    beside: &str,
) -> Result<(String, Vec<String>), NotDone> {
    let variables = [("GIT_INDEX_FILE", beside)];
    // Knowing what files looked like when they were last compared saves reading them all.
    let index = repository.own_file("index").await?;
    repository::copy(index, beside.into()).await;
    match &target.tip {
        Some(tip) => repository.told(&asked(&variables, &["read-tree", "--reset", tip], b"")).await?,
        None => repository.told(&asked(&variables, &["read-tree", "--empty"], b"")).await?,
    };
    let mut words = vec!["ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard", "--"];
    words.extend(args.paths.iter().map(String::as_str));
    let listed = repository.put(&asked(&variables, &words, b"")).await?;
    let mut files = if listed.is_yes { listed.names() } else { return Err(listed.refusal(&words)) };
    // A folder is a repository of its own, and guarded names are not the agent's to share.
    files.retain(|file| !file.ends_with('/') && !file.split('/').any(is_guarded));
    files.sort_unstable();
    files.dedup();
    if files.is_empty() {
        return Err(NotDone::refused("nothing changed that could be committed", "change something first"));
    }
    let names = joined(&files);
    // As the workspace says, and as the branch does: an agent may have changed the former.
    for words in [
        &["check-attr", "-z", "--stdin", "filter"][..],
        &["check-attr", "--cached", "-z", "--stdin", "filter"],
    ] {
        unfiltered(repository, &asked(&variables, words, &names)).await?;
    }
    let add = ["add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"];
    repository.told(&asked(&variables, &add, &names)).await?;
    Ok((repository.told(&asked(&variables, &["write-tree"], b"")).await?, files))
}

/// A question about the index that these variables name.
fn asked<'a>(variables: &'a [(&'a str, &'a str)], words: &'a [&'a str], input: &'a [u8]) -> Question<'a> {
    Question { words, input, variables }
}

fn joined(files: &[String]) -> Vec<u8> {
    files.iter().flat_map(|file| file.bytes().chain([0])).collect()
}

/// Refuses files that git would run a program for. The programs are switched off, so nothing
/// ran that far; but what such a file holds belongs into no commit.
async fn unfiltered(repository: &Repository, question: &Question<'_>) -> Result<(), NotDone> {
    let answer = repository.put(question).await?;
    let said = if answer.is_yes { answer.names() } else { return Err(answer.refusal(question.words)) };
    let filtered = said.chunks(3).find_map(|row| match row {
        [file, _, filter] if filter != "unspecified" && filter != "unset" => Some((file, filter)),
        _ => None,
    });
    match filtered {
        Some((file, filter)) => Err(NotDone::refused(
            format!("{file} goes through the filter {filter}, a program of the repository, which is not run"),
            "name other paths, or commit it yourself",
        )),
        None => Ok(()),
    }
}

/// Writes the commit, which nothing leads to yet.
async fn written(
    repository: &Repository,
    target: &Target,
    tree: &str,
    message: &str,
) -> Result<String, NotDone> {
    let mut who = Vec::new();
    for (setting, otherwise) in NOBODY {
        let found = repository.ask(&["config", "--get", setting]).await?;
        who.push(if found.is_yes { found.text() } else { otherwise.to_owned() });
    }
    let [name, email] = &who[..] else { return Err(NotDone::NoGit("it does not say who commits".into())) };
    let variables = [
        ("GIT_AUTHOR_NAME", name.as_str()),
        ("GIT_AUTHOR_EMAIL", email),
        ("GIT_COMMITTER_NAME", name),
        ("GIT_COMMITTER_EMAIL", email),
    ];
    let parents: Vec<&str> = target.tip.iter().flat_map(|tip| ["-p", tip]).collect();
    let words: Vec<&str> =
        ["commit-tree", "--no-gpg-sign", tree, "-F", "-"].into_iter().chain(parents).collect();
    repository.told(&Question { words: &words, input: message.as_bytes(), variables: &variables }).await
}

/// The files in which two commits differ.
async fn changed(
    repository: &Repository,
    before: Option<&str>,
    commit: &str,
) -> Result<Vec<String>, NotDone> {
    let words = match before {
        Some(before) => vec!["diff-tree", "-r", "-z", "--name-only", "--no-renames", before, commit],
        None => vec!["ls-tree", "-r", "-z", "--name-only", commit],
    };
    let answer = repository.ask(&words).await?;
    if answer.is_yes { Ok(answer.names()) } else { Err(answer.refusal(&words)) }
}

/// The index says of these files what the commit that is checked out says.
async fn follow(repository: &Repository, files: &[String]) -> Result<(), NotDone> {
    let names = joined(files);
    let words: &[&str] = match repository.commit_at("HEAD").await? {
        Some(_) => &["reset", "--quiet", "--pathspec-from-file=-", "--pathspec-file-nul"],
        None => &["update-index", "-z", "--force-remove", "--stdin"],
    };
    repository.told(&Question { words, input: &names, ..Question::default() }).await.map(drop)
}

async fn take_back(made: &Made<Args>, ctx: &CallContext) -> Result<String, NotDone> {
    let repository = Repository::open(ctx.workspace.root(), &ctx.sandbox).await?;
    let known = made.result.clone().and_then(|result| serde_json::from_value::<Put>(result).ok());
    let found = find::commit(&repository, &made.key).await?;
    let (put, there) = match (known, found) {
        (_, None) => return Ok("there is no such commit on any branch".into()),
        (Some(put), Some(_)) => {
            let there = repository.commit_at(&put.reference).await?;
            (put, there)
        }
        (None, Some(Found { commit, before, at })) => match &at[..] {
            [only] => (Put { reference: only.clone(), commit: commit.clone(), before }, Some(commit)),
            _ => return Err(moved_on(&commit, &at.join(", "))),
        },
    };
    if there.as_ref() != Some(&put.commit) {
        return Err(moved_on(&put.commit, &format!("{} at {}", put.reference, there.unwrap_or_default())));
    }
    let contains = format!("--contains={}", put.commit);
    let shared = repository
        .tell(&["for-each-ref", "--count=1", "--format=%(refname)", &contains, "refs/remotes"])
        .await?;
    if !shared.is_empty() {
        return Err(moved_on(&put.commit, &format!("it in {shared}, where others have it")));
    }
    let is_checked_out = repository.checked_out().await? == put.reference;
    let files = changed(&repository, put.before.as_deref(), &put.commit).await?;
    let from_to = (Some(put.commit.as_str()), put.before.as_deref());
    repository.move_ref(&put.reference, from_to, "bowline: taken back").await?;
    if is_checked_out {
        follow(&repository, &files).await?;
    }
    let before = put.before.as_deref().unwrap_or("nothing");
    Ok(format!("{} is at {before} again; files stay as they are", put.reference))
}

fn moved_on(commit: &str, there: &str) -> NotDone {
    NotDone::refused(
        format!("{commit} was left as the last commit of one branch, and there is {there} now, so it stays"),
        "take it back with `git revert`, or put the branch back to it and undo again",
    )
}
