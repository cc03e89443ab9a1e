//! `cargo xtask mutants`: breaks code in small ways, one at a time, and asks
//! whether a test notices.
//!
//! `cargo mutants` names the changes (`found`). They are all compiled at once
//! into a copy of the clone (`scratch`), each function with one more body for
//! each change to it (`schema`); a number in the environment chooses one. What
//! does not compile is left out (`build`); where no choice can be made at run
//! time (constants, `const fn`, `impl Trait`) the change gets a build of its own.
//! Then every change is tried with the tests that reach its function (`trial`).
//! Outcomes are kept beside the build (`kept`), so that an interrupted run goes
//! on. What no test notices must be explained (`list`).
//!
//! Nothing here changes a file of the clone.

mod asked;
mod build;
mod found;
mod kept;
mod list;
mod schema;
mod scratch;
mod session;
mod told;
mod trial;

#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::Result;

use crate::mutants::asked::Asked;
use crate::mutants::list::List;

/// With the words of the command line:
/// `[--shard K/N] [--tests PACKAGE[::TARGET[::PART]]]… [--anew] [FILE or folder…]`.
pub fn run(root: &Path, words: &[String]) -> Result<()> {
    let asked = Asked::parse(words)?;
    let list = List::read(root)?;
    let mut judged = Vec::new();
    for package in found::packages(root, &asked.places)? {
        let mutants = found::ask(root, &package)?;
        let outcomes = session::run(&scratch::Places::of(root)?, &asked, &package, &mutants)?;
        judged.extend(mutants.into_iter().zip(outcomes));
    }
    told::print(&judged);
    crate::ci::report(&list.judge(&judged))
}
