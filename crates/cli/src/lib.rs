//! The `bowline` command line.
//!
//! `args` reads the words, `home` finds where runs are kept, `command` holds one
//! file per command, `render` is the only place that prints. All policy is in
//! the library underneath: a command asks, shows and answers.
//!
//! Invariants
//! - Every failure says what is wrong, where, and what to do, and ends with a
//!   documented code ([`Exit`]).
//! - What a person is asked about is shown exactly, control characters escaped,
//!   and the answer is bound to the bytes that were shown.
//! - A closed pipe is no error and never a panic.

mod archive;
mod args;
mod cage;
mod clock;
mod command;
mod error;
mod exit;
mod guard_args;
mod home;
mod home_args;
mod interrupt;
#[cfg(feature = "local-model")]
mod local;
#[cfg(not(feature = "local-model"))]
#[path = "local_absent.rs"]
mod local;
mod manifest;
mod mcp_args;
mod model_args;
mod models;
pub mod output;
mod pick;
mod question;
mod render;
mod report;
mod rewrite;
mod serverfile;
mod taskfile;

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::process::ExitCode;

use clap::Parser as _;

pub use exit::Exit;

use args::Args;
use render::Screen;

/// Reads the command line, does what it asks, and says how it went.
#[must_use]
pub fn start(words: impl Iterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = words.collect();
    cage::launch_if_asked(&words);
    set_hook(Box::new(|panic| render::broke_down(&panic.to_string())));
    let args = match Args::try_parse_from(words) {
        Ok(args) => args,
        Err(refused) => return render::usage(&refused).into(),
    };
    let screen = Screen::new(args.command.wants_json());
    let done = catch_unwind(AssertUnwindSafe(|| work(args, &screen)));
    done.unwrap_or(Exit::Internal).into()
}

fn work(args: Args, screen: &Screen) -> Exit {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            screen.failed(&error::CliError::Runtime(error));
            return Exit::Internal;
        }
    };
    let exit = runtime.block_on(async {
        match command::perform(args, screen).await {
            Ok(exit) => exit,
            Err(error) => {
                screen.failed(&error);
                error.exit()
            }
        }
    });
    // A question that nobody answered may still hold a thread in `read`.
    runtime.shutdown_background();
    exit
}
