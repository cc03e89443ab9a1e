//! Finds what a call made by the key of the call.

use super::NotDone;
use super::repository::{Question, Repository};

/// What stands before the key, in a commit's message.
const TRAILER: &str = "Bowline-Key";
/// Newest commits that are looked through.
const COMMITS_MAX: &str = "--max-count=10000";

/// A commit that a call made.
pub(super) struct Found {
    pub(super) commit: String,
    /// The one before it; `None`: it is the first.
    pub(super) before: Option<String>,
    /// The local references that are at it.
    pub(super) at: Vec<String>,
}

/// A message that names its call.
pub(super) fn signed(message: &str, key: &str) -> String {
    format!("{}\n\n{TRAILER}: {key}\n", message.trim_end())
}

/// What the log of a branch says when a call makes it.
pub(super) fn begun(key: &str) -> String {
    format!("bowline: made by {key}")
}

/// The commit that the call with this key made, in what the local branches and the checked
/// out commit hold.
pub(super) async fn commit(repository: &Repository, key: &str) -> Result<Option<Found>, NotDone> {
    let is_born = repository.commit_at("HEAD").await?.is_some();
    let head = is_born.then_some("HEAD");
    let words: Vec<&str> = ["rev-list", COMMITS_MAX, "--branches"].into_iter().chain(head).collect();
    let newest = repository.tell(&words).await?;
    if newest.is_empty() {
        return Ok(None);
    }
    let grep = format!("--grep=^{TRAILER}: {key}$");
    let words = ["log", "--no-walk=unsorted", "--stdin", "-1", "--format=%H %P", &grep];
    let question = Question { words: &words, input: newest.as_bytes(), ..Question::default() };
    let found = repository.told(&question).await?;
    let mut words = found.split_whitespace().map(str::to_owned);
    let Some(commit) = words.next() else { return Ok(None) };
    let before = words.next();
    let points = format!("--points-at={commit}");
    let at = repository.tell(&["for-each-ref", "--format=%(refname)", &points, "refs/heads"]).await?;
    let mut at: Vec<String> = at.lines().map(str::to_owned).collect();
    if repository.checked_out().await? == "HEAD"
        && repository.commit_at("HEAD").await?.as_ref() == Some(&commit)
    {
        at.push("HEAD".into());
    }
    Ok(Some(Found { commit, before, at }))
}

/// Where a branch began, if the call with this key made it.
pub(super) async fn branch(
    repository: &Repository,
    name: &str,
    key: &str,
) -> Result<Option<String>, NotDone> {
    let words = ["log", "--walk-reflogs", "--format=%H %gs", name, "--"];
    let moves = repository.put(&Question { words: &words, ..Question::default() }).await?;
    let text = moves.text();
    let first = text.lines().last().filter(|_| moves.is_yes);
    let ours = first.and_then(|line| line.split_once(' ')).filter(|(_, why)| *why == begun(key));
    Ok(ours.map(|(commit, _)| commit.to_owned()))
}
