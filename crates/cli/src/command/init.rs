//! `bowline init`: a task that runs as it is, to start from.

use std::fs;
use std::path::Path;

use super::Desk;
use crate::args::InitArgs;
use crate::error::CliError;
use crate::exit::Exit;

/// What is written, by path.
const FILES: [(&str, &str); 3] = [
    ("task.toml", include_str!("../../starter/task.toml")),
    ("model.yaml", include_str!("../../starter/model.yaml")),
    ("project/notes.md", include_str!("../../starter/project/notes.md")),
];

/// Writes the files; none of them is overwritten.
pub(crate) fn init(desk: &Desk<'_>, args: &InitArgs) -> Result<Exit, CliError> {
    if let Some((name, _)) = FILES.iter().find(|(name, _)| args.dir.join(name).symlink_metadata().is_ok()) {
        return Err(CliError::refused(
            format!("{} is there already", args.dir.join(name).display()),
            "nothing is overwritten: name another folder, as in `bowline init my-task`",
        ));
    }
    for (name, text) in FILES {
        let path = args.dir.join(name);
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(CliError::io("make", folder))?;
        fs::write(&path, text).map_err(CliError::io("write", &path))?;
        desk.screen.line(&path.display().to_string());
    }
    desk.screen.line(&format!("  → {} run {}", desk.home.program(), args.dir.display()));
    Ok(Exit::Committed)
}
