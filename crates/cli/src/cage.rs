//! This program as the first process of a cage: it starts itself again inside,
//! under a word that no person types.

use std::ffi::OsString;
use std::io;

use bowline_cage::Launcher;

/// The word.
const WORD: &str = "cage-launch";

/// How a cage starts this program.
pub(crate) fn launcher() -> io::Result<Launcher> {
    Launcher::this_program([WORD])
}

/// Plays the launcher if the words say so; does not return then.
pub(crate) fn launch_if_asked(words: &[OsString]) {
    if words.get(1).is_some_and(|word| word == WORD) {
        std::process::exit(bowline_cage::launch::main(words.iter().skip(2).cloned()));
    }
}
