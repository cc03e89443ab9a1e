//! The `bowline` program: everything it does is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    bowline_cli::start(std::env::args_os())
}
